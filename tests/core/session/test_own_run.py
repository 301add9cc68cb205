"""A run as its own session knows it: birth, files, end, gate, and what nobody's word ends."""

from __future__ import annotations

from dataclasses import replace

import pytest

from netclaw.core.authority import Authority, DeliveryTarget, Principal, SourceKind
from netclaw.core.errors import ErrorCategory
from netclaw.core.ids import CallId, InputId, RunId, SessionId, TurnId
from netclaw.core.messages import AssistantMessage, Usage
from netclaw.core.session import child_birth, drain, events, own_run, sentences
from netclaw.core.session.after_drain import AfterDrain
from netclaw.core.session.child_commands import CloseGate
from netclaw.core.session.child_effects import ChildAnswer, ReportGateClosed
from netclaw.core.session.child_events import ChildAccepted, ChildFrozen, ChildState
from netclaw.core.session.commands import Advance, BeginOutput, Compact
from netclaw.core.session.effects import CancelModel, CancelSidecar, CancelTool
from netclaw.core.session.events import (
    AnswerAdmitted,
    InputAdmitted,
    SessionCreated,
    TurnFailed,
    TurnOutcome,
    TurnRecorded,
)
from netclaw.core.session.outputs import OutputFilter
from netclaw.core.session.own_run import OwnRun
from netclaw.core.tool_call import FileActivity, FileOperation, OutcomeCategory, ToolReceipt
from netclaw.testing.people import ALICE, OPERATOR, REMINDER
from netclaw.testing.story import Story
from tests.core.session import compactions
from tests.core.session.runs import end_run, resting

RUN = RunId("runaaaaaaaaaaaaa")
FROZEN = ChildFrozen(
    run_id=RUN,
    parent=SessionId("cli/parent"),
    agent="task-worker",
    system_prompt="Work.",
    provider="p",
    model="m",
    tools=(),
)


def accepted(task: str = "look around", *, by: Authority = ALICE) -> ChildAccepted:
    """A run on record."""
    return ChildAccepted(
        run_id=RUN,
        session_id=SessionId(f"cli/parent/sub/{RUN}"),
        agent="task-worker",
        task=task,
        start_key="k",
        digest="d",
        turn_id=TurnId("t"),
        call_id=CallId("c"),
        authority=by,
        is_attended=True,
    )


def a_run(by: Authority = ALICE, *, task: str = "look around", attended: bool = True) -> Story:
    """The session of a run, with its task admitted and its process started."""
    story = Story()
    made = replace(accepted(task, by=by), is_attended=attended)
    for event in child_birth.first_events(made, FROZEN):
        story.given(event)
    story.start()
    return story


# Birth


def test_a_run_begins_with_its_session_what_it_was_started_with_and_its_task() -> None:
    told = replace(ALICE, delivery_targets=(DeliveryTarget(channel=SourceKind.SLACK, address="C"),))
    created, frozen, task = child_birth.first_events(accepted(by=told), FROZEN)

    assert isinstance(created, SessionCreated)
    assert created.kind is events.SessionKind.CHILD
    assert created.parent == FROZEN.parent
    assert created.audience is ALICE.requester.audience
    assert frozen is FROZEN
    assert isinstance(task, InputAdmitted)
    assert task.text == "look around"
    assert task.authority.requester == ALICE.requester
    assert task.authority.delivery_targets == ()
    assert task.attended
    assert task.input_id == OwnRun(frozen=FROZEN).task_input


def test_a_run_works_in_the_project_of_its_parent() -> None:
    frozen = replace(FROZEN, working_directory="/p")
    story = Story()
    for event in child_birth.first_events(accepted(), frozen):
        story.given(event)
    assert story.state.working_directory == "/p"


def test_a_task_that_reads_like_a_command_is_for_the_model() -> None:
    story = a_run(task=" /stop")
    assert story.state.turn is not None
    assert not story.state.turn.is_aside


