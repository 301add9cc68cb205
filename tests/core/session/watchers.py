"""Sessions that watch others, for tests of what their models are told."""

from __future__ import annotations

from netclaw.core.ids import SessionId
from netclaw.core.messages import Message, NoteKind, NoteMessage
from netclaw.core.session.commands import NoticesChanged
from netclaw.core.signals.cursors import Notice
from netclaw.testing.story import Story

C = SessionId("cli/child")
D = SessionId("cli/other")


def opened(story: Story, target: SessionId = C, since: int = 12, mark: int = 13) -> Story:
    """There is a notice of this target."""
    notice = Notice(target=target, since=since, mark=mark)
    story.when(NoticesChanged(target=target, notice=notice))
    return story


def watching(*targets: tuple[SessionId, int, int]) -> Story:
    """A session at rest with these notices open."""
    story = Story()
    story.start()
    for target, since, mark in targets or ((C, 12, 13),):
        opened(story, target, since, mark)
    return story


def lines(messages: tuple[Message, ...]) -> list[str]:
    """The texts of all notes that tell of watched sessions."""
    return [
        item.text
        for item in messages
        if isinstance(item, NoteMessage) and item.kind is NoteKind.NOTICES
    ]


def known(story: Story) -> list[Notice]:
    """What the process has to tell."""
    return list(story.runtime.notices)
