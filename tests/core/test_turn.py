"""The start and the ends of a turn."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest

from netclaw.core.authority import Principal, SourceKind
from netclaw.core.errors import ErrorCategory
from netclaw.core.messages import AssistantMessage, NoteMessage, Usage, UserMessage
from netclaw.core.session import snapshots, turn
from netclaw.core.session.after_drain import AfterDrain
from netclaw.core.session.commands import Advance, FinishReason, StopTurn, TimerKind
from netclaw.core.session.draft import Draft
from netclaw.core.session.effects import (
    CallModel,
    CallTitle,
    CancelModel,
    CancelTimer,
    CancelTool,
    Emit,
    Log,
    StartTimer,
)
from netclaw.core.session.events import (
    OutboxRow,
    ToolResultRecorded,
    TurnFailed,
    TurnOutcome,
    TurnRecorded,
    TurnStarted,
)
from netclaw.core.session.outputs import (
    ErrorOutput,
    ProcessingOutput,
    TextOutput,
    ToolResultOutput,
    TurnCompletedOutput,
    UsageOutput,
)
from netclaw.core.session.phase import Phase
from netclaw.core.session.state import DrainState
from netclaw.core.settings import ModelSettings, ProviderType, SessionSettings
from netclaw.core.tool_call import OutcomeCategory
from netclaw.testing.matchers import containing, like
from netclaw.testing.people import ALICE, OPERATOR, OTHER_THREAD, THREAD, authority
from netclaw.testing.story import SHELL, USAGE, Story
from tests.core.shown import queue


@pytest.mark.requirement("core.turn-start")
def test_an_input_starts_a_turn_and_its_model_call_starts_before_the_commit() -> None:
    story = Story()
    story.start()
    decision = story.admit("hi", by=ALICE)
    assert decision.events == (like(TurnStarted, input_ids=("i1",), authority=ALICE),)
    assert decision.early == (like(CallModel, round=0, token=story.model_token),)
    assert decision.effects == (
        Log(level="debug", text="phase ready -> processing"),
        Emit(output=ProcessingOutput(phase=Phase.PROCESSING, buffered_inputs=0)),
        CancelTimer(timer=TimerKind.IDLE),
    )
    assert story.messages == (like(UserMessage, text="hi", sender="U1", input_id="i1"),)


@pytest.mark.requirement("core.one-turn")
def test_while_a_turn_is_open_an_input_is_buffered_and_runs_next() -> None:
    story = Story()
    story.start()
    story.admit("one")
    waiting = story.admit("two")
    assert (waiting.events, waiting.effects, waiting.early) == ((), (queue(1),), ())
    decision = story.answer("first")
    assert decision.events == (
        like(TurnRecorded, input_ids=("i1",)),
        like(TurnStarted, input_ids=("i2",)),
    )
    assert decision.early == (like(CallModel, token=story.model_token),)
    assert story.runtime.phase is Phase.PROCESSING
    assert [type(item) for item in story.messages] == [UserMessage, AssistantMessage, UserMessage]


@pytest.mark.requirement("core.turn-end")
def test_the_end_of_a_turn_is_one_append_with_its_outputs_and_replies() -> None:
    model = ModelSettings(
        provider="p",
        provider_type=ProviderType.OLLAMA,
        endpoint="http://localhost",
        model_id="m",
        context_window=4096,
    )
    story = Story(settings=SessionSettings(main_model=model))
    story.start()
    story.admit(by=ALICE)
    decision = story.when(story.answered("fine", thinking="hm"))
    assert decision.events == (
        like(
            TurnRecorded,
            outcome=TurnOutcome.COMPLETED,
            usage=USAGE,
            model="test-model",
            input_ids=("i1",),
            context_tokens=100,
            note="",
        ),
    )
    turn_id = story.make_id.made[1]
    assert decision.outputs == (
        TextOutput(turn_id=turn_id, text="fine", round=0),  # type: ignore[arg-type]
        like(UsageOutput, usage=USAGE, context_window=4096, context_tokens=USAGE.input_tokens),
        like(TurnCompletedOutput, input_ids=("i1",), outcome=TurnOutcome.COMPLETED),
    )
    assert decision.outbox == (like(OutboxRow, target=THREAD, text="fine", input_ids=("i1",)),)
    assert decision.effects == (
        Log(level="debug", text="phase processing -> ready"),
        Emit(output=ProcessingOutput(phase=Phase.READY, buffered_inputs=0)),
        like(StartTimer, timer=TimerKind.IDLE, after_s=3600.0),
        like(CallTitle),
    )
    assert story.state.last_input_tokens == 100
    assert story.state.turns == 1


def test_without_a_model_the_window_is_unknown() -> None:
    story = Story()
    story.start()
    story.admit()
    assert like(UsageOutput, context_window=0) in story.answer().outputs


@pytest.mark.requirement("core.delivery-targets")
def test_a_reply_goes_once_to_each_target_of_the_inputs_of_the_turn() -> None:
    def alice(*addresses: object) -> object:
        return authority("U1", Principal.TRUSTED, source=SourceKind.SLACK, targets=addresses)  # type: ignore[arg-type]

    story = Story()
    story.start()
    story.admit(by=alice(THREAD))  # type: ignore[arg-type]
    story.call_tools()
    story.admit(by=alice(OTHER_THREAD, THREAD))  # type: ignore[arg-type]
    story.finish_tools()
    assert story.answer("both").outbox == (
        like(OutboxRow, target=THREAD, input_ids=("i1", "i2")),
        like(OutboxRow, target=OTHER_THREAD, input_ids=("i2",)),
    )


@pytest.mark.requirement("core.turn-failed")
def test_a_failed_turn_consumes_its_inputs_and_tells_the_person() -> None:
    story = Story()
    story.start()
    story.admit("doomed", by=ALICE)
    decision = story.when(story.failed())
    assert decision.events == (
        like(
            TurnFailed,
            category=ErrorCategory.TIMEOUT,
            reference="ref12345",
            note="The model fell silent.",
            input_ids=("i1",),
            is_person_told=True,
        ),
    )
    assert decision.outputs == (
        like(ErrorOutput, category=ErrorCategory.TIMEOUT, input_ids=("i1",)),
        like(TurnCompletedOutput, input_ids=("i1",), outcome=None),
    )
    assert decision.outbox == (
        like(OutboxRow, text="The model fell silent. (Timeout, reference ref12345)"),
    )
    assert story.runtime.phase is Phase.READY
    assert story.messages == (
        like(UserMessage, text="doomed"),
        like(NoteMessage, text=containing("without an answer", "Timeout")),
    )


@pytest.mark.requirement("core.turn-failed")
def test_after_a_failed_turn_buffered_input_runs_next() -> None:
    story = Story()
    story.start()
    story.admit("one")
    story.admit("two")
    decision = story.when(story.failed())
    assert decision.events == (like(TurnFailed), like(TurnStarted, input_ids=("i2",)))
    assert story.answer().events == (like(TurnRecorded, input_ids=("i2",)),)


@pytest.mark.requirement("core.late-results")
def test_a_late_result_of_an_older_model_call_changes_nothing() -> None:
    story = Story()
    story.start()
    story.admit()
    late_end, late_failure = story.answered("late"), story.failed()
    story.answer()
    story.admit()
    before = story.runtime
    for command in (late_end, late_failure):
        decision = story.when(command)
        assert (decision.events, decision.effects, decision.runtime) == ((), (), before)


@pytest.mark.requirement("core.stop-turn")
def test_stop_during_a_model_call_ends_the_turn_at_once_without_an_error() -> None:
    story = Story()
    story.start()
    story.admit(by=ALICE)
    token = story.model_token
    decision = story.when(StopTurn(actor="operator"))
    assert decision.events == (like(TurnRecorded, outcome=TurnOutcome.STOPPED, input_ids=("i1",)),)
    assert CancelModel(token=token) in decision.effects
    assert Log(level="info", text="turn stopped by operator") in decision.effects
    assert decision.outputs[-1] == like(TurnCompletedOutput, outcome=TurnOutcome.STOPPED)
    assert like(ErrorOutput) not in decision.outputs
    assert decision.outbox == ()
    assert story.runtime.phase is Phase.READY
    assert story.messages[-1] == like(NoteMessage, text=containing("stopped"))


@pytest.mark.requirement("core.stop-turn")
def test_stop_during_a_batch_kills_the_tools_and_ends_at_the_boundary() -> None:
    story = Story()
    story.start()
    story.admit()
    story.call_tools(2)
    decision = story.when(StopTurn(actor="operator"))
    assert decision.events == ()
    assert [item for item in decision.effects if isinstance(item, CancelTool)] == [
        like(CancelTool, call_id=tool.call_id) for tool in story.runtime.running
    ]
    assert story.when(StopTurn(actor="operator")).effects == ()
    story.when(story.tool_ended(category=OutcomeCategory.CANCELLED))
    assert story.state.turn is not None
    decision = story.when(story.tool_ended(category=OutcomeCategory.CANCELLED))
    assert decision.events == (
        like(ToolResultRecorded),
        like(TurnRecorded, outcome=TurnOutcome.STOPPED),
    )
    assert decision.outputs[0] == like(ToolResultOutput, outcome=OutcomeCategory.CANCELLED)


def test_a_stop_ends_one_turn_and_not_the_next() -> None:
    story = Story()
    story.start()
    story.admit("one")
    story.admit("two")
    story.call_tools()
    story.when(StopTurn(actor="operator"))
    story.finish_tools()
    story.call_tools()
    assert story.finish_tools().effects == (like(CallModel, round=1),)


@pytest.mark.requirement("core.late-results")
def test_a_doubled_end_of_a_model_call_counts_once() -> None:
    story = Story()
    story.start()
    story.admit()
    ended = story.answered(calls=(SHELL,))
    story.when(ended)
    assert story.when(ended).events == ()
    assert story.when(story.failed(token=ended.token)).events == ()


@pytest.mark.requirement("core.drain-inputs")
def test_no_turn_starts_while_draining() -> None:
    story = Story()
    story.given(story.input())
    draft = Draft(
        story.state,
        replace(story.runtime, phase=Phase.READY, drain=DrainState(then=AfterDrain.DAEMON_STOP)),
        now_ms=0,
        make_id=story.make_id,
        settings=story.settings,
        redact=str,
    )
    turn.start_next(draft)
    assert draft.decision().events == ()


def test_stop_with_no_turn_changes_nothing() -> None:
    story = Story()
    story.start()
    assert story.when(StopTurn(actor="operator")).effects == ()


def test_usage_adds_up_over_the_rounds_of_a_turn() -> None:
    story = Story()
    story.start()
    story.admit()
    first = Usage(input_tokens=1, output_tokens=2, cached_input_tokens=3, reasoning_tokens=4)
    story.call_tools()
    story.finish_tools()
    decision = story.when(story.answered("x", usage=first))
    assert decision.events == (like(TurnRecorded, usage=USAGE.plus(first), context_tokens=1),)


@pytest.mark.requirement("core.snapshots")
def test_a_snapshot_is_asked_for_every_twenty_events() -> None:
    story = Story()
    story.start()
    asked = [0]
    for _ in range(40):
        decisions = (story.admit(), story.answer())
        asked.extend(item.runtime.snapshot_seq for item in decisions if item.needs_snapshot)
    gaps = [after - before for before, after in pairwise(asked)]
    assert len(gaps) > 3
    assert all(20 <= gap <= 21 for gap in gaps)


@pytest.mark.requirement("core.snapshots-linear")
@pytest.mark.parametrize(
    ("base", "snapshot_bytes", "events"),
    [
        (20, 0, 20),
        (20, 80 * 1024, 20),
        (20, 1 << 20, 256),
        (20, 10 << 20, 2560),
        (500, 1 << 20, 500),
    ],
)
def test_a_larger_state_is_stored_more_seldom(base: int, snapshot_bytes: int, events: int) -> None:
    assert snapshots.interval(base, snapshot_bytes) == events


@pytest.mark.requirement("core.snapshots-linear")
def test_the_bytes_of_all_snapshots_grow_with_the_journal_and_not_with_its_square() -> None:
    def written(turns: int) -> int:
        story = Story()
        story.start()
        total = 0
        for _ in range(turns):
            for decision in (story.admit("q" * 500), story.answer("a" * 500)):
                if decision.needs_snapshot:
                    size = sum(len(item.text) for item in story.state.history)
                    total += size
                    story.runtime = replace(story.runtime, snapshot_bytes=size)
        return total

    few, many = written(800), written(1600)
    assert many < 3 * few
    assert many < 1600 * 3 * snapshots.BYTES_PER_EVENT


def test_advance_with_nothing_to_do_changes_nothing() -> None:
    story = Story()
    story.start()
    decision = story.when(Advance())
    assert (decision.events, decision.effects) == ((), ())


def test_an_answer_is_recorded_as_the_operator_gets_it() -> None:
    story = Story()
    story.start()
    story.admit("q", by=OPERATOR)
    decision = story.when(story.answered("  text kept as it is\n", finish=FinishReason.STOP))
    assert decision.outputs[0] == like(TextOutput, text="  text kept as it is\n")
    assert decision.outbox == ()
