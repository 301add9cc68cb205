"""Compactions that something crosses: a turn's tool loop, an overflow, a drain, a stop, a kill."""

from __future__ import annotations

from dataclasses import replace

import pytest

from netclaw.core.errors import ErrorCategory
from netclaw.core.messages import (
    ToolMessage,
)
from netclaw.core.session import sentences
from netclaw.core.session.commands import (
    StopTurn,
    TimerKind,
)
from netclaw.core.session.compaction_state import Trigger
from netclaw.core.session.effects import (
    CallModel,
    CancelSidecar,
    CancelTimer,
    StartTimer,
)
from netclaw.core.session.events import (
    Compacted,
    DrainStopped,
    InputJoined,
    Passivated,
    TurnFailed,
    TurnOutcome,
    TurnRecorded,
)
from netclaw.core.session.phase import Phase
from netclaw.testing.matchers import like
from netclaw.testing.people import ALICE, OPERATOR
from netclaw.testing.story import SHELL, Story
from tests.core.session.compactions import (
    FULL,
    compacting,
    in_tool_loop,
    notes,
    phase_of,
    run_of,
    story,
)


@pytest.mark.requirement("compaction.tool-loop")
def test_a_round_above_the_threshold_compacts_before_the_next_call() -> None:
    told = in_tool_loop()
    turn = told.state.turn
    told.when(told.tool_ended())
    assert phase_of(told) is Phase.COMPACTING
    assert told.runtime.model_token is None
    decision = notes(told)
    assert phase_of(told) is Phase.PROCESSING
    (call,) = (item for item in decision.effects if isinstance(item, CallModel))
    assert turn is not None
    assert (call.turn_id, call.round) == (turn.turn_id, 2)
    assert isinstance(told.messages[-1], ToolMessage)
    assert told.state.turn == replace(told.state.turn or turn)
    told.answer()
    assert told.events()[-1] == like(TurnRecorded, input_ids=turn.input_ids)


@pytest.mark.requirement("compaction.tool-loop")
def test_whoever_writes_meanwhile_joins_after_it() -> None:
    told = in_tool_loop()
    told.when(told.tool_ended())
    told.admit("and this", by=OPERATOR)
    decision = notes(told)
    assert [type(item) for item in decision.events] == [Compacted, InputJoined]


@pytest.mark.requirement("compaction.tool-loop")
def test_nothing_to_gain_in_a_tool_loop_goes_on() -> None:
    told = story(turns=0)
    told.admit("work")
    told.when(replace(told.answered(calls=(SHELL,)), usage=FULL))
    decision = told.when(told.tool_ended())
    assert phase_of(told) is Phase.PROCESSING
    assert any(isinstance(item, CallModel) for item in decision.effects)


@pytest.mark.requirement("compaction.too-large")
def test_what_cannot_fit_fails_the_turn_in_a_tool_loop() -> None:
    told = story(turns=0)
    told.admit("work")
    told.when(replace(told.answered(calls=(SHELL,)), usage=FULL))
    told.when(told.tool_ended(text="r" * 60_000))
    failed = told.events()[-1]
    assert isinstance(failed, TurnFailed)
    assert failed.category is ErrorCategory.INPUT_COMPATIBILITY
    assert failed.note.startswith("The result of a call to shell_execute is too large")
    assert phase_of(told) is not Phase.PROCESSING


@pytest.mark.requirement("compaction.overflow")
def test_an_overflow_compacts_and_replays_the_same_call() -> None:
    told = story()
    told.admit("too much", by=ALICE)
    turn = told.state.turn
    told.when(replace(told.failed(), is_context_overflow=True))
    assert phase_of(told) is Phase.COMPACTING
    assert run_of(told).trigger is Trigger.OVERFLOW
    decision = notes(told)
    (call,) = (item for item in decision.effects if isinstance(item, CallModel))
    assert turn is not None
    assert (call.turn_id, call.round) == (turn.turn_id, 0)
    assert told.state.turn == turn
    told.answer()
    assert told.events()[-1] == like(
        TurnRecorded, input_ids=turn.input_ids, outcome=TurnOutcome.COMPLETED
    )


@pytest.mark.requirement("compaction.overflow")
def test_an_overflow_that_nothing_helps_fails_the_turn_naming_the_message() -> None:
    told = story(turns=0)
    told.admit("y" * 30_000)
    told.when(replace(told.failed(), is_context_overflow=True))
    failed = told.events()[-1]
    assert isinstance(failed, TurnFailed)
    assert failed.category is ErrorCategory.INPUT_COMPATIBILITY
    assert failed.note.startswith("This message is too large")
    told.admit("short")
    told.when(replace(told.failed(), is_context_overflow=True))
    assert phase_of(told) is Phase.COMPACTING
    notes(told)
    assert "short" in [item.text for item in told.messages]
    assert all(len(item.text) < 5000 for item in told.messages)


