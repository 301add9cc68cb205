"""What calls for a process, and what only calls for people."""

from __future__ import annotations

import pytest

from netclaw.core.authority import Authority
from netclaw.core.session.runnable import has_runnable_work, waits_for_people
from netclaw.testing.people import ALICE, BOB, STRANGER
from netclaw.testing.story import Story
from tests.core.session.consents import asked, parked
from tests.core.session.runs import end_run, park, resting

UNKNOWN = "c9"


def judged(story: Story) -> tuple[bool, bool]:
    """Whether a start is due, and whether people have to act first."""
    return has_runnable_work(story.state), waits_for_people(story.state)


@pytest.mark.requirement("consent.rest")
def test_a_session_at_rest_waits_for_nobody_and_needs_no_process() -> None:
    story = Story()
    assert judged(story) == (False, False)
    story.given(story.input(by=ALICE))
    assert judged(story) == (True, False)


@pytest.mark.requirement("consent.rest")
def test_a_turn_at_work_is_work_and_a_parked_one_is_not() -> None:
    assert judged(asked()) == (True, False)
    story = parked()
    assert judged(story) == (False, True)
    story.given(story.input(by=BOB))
    assert judged(story) == (False, True), "what waits behind it cannot run"
    story.given(story.choice("refuse", by=ALICE))
    assert judged(story) == (True, False)


@pytest.mark.requirement("consent.rest")
def test_a_message_that_abandons_the_parked_turn_is_work() -> None:
    story = parked()
    story.given(story.input(by=ALICE))
    assert judged(story) == (True, False)


@pytest.mark.requirement("consent.rest")
@pytest.mark.parametrize(("by", "is_due"), [(ALICE, True), (BOB, True), (STRANGER, False)])
def test_a_command_that_ends_the_parked_turn_is_work(by: Authority, is_due: bool) -> None:
    story = parked()
    story.given(story.input("/status", by=by))
    assert judged(story) == (False, True), "it waits for its turn"
    story.given(story.input("/stop", by=by))
    assert judged(story) == (is_due, not is_due)
    story.crash().start()
    assert (story.state.turn is None) is is_due


@pytest.mark.requirement("consent.rest")
def test_a_run_at_work_or_untold_is_work_and_one_that_waits_is_not() -> None:
    story = resting()
    assert judged(story) == (True, False)
    park(story, UNKNOWN)
    assert judged(story) == (False, True)
    told = resting()
    end_run(told)
    assert judged(told) == (True, False)