@pytest.mark.parametrize(
    ("by", "answerer", "principal"),
    [
        (ALICE, ALICE.requester.sender_id, ALICE.requester.principal),
        (REMINDER, "somebody", Principal.OPERATOR),
    ],
)
def test_answers_of_a_run_count_as_those_of_its_requester(
    by: Authority, answerer: str, principal: Principal
) -> None:
    if not by.requester.principal.is_person:
        by = replace(by, requester=replace(by.requester, sender_id=None))
    given = ChildAnswer(call_id=CallId("c1"), option="approve_once", answerer="somebody")
    (event,) = child_birth.answer_events(accepted(by=by), [given])
    assert event == AnswerAdmitted(
        call_id=CallId("c1"),
        option="approve_once",
        answerer=answerer,
        boundary=by.requester.boundary,
        principal=principal,
    )


# Files


def receipt(
    *activity: FileActivity, category: OutcomeCategory = OutcomeCategory.SUCCESS
) -> ToolReceipt:
    """What a call is known to have done."""
    return ToolReceipt(category=category, file_activity=activity)


def test_only_what_a_call_is_known_to_have_written_counts() -> None:
    run = OwnRun(frozen=FROZEN)
    wrote = FileActivity(path="/p/a", operation=FileOperation.WRITE)
    read = FileActivity(path="/p/b", operation=FileOperation.READ)
    folder = FileActivity(path="/p/c", operation=FileOperation.WRITE, is_folder=True)

    assert own_run.with_files(None, receipt(wrote)) is None
    failed = own_run.with_files(run, receipt(wrote, category=OutcomeCategory.FAILURE))
    assert failed is run
    after = own_run.with_files(run, receipt(wrote, read, folder))
    assert after is not None
    assert after.files == ("/p/a",)
    later = FileActivity(path="/p/d", operation=FileOperation.WRITE)
    again = own_run.with_files(after, receipt(wrote, later))
    assert again is not None
    assert again.files == ("/p/d", "/p/a")


def test_files_of_a_run_that_ended_well_join_the_recent_files_of_its_parent() -> None:
    story = resting()
    end_run(story)
    assert story.state.recent_files[:1] == ("/p/a",)
    files = story.state.recent_files
    ended = story.state.children[0].ended
    assert ended is not None
    story.given(replace(ended, files=("/p/z",)))
    assert story.state.recent_files == files


# Ends


def recorded(outcome: TurnOutcome, *, text: str = "found it", note: str = "") -> TurnRecorded:
    """The turn of the task is recorded."""
    return TurnRecorded(
        turn_id=TurnId("t"),
        message=AssistantMessage(text=text, at=1, turn_id=TurnId("t")),
        outcome=outcome,
        usage=Usage(),
        model="m",
        input_ids=(InputId(RUN),),
        note=note,
    )


def failed(category: ErrorCategory, *, note: str = "It broke.") -> TurnFailed:
    """The turn of the task fails."""
    return TurnFailed(
        turn_id=TurnId("t"),
        category=category,
        reference="r",
        note=note,
        input_ids=(InputId(RUN),),
    )


@pytest.mark.parametrize(
    ("event", "crashes", "state", "reason", "text"),
    [
        (recorded(TurnOutcome.COMPLETED), 0, ChildState.COMPLETED, "", "found it"),
        (recorded(TurnOutcome.GUARD_ENDED), 0, ChildState.PARTIAL, "loop_guard", "found it"),
        (
            recorded(TurnOutcome.STOPPED, text="", note="stopped"),
            0,
            ChildState.CANCELLED,
            "stopped",
            "stopped",
        ),
        (failed(ErrorCategory.TIMEOUT), 0, ChildState.FAILED, "Timeout", "It broke."),
        (failed(ErrorCategory.INTERRUPTED), 1, ChildState.FAILED, "Interrupted", "It broke."),
        (failed(ErrorCategory.INTERRUPTED), 0, ChildState.LOST, "owner_restarted", "It broke."),
        (
            failed(ErrorCategory.MODEL_BEHAVIOR, note=sentences.CUT_AT_LIMIT),
            0,
            ChildState.FAILED,
            "output_limit",
            sentences.CUT_AT_LIMIT,
        ),
        (
            failed(ErrorCategory.PROVIDER_FAILURE, note=sentences.MODEL_GONE),
            0,
            ChildState.FAILED,
            "model_gone",
            sentences.MODEL_GONE,
        ),
    ],
)
def test_a_run_ends_as_the_turn_of_its_task_ended(
    event: TurnRecorded | TurnFailed, crashes: int, state: ChildState, reason: str, text: str
) -> None:
    run = own_run.with_end(OwnRun(frozen=FROZEN), event, crashes=crashes)
    assert run is not None
    assert run.end == own_run.RunEnd(state=state, reason=reason, text=text)
    assert own_run.with_end(run, event, crashes=crashes) is run


