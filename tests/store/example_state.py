"""A full example of a session state, with each field set; made of the examples of its events."""

from __future__ import annotations

from netclaw.core.authority import (
    Audience,
    SourceKind,
)
from netclaw.core.context.token_estimate import TokenMeter
from netclaw.core.context.working_context import WorkingContext
from netclaw.core.messages import (
    AssistantMessage,
    NoteKind,
    NoteMessage,
    ToolMessage,
    UserMessage,
)
from netclaw.core.session import events
from netclaw.core.session.child_events import ChildState, ParkKind
from netclaw.core.session.child_state import ChildRun, RunRequest
from netclaw.core.session.exposure import Lease
from netclaw.core.session.goal_events import GoalStatus
from netclaw.core.session.goals import Goal
from netclaw.core.session.job_events import JobState
from netclaw.core.session.job_state import JobRun
from netclaw.core.session.loop_guard_state import (
    BatchEvidence,
    Cycle,
    FailureTally,
    GuardState,
    Sighting,
)
from netclaw.core.session.own_run import OwnRun, RunEnd
from netclaw.core.session.state import (
    BufferedInput,
    CallConsent,
    CallState,
    OpenTurn,
    SessionState,
)
from netclaw.core.tool_call import (
    OutcomeCategory,
)
from tests.store.examples import (
    ACCEPTED,
    ADMITTED,
    ANSWER,
    AUTHORITY,
    CALL,
    ENDED,
    FROZEN,
    INPUT,
    JOB,
    JOB_STARTED,
    MEDIA,
    MESSAGE,
    OTHER_INPUT,
    PARENT,
    REQUEST,
    RESULT,
    RUN,
    TOOL_CALL,
    TURN,
    USAGE,
)

_BUFFERED = BufferedInput(seq=3, at=4, admitted=ADMITTED)

STATE = SessionState(
    session_id=PARENT,
    kind=events.SessionKind.MAIN,
    channel=SourceKind.SLACK,
    audience=Audience.TEAM,
    life=2,
    head=40,
    history=(
        NoteMessage(text="Notes.", at=1, kind=NoteKind.SUMMARY),
        UserMessage(input_id=INPUT, text="hello", at=1, sender="Ada", media=(MEDIA,), seq=3),
        NoteMessage(text="Changed.", at=1, turn_id=TURN, kind=NoteKind.NOTICES),
        UserMessage(input_id=OTHER_INPUT, text="before", at=1, is_adopted=True),
        AssistantMessage(text="yes", at=1, is_adopted=True),
        MESSAGE,
        ToolMessage(call_id=CALL, text="a.txt", at=6, turn_id=TURN),
        NoteMessage(text="The turn was stopped.", at=7, turn_id=TURN),
    ),
    buffered=(_BUFFERED,),
    in_turn=(_BUFFERED,),
    turn=OpenTurn(
        turn_id=TURN,
        authority=AUTHORITY,
        input_ids=(INPUT,),
        started_at=8,
        rounds=1,
        batch=(
            CallState(
                call=TOOL_CALL,
                is_launched=True,
                result=RESULT,
                consent=CallConsent(request=REQUEST, asked_at=8, answer="once"),
            ),
        ),
        has_launched=True,
        has_text_out=True,
        working=WorkingContext(directory="/w", recent_files=("/w/a",)),
        notices=(events.NoticeMark(target=PARENT, mark=7, since=3),),
        is_aside=True,
        joined_since_round=(OTHER_INPUT,),
        guard=GuardState(
            sightings=(
                Sighting(identity="a" * 16, outcome="b" * 16),
                Sighting(identity="c" * 16, outcome="d" * 16, is_suspect=True, refusals=2),
            ),
            recent=(BatchEvidence(key="e" * 16, outcome="f" * 16),),
            cycles=(Cycle(keys=("0" * 16, "1" * 16), refusals=3),),
            failures=(FailureTally(category=OutcomeCategory.ACCESS_DENIED, score=4),),
        ),
        usage=USAGE,
        delivers=(RUN,),
        reports=(JOB,),
        crashes=1,
        is_person_told_of_stop=True,
    ),
    answers=(ANSWER,),
    children=(
        ChildRun(
            accepted=ACCEPTED,
            accepted_at=5,
            state=ChildState.LOST,
            start=2,
            is_started=True,
            park=ParkKind.DRAIN,
            requests=(
                RunRequest(request=REQUEST, turn_id=TURN, asked_at=6, answer="once", answerer="U1"),
            ),
            is_dispatch_closed=True,
            ended=ENDED,
            ended_seq=30,
            delivered_in=TURN,
            is_closed=True,
        ),
    ),
    jobs=(
        JobRun(
            started=JOB_STARTED,
            started_at=7,
            state=JobState.FAILED,
            exit_code=3,
            ended_seq=31,
            reported_in=TURN,
        ),
    ),
    recent_source_ids=("1700000000.2",),
    title="Files",
    goal=Goal(text="Ship it", status=GoalStatus.BLOCKED),
    working_directory="/w",
    recent_files=("/w/b", "/w/a"),
    leases=(Lease(tool="files__read", used_at=12, turns_left=2),),
    turns=3,
    last_input_tokens=1200,
    meter=TokenMeter(characters_per_token=3.5, static_characters=900),
    last_activity_at=9,
    is_passivated=True,
    run=OwnRun(
        frozen=FROZEN,
        files=("/w/a",),
        end=RunEnd(state=ChildState.PARTIAL, reason="loop_guard", text="As far as I came."),
    ),
)
