"""One full example of every journal event and of a session state, with each field set.

`python -m tests.store.examples` writes the golden files of the present versions anew. Do that when
a field was added with a default; what older bytes decode to must not change.
"""

from __future__ import annotations

from pathlib import Path

from netclaw.core.authority import (
    Audience,
    Authenticity,
    Authority,
    DeliveryTarget,
    Principal,
    Provenance,
    Requester,
    SourceKind,
)
from netclaw.core.context.token_estimate import RequestSize
from netclaw.core.errors import ErrorCategory
from netclaw.core.ids import CallId, InputId, JobId, RunId, SessionId, TurnId
from netclaw.core.messages import (
    AssistantMessage,
    MediaRef,
    Usage,
)
from netclaw.core.session import (
    adoption_events,
    child_events,
    consent_events,
    events,
    goal_events,
    job_events,
)
from netclaw.core.session.child_events import ChildState, ParkKind
from netclaw.core.session.consent_events import (
    ConsentEffect,
    ConsentOption,
    ConsentRequest,
    Dismissal,
    Withdrawal,
)
from netclaw.core.session.job_events import JobState
from netclaw.core.signals.events import Actor, ActorType
from netclaw.core.tool_call import (
    Attachment,
    FileActivity,
    FileOperation,
    OutcomeCategory,
    Spill,
    ToolCall,
    ToolReceipt,
    ToolResult,
)
from netclaw.wire.journal_codec import encode_event, encode_state

GOLDEN = Path(__file__).parent / "golden"

TURN = TurnId("turnaaaaaaaaaaaa")
CALL = CallId("callaaaaaaaaaaaa")
INPUT = InputId("inputaaaaaaaaaaa")
OTHER_INPUT = InputId("inputbbbbbbbbbbb")
PARENT = SessionId("slack:T1/C1/1700000000.1")

AUTHORITY = Authority(
    requester=Requester(
        session_id=PARENT,
        audience=Audience.TEAM,
        boundary="slack:T1/C1",
        channel_type=SourceKind.SLACK,
        sender_id="U1",
        principal=Principal.TRUSTED,
    ),
    provenance=Provenance(source_kind=SourceKind.SLACK, authenticity=Authenticity.VERIFIED),
    delivery_targets=(DeliveryTarget(channel=SourceKind.SLACK, address="C1/1700000000.1"),),
    adopted_context=("earlier words",),
    relays=3,
)
USAGE = Usage(input_tokens=1200, output_tokens=34, cached_input_tokens=1000, reasoning_tokens=5)
SIZE = RequestSize(static_characters=900, message_characters=3300)
TOOL_CALL = ToolCall(
    call_id=CALL,
    provider_call_id="call_0",
    name="shell_execute",
    arguments='{"command": "ls \\u2014 ünï"}',
    argument_fault="not an object",
)
MESSAGE = AssistantMessage(
    text="Listing … “files”\n", at=5, turn_id=TURN, thinking="hm", calls=(TOOL_CALL,)
)
RESULT = ToolResult(
    call_id=CALL,
    text="a.txt",
    receipt=ToolReceipt(
        category=OutcomeCategory.SUCCESS,
        file_activity=(FileActivity(path="/w/a.txt", operation=FileOperation.READ),),
        declared_directory="/w",
        remediation="none",
        duration_ms=12,
        is_still_running=True,
        attachment=Attachment(
            path="/h/s/artifacts/attached/t/a.pdf", media_type="application/pdf", size_bytes=9
        ),
    ),
    spill=Spill(size_bytes=70_000, is_complete=False),
    loaded_tool="files__read",
    answered_input="in-7",
)
MEDIA = MediaRef(upload_id="up1", media_type="image/png", size_bytes=9, name="a.png")
ADMITTED = events.InputAdmitted(
    input_id=INPUT,
    source_message_id="1700000000.2",
    text="list the files, please — “now”",
    authority=AUTHORITY,
    attended=True,
    media=(MEDIA,),
)
RUN = RunId("runaaaaaaaaaaaaa")
JOB = JobId("jobaaaaaaaaaaaaa")
REQUEST = ConsentRequest(
    call_id=CALL,
    tool="shell_execute",
    display="git push",
    candidates=("git push",),
    options=(
        ConsentOption(key="once", label="Once", effect=ConsentEffect.APPROVE),
        ConsentOption(key="deny", label="Deny", effect=ConsentEffect.REFUSE),
    ),
    requester=AUTHORITY.requester,
)
ACCEPTED = child_events.ChildAccepted(
    run_id=RUN,
    session_id=SessionId("slack:T1/C1/1700000000.1/sub/runaaaaaaaaaaaaa"),
    agent="researcher",
    task="Find the cause.",
    start_key="key",
    digest="digest",
    turn_id=TURN,
    call_id=CALL,
    authority=AUTHORITY,
    is_attended=True,
)
ENDED = child_events.ChildEnded(
    run_id=RUN,
    state=ChildState.LOST,
    reason="owner_restarted",
    result_path="/w/subagents/run/result.md",
    files=("/w/a.txt",),
)
FROZEN = child_events.ChildFrozen(
    run_id=RUN,
    parent=PARENT,
    agent="researcher",
    system_prompt="You research.",
    provider="local",
    model="m1",
    tools=("file_read",),
    project_instructions="Use tabs.",
    operating_rules="Be brief.",
    wants_findings=True,
    timeout_s=120.0,
    prefill_s=30.0,
    working_directory="/home/me/project",
)
JOB_STARTED = job_events.JobStarted(
    job_id=JOB,
    turn_id=TURN,
    call_id=CALL,
    command="make test",
    authority=AUTHORITY,
    log_path="/w/jobs/job/output.log",
    limit_s=60.0,
    is_attended=True,
)
ANSWER = events.AnswerAdmitted(
    call_id=CALL,
    option="once",
    answerer="U1",
    boundary="slack:T1/C1",
    principal=Principal.TRUSTED,
)