@pytest.mark.requirement("compaction.overflow")
def test_an_overflow_without_a_known_window_is_a_failed_call() -> None:
    told = Story()
    told.start()
    told.admit()
    told.when(replace(told.failed(), is_context_overflow=True))
    assert told.events()[-1] == like(TurnFailed, category=ErrorCategory.TIMEOUT)


@pytest.mark.requirement("compaction.overflow")
def test_an_overflow_while_draining_waits_for_the_next_start() -> None:
    told = story()
    told.admit("too much")
    told.drain()
    told.when(replace(told.failed(), is_context_overflow=True))
    assert told.events()[-1] == like(DrainStopped, point="model-call")
    assert phase_of(told) is Phase.PASSIVATING


@pytest.mark.requirement("compaction.stops")
def test_a_drain_lets_it_finish_within_the_budget() -> None:
    told = compacting()
    decision = told.drain(budget_s=20.0)
    (timer,) = (item for item in decision.effects if isinstance(item, StartTimer))
    assert (timer.timer, timer.after_s) == (TimerKind.DRAIN_SAFE_POINT, 19.0)
    decision = notes(told)
    assert isinstance(decision.events[0], Compacted)
    assert CancelTimer(timer=TimerKind.DRAIN_SAFE_POINT) in decision.effects
    assert phase_of(told) is Phase.PASSIVATING
    told.fire(TimerKind.PASSIVATION_GRACE)
    assert isinstance(told.events()[-1], Passivated)


@pytest.mark.requirement("compaction.stops")
def test_a_drain_that_runs_out_of_budget_finishes_it_without_notes() -> None:
    told = compacting()
    token = run_of(told).token
    told.drain()
    decision = told.fire(TimerKind.DRAIN_SAFE_POINT)
    assert CancelSidecar(token=token) in decision.effects
    assert decision.events == (like(Compacted, notes=sentences.NO_NOTES),)
    assert phase_of(told) is Phase.PASSIVATING


@pytest.mark.requirement("compaction.stops")
@pytest.mark.parametrize("overflow", [True, False])
def test_a_drain_inside_a_turn_stops_it_once_it_is_compacted(overflow: bool) -> None:
    if overflow:
        told = story()
        told.admit("too much")
        told.when(replace(told.failed(), is_context_overflow=True))
    else:
        told = in_tool_loop()
        told.when(told.tool_ended())
    told.drain()
    decision = notes(told)
    point = "compaction" if overflow else "batch-boundary"
    assert decision.events == (like(Compacted), like(DrainStopped, point=point))
    assert phase_of(told) is Phase.PASSIVATING
    told.crash().start()
    assert phase_of(told) is Phase.PROCESSING
    assert told.runtime.model_token


@pytest.mark.requirement("compaction.stops")
def test_a_person_who_stops_the_turn_stops_its_compaction() -> None:
    told = in_tool_loop()
    told.when(told.tool_ended())
    token = run_of(told).token
    decision = told.when(StopTurn(actor="me"))
    assert CancelSidecar(token=token) in decision.effects
    assert decision.events[0] == like(TurnRecorded, outcome=TurnOutcome.STOPPED)
    assert not any(isinstance(item, Compacted) for item in decision.events)
    resting = compacting()
    assert resting.when(StopTurn(actor="me")).events == ()
    assert phase_of(resting) is Phase.COMPACTING


@pytest.mark.requirement("compaction.killed")
@pytest.mark.parametrize("where", ["rest", "loop", "overflow"])
def test_a_killed_compaction_leaves_no_trace_and_starts_over(where: str) -> None:
    if where == "rest":
        told = compacting()
    elif where == "loop":
        told = in_tool_loop()
        told.when(told.tool_ended())
    else:
        told = story()
        told.admit("too much")
        told.when(replace(told.failed(), is_context_overflow=True))
    assert not any(isinstance(item, Compacted) for item in told.events())
    told.crash().start()
    if where == "overflow":
        told.when(replace(told.failed(), is_context_overflow=True))
    assert phase_of(told) is Phase.COMPACTING
    notes(told)
    assert sum(isinstance(item, Compacted) for item in told.events()) == 1
