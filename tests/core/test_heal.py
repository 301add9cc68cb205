"""Recovery, exactly: what a start closes, continues, and takes up."""

from __future__ import annotations

from dataclasses import replace

import pytest

from netclaw.core.errors import ErrorCategory
from netclaw.core.messages import AssistantMessage, NoteMessage, ToolMessage, UserMessage
from netclaw.core.session import sentences
from netclaw.core.session.commands import BeginOutput, Recover, TimerKind
from netclaw.core.session.effects import CallModel, Emit, RecheckCall, RunTool, StartTimer
from netclaw.core.session.events import (
    CrashRecorded,
    InputJoined,
    OutboxRow,
    Resumed,
    ToolBatchStarted,
    ToolResultRecorded,
    TurnFailed,
    TurnRecorded,
    TurnStarted,
)
from netclaw.core.session.outputs import (
    ErrorOutput,
    OutputFilter,
    ProcessingOutput,
    ToolResultOutput,
    TurnCompletedOutput,
)
from netclaw.core.session.phase import Phase
from netclaw.core.tool_call import OutcomeCategory, ToolCall, ToolResult
from netclaw.testing.matchers import containing, like
from netclaw.testing.people import ALICE, BOB
from netclaw.testing.story import SHELL, Story


def started(interest: OutputFilter = OutputFilter(0)) -> Story:
    story = Story(interest=interest)
    story.start()
    story.admit("question", by=ALICE)
    return story


@pytest.mark.requirement("core.recover-idle")
def test_a_session_with_nothing_to_do_is_ready_with_the_idle_timer_ticking() -> None:
    decision = Story().start()
    assert decision.events == ()
    assert decision.runtime.phase is Phase.READY
    assert decision.effects[1:] == (
        Emit(output=ProcessingOutput(phase=Phase.READY, buffered_inputs=0)),
        like(StartTimer, timer=TimerKind.IDLE, after_s=3600.0),
    )


@pytest.mark.requirement("core.recover-inputs")
def test_admitted_inputs_run_in_order_without_the_person_writing_again() -> None:
    story = Story()
    story.given(story.input("a"), story.input("b"))
    assert story.start().events == (like(TurnStarted, input_ids=("i1",)),)
    assert story.answer().events[-1] == like(TurnStarted, input_ids=("i2",))


@pytest.mark.requirement("core.recover-rerun")
def test_a_turn_that_launched_nothing_runs_again_under_its_id_even_if_others_wait() -> None:
    story = started()
    story.admit("another", by=BOB)
    turn = story.state.turn
    assert turn is not None
    decision = story.crash().start()
    assert decision.events == (Resumed(turn_id=turn.turn_id),)
    assert decision.early == ()
    assert decision.effects[-1] == like(CallModel, turn_id=turn.turn_id, round=0)
    assert story.messages == (like(UserMessage, text="question"),)
    assert story.answer().events == (
        like(TurnRecorded, turn_id=turn.turn_id, input_ids=("i1",)),
        like(TurnStarted, input_ids=("i2",)),
    )


@pytest.mark.requirement("core.recover-interrupted")
def test_a_launched_call_without_a_result_is_interrupted_and_never_run_again() -> None:
    story = started()
    story.call_tools(2)
    story.when(story.tool_ended(0))
    unfinished = story.runtime.running[0].call_id
    decision = story.crash().start()
    assert decision.events == (
        like(ToolResultRecorded, result=like(ToolResult, call_id=unfinished)),
        like(
            TurnFailed,
            category=ErrorCategory.INTERRUPTED,
            input_ids=("i1",),
            closed_call_ids=(),
            note=containing(sentences.MAYBE_RUN),
            is_person_told=True,
        ),
    )
    assert not [item for item in decision.effects if isinstance(item, RunTool | CallModel)]
    assert decision.outputs == (
        like(ToolResultOutput, outcome=OutcomeCategory.INTERRUPTED, name="shell_execute"),
        like(ErrorOutput, category=ErrorCategory.INTERRUPTED),
        like(TurnCompletedOutput, input_ids=("i1",), outcome=None),
    )
    assert decision.outbox == (like(OutboxRow, text=containing("interrupted", "Interrupted")),)
    assert [type(item) for item in story.messages] == [
        UserMessage,
        AssistantMessage,
        ToolMessage,
        ToolMessage,
        NoteMessage,
    ]


@pytest.mark.requirement("core.recover-continues")
def test_with_every_result_real_and_nothing_waiting_the_turn_goes_on() -> None:
    story = started()
    story.call_tools(2)
    story.finish_tools()
    decision = story.crash().start()
    assert decision.events == (like(Resumed),)
    assert decision.effects[-1] == like(CallModel, round=1)
    assert story.answer().events == (like(TurnRecorded, input_ids=("i1",)),)


@pytest.mark.requirement("core.recover-ends")
def test_after_a_launch_a_waiting_input_ends_the_turn_and_runs_next() -> None:
    story = started()
    story.call_tools()
    story.finish_tools()
    story.given(story.input("another", by=BOB))
    decision = story.crash().start()
    assert decision.events == (
        like(TurnFailed, category=ErrorCategory.INTERRUPTED, input_ids=("i1",)),
        like(TurnStarted, input_ids=("i2",), authority=BOB),
    )
    assert decision.early == (like(CallModel, round=0),)


@pytest.mark.requirement("core.recover-ends")
@pytest.mark.parametrize("how", ["streamed", "preamble"])
def test_text_that_reached_a_person_ends_the_turn(how: str) -> None:
    story = started(OutputFilter.ALL)
    if how == "streamed":
        story.when(BeginOutput(token=story.model_token))
    else:
        story.call_tools(text="Looking.")
        story.finish_tools()
    decision = story.crash().start()
    has_launched = how == "preamble"
    note = sentences.with_warning(sentences.INTERRUPTED_TURN, has_launched=has_launched)
    assert decision.events == (like(TurnFailed, category=ErrorCategory.INTERRUPTED, note=note),)


