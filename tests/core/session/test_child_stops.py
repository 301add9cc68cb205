"""What sleeping, draining and crashing of a session do to its child runs."""

from __future__ import annotations

import pytest

from netclaw.core.session.after_drain import AfterDrain
from netclaw.core.session.child_commands import BeginChild, CancelChild
from netclaw.core.session.child_effects import (
    ChildAnswer,
    CloseChild,
    DrainChild,
    KillChild,
    StartChild,
    WatchChild,
)
from netclaw.core.session.child_events import (
    ChildEnded,
    ChildParked,
    ChildResultDelivered,
    ChildResumed,
    ChildState,
    ParkKind,
)
from netclaw.core.session.commands import FireTimer, Passivate, TimerKind
from netclaw.core.session.drain import CHILD_EXTRA_S
from netclaw.core.session.effects import CancelTimer, ExitProcess, StartTimer
from netclaw.core.session.events import (
    DrainStopped,
    Passivated,
    Resumed,
    TurnFailed,
    TurnRecorded,
    TurnStarted,
)
from netclaw.core.session.open_work import holds_session
from netclaw.core.session.phase import Phase
from netclaw.core.session.runnable import has_runnable_work
from netclaw.testing.matchers import like
from netclaw.testing.people import ALICE, REMINDER
from tests.core.session.runs import (
    end_run,
    park,
    phase_of,
    resting,
    run_of,
    spawn,
    working,
)

# Sleep


@pytest.mark.requirement("child.passivate-open")
def test_an_open_run_keeps_the_session_up_until_its_result_was_told() -> None:
    story = resting()
    assert story.runtime.idle_token == "", "no idle time runs while the run is at work"
    assert holds_session(story.state)
    story.when(Passivate(reason="room"))
    assert phase_of(story) is Phase.READY
    end_run(story)
    decision = story.answer()
    assert like(StartTimer, timer=TimerKind.IDLE) in decision.effects
    assert not holds_session(story.state)
    story.when(Passivate(reason="room"))
    assert phase_of(story) is Phase.PASSIVATING


@pytest.mark.requirement("child.passivate-open")
def test_an_idle_timer_of_before_ends_nothing() -> None:
    story = resting()
    park(story, "c1")
    token = story.runtime.idle_token
    story.choose(call=run_of(story).requests[0].request.call_id, by=ALICE)
    decision = story.when(FireTimer(timer=TimerKind.IDLE, token=token))
    assert decision.effects == ()
    assert phase_of(story) is Phase.READY


@pytest.mark.requirement("child.passivate-open")
def test_an_unreported_result_holds_the_session_in_the_pause() -> None:
    story = resting(runs=2)
    park(story, "c1", position=0)
    end_run(story, 1)
    assert holds_session(story.state)
    assert story.runtime.idle_token == ""


# Drain


@pytest.mark.requirement("child.stop-parks")
@pytest.mark.parametrize("reason", AfterDrain)
def test_a_run_parks_for_the_reason_of_its_session(reason: AfterDrain) -> None:
    is_stop = reason is AfterDrain.NOTHING
    then = AfterDrain.PARENT_STOP if is_stop else reason
    assert like(DrainChild, then=then) in resting().drain(reason).effects


@pytest.mark.requirement("child.drain-park")
def test_a_drain_parks_the_runs_at_work_and_waits_for_them() -> None:
    story = resting(runs=2)
    first, second = run_of(story, 0).run_id, run_of(story, 1).run_id
    decision = story.drain(budget_s=38.0)
    assert decision.effects == (
        like(DrainChild, run_id=first, start=1, budget_s=37.0),
        like(DrainChild, run_id=second, start=1, budget_s=37.0),
        like(StartTimer, timer=TimerKind.CHILD_DRAIN, after_s=37.0),
    )
    assert phase_of(story) is Phase.READY
    decision = park(story, position=0)
    assert decision.events == (ChildParked(run_id=first, kind=ParkKind.DRAIN),)
    assert phase_of(story) is Phase.READY
    decision = park(story, position=1)
    assert decision.events == (ChildParked(run_id=second, kind=ParkKind.DRAIN),)
    assert CancelTimer(timer=TimerKind.CHILD_DRAIN) in decision.effects
    assert story.fire(TimerKind.PASSIVATION_GRACE).events == (like(Passivated),)