EVENTS_V1: tuple[events.SessionEvent, ...] = (
    events.SessionCreated(
        session_id=SessionId("slack:T1/C1/1700000000.1/sub/run1"),
        kind=events.SessionKind.CHILD,
        channel=SourceKind.SLACK,
        audience=Audience.TEAM,
        life=2,
        parent=PARENT,
    ),
    events.SessionReset(reason=events.ResetReason.OPERATOR, life=3),
    ADMITTED,
    ANSWER,
    events.CrashRecorded(exit_status=-9, turn_id=TURN, attempt=2),
    events.TurnStarted(
        turn_id=TURN,
        input_ids=(INPUT,),
        authority=AUTHORITY,
        notices=(events.NoticeMark(target=SessionId("cli/abc"), mark=7, since=3),),
        is_aside=True,
    ),
    events.InputJoined(turn_id=TURN, input_ids=(OTHER_INPUT,)),
    events.OutputStarted(turn_id=TURN, round=0),
    events.RoundRecorded(
        turn_id=TURN,
        round=0,
        message=MESSAGE,
        usage=USAGE,
        model="m1",
        is_text_released=True,
        context_tokens=1100,
        request_size=SIZE,
    ),
    events.ToolBatchStarted(turn_id=TURN, call_ids=(CALL,)),
    events.ToolResultRecorded(turn_id=TURN, result=RESULT),
    events.TurnRecorded(
        turn_id=TURN,
        message=MESSAGE,
        outcome=events.TurnOutcome.GUARD_ENDED,
        usage=USAGE,
        model="m1",
        input_ids=(INPUT, OTHER_INPUT),
        open_child_runs=("run1",),
        context_tokens=1100,
        note="The turn ended without an answer.",
        request_size=SIZE,
    ),
    events.TurnFailed(
        turn_id=TURN,
        category=ErrorCategory.PROVIDER_FAILURE,
        reference="r1",
        note="The model's service failed.",
        input_ids=(INPUT,),
        closed_call_ids=(CALL,),
        is_person_told=False,
        open_child_runs=("run2",),
    ),
    events.TitleSet(
        title="Files",
        actor="model",
        usage=USAGE,
        model="m",
    ),
    events.WorkingDirectorySet(path="/w", actor="model"),
    goal_events.GoalSet(
        text="Ship it",
        status=goal_events.GoalStatus.BLOCKED,
        actor=Actor(type=ActorType.AGENT, id="cli/abc"),
    ),
    adoption_events.SessionAdopted(
        life=2, catalog="claude-code", source="/home/me/a.jsonl", omitted=4
    ),
    adoption_events.HistoryAdopted(
        messages=(
            adoption_events.AdoptedMessage(
                role=adoption_events.AdoptedRole.USER, text="Wer da? … “ich”", at=3
            ),
            adoption_events.AdoptedMessage(
                role=adoption_events.AdoptedRole.ASSISTANT, text="An answer.", at=4
            ),
        )
    ),
    events.Compacted(
        kept_from_seq=4,
        notes="notes",
        tokens_before=9000,
        tokens_after=800,
        trigger="threshold",
        kept_messages=6,
        kept_input_ids=(INPUT,),
        cleared_call_ids=(CALL,),
        notes_usage=USAGE,
        notes_model="m",
    ),
    events.DrainStopped(
        turn_id=TURN, point="batch", is_restart=True, is_person_told=True, deadline_at=600_001
    ),
    events.Resumed(turn_id=TURN),
    events.Passivated(snapshot_seq=41),
    consent_events.ConsentRequested(turn_id=TURN, request=REQUEST, run_id=RUN),
    consent_events.ConsentAnswered(
        turn_id=TURN,
        call_id=CALL,
        option="once",
        answerer="U1",
        run_id=RUN,
        effect=ConsentEffect.APPROVE,
    ),
    consent_events.ConsentWithdrawn(
        turn_id=TURN, call_id=CALL, reason=Withdrawal.SUPERSEDED, run_id=RUN
    ),
    consent_events.AnswerDismissed(
        call_id=CALL, option="once", answerer="U1", reason=Dismissal.NOT_THEIRS
    ),
    ACCEPTED,
    child_events.ChildStarted(run_id=RUN),
    child_events.ChildParked(run_id=RUN, kind=ParkKind.CONSENT),
    child_events.ChildResumed(run_id=RUN),
    child_events.ChildCancelAdmitted(run_id=RUN, actor="U1"),
    child_events.ChildDispatchClosed(run_id=RUN),
    ENDED,
    child_events.ChildResultDelivered(run_id=RUN, turn_id=TURN),
    FROZEN,
    child_events.ChildClosed(run_id=RUN, reason="purged"),
    JOB_STARTED,
    job_events.JobEnded(job_id=JOB, state=JobState.FAILED, exit_code=3),
    job_events.JobReaped(job_id=JOB),
    job_events.JobReported(job_id=JOB, turn_id=TURN),
)

EXAMPLES: dict[tuple[str, int], events.SessionEvent] = {
    (type(event).__name__, 1): event for event in EVENTS_V1
}
"""(type, version) to what the golden file of that version must decode to now."""


def write_golden_files() -> None:
    """Write the bytes of the present versions."""
    from tests.store.example_state import STATE

    for event in EXAMPLES.values():
        draft = encode_event(event)
        path = GOLDEN / f"{draft.type}.v{draft.version}.json"
        path.write_bytes(draft.payload + b"\n")
    (GOLDEN / "SessionState.json-1.json").write_bytes(encode_state(STATE) + b"\n")


if __name__ == "__main__":
    write_golden_files()
