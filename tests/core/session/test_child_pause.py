"""Consent requests of child runs: parked, asked for, answered, and the pause of the session."""

from __future__ import annotations

from dataclasses import replace

import pytest

from netclaw.core.authority import Authority
from netclaw.core.ids import CallId
from netclaw.core.session.child_commands import BeginChild, CancelChild, ChildAsk, ParkChild
from netclaw.core.session.child_effects import (
    AcknowledgeChild,
    ChildAnswer,
    RefuseSpawn,
    ReportKind,
    SpawnRefusal,
    StartChild,
)
from netclaw.core.session.child_events import (
    ChildParked,
    ChildResumed,
    ChildStarted,
    ChildState,
    ParkKind,
)
from netclaw.core.session.commands import Advance, FireTimer, TimerKind
from netclaw.core.session.consent_events import ConsentAnswered, ConsentRequested
from netclaw.core.session.effects import CancelTimer, ExitProcess, StartTimer
from netclaw.core.session.events import TurnRecorded, TurnStarted
from netclaw.core.session.open_work import is_paused, next_up
from netclaw.core.session.outputs import ChildOutput, ConsentRequestOutput
from netclaw.core.session.phase import Phase
from netclaw.core.session.runnable import has_runnable_work
from netclaw.testing.matchers import like
from netclaw.testing.people import ALICE, BOB, OPERATOR, REMINDER, WEBHOOK
from netclaw.testing.story import Story
from tests.core.session.runs import (
    accepting,
    asked,
    end_run,
    park,
    parking,
    phase_of,
    resting,
    run_of,
    spawn,
    working,
)

C1 = CallId("c1")
C2 = CallId("c2")


def paused() -> Story:
    """A session at rest whose one run waits for Alice."""
    story = resting()
    park(story, "c1")
    return story


@pytest.mark.requirement("child.consent-journaled")
def test_a_request_is_on_record_before_it_is_shown() -> None:
    story = resting()
    run_id = run_of(story).run_id
    decision = park(story, "c1", "c2")
    assert decision.events == (
        like(ConsentRequested, run_id=run_id, request=asked("c1")),
        like(ConsentRequested, run_id=run_id, request=asked("c2")),
        ChildParked(run_id=run_id, kind=ParkKind.CONSENT),
    )
    assert decision.outputs == (
        like(ConsentRequestOutput, call_id="c1", run_id=run_id, sender_id="U1"),
        like(ConsentRequestOutput, call_id="c2", run_id=run_id),
        like(ChildOutput, state=ChildState.PARKED),
    )
    assert decision.effects[-1] == AcknowledgeChild(
        run_id=run_id, start=1, report=ReportKind.PARKED
    )


@pytest.mark.requirement("child.consent-unattended")
def test_nobody_is_asked_for_a_run_that_nobody_attends() -> None:
    story = resting(attended=False)
    run_id = run_of(story).run_id
    bare = ChildAsk(turn_id=parking(story, "c2").asks[0].turn_id, request=asked("c2", options=()))
    command = parking(story, "c1")
    decision = story.when(replace(command, asks=(*command.asks, bare)))
    refused = like(ConsentAnswered, call_id="c1", option="refuse", answerer="", run_id=run_id)
    assert decision.events == (
        like(ConsentRequested, run_id=run_id),
        refused,
        like(ConsentRequested, run_id=run_id),
        like(ConsentAnswered, call_id="c2", option="refuse"),
        ChildParked(run_id=run_id, kind=ParkKind.CONSENT),
        ChildResumed(run_id=run_id),
    )
    assert like(ConsentRequestOutput) not in decision.outputs
    answers = tuple(ChildAnswer(call_id=c, option="refuse", answerer="") for c in (C1, C2))
    assert StartChild(run_id=run_id, start=2, answers=answers) in decision.effects
    assert not is_paused(story.state)


