"""Stopping at a safe point, and what the person is told."""

from __future__ import annotations

from dataclasses import replace

import pytest

from netclaw.core.errors import ErrorCategory
from netclaw.core.session.after_drain import AfterDrain
from netclaw.core.session.commands import Advance, BeginOutput, Drain, StopTurn, TimerKind
from netclaw.core.session.effects import (
    CancelModel,
    CancelTimer,
    CancelTool,
    ExitProcess,
    RunTool,
    StartTimer,
)
from netclaw.core.session.events import (
    DrainStopped,
    OutboxRow,
    Passivated,
    Resumed,
    RoundRecorded,
    ToolResultRecorded,
    TurnFailed,
    TurnOutcome,
    TurnRecorded,
    TurnStarted,
)
from netclaw.core.session.outputs import (
    ErrorOutput,
    NoticeOutput,
    OutputFilter,
    TextOutput,
    TurnCompletedOutput,
)
from netclaw.core.session.phase import Phase
from netclaw.core.session.sentences import MAYBE_RUN
from netclaw.core.session.state import Runtime
from netclaw.core.tool_call import OutcomeCategory
from netclaw.testing.matchers import containing, like
from netclaw.testing.people import ALICE, BOB
from netclaw.testing.story import Story

GRACE_NOW = like(StartTimer, timer=TimerKind.PASSIVATION_GRACE, after_s=0.0)


def started(interest: OutputFilter = OutputFilter(0)) -> Story:
    story = Story(interest=interest)
    story.start()
    story.admit("question", by=ALICE)
    return story


@pytest.mark.requirement("core.drain-idle")
def test_an_idle_session_passivates_at_once() -> None:
    story = Story()
    story.start()
    decision = story.drain()
    assert decision.effects[-1] == GRACE_NOW
    assert story.runtime.phase is Phase.PASSIVATING
    decision = story.fire(TimerKind.PASSIVATION_GRACE)
    assert decision.events == (Passivated(snapshot_seq=story.state.head),)
    assert decision.needs_snapshot
    assert decision.effects == (ExitProcess(reason="drain"),)


@pytest.mark.requirement("core.drain-safe-point")
def test_a_tool_loop_stops_at_the_batch_boundary_and_resumes_quietly() -> None:
    story = started()
    story.call_tools()
    assert story.drain(budget_s=20.0).effects == (
        like(StartTimer, timer=TimerKind.DRAIN_SAFE_POINT, after_s=19.0),
    )
    decision = story.finish_tools()
    assert decision.events == (
        like(ToolResultRecorded),
        like(DrainStopped, point="batch-boundary", is_restart=True, is_person_told=False),
    )
    assert decision.outbox == ()
    assert decision.effects[-2:] == (CancelTimer(timer=TimerKind.DRAIN_SAFE_POINT), GRACE_NOW)
    story.fire(TimerKind.PASSIVATION_GRACE)
    assert story.crash().start().events == (like(Resumed),)
    assert story.answer().events == (like(TurnRecorded, input_ids=("i1",)),)


@pytest.mark.requirement("core.drain-notice")
@pytest.mark.parametrize(
    ("then", "kind", "why"),
    [
        (AfterDrain.DAEMON_RESTART, "restarting", "netclaw is restarting"),
        (AfterDrain.DAEMON_STOP, "stopping", "netclaw is stopping"),
        (AfterDrain.SESSION_RESTART, "restarting", "This session is restarting"),
    ],
)
def test_a_turn_that_cannot_resume_is_stopped_with_a_notice(
    then: AfterDrain, kind: str, why: str
) -> None:
    story = started()
    story.call_tools()
    story.admit("waiting", by=BOB)
    story.drain(then)
    decision = story.finish_tools()
    assert decision.events[-1] == like(
        DrainStopped, is_restart=then.is_restart, is_person_told=True
    )
    assert decision.outputs[-1] == like(
        NoticeOutput, kind=kind, sentence=containing(why, "may already have run")
    )
    assert decision.outbox == (like(OutboxRow, text=containing(why), input_ids=("i1",)),)


@pytest.mark.requirement("core.drain-notice")
def test_text_already_out_ends_the_turn_with_a_notice_and_no_warning() -> None:
    story = started(OutputFilter.ALL)
    story.when(BeginOutput(token=story.model_token))
    story.drain(budget_s=5.0)
    token = story.model_token
    decision = story.fire(TimerKind.DRAIN_SAFE_POINT)
    assert decision.events == (like(DrainStopped, point="model-call", is_person_told=True),)
    assert CancelModel(token=token) in decision.effects
    notice = decision.outputs[0]
    assert isinstance(notice, NoticeOutput)
    assert "may already" not in notice.sentence


