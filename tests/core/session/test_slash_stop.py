"""`/stop`: which turn it means, and what becomes of it."""

from __future__ import annotations

import pytest

from netclaw.core.authority import Authority
from netclaw.core.session import sentences
from netclaw.core.session.commands import Advance
from netclaw.core.session.consent_events import ConsentWithdrawn
from netclaw.core.session.effects import CallModel, CancelModel, CancelTool
from netclaw.core.session.events import (
    ToolResultRecorded,
    TurnOutcome,
    TurnRecorded,
    TurnStarted,
)
from netclaw.testing.matchers import like
from netclaw.testing.people import ALICE, BOB, OPERATOR, REMINDER, STRANGER
from netclaw.testing.story import Story
from tests.core.session.test_slash import ready, told, working
from tests.core.shown import queue


@pytest.mark.requirement("context.slash-stop")
@pytest.mark.parametrize(
    ("of", "by"), [(ALICE, ALICE), (ALICE, OPERATOR), (STRANGER, BOB), (STRANGER, STRANGER)]
)
def test_stop_ends_the_turn_and_is_answered(of: Authority, by: Authority) -> None:
    story = working(of)
    decision = story.admit("/stop", by=by)
    assert decision.effects[-1] == like(CancelTool)
    decision = story.finish_tools()
    assert decision.events[1:] == (
        like(TurnRecorded, input_ids=("i1",), outcome=TurnOutcome.STOPPED),
        like(TurnStarted, input_ids=("i2",), is_aside=True),
        like(TurnRecorded, input_ids=("i2",), outcome=TurnOutcome.COMPLETED),
    )
    assert told(story) == sentences.NOTHING_RUNS


@pytest.mark.requirement("context.slash-stop")
def test_stop_ends_a_model_call_at_once() -> None:
    story = ready()
    story.admit("work")
    story.clock.advance(1)
    decision = story.admit("/stop")
    assert like(CancelModel) in decision.effects
    assert story.state.turn is None


@pytest.mark.requirement("context.slash-stop")
@pytest.mark.parametrize("by", [STRANGER, REMINDER])
def test_stop_of_a_stranger_or_a_machine_leaves_another_persons_turn_alone(by: Authority) -> None:
    story = working(ALICE)
    decision = story.admit("/stop", by=by)
    assert (decision.events, decision.effects) == ((), (queue(1),))


@pytest.mark.requirement("context.slash-stop")
def test_stop_reaches_a_turn_whose_process_is_gone() -> None:
    story = working(ALICE)
    story.crash()
    story.given(story.input("/stop", by=ALICE), story.input("next", by=ALICE))
    decision = story.start()
    assert [type(event) for event in decision.events] == [
        ToolResultRecorded,
        TurnRecorded,
        *(TurnStarted, TurnRecorded),
        TurnStarted,
    ]
    assert decision.events[1] == like(TurnRecorded, outcome=TurnOutcome.STOPPED)
    assert decision.early == (like(CallModel),)


@pytest.mark.requirement("context.slash-stop")
def test_stop_ends_a_turn_that_waits_for_consent() -> None:
    story = ready()
    story.admit("work", by=ALICE)
    story.ask_consent()
    story.clock.advance(1)
    decision = story.admit("/status", by=ALICE)
    assert decision.events == ()
    decision = story.admit("/stop", by=ALICE)
    assert decision.events[0] == like(ConsentWithdrawn)
    assert like(TurnRecorded, outcome=TurnOutcome.STOPPED) in decision.events
    assert story.state.buffered == ()


@pytest.mark.requirement("context.slash-stop")
def test_a_passive_session_whose_turn_waits_for_consent_is_stopped_at_its_start() -> None:
    story = ready()
    story.admit("work", by=ALICE)
    story.ask_consent()
    story.clock.advance(1)
    story.crash()
    story.given(story.input("/stop", by=ALICE))
    decision = story.start()
    assert decision.events[0] == like(ConsentWithdrawn)
    assert (story.state.turn, story.state.buffered) == (None, ())


@pytest.mark.requirement("context.slash-stop")
def test_stop_means_no_turn_that_began_after_it() -> None:
    story = working(ALICE)
    story.given(story.input("mine", by=BOB))
    story.admit("/stop", by=ALICE)
    story.clock.advance(5)
    decision = story.finish_tools()
    assert decision.events[-2:] == (
        like(TurnRecorded, input_ids=("i3",)),
        like(TurnStarted, input_ids=("i2",)),
    ), "it is answered with the end of what it meant"
    assert story.admit("also", by=BOB).effects == (queue(1),)
    assert story.state.turn is not None


@pytest.mark.requirement("context.slash-stop")
@pytest.mark.parametrize("by", [ALICE, STRANGER])
def test_stop_calls_off_what_its_sender_wrote_before_it_though_nothing_had_begun(
    by: Authority,
) -> None:
    story = Story()
    for text in ("work", "/stop", "other work"):
        story.given(story.input(text, by=by))
        story.clock.advance(0.1)
    decision = story.start()
    assert decision.events == (
        like(TurnStarted, input_ids=("i1",)),
        like(TurnRecorded, input_ids=("i1",), outcome=TurnOutcome.STOPPED),
        like(TurnStarted, input_ids=("i2",), is_aside=True),
        like(TurnRecorded, input_ids=("i2",)),
        like(TurnStarted, input_ids=("i3",), authority=by),
    )


@pytest.mark.requirement("context.slash-stop")
def test_stop_that_comes_while_the_turn_is_being_begun_ends_it() -> None:
    story = ready()
    story.given(story.input("work", by=ALICE))
    beginning = story.ask(Advance())
    story.given(story.input("/stop", by=ALICE))
    story.clock.advance(1)
    story.given(*beginning.events)
    story.runtime = beginning.runtime
    assert like(CancelModel) in story.when(Advance()).effects
    assert (story.state.turn, story.state.buffered) == (None, ())


@pytest.mark.requirement("context.slash-stop")
def test_stop_calls_off_nobody_elses_message_and_none_that_is_no_stop() -> None:
    story = Story()
    story.given(
        story.input("mine", by=BOB), story.input("/stop", by=ALICE), story.input("/help", by=BOB)
    )
    story.clock.advance(1)
    assert story.start().events == (like(TurnStarted, input_ids=("i1",)),)
    assert story.when(Advance()).events == ()