@pytest.mark.requirement("child.drain-park")
def test_a_run_parked_by_a_drain_goes_on_at_the_next_start_with_a_model_call() -> None:
    story = resting()
    run_id = run_of(story).run_id
    story.drain()
    park(story)
    story.fire(TimerKind.PASSIVATION_GRACE)
    assert has_runnable_work(story.state)
    story.crash()
    decision = story.start()
    assert decision.events == (ChildResumed(run_id=run_id),)
    assert StartChild(run_id=run_id, start=2) in decision.effects
    assert run_of(story).accepted.authority == ALICE


@pytest.mark.requirement("child.drain-lost")
def test_a_run_that_does_not_park_in_time_is_lost_and_its_tools_do_not_run_again() -> None:
    story = resting()
    run_id = run_of(story).run_id
    story.drain()
    decision = story.fire(TimerKind.CHILD_DRAIN)
    assert decision.events == (
        ChildEnded(run_id=run_id, state=ChildState.LOST, reason="owner_restarted"),
    )
    assert decision.effects[0] != like(StartChild)
    assert KillChild(run_id=run_id) in decision.effects
    assert phase_of(story) is Phase.PASSIVATING
    assert park(story).events == (), "too late"
    story.fire(TimerKind.PASSIVATION_GRACE)
    assert has_runnable_work(story.state)
    story.crash()
    decision = story.start()
    assert decision.events == (like(TurnStarted, input_ids=()), like(ChildResultDelivered))
    assert like(StartChild) not in decision.effects


@pytest.mark.requirement("child.drain-lost")
def test_a_run_that_is_being_cancelled_is_cancelled_then() -> None:
    story = resting()
    run_id = run_of(story).run_id
    story.when(CancelChild(run_id=run_id, actor="U1", authority=ALICE))
    story.drain()
    assert story.fire(TimerKind.CHILD_DRAIN).events[-1] == like(
        ChildEnded, state=ChildState.CANCELLED
    )


def test_an_old_timer_of_a_drain_loses_nothing() -> None:
    story = resting()
    story.drain()
    old = story.runtime.child_drain_token
    park(story)
    assert story.runtime.child_drain_token == ""
    assert story.when(FireTimer(timer=TimerKind.CHILD_DRAIN, token=old)).events == ()


@pytest.mark.requirement("child.drain-park")
def test_turn_and_runs_stop_each_at_its_own_safe_point() -> None:
    story = working()
    spawn(story)
    story.drain()
    decision = story.finish_tools()
    assert decision.events[-1] == like(DrainStopped)
    assert phase_of(story) is Phase.READY, "the run is not parked yet"
    park(story)
    assert phase_of(story) is Phase.PASSIVATING
    story.fire(TimerKind.PASSIVATION_GRACE)
    story.crash()
    assert story.start().events == (like(ChildResumed), like(Resumed))


@pytest.mark.requirement("child.drain-park")
def test_a_run_that_parks_first_waits_for_the_turn() -> None:
    story = working()
    spawn(story)
    story.drain()
    park(story)
    assert phase_of(story) is Phase.PROCESSING
    story.finish_tools()
    assert phase_of(story) is Phase.PASSIVATING


@pytest.mark.requirement("child.drain-park")
def test_a_run_that_parks_for_consent_in_a_drain_waits_for_its_answer() -> None:
    story = resting()
    story.drain()
    decision = park(story, "c1")
    assert decision.events[-1] == like(ChildParked, kind=ParkKind.CONSENT)
    assert phase_of(story) is Phase.PASSIVATING
    story.fire(TimerKind.PASSIVATION_GRACE)
    assert not has_runnable_work(story.state)


