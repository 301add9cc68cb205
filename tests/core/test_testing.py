"""The tools of the tests themselves: a matcher that matches anything would hide every fault."""

from __future__ import annotations

import re

import pytest

from netclaw.core.messages import Usage
from netclaw.core.session.effects import RunTool
from netclaw.core.session.events import TitleSet
from netclaw.testing.clock import EPOCH_MS, FakeClock
from netclaw.testing.ids import SeededIds
from netclaw.testing.matchers import containing, like
from netclaw.testing.people import SESSION
from netclaw.testing.story import Story


def test_like_compares_the_type_and_the_named_fields_only() -> None:
    one = Usage(input_tokens=1, output_tokens=2)
    assert one == like(Usage, input_tokens=1)
    assert one == like(Usage)
    assert one != like(Usage, input_tokens=2)
    assert one != like(TitleSet)
    assert repr(like(Usage, input_tokens=1)) == "Usage(input_tokens=1, ...)"
    assert repr(like(Usage)) == "Usage(...)"


def test_like_refuses_a_field_that_does_not_exist() -> None:
    with pytest.raises(TypeError, match="no field inputs, tokens"):
        like(Usage, tokens=1, inputs=2)


def test_containing_wants_every_piece() -> None:
    assert containing("cat", "dog") == "a cat and a dog"
    assert containing("cat", "dog") != "a cat"
    assert containing("cat") != 1
    assert repr(containing("a", "b")) == "...a...b..."


def test_a_fake_clock_moves_when_told_and_its_monotonic_time_never_back() -> None:
    clock = FakeClock()
    assert clock.now_ms() == EPOCH_MS
    assert clock.advance(1.5) == EPOCH_MS + 1500
    assert clock.turn_back(10) == EPOCH_MS - 8500
    assert clock.monotonic_s() == 1.5
    with pytest.raises(ValueError, match="turn_back"):
        clock.advance(-1)


def test_seeded_ids_look_real_and_repeat() -> None:
    one, again, other = SeededIds(1), SeededIds(1), SeededIds(2)
    made = [one() for _ in range(100)]
    assert made == [again() for _ in range(100)]
    assert len(set(made)) == 100
    assert all(re.fullmatch(r"[a-z2-7]{16}", item) for item in made)
    assert other() not in made
    assert one.made == made


def test_a_story_tells_what_is_in_flight() -> None:
    story = Story()
    story.start()
    with pytest.raises(AssertionError, match="no model call"):
        _ = story.model_token
    story.admit()
    story.call_tools(2)
    assert [type(item) for item in story.launched] == [RunTool, RunTool]
    assert story.state.session_id == SESSION
    assert len(story.events(since=1)) == len(story.journal) - 1