@pytest.mark.requirement("core.recover-joined")
def test_an_input_joined_after_the_last_round_returns_to_the_buffer() -> None:
    story = started()
    story.call_tools()
    story.given(story.input("more", by=ALICE))
    story.finish_tools()
    assert story.events()[-1] == like(InputJoined, input_ids=("i2",))
    decision = story.crash().start()
    assert decision.events == (
        like(TurnFailed, input_ids=("i1",)),
        like(TurnStarted, input_ids=("i2",)),
    )
    texts = [item.text for item in story.messages if isinstance(item, UserMessage)]
    assert texts == ["question", "more"]
    assert story.messages[-1] == like(UserMessage, text="more")


@pytest.mark.requirement("core.recover-joined")
def test_an_input_joined_before_the_last_round_stays_in_the_turn() -> None:
    story = started()
    story.call_tools()
    story.given(story.input("more", by=ALICE))
    story.finish_tools()
    story.call_tools()
    story.finish_tools()
    assert story.crash().start().events == (like(Resumed),)
    assert story.answer().events == (like(TurnRecorded, input_ids=("i1", "i2")),)


def test_a_returned_input_joins_again_when_the_turn_runs_again() -> None:
    story = started()
    story.given(story.input("more", by=ALICE))
    story.when(story.answered(calls=(replace(SHELL, fault="Nonsense."),)))
    assert story.events()[-1] == like(InputJoined, input_ids=("i2",))
    decision = story.crash().start()
    assert decision.events == (like(Resumed), like(InputJoined, input_ids=("i2",)))
    assert [item.text for item in story.messages if isinstance(item, UserMessage)] == [
        "question",
        "more",
    ]


@pytest.mark.requirement("core.recover-never-launched")
def test_a_call_that_was_never_launched_is_judged_again_and_then_launched() -> None:
    story = started()
    story.drain()
    story.call_tools(2)
    story.fire(TimerKind.PASSIVATION_GRACE)
    decision = story.crash().start()
    first, second = story.call_id(0), story.call_id(1)
    assert decision.events == (like(Resumed),)
    assert decision.effects[-2:] == (
        like(RecheckCall, call=like(ToolCall, call_id=first), option=None),
        like(RecheckCall, call=like(ToolCall, call_id=second), option=None),
    )
    for call_id in (second, first):
        assert story.judge(call=call_id).events == (like(ToolBatchStarted, call_ids=(call_id,)),)
        assert [item.call.call_id for item in story.launched] == [call_id]
    story.finish_tools()
    assert story.answer().events == (like(TurnRecorded, input_ids=("i1",)),)


@pytest.mark.requirement("core.recover-never-launched")
def test_when_the_turn_ends_instead_its_unlaunched_calls_are_closed() -> None:
    story = started(OutputFilter.ALL)
    story.when(BeginOutput(token=story.model_token))
    story.drain()
    story.call_tools(2, text="Looking.")
    assert story.state.turn is not None
    open_ids = tuple(item.call.call_id for item in story.state.turn.batch)
    decision = story.crash().start()
    assert decision.events == (like(TurnFailed, closed_call_ids=open_ids, is_person_told=False),)
    closed = [item for item in story.messages if isinstance(item, ToolMessage)]
    assert [item.text for item in closed] == [sentences.CALL_NOT_STARTED] * 2


@pytest.mark.requirement("core.recover-told-once")
def test_the_notice_is_left_out_if_the_drain_already_told_the_person() -> None:
    story = started()
    story.call_tools()
    story.given(story.input(by=BOB))
    story.drain()
    story.finish_tools()
    decision = story.crash().start()
    assert decision.events[0] == like(TurnFailed, input_ids=("i1",), is_person_told=False)
    assert like(ErrorOutput) not in decision.outputs
    assert decision.outputs[0] == like(TurnCompletedOutput, outcome=None)
    assert decision.outbox == ()


@pytest.mark.requirement("core.recover-ends")
@pytest.mark.parametrize("category", [OutcomeCategory.INTERRUPTED, OutcomeCategory.CANCELLED])
def test_a_cancelled_or_interrupted_result_is_not_real(category: OutcomeCategory) -> None:
    story = started()
    story.call_tools()
    story.when(story.tool_ended(category=category))
    assert story.crash().start().events == (like(TurnFailed, closed_call_ids=()),)


def test_an_ordinary_failure_of_a_tool_is_real() -> None:
    story = started()
    story.call_tools()
    story.when(story.tool_ended(category=OutcomeCategory.FAILURE))
    assert story.crash().start().events == (like(Resumed),)


def test_crashes_are_counted_against_the_open_turn_alone() -> None:
    story = started()
    turn = story.state.turn
    assert turn is not None
    story.given(CrashRecorded(exit_status=-9, turn_id=turn.turn_id, attempt=1))
    story.given(CrashRecorded(exit_status=-9, turn_id=None, attempt=2))
    assert story.state.turn == replace(turn, crashes=1)
    story.crash().start()
    assert story.state.turn == like(type(turn), crashes=1)


def test_a_second_recover_changes_nothing() -> None:
    story = started()
    assert story.when(Recover()).events == ()


def test_crash_after_crash_ends_in_the_same_state_as_one() -> None:
    story = started()
    story.call_tools()
    story.crash().start()
    state = replace(story.state, head=0)
    assert story.crash().start().events == ()
    assert replace(story.state, head=0) == state
