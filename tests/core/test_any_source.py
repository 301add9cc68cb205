"""A turn is the same whatever its input came from (S0 "Everything is just input")."""

from __future__ import annotations

import pytest

from netclaw.core.authority import Principal, SourceKind
from netclaw.core.ids import SessionId
from netclaw.core.messages import AssistantMessage
from netclaw.core.session.commands import NoticesChanged
from netclaw.core.session.events import TurnRecorded
from netclaw.core.signals.cursors import Notice
from netclaw.testing.matchers import like
from netclaw.testing.people import authority
from netclaw.testing.story import Story

OTHER = SessionId("cli/other")


def told(source: SourceKind, principal: Principal) -> list[str]:
    """The journal of a turn with one call, started by an input of this kind."""
    story = Story()
    story.start()
    if source is SourceKind.SIGNAL:
        # A wake is for a notice; with none it ends without a turn of the model.
        story.when(NoticesChanged(target=OTHER, notice=Notice(target=OTHER, since=1, mark=2)))
    sender = "U1" if principal.is_person else None
    story.admit("look", by=authority(sender, principal, source=source, boundary=f"{source}:x"))
    story.call_tools()
    story.finish_tools()
    story.answer("found")
    assert story.events()[-1] == like(TurnRecorded, message=like(AssistantMessage, text="found"))
    return [type(event).__name__ for event in story.events()]


@pytest.mark.requirement("session.any-source")
@pytest.mark.parametrize("source", SourceKind)
def test_a_turn_is_the_same_whatever_its_input_came_from(source: SourceKind) -> None:
    usual = told(SourceKind.CLI, Principal.OPERATOR)
    assert told(source, Principal.TRUSTED) == usual
    assert told(source, Principal.AUTOMATION) == usual