def test_other_turns_end_no_run() -> None:
    run = OwnRun(frozen=FROZEN)
    other = replace(recorded(TurnOutcome.COMPLETED), input_ids=(InputId("a persons word"),))
    assert own_run.with_end(run, other, crashes=0) is run
    assert own_run.with_end(None, other, crashes=0) is None


def test_the_end_of_a_run_is_part_of_its_state() -> None:
    story = a_run()
    story.answer("found it")
    assert story.state.run is not None
    assert story.state.run.end == own_run.RunEnd(
        state=ChildState.COMPLETED, reason="", text="found it"
    )


def test_what_was_frozen_first_stands_and_is_nothing_to_a_session_that_is_no_run() -> None:
    story = a_run()
    before = story.state.run
    story.given(replace(FROZEN, agent="another"))
    assert story.state.run == before
    main = Story()
    main.given(FROZEN)
    assert main.state.run is None


# Going on


def test_a_run_goes_on_though_somebody_saw_its_words_and_however_late_it_is() -> None:
    story = a_run()
    story.runtime = replace(story.runtime, interest=OutputFilter.TEXT_STREAMING)
    story.call_tools()
    story.finish_tools()
    story.when(BeginOutput(token=story.model_token))
    story.drain(AfterDrain.DAEMON_RESTART)
    story.admit("how is it going?", by=OPERATOR)
    assert drain.may_resume(story.state)
    story.clock.advance(10 * drain.RESUME_WITHIN_MS / 1000)
    assert not drain.is_too_late(story.state, story.clock.now_ms())


def test_no_turn_is_too_late_where_none_is_open() -> None:
    assert not drain.is_too_late(Story().state, 0)


# The gate


def test_a_closed_gate_ends_what_runs_and_lets_nothing_start() -> None:
    story = a_run()
    before = len(story.journal)
    decision = story.when(CloseGate())
    assert [type(item) for item in decision.effects] == [CancelModel, ReportGateClosed]
    story.admit("hello", by=ALICE)
    assert story.when(Advance()).events == ()
    assert len(story.journal) == before + 1


def test_a_closed_gate_ends_tools() -> None:
    story = a_run()
    story.call_tools(2)
    decision = story.when(CloseGate())
    assert [type(item) for item in decision.effects] == [CancelTool, CancelTool, ReportGateClosed]


def test_a_closed_gate_ends_a_call_for_notes() -> None:
    told = compactions.story()
    told.when(Compact(actor="me"))
    assert told.runtime.compaction is not None
    decision = told.when(CloseGate())
    assert [type(item) for item in decision.effects] == [CancelSidecar, ReportGateClosed]


def test_words_that_a_person_saw_keep_a_conversation_from_going_on_and_no_run() -> None:
    main = Story(interest=OutputFilter.TEXT_STREAMING)
    main.start()
    main.admit("hello", by=ALICE)
    main.when(BeginOutput(token=main.model_token))
    assert not drain.may_resume(main.state)
    run = a_run()
    run.runtime = replace(run.runtime, interest=OutputFilter.TEXT_STREAMING)
    run.when(BeginOutput(token=run.model_token))
    assert drain.may_resume(run.state)


def test_nothing_goes_on_where_no_turn_is_open() -> None:
    assert not drain.may_resume(Story().state)
