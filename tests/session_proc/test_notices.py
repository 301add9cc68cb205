"""Notices as a session's process takes them in: ahead of whatever waits, and without a stir."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from netclaw.core.exit_codes import ExitCode
from netclaw.core.ids import SessionId
from netclaw.core.session.commands import Advance, NoticesChanged
from netclaw.core.session.events import NoticeMark, TurnStarted
from netclaw.core.settings import SessionSettings, SessionTuning
from netclaw.core.signals.cursors import Notice, NoticeChange
from netclaw.core.signals.notices import line
from netclaw.session_proc.mailbox import Letter, Mailbox
from netclaw.wire.notices import change_to_proto
from netclaw.wire.v1.session_host_pb2 import Append, ToSession
from tests.fakes.model import FakeModel
from tests.session_proc.conftest import Start
from tests.session_proc.host import ScriptedHost
from tests.session_proc.journal import SESSION

TARGET = SessionId("target")
OTHER = SessionId("other")
OPEN = Notice(target=TARGET, since=3, mark=7)


def tell(host: ScriptedHost, notice: Notice | None, target: SessionId = TARGET) -> None:
    """Send the frame about one target."""
    change = NoticeChange(watcher=SESSION, target=target, notice=notice)
    host.send(ToSession(notice=change_to_proto(change)))


def told(host: ScriptedHost) -> list[tuple[NoticeMark, ...]]:
    """What each turn told of."""
    return [e.notices for e in host.journal.events() if isinstance(e, TurnStarted)]


def at_append_of(host: ScriptedHost, event_type: str, text: str) -> None:
    """Ahead of the first append with this event: a notice, then the input of a person."""

    def interfere(append: Append) -> None:
        if any(event.type == event_type for event in append.events):
            host.before_append = lambda _append: None
            tell(host, OPEN)
            host.admit(text)

    host.before_append = interfere


@pytest.mark.requirement("notices.pushed")
@pytest.mark.parametrize("event_type", ["TurnStarted", "TurnRecorded"])
async def test_a_turn_tells_of_what_was_committed_before_its_input(
    host: ScriptedHost, start: Start, model: FakeModel, event_type: str
) -> None:
    at_append_of(host, event_type, "[[reply:second]]")
    start()
    host.admit("[[reply:first]]")
    await host.turn_completed(2)

    assert told(host) == [(), (NoticeMark(target=TARGET, mark=7, since=3),)]
    assert line(TARGET, 3) in str(model.requests[-1].messages)
    assert line(TARGET, 3) not in str(model.requests[0].messages)


@pytest.mark.requirement("notices.pushed")
async def test_a_notice_that_is_gone_or_has_moved_is_told_as_it_is(
    host: ScriptedHost, start: Start
) -> None:
    start()
    host.admit("[[reply:first]]")
    await host.turn_completed()
    tell(host, OPEN)
    tell(host, Notice(target=OTHER, since=0, mark=5), OTHER)
    tell(host, replace(OPEN, mark=9))
    tell(host, None, OTHER)
    host.admit("[[reply:second]]")
    await host.turn_completed(2)
    host.admit("[[reply:third]]")
    await host.turn_completed(3)

    assert told(host) == [(), (NoticeMark(target=TARGET, mark=9, since=3),), ()]


@pytest.mark.requirement("notices.quiet")
async def test_a_notice_starts_nothing_and_keeps_no_idle_session_up(
    host: ScriptedHost, start: Start, settings: SessionSettings, model: FakeModel
) -> None:
    host.settings = replace(settings, tuning=SessionTuning(idle_s=0.05, passivation_grace_s=0.05))
    process = start()
    host.admit("[[reply:first]]")
    await host.turn_completed()
    tell(host, OPEN)

    async with asyncio.timeout(15):
        assert await process is ExitCode.PASSIVATED
    assert model.request_count == 1
    assert told(host) == [()]


@pytest.mark.requirement("notices.pushed")
def test_of_several_changes_of_a_target_the_last_is_decided_and_ahead_of_all_else() -> None:
    mailbox = Mailbox()
    mailbox.put(Letter(Advance()))
    mailbox.put_notice(NoticesChanged(target=TARGET, notice=OPEN))
    mailbox.put_notice(NoticesChanged(target=OTHER, notice=None))
    mailbox.put_notice(NoticesChanged(target=TARGET, notice=None))
    mailbox.put_back(Letter(Advance()))

    taken = [letter.command for letter in iter(mailbox.take, None)]

    assert taken == [
        NoticesChanged(target=TARGET, notice=None),
        NoticesChanged(target=OTHER, notice=None),
        Advance(),
        Advance(),
    ]
