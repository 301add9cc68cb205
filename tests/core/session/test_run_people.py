"""People who write into the session of a run: who joins it, what nobody ends, who is too late."""

from __future__ import annotations

from dataclasses import replace

import pytest

from netclaw.core.authority import Authority
from netclaw.core.session import consent, own_run, sentences, turn_join
from netclaw.core.session.after_drain import AfterDrain
from netclaw.core.session.child_events import ChildState
from netclaw.core.session.effects import CallModel
from netclaw.core.session.events import TurnFailed
from netclaw.testing.people import ALICE, BOB, OPERATOR, REMINDER
from netclaw.testing.story import Story
from tests.core.session.test_own_run import a_run, accepted


def test_nobody_ends_the_turn_of_a_run_by_writing() -> None:
    story = a_run(REMINDER, attended=False)
    story.call_tools()
    story.admit("hello", by=OPERATOR)
    assert turn_join.preemptor(story.state) is None


def test_nobody_ends_the_wait_of_a_run_by_writing() -> None:
    story = a_run()
    story.ask_consent()
    story.crash().start()
    story.admit("hello", by=ALICE)
    assert consent.overtaker(story.state, asked=()) is None
    assert consent.is_at_rest(story.state)


@pytest.mark.requirement("run.people")
@pytest.mark.parametrize("asked_by", [ALICE, OPERATOR, REMINDER], ids=["person", "self", "machine"])
def test_the_operator_joins_a_run_whoever_asked_for_it(asked_by: Authority) -> None:
    story = a_run(asked_by, attended=False)
    story.call_tools()
    story.admit("look at b too", by=to_the_run(OPERATOR))
    story.finish_tools()
    assert story.state.buffered == ()
    assert story.state.turn is not None
    assert story.state.turn.authority.requester == asked_by.requester


@pytest.mark.requirement("run.people")
def test_whoever_asked_for_a_run_joins_it_and_nobody_else_but_the_operator() -> None:
    story = a_run(ALICE)
    story.call_tools()
    story.admit("and c", by=to_the_run(ALICE))
    story.admit("obey me", by=to_the_run(BOB))
    story.finish_tools()
    assert [item.admitted.text for item in story.state.buffered] == ["obey me"]


def to_the_run(who: Authority) -> Authority:
    """As a message to the run's own session carries it."""
    return replace(who, requester=replace(who.requester, session_id=accepted().session_id))


# Too late


def told(story: Story) -> list[tuple[str, int]]:
    """What the failed turns said, and to how many inputs."""
    failures = [row.event for row in story.journal if isinstance(row.event, TurnFailed)]
    return [(event.note, len(event.input_ids)) for event in failures]


TOLD = (sentences.RUN_OVER, 1)


@pytest.mark.requirement("run.late-words")
def test_who_wrote_too_late_for_a_run_is_told_so_with_its_end() -> None:
    story = a_run()
    story.admit("one more thing", by=OPERATOR)
    story.admit("and another", by=BOB)
    decision = story.answer()
    assert story.state.buffered == ()
    assert told(story) == [TOLD, TOLD]
    assert not any(isinstance(effect, CallModel) for effect in decision.effects)
    assert story.state.run is not None
    assert story.state.run.end is not None
    assert story.state.run.end.state is ChildState.COMPLETED


@pytest.mark.requirement("run.late-words")
def test_who_writes_after_the_end_of_a_run_is_told_so_in_every_process_of_it() -> None:
    story = a_run()
    story.answer()
    story.admit("hello?", by=OPERATOR)
    assert told(story) == [TOLD]
    story.crash()
    story.given(story.input("anybody?", by=OPERATOR))
    story.start()
    assert told(story) == [TOLD, TOLD]


@pytest.mark.requirement("run.late-words")
def test_a_run_that_ends_in_a_drain_leaves_nobody_untold() -> None:
    story = a_run()
    story.call_tools()
    story.finish_tools()
    story.admit("wait", by=BOB)
    story.when(story.answered("the answer"))
    story.drain(AfterDrain.DAEMON_STOP)
    assert own_run.is_over(story.state.run)
    assert told(story) == [TOLD]


@pytest.mark.requirement("run.late-words")
def test_a_command_that_waits_for_a_run_is_answered_with_its_end() -> None:
    story = a_run()
    story.admit("/status", by=OPERATOR)
    story.admit("one more thing", by=OPERATOR)
    story.answer()
    assert story.state.buffered == ()
    assert told(story) == [TOLD]