@pytest.mark.requirement("child.consent-resume")
def test_a_run_goes_on_when_every_request_has_its_answer() -> None:
    story = resting()
    run_id = run_of(story).run_id
    park(story, "c1", "c2")
    decision = story.choose("once", call=C1, by=ALICE)
    assert decision.events == (like(ConsentAnswered, call_id="c1", run_id=run_id),)
    assert like(StartChild) not in decision.effects
    assert is_paused(story.state)
    decision = story.choose("refuse", call=C2, by=ALICE)
    assert decision.events == (
        like(ConsentAnswered, call_id="c2", option="refuse", run_id=run_id),
        ChildResumed(run_id=run_id),
    )
    start = StartChild(
        run_id=run_id,
        start=2,
        answers=(
            ChildAnswer(call_id=C1, option="once", answerer="U1"),
            ChildAnswer(call_id=C2, option="refuse", answerer="U1"),
        ),
    )
    assert start in decision.effects
    assert not is_paused(story.state)
    story.when(BeginChild(run_id=run_id, start=2))
    assert run_of(story).requests == ()


@pytest.mark.requirement("child.consent-resume")
def test_answers_are_kept_until_the_new_process_was_seen_with_them() -> None:
    story = paused()
    story.choose(call=C1, by=ALICE)
    answers = (ChildAnswer(call_id=C1, option="once", answerer="U1"),)
    run_id = run_of(story).run_id
    story.crash()
    again = StartChild(run_id=run_id, start=2, answers=answers)
    assert again in story.start().effects
    story.when(BeginChild(run_id=run_id, start=2))
    story.crash()
    assert like(StartChild) not in story.start().effects


@pytest.mark.requirement("child.consent-resume")
def test_a_run_that_asks_again_is_never_given_old_answers() -> None:
    story = paused()
    story.choose(call=C1, by=ALICE)
    decision = story.when(replace(parking(story, "c2"), start=2))
    assert decision.events[0] == like(ChildStarted)
    decision = story.choose(call=C2, by=ALICE)
    answers = (ChildAnswer(call_id=C2, option="once", answerer="U1"),)
    assert like(StartChild, start=3, answers=answers) in decision.effects


@pytest.mark.requirement("child.consent-resume")
def test_a_run_drained_before_it_was_seen_keeps_its_answers() -> None:
    story = paused()
    story.choose(call=C1, by=ALICE)
    story.drain()
    park(story)
    story.fire(TimerKind.PASSIVATION_GRACE)
    story.crash()
    answers = (ChildAnswer(call_id=C1, option="once", answerer="U1"),)
    assert like(StartChild, start=3, answers=answers) in story.start().effects


@pytest.mark.requirement("child.parked-survives")
def test_a_parked_run_survives_crashes_and_asks_on() -> None:
    story = paused()
    before = run_of(story)
    story.crash()
    decision = story.start()
    assert (decision.events, run_of(story)) == ((), before)
    assert like(StartChild) not in decision.effects
    assert story.choose(call=C1, by=ALICE).events[-1] == like(ChildResumed)


@pytest.mark.requirement("child.parked-survives")
def test_an_answer_that_came_while_no_process_ran_is_acted_on_at_the_start() -> None:
    story = paused()
    story.fire(TimerKind.IDLE)
    story.fire(TimerKind.PASSIVATION_GRACE)
    assert not has_runnable_work(story.state)
    story.given(story.choice(call=C1, by=ALICE))
    story.crash()
    assert story.start().events == (
        like(ConsentAnswered, call_id="c1"),
        like(ChildResumed),
    )


@pytest.mark.requirement("child.parked-survives")
def test_an_answer_for_a_run_is_acted_on_at_a_start_that_resumes_a_turn() -> None:
    story = paused()
    story.admit(by=ALICE)
    story.given(story.choice(call=C1, by=ALICE))
    story.crash()
    decision = story.start()
    assert like(ConsentAnswered, call_id="c1") in decision.events
    assert like(ChildResumed) in decision.events
    assert phase_of(story) is Phase.PROCESSING


@pytest.mark.requirement("child.passivate-parked")
def test_a_click_during_the_grace_period_keeps_the_session_up() -> None:
    story = paused()
    story.fire(TimerKind.IDLE)
    assert phase_of(story) is Phase.PASSIVATING
    decision = story.choose(call=C1, by=ALICE)
    assert CancelTimer(timer=TimerKind.PASSIVATION_GRACE) in decision.effects
    assert phase_of(story) is Phase.READY