@pytest.mark.requirement("core.drain-safe-point")
def test_a_model_call_that_can_be_repeated_gets_two_seconds() -> None:
    story = started()
    assert story.drain(budget_s=20.0).effects == (like(StartTimer, after_s=2.0),)
    decision = story.fire(TimerKind.DRAIN_SAFE_POINT)
    assert decision.events == (like(DrainStopped, point="model-call", is_person_told=False),)
    story.fire(TimerKind.PASSIVATION_GRACE)
    assert story.crash().start().events == (like(Resumed),)


def test_a_model_call_that_cannot_be_repeated_gets_the_budget() -> None:
    story = started(OutputFilter.ALL)
    story.when(BeginOutput(token=story.model_token))
    assert story.drain(budget_s=20.0).effects == (like(StartTimer, after_s=19.0),)


def test_a_tiny_budget_is_never_negative() -> None:
    story = started()
    assert story.drain(budget_s=0.5).effects == (like(StartTimer, after_s=0.0),)


def test_an_answer_within_the_budget_ends_the_turn_and_then_the_process() -> None:
    story = started()
    story.admit("next", by=BOB)
    story.drain()
    decision = story.answer()
    assert decision.events == (like(TurnRecorded),)
    assert decision.effects[-1] == GRACE_NOW
    assert story.fire(TimerKind.PASSIVATION_GRACE).events == (like(Passivated),)
    assert story.crash().start().events == (like(TurnStarted, input_ids=("i2",)),)


@pytest.mark.requirement("core.drain-before-batch")
def test_calls_that_arrive_while_draining_wait_for_the_next_start() -> None:
    story = started(OutputFilter.TEXT)
    story.drain()
    decision = story.call_tools(2, text="Looking.")
    assert decision.events == (
        like(RoundRecorded, is_text_released=False),
        like(DrainStopped, point="before-batch", is_person_told=False),
    )
    assert like(TextOutput) not in decision.outputs
    assert like(RunTool) not in decision.effects


@pytest.mark.requirement("core.drain-force")
def test_tools_still_running_at_the_end_of_the_budget_are_killed_and_the_person_told() -> None:
    story = started()
    story.call_tools(2)
    story.when(story.tool_ended())
    story.drain()
    late = story.tool_ended(category=OutcomeCategory.CANCELLED)
    running = story.runtime.running[0]
    decision = story.fire(TimerKind.DRAIN_SAFE_POINT)
    assert decision.events == (like(DrainStopped, point="budget", is_person_told=True),)
    assert CancelTool(token=running.token, call_id=running.call_id) in decision.effects
    assert story.when(late).events == ()
    story.fire(TimerKind.PASSIVATION_GRACE)
    healed = story.crash().start()
    assert healed.events == (
        like(ToolResultRecorded),
        like(TurnFailed, is_person_told=False),
    )


@pytest.mark.requirement("core.drain-inputs")
def test_inputs_during_a_drain_are_kept_and_run_after_the_start() -> None:
    story = Story()
    story.start()
    story.drain()
    decision = story.admit("late")
    assert (decision.events, decision.effects) == ((), ())
    assert story.fire(TimerKind.PASSIVATION_GRACE).events == (like(Passivated),)
    assert story.crash().start().events == (like(TurnStarted, input_ids=("i1",)),)


def test_a_drain_before_recovery_starts_no_work() -> None:
    story = started()
    story.crash()
    assert story.drain().effects == ()
    decision = story.start()
    assert decision.events == ()
    assert decision.effects[-1] == GRACE_NOW
    assert story.fire(TimerKind.PASSIVATION_GRACE).events == (like(Passivated),)
    story.runtime = Runtime()
    assert story.start().events == (like(Resumed),)


def test_a_drain_turns_the_grace_of_an_idle_session_into_none() -> None:
    story = Story()
    story.start()
    story.fire(TimerKind.IDLE)
    stale = story.runtime.grace_token
    assert story.drain().effects == (GRACE_NOW,)
    assert story.runtime.grace_token != stale


def test_a_stop_by_the_person_wins_over_the_drain_at_the_boundary() -> None:
    story = started()
    story.call_tools()
    story.when(StopTurn(actor="operator"))
    story.drain()
    decision = story.finish_tools()
    assert decision.events[-1] == like(TurnRecorded, outcome=TurnOutcome.STOPPED)
    assert story.runtime.phase is Phase.PASSIVATING


def test_a_second_drain_says_how_it_ends() -> None:
    story = started()
    story.call_tools()
    story.admit(by=BOB)
    story.drain(AfterDrain.DAEMON_RESTART)
    story.drain(AfterDrain.DAEMON_STOP)
    story.finish_tools()
    assert story.events()[-1] == like(DrainStopped, is_restart=False)


def test_a_stale_safe_point_timer_changes_nothing() -> None:
    story = started()
    story.drain()
    token = story.runtime.drain_token
    story.answer()
    story.runtime = replace(story.runtime, drain_token=token)
    assert story.fire(TimerKind.DRAIN_SAFE_POINT).events == ()