@pytest.mark.requirement("child.drain-park")
def test_an_unattended_run_that_asks_in_a_drain_goes_on_at_the_next_start() -> None:
    story = resting(REMINDER)
    story.drain()
    park(story, "c1")
    assert run_of(story).park is ParkKind.CONSENT
    story.fire(TimerKind.PASSIVATION_GRACE)
    assert has_runnable_work(story.state)
    story.crash()
    answers = (
        ChildAnswer(
            call_id=run_of(story).requests[0].request.call_id, option="refuse", answerer=""
        ),
    )
    assert (
        StartChild(run_id=run_of(story).run_id, start=2, answers=answers) in story.start().effects
    )


@pytest.mark.requirement("child.stop-parks")
def test_the_stop_of_a_session_parks_its_runs_and_ends_none() -> None:
    story = resting()
    story.drain(AfterDrain.NOTHING)
    park(story)
    assert story.fire(TimerKind.PASSIVATION_GRACE).effects == (ExitProcess(reason="drain"),)
    story.given(story.input(by=ALICE))
    story.crash()
    assert story.start().events == (like(ChildResumed), like(TurnStarted))


@pytest.mark.requirement("child.stop-parks")
def test_a_stop_ends_the_open_turn_and_still_waits_for_the_runs() -> None:
    story = working()
    spawn(story)
    story.drain(AfterDrain.NOTHING)
    assert story.finish_tools().events[-1] == like(TurnFailed)
    assert phase_of(story) is Phase.READY
    park(story)
    assert phase_of(story) is Phase.PASSIVATING


@pytest.mark.requirement("child.drain-park")
def test_a_run_that_parks_without_a_drain_goes_on_at_once() -> None:
    story = resting()
    decision = park(story)
    assert decision.events == (like(ChildParked), like(ChildResumed))
    assert like(StartChild, start=2) in decision.effects


@pytest.mark.requirement("child.drain-budget")
def test_every_budget_is_eighteen_seconds_longer_with_a_run_at_work() -> None:
    assert CHILD_EXTRA_S == 18.0


# Crash


@pytest.mark.requirement("child.heal")
def test_runs_at_work_are_watched_again_and_new_ones_are_started() -> None:
    story = working(calls=3)
    seen, unseen = spawn(story, 0), spawn(story, 1, begins=False)
    cancelled = spawn(story, 2)
    story.when(CancelChild(run_id=cancelled, actor="U1", authority=ALICE))
    story.crash()
    effects = story.start().effects
    assert WatchChild(run_id=seen, start=1) in effects
    assert StartChild(run_id=unseen, start=1) in effects
    assert WatchChild(run_id=cancelled, start=1) in effects
    assert CloseChild(run_id=cancelled) in effects
    assert has_runnable_work(story.state)


@pytest.mark.requirement("child.heal")
def test_a_start_that_is_drained_at_once_starts_no_run() -> None:
    story = resting()
    run_id = run_of(story).run_id
    story.crash()
    assert like(DrainChild, run_id=run_id, start=1, budget_s=19.0) in story.drain().effects
    decision = story.start()
    assert phase_of(story) is Phase.READY
    assert not any(isinstance(item, StartChild | WatchChild) for item in decision.effects)
    assert park(story).events == (like(ChildParked, kind=ParkKind.DRAIN),)
    assert phase_of(story) is Phase.PASSIVATING


@pytest.mark.requirement("child.heal")
def test_a_run_that_ends_while_the_session_sleeps_is_told_when_it_reports() -> None:
    story = resting()
    story.when(BeginChild(run_id=run_of(story).run_id, start=1))
    story.crash()
    story.start()
    assert end_run(story).events[1:] == (like(TurnStarted), like(ChildResultDelivered))
    assert story.answer().events == (like(TurnRecorded),)
