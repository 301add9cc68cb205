"""Winding an idle session down, and everything that keeps it up."""

from __future__ import annotations

import pytest

from netclaw.core.session.commands import (
    Advance,
    ChangeInterest,
    FireTimer,
    Passivate,
    TimerKind,
)
from netclaw.core.session.effects import CancelTimer, Emit, ExitProcess, StartTimer
from netclaw.core.session.events import Passivated, TurnStarted
from netclaw.core.session.outputs import OutputFilter, ProcessingOutput
from netclaw.core.session.phase import Phase
from netclaw.core.settings import SessionSettings, SessionTuning
from netclaw.testing.matchers import like
from netclaw.testing.people import ALICE
from netclaw.testing.story import Story
from tests.core.session.consents import parked


def ready(idle_s: float = 3600.0) -> Story:
    story = Story(settings=SessionSettings(tuning=SessionTuning(idle_s=idle_s)))
    story.start()
    return story


@pytest.mark.requirement("core.passivate-idle")
def test_an_idle_session_winds_down_with_five_seconds_of_grace() -> None:
    story = ready()
    decision = story.fire(TimerKind.IDLE)
    assert decision.events == ()
    assert decision.effects[1:] == (
        Emit(output=ProcessingOutput(phase=Phase.PASSIVATING, buffered_inputs=0)),
        CancelTimer(timer=TimerKind.IDLE),
        like(StartTimer, timer=TimerKind.PASSIVATION_GRACE, after_s=5.0),
    )
    decision = story.fire(TimerKind.PASSIVATION_GRACE)
    assert decision.events == (Passivated(snapshot_seq=2),)
    assert decision.needs_snapshot
    assert decision.effects == (ExitProcess(reason="idle"),)
    assert story.state.is_passivated
    assert story.state.head == 2


@pytest.mark.requirement("core.passivate-abort")
def test_an_input_during_the_grace_aborts_and_runs() -> None:
    story = ready()
    story.fire(TimerKind.IDLE)
    stale = story.runtime.grace_token
    decision = story.admit()
    assert decision.events == (like(TurnStarted, input_ids=("i1",)),)
    assert CancelTimer(timer=TimerKind.PASSIVATION_GRACE) in decision.effects
    late = story.when(FireTimer(timer=TimerKind.PASSIVATION_GRACE, token=stale))
    assert (late.events, late.effects) == ((), ())


@pytest.mark.requirement("core.passivate-race")
def test_an_input_that_races_the_commit_wins_when_it_is_decided_again() -> None:
    story = ready()
    story.fire(TimerKind.IDLE)
    command = FireTimer(timer=TimerKind.PASSIVATION_GRACE, token=story.runtime.grace_token)
    assert story.ask(command).events == (like(Passivated),)
    story.given(story.input("just in time"))
    assert story.when(command).events == (like(TurnStarted, input_ids=("i1",)),)


def test_the_idle_timer_that_races_an_input_starts_its_turn() -> None:
    story = ready()
    story.given(story.input())
    assert story.fire(TimerKind.IDLE).events == (like(TurnStarted),)


@pytest.mark.requirement("core.passivate-disabled")
def test_an_idle_timeout_of_zero_means_never() -> None:
    assert like(StartTimer) not in ready(idle_s=0.0).last.effects


@pytest.mark.requirement("core.idle-timer")
@pytest.mark.requirement("upstream.idle-timer")
def test_only_work_touches_the_idle_timer() -> None:
    story = ready()
    token = story.runtime.idle_token
    story.when(Advance())
    story.when(ChangeInterest(interest=OutputFilter.ALL))
    assert story.runtime.idle_token == token
    assert story.runtime.interest is OutputFilter.ALL
    story.admit()
    assert story.runtime.idle_token == ""
    story.answer()
    assert story.runtime.idle_token not in ("", token)


@pytest.mark.requirement("core.idle-timer")
def test_work_that_begins_and_ends_in_one_decision_touches_it_too() -> None:
    story = parked(2)
    token = story.runtime.idle_token
    decision = story.choose("refuse", by=ALICE)
    assert story.runtime.phase is Phase.READY, "it waits for the other answer"
    assert story.runtime.idle_token not in ("", token)
    assert like(StartTimer, timer=TimerKind.IDLE) in decision.effects


def test_a_stale_idle_timer_changes_nothing() -> None:
    story = ready()
    token = story.runtime.idle_token
    story.admit()
    assert story.when(FireTimer(timer=TimerKind.IDLE, token=token)).effects == ()
    assert story.when(FireTimer(timer=TimerKind.IDLE, token="")).effects == ()


@pytest.mark.requirement("core.passivate-request")
def test_a_request_to_passivate_needs_no_grace() -> None:
    story = ready()
    decision = story.when(Passivate(reason="operator"))
    assert decision.effects[-1] == like(StartTimer, after_s=0.0)
    assert story.fire(TimerKind.PASSIVATION_GRACE).effects == (ExitProcess(reason="operator"),)


def test_a_request_to_passivate_shortens_a_grace_that_is_running() -> None:
    story = ready()
    story.fire(TimerKind.IDLE)
    assert story.when(Passivate(reason="room")).effects == (like(StartTimer, after_s=0.0),)


@pytest.mark.requirement("core.passivate-request")
def test_a_busy_session_does_not_passivate_on_request() -> None:
    story = ready()
    story.admit()
    assert story.when(Passivate(reason="room")).effects == ()
    story.answer()
    story.given(story.input())
    assert story.when(Passivate(reason="room")).effects == ()
    story.when(Advance())
    story.answer()
    story.drain()
    assert story.when(Passivate(reason="room")).effects == ()


def test_passivated_is_forgotten_by_the_next_event() -> None:
    story = ready()
    story.fire(TimerKind.IDLE)
    story.fire(TimerKind.PASSIVATION_GRACE)
    story.given(story.input())
    assert not story.state.is_passivated
    assert story.crash().start().events == (like(TurnStarted),)
