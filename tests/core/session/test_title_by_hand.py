"""Titles that people set: what they may hold and whose they are."""

from __future__ import annotations

from dataclasses import replace

import pytest

from netclaw.core.session import titles
from netclaw.testing.people import ALICE
from netclaw.testing.story import Story


def ready() -> Story:
    """A session at rest."""
    story = Story()
    story.start()
    return story


@pytest.mark.requirement("context.slash")
def test_a_title_set_by_hand_is_one_line_of_characters_that_show() -> None:
    story = ready()
    story.admit("/title a\x1b[31m\rb\u202ec\x07 \U0001f375")
    assert story.state.title == "a [31m b c \U0001f375"


@pytest.mark.requirement("sidecars.title-person")
def test_a_person_by_the_name_of_the_model_is_a_person() -> None:
    story = ready()
    namesake = replace(ALICE, requester=replace(ALICE.requester, sender_id="model"))
    story.admit("/title Mine", by=namesake)
    assert not titles.is_models(story.state)