# The pause


@pytest.mark.requirement("child.pause-spawn")
def test_nothing_is_spawned_in_the_pause() -> None:
    story = working(calls=2)
    spawn(story)
    park(story, "c1")
    decision = story.when(accepting(story, 1))
    assert decision.effects == (like(RefuseSpawn, refusal=SpawnRefusal.CONSENT_PAUSE),)
    story.choose(call=C1, by=ALICE)
    assert story.when(accepting(story, 1)).events != ()


@pytest.mark.requirement("child.pause-turn-finishes")
@pytest.mark.parametrize("by", [ALICE, REMINDER])
def test_the_turn_that_runs_may_finish(by: Authority) -> None:
    story = working(by, attended=True)
    spawn(story)
    park(story, "c1")
    story.finish_tools()
    assert story.answer().events == (like(TurnRecorded),)


@pytest.mark.requirement("child.pause-automation")
@pytest.mark.parametrize("by", [REMINDER, WEBHOOK])
def test_automated_input_waits_and_people_pass_it(by: Authority) -> None:
    story = paused()
    assert story.admit(by=by).events == ()
    assert next_up(story.state) is None
    assert story.admit(by=BOB).events == (like(TurnStarted, authority=BOB),)
    assert is_paused(story.state)
    assert story.answer().events == (like(TurnRecorded),)
    decision = story.choose(call=C1, by=ALICE)
    assert decision.events == (
        like(ConsentAnswered),
        like(ChildResumed),
        like(TurnStarted, authority=by),
    )


@pytest.mark.requirement("child.pause-automation")
def test_the_result_of_another_run_waits_too() -> None:
    story = resting(runs=2)
    park(story, "c1")
    assert like(TurnStarted) not in end_run(story, 1).events
    assert not has_runnable_work(story.state)
    decision = story.choose(call=C1, by=ALICE)
    assert decision.events[2:3] == (like(TurnStarted, input_ids=()),)


@pytest.mark.requirement("child.pause-end")
def test_one_open_request_of_any_run_keeps_the_pause() -> None:
    story = resting(runs=2)
    park(story, "c1", position=0)
    park(story, "c2", position=1)
    story.admit(by=REMINDER)
    assert story.choose(call=C1, by=ALICE).events[-1] == like(ChildResumed)
    assert is_paused(story.state)
    run = run_of(story, 1)
    cancel = CancelChild(run_id=run.run_id, actor="operator", authority=None)
    decision = story.when(cancel)
    assert like(TurnStarted, authority=REMINDER) in decision.events
    assert not is_paused(story.state)


@pytest.mark.requirement("child.pause-end")
def test_somebody_elses_answer_ends_nothing() -> None:
    story = paused()
    story.choose("once", call=C1, by=BOB)
    assert is_paused(story.state)
    story.choose("refuse", call=C1, by=OPERATOR)
    assert not is_paused(story.state), "the local operator may refuse any request"


# Passivation


@pytest.mark.requirement("child.passivate-parked")
def test_a_run_that_waits_for_consent_does_not_hold_the_session() -> None:
    story = resting()
    assert story.runtime.idle_token == ""
    decision = park(story, "c1")
    assert like(StartTimer, timer=TimerKind.IDLE) in decision.effects
    story.fire(TimerKind.IDLE)
    decision = story.fire(TimerKind.PASSIVATION_GRACE)
    assert decision.effects[-1] == ExitProcess(reason="idle")


@pytest.mark.requirement("child.passivate-parked")
def test_a_run_that_parks_lets_the_idle_time_begin_anew() -> None:
    story = paused()
    old = story.runtime.idle_token
    story.choose(call=C1, by=ALICE)
    story.when(BeginChild(run_id=run_of(story).run_id, start=2))
    story.when(FireTimer(timer=TimerKind.IDLE, token=old))
    assert phase_of(story) is Phase.READY
    decision = story.when(
        ParkChild(run_id=run_of(story).run_id, start=2, asks=parking(story, "c2").asks)
    )
    assert like(StartTimer, timer=TimerKind.IDLE) in decision.effects
    assert story.when(Advance()).effects == ()
