"""A conversation's connection: comes back, gives up, keeps up."""

from __future__ import annotations

import asyncio
import fcntl
import threading

import pytest

from netclaw.cli.chat.link import Link
from netclaw.config.home import Home
from netclaw.core.errors import DaemonDownError, DrainingError, InternalError, NotFoundError
from netclaw.wire.v1.common_pb2 import Output, Sender
from tests.cli.scripted_daemon import ScriptedDaemon

pytestmark = pytest.mark.usefixtures("fast_reconnects")


async def collect(link: Link, seen: asyncio.Queue[Output]) -> None:
    """Everything that comes, until it ends."""
    async for output in link.outputs():
        seen.put_nowait(output)


async def test_a_daemon_that_stays_away_ends_the_conversation(daemon: ScriptedDaemon) -> None:
    told: list[str] = []
    link = Link(daemon.home, Sender(), told.append)
    await link.open("notes")
    daemon.stop()
    with pytest.raises(DaemonDownError):
        await asyncio.wait_for(collect(link, asyncio.Queue()), 10)
    assert told == ["[connection] lost; what you type waits"]
    assert not link.is_connected
    assert await link.stop_turn() is False
    await link.close()


@pytest.mark.requirement("upstream.one-reconnect")
async def test_what_happened_meanwhile_is_replayed(daemon: ScriptedDaemon) -> None:
    seen: asyncio.Queue[Output] = asyncio.Queue()
    link = Link(daemon.home, Sender(), print)
    await link.open("notes")
    daemon.stop()
    daemon.published = [Output(type="title", text="old", seq=9)]
    daemon.published += [Output(type="title", text="missed", seq=12)]
    collecting = asyncio.create_task(collect(link, seen))
    daemon.come_back()
    first = await asyncio.wait_for(seen.get(), 10)
    collecting.cancel()
    await link.close()
    assert first.text == "missed"


async def test_a_terminal_that_never_keeps_up_gives_up(daemon: ScriptedDaemon) -> None:
    daemon.published = [Output(type="resync", seq=12)]
    link = Link(daemon.home, Sender(), print)
    await link.open("notes")
    with pytest.raises(InternalError, match="cannot keep up"):
        await asyncio.wait_for(collect(link, asyncio.Queue()), 10)
    await link.close()


@pytest.mark.requirement("upstream.one-reconnect")
async def test_a_session_that_was_deleted_ends_the_conversation(daemon: ScriptedDaemon) -> None:
    link = Link(daemon.home, Sender(), print)
    await link.open("notes")
    daemon.rows.clear()
    with pytest.raises(NotFoundError):
        await asyncio.wait_for(collect(link, asyncio.Queue()), 10)
    await link.close()


async def test_nothing_can_be_asked_without_a_connection(home: Home) -> None:
    link = Link(home, Sender(), print)
    with pytest.raises(DaemonDownError):
        await link.open("notes")
    with pytest.raises(DaemonDownError):
        await link.recent(5)


@pytest.mark.requirement("cli.wait-restart")
async def test_a_conversation_begun_during_a_restart_waits(daemon: ScriptedDaemon) -> None:
    daemon.home.lock.touch()
    daemon.stop()
    with daemon.home.lock.open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        link = Link(daemon.home, Sender(), print)
        opening = asyncio.create_task(link.open("notes"))
        asked = threading.Event()
        daemon.on_call = lambda name: asked.set() if name == "EnsureSession" else None
        daemon.refuse["EnsureSession"] = DrainingError("The daemon is stopping.")
        daemon.come_back()
        assert await asyncio.to_thread(asked.wait, 10)
        daemon.refuse.clear()
        detail = await asyncio.wait_for(opening, 10)
    assert detail.row.id == "notes"
    await link.close()