def test_after_the_process_decided_to_exit_nothing_is_decided() -> None:
    story = Story()
    story.start()
    story.drain()
    story.fire(TimerKind.PASSIVATION_GRACE)
    for command in (Advance(), Drain(then=AfterDrain.NOTHING, budget_s=1.0)):
        decision = story.when(command)
        assert (decision.events, decision.effects, decision.runtime) == ((), (), story.runtime)


def ended_by_stop(story: Story) -> None:
    """The turn is over, everybody was told, and the process leaves with nothing open."""
    assert story.state.turn is None
    assert story.runtime.phase is Phase.PASSIVATING
    assert story.fire(TimerKind.PASSIVATION_GRACE).events == (like(Passivated),)


@pytest.mark.requirement("core.drain-nothing-follows")
def test_a_turn_that_could_resume_is_ended_where_nothing_follows() -> None:
    story = started()
    story.drain(AfterDrain.NOTHING)
    token = story.model_token
    decision = story.fire(TimerKind.DRAIN_SAFE_POINT)
    assert decision.events == (
        like(
            TurnFailed,
            category=ErrorCategory.INTERRUPTED,
            input_ids=("i1",),
            note="This session was stopped; the work on this message was stopped before it was"
            " finished.",
        ),
    )
    assert CancelModel(token=token) in decision.effects
    assert decision.outputs[:2] == (
        like(ErrorOutput, input_ids=("i1",), sentence=containing("stopped")),
        like(TurnCompletedOutput, input_ids=("i1",), outcome=None),
    )
    assert decision.outbox == (like(OutboxRow, input_ids=("i1",)),)
    ended_by_stop(story)


@pytest.mark.requirement("core.drain-nothing-follows")
def test_a_stop_ends_the_turn_at_the_batch_boundary_with_a_warning() -> None:
    story = started()
    story.call_tools()
    story.drain(AfterDrain.NOTHING)
    decision = story.finish_tools()
    assert decision.events == (
        like(ToolResultRecorded),
        like(TurnFailed, note=containing("may already have run")),
    )
    ended_by_stop(story)


@pytest.mark.requirement("core.drain-nothing-follows")
def test_a_stop_whose_budget_is_over_closes_the_calls_that_still_run() -> None:
    story = started()
    story.call_tools(2)
    story.when(story.tool_ended())
    story.drain(AfterDrain.NOTHING)
    running = story.runtime.running[0]
    decision = story.fire(TimerKind.DRAIN_SAFE_POINT)
    assert decision.events == (like(ToolResultRecorded), like(TurnFailed, closed_call_ids=()))
    recorded = decision.events[0]
    assert isinstance(recorded, ToolResultRecorded)
    assert recorded.result.receipt.category is OutcomeCategory.INTERRUPTED
    assert CancelTool(token=running.token, call_id=running.call_id) in decision.effects
    ended_by_stop(story)


@pytest.mark.requirement("core.drain-nothing-follows")
def test_calls_that_a_stop_keeps_from_starting_are_closed_with_the_turn() -> None:
    story = started()
    story.drain(AfterDrain.NOTHING)
    decision = story.call_tools(2)
    failed = decision.events[-1]
    assert isinstance(failed, TurnFailed)
    assert MAYBE_RUN not in failed.note
    assert len(failed.closed_call_ids) == 2
    ended_by_stop(story)


@pytest.mark.requirement("core.drain-nothing-follows")
def test_inputs_that_wait_at_a_stop_run_at_the_next_start() -> None:
    story = started()
    story.call_tools()
    story.admit("waiting", by=BOB)
    story.drain(AfterDrain.NOTHING)
    story.finish_tools()
    ended_by_stop(story)
    assert story.crash().start().events == (like(TurnStarted, input_ids=("i2",)),)


@pytest.mark.requirement("core.drain-nothing-follows")
def test_a_stop_during_recovery_ends_the_turn_that_was_open() -> None:
    story = started()
    story.crash()
    story.drain(AfterDrain.NOTHING)
    assert story.start().events == (like(TurnFailed, input_ids=("i1",)),)
    ended_by_stop(story)


@pytest.mark.requirement("core.drain-nothing-follows")
def test_a_stop_after_another_drain_ends_the_turn_that_drain_left_open() -> None:
    story = started()
    story.drain(AfterDrain.SESSION_RESTART)
    story.fire(TimerKind.DRAIN_SAFE_POINT)
    assert story.state.turn is not None
    assert story.drain(AfterDrain.NOTHING).events == (like(TurnFailed, input_ids=("i1",)),)
    ended_by_stop(story)


def test_a_stop_of_the_session_stays_one_when_the_daemon_drains_too() -> None:
    story = started()
    story.drain(AfterDrain.NOTHING)
    story.drain(AfterDrain.DAEMON_STOP)
    assert story.fire(TimerKind.DRAIN_SAFE_POINT).events == (like(TurnFailed),)
