"""Looks at followed transcripts, tick by tick, with what may happen while a look is under way."""

from __future__ import annotations

import asyncio
import json
import logging
import threading
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from netclaw.core.errors import StorageFullError
from netclaw.core.ids import SessionId
from netclaw.core.settings import SignalSettings
from netclaw.core.signals.upstream import FileFacts
from netclaw.supervisor import upstream_monitor
from netclaw.supervisor.transcript_files import Piece, read_piece
from netclaw.supervisor.upstream_monitor import UpstreamMonitor
from netclaw.wire.v1 import admin_pb2, gateway_pb2
from tests.supervisor.world import InProcess

SESSION = SessionId("cli/adopted")
WATCHER = SessionId("cli/watcher")

Reader = Callable[[str, int], Piece]


def row(text: str) -> bytes:
    return json.dumps({"role": "user", "text": text}).encode() + b"\n"


@dataclass
class Followed:
    """A supervisor with a monitor that ticks on request, and one adopted transcript."""

    world: InProcess
    monitor: UpstreamMonitor
    path: Path
    patch: pytest.MonkeyPatch

    async def adopt(self, session_id: str, path: Path) -> None:
        """Adopt a file and have somebody watch the session."""
        await self.world.admin.AdoptTranscript(
            admin_pb2.AdoptTranscriptRequest(path=str(path), session_id=session_id),
            metadata=self.world.metadata,
        )
        await self.world.store.watch_session(WATCHER, SessionId(session_id), at=1)

    def add(self, text: str) -> None:
        """A person writes elsewhere."""
        with self.path.open("ab") as file:
            file.write(row(text))

    async def signals(self, session_id: SessionId = SESSION) -> list[str]:
        """Kind and catalog of what came of the transcript."""
        changes = await self.world.store.changes_since(session_id, 0)
        return [
            f"{event.signal.kind.value} {event.signal.payload.turns}"
            for event in changes.events
            if event.signal.payload.channel == "jsonl"
        ]

    def read_by(self, reader: Reader) -> None:
        """Look at files by this from now on."""
        self.patch.setattr(upstream_monitor, "read_piece", reader)

    def meanwhile(self, change: Callable[[], Awaitable[object]], reader: Reader) -> None:
        """Let something happen once, while the next look is under way."""
        loop = asyncio.get_running_loop()
        waiting = [change]

        async def happen() -> None:
            await waiting.pop()()

        def look(path: str, offset: int) -> Piece:
            if waiting:
                asyncio.run_coroutine_threadsafe(happen(), loop).result(10)
            return reader(path, offset)

        self.read_by(look)


def gone(path: str, _offset: int) -> Piece:
    raise FileNotFoundError(2, "No such file or directory", path)


def forbidden(path: str, _offset: int) -> Piece:
    raise PermissionError(13, "Permission denied", path)


@pytest.fixture
async def followed(world: InProcess, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Followed:
    path = tmp_path / "talk.jsonl"
    path.write_bytes(row("hello"))
    monitor = UpstreamMonitor(world.supervisor.services)
    made = Followed(world, monitor, path, monkeypatch)
    await world.ensure(WATCHER)
    await made.adopt(SESSION, path)
    return made


async def answered(followed: Followed, text: str) -> None:
    """A person writes to the session itself, and is answered."""
    await followed.world.send(SESSION, text)
    async with asyncio.timeout(10):
        while True:
            (item, *_) = await followed.world.store.watched_links()
            own = await followed.world.store.own_side(SESSION)
            if item.is_idle and own is not None and text in own.messages:
                return
            await asyncio.sleep(0.01)


async def test_a_look_tells_of_what_was_added(followed: Followed) -> None:
    await followed.monitor.tick()
    assert await followed.signals() == []
    followed.add("a")
    followed.add("b")
    await followed.monitor.tick()
    await followed.monitor.tick()
    assert await followed.signals() == ["human_direct_message 2"]


@pytest.mark.requirement("signals.adopted-twice")
async def test_who_adopts_a_file_again_is_told_who_has_it_already(followed: Followed) -> None:
    world, path = followed.world, str(followed.path)
    request = admin_pb2.AdoptTranscriptRequest(path=path, session_id="twin")
    twin = await world.admin.AdoptTranscript(request, metadata=world.metadata)
    assert (twin.upstream, list(twin.others)) == (path, [str(SESSION)])
    detail = gateway_pb2.GetSessionRequest(session_id=SESSION)
    shown = await world.gateway.GetSession(detail, metadata=world.metadata)
    assert (shown.upstream, list(shown.upstream_others)) == (path, ["twin"])
    reset = admin_pb2.SessionRef(session_id="twin")
    await world.admin.ResetSession(reset, metadata=world.metadata)
    shown = await world.gateway.GetSession(detail, metadata=world.metadata)
    assert (shown.upstream, list(shown.upstream_others)) == (path, [])
    again = admin_pb2.AdoptTranscriptRequest(path=path, session_id=SESSION)
    assert not (await world.admin.AdoptTranscript(again, metadata=world.metadata)).others


@pytest.mark.requirement("signals.trouble-05")
@pytest.mark.requirement("upstream.missing")
async def test_work_that_begins_during_the_third_miss_keeps_the_link(followed: Followed) -> None:
    followed.read_by(gone)
    await followed.monitor.tick()
    await followed.monitor.tick()
    followed.meanwhile(lambda: followed.world.send(SESSION, "work"), gone)
    await followed.monitor.tick()
    assert await followed.signals() == []
    assert await followed.world.store.upstream_link(SESSION) is not None
    await answered(followed, "work")
    # The count stays at two: one more miss at rest is the end.
    await followed.monitor.tick()
    assert await followed.signals() == ["upstream_missing 0"]
    assert await followed.world.store.upstream_link(SESSION) is None


@pytest.mark.requirement("signals.trouble-06")
@pytest.mark.requirement("upstream.compare-and-set")
@pytest.mark.parametrize("end", ["ResetSession", "DeleteSession"])
@pytest.mark.parametrize("reader", [read_piece, gone])
async def test_a_look_at_a_session_that_is_replaced_meanwhile_writes_nothing(
    followed: Followed, end: str, reader: Reader
) -> None:
    world = followed.world
    followed.read_by(gone)
    await followed.monitor.tick()
    await followed.monitor.tick()
    followed.add("to the former life")

    async def replace_it() -> None:
        ref = admin_pb2.SessionRef(session_id=SESSION)
        await getattr(world.admin, end)(ref, metadata=world.metadata)
        await followed.adopt(SESSION, followed.path)

    followed.meanwhile(replace_it, reader)
    await followed.monitor.tick()
    assert await followed.signals() == []
    followed.add("to the new life")
    followed.read_by(read_piece)
    await followed.monitor.tick()
    assert await followed.signals() == ["human_direct_message 0"]


@pytest.mark.requirement("upstream.compare-and-set")
@pytest.mark.requirement("upstream.self-echo")
async def test_an_own_message_that_comes_during_a_look_is_still_known_as_an_echo(
    followed: Followed,
) -> None:
    followed.add("mine")
    followed.meanwhile(lambda: answered(followed, "mine"), read_piece)
    await followed.monitor.tick()
    followed.add("not mine")
    await followed.monitor.tick()
    assert await followed.signals() == ["human_direct_message 0"]


@pytest.mark.requirement("upstream.not-missing")
async def test_only_misses_in_a_row_count(followed: Followed) -> None:
    for reader in (gone, gone, forbidden, gone, gone, read_piece, gone, gone, forbidden):
        followed.read_by(reader)
        await followed.monitor.tick()
    assert await followed.signals() == []
    followed.read_by(gone)
    for _ in range(3):
        await followed.monitor.tick()
    assert await followed.signals() == ["upstream_missing 0"]


@pytest.mark.requirement("upstream.missing")
async def test_a_count_begins_anew_with_another_link(followed: Followed) -> None:
    followed.read_by(gone)
    await followed.monitor.tick()
    await followed.monitor.tick()
    other = followed.path.with_name("other.jsonl")
    other.write_bytes(row("other"))
    await followed.adopt(SESSION, other)
    await followed.monitor.tick()
    await followed.monitor.tick()
    assert await followed.signals() == []
    await followed.monitor.tick()
    assert await followed.signals() == ["upstream_missing 0"]


@pytest.mark.requirement("upstream.one-fails")
async def test_one_source_that_fails_stops_no_other_and_is_complained_of_once(
    followed: Followed, caplog: pytest.LogCaptureFixture
) -> None:
    other = followed.path.with_name("other.jsonl")
    other.write_bytes(row("other"))
    await followed.adopt("cli/other", other)

    def look(path: str, offset: int) -> Piece:
        return forbidden(path, offset) if Path(path) == followed.path else read_piece(path, offset)

    followed.read_by(look)
    with caplog.at_level(logging.WARNING):
        for number in range(3):
            with other.open("ab") as file:
                file.write(row(f"{number}"))
            await followed.monitor.tick()
    assert await followed.signals(SessionId("cli/other")) == ["human_direct_message 0"] * 3
    assert sum("Permission denied" in record.message for record in caplog.records) == 1


@pytest.mark.requirement("upstream.one-fails")
async def test_a_fault_and_a_dead_disk_stop_no_other(
    followed: Followed, caplog: pytest.LogCaptureFixture
) -> None:
    followed.patch.setattr(upstream_monitor, "LOOK_PATIENCE_S", 1.0)
    last = followed.path.with_name("last.jsonl")
    last.write_bytes(row("last"))
    await followed.adopt("cli/zz-last", last)
    is_alive = threading.Event()

    def dead(path: str, offset: int) -> Piece:
        if Path(path) == followed.path:
            is_alive.wait(10)
        return read_piece(path, offset)

    def faulty(path: str, offset: int) -> Piece:
        if Path(path) == followed.path:
            raise RuntimeError("a fault")
        return read_piece(path, offset)

    followed.add("waits")
    try:
        for number, reader in enumerate((dead, dead, faulty)):
            followed.read_by(reader)
            with last.open("ab") as file:
                file.write(row(f"{number}"))
            await followed.monitor.tick()
            assert len(await followed.signals(SessionId("cli/zz-last"))) == number + 1
        assert sum("did not answer" in record.message for record in caplog.records) == 1
    finally:
        is_alive.set()
    followed.read_by(read_piece)
    async with asyncio.timeout(10):
        while not await followed.signals():
            await followed.monitor.tick()
    assert await followed.signals() == ["human_direct_message 0"]


@pytest.mark.requirement("upstream.atomic")
async def test_what_cannot_be_written_is_found_again(followed: Followed) -> None:
    followed.add("kept")
    followed.world.store.failure = StorageFullError("The disk is full.")
    await followed.monitor.tick()
    followed.read_by(gone)
    for _ in range(4):
        await followed.monitor.tick()
    followed.world.store.failure = None
    assert await followed.signals() == []
    followed.read_by(read_piece)
    await followed.monitor.tick()
    assert await followed.signals() == ["human_direct_message 0"]


async def test_nothing_is_written_once_the_daemon_ends(followed: Followed) -> None:
    followed.add("kept")

    async def stop() -> None:
        followed.monitor.stop()

    followed.meanwhile(stop, read_piece)
    await followed.monitor.tick()
    await followed.monitor.tick()
    assert await followed.signals() == []


@pytest.mark.requirement("upstream.tick")
@pytest.mark.parametrize(("tick_s", "expected"), [(60.0, 15.0), (4.0, 4.0)])
async def test_the_first_look_waits_for_one_tick_or_fifteen_seconds(
    followed: Followed, tick_s: float, expected: float
) -> None:
    services = followed.world.supervisor.services
    signals = SignalSettings(monitor_tick_s=tick_s)
    services.settings.current = replace(services.settings.current, signals=signals)
    first: asyncio.Future[float] = asyncio.get_running_loop().create_future()

    def timeout(left_s: float) -> asyncio.Timeout:
        if not first.done():
            first.set_result(left_s)
        return asyncio.timeout(left_s)

    task = asyncio.create_task(UpstreamMonitor(services, timeout=timeout).run())
    assert await first == pytest.approx(expected, abs=0.5)
    task.cancel()


def test_a_piece_is_read_from_where_the_marker_is(tmp_path: Path) -> None:
    path = tmp_path.resolve() / "talk.jsonl"
    path.write_bytes(b"0123456789")
    piece = read_piece(str(path), 4)
    assert piece.data == b"456789"
    assert isinstance(piece.facts, FileFacts)
    assert read_piece(str(path), 99).data == b""
    (tmp_path / "link.jsonl").symlink_to(path)
    for bad, words in (("link.jsonl", "symbolic links"), ("", "regular file")):
        with pytest.raises(OSError, match=words) as refused:
            read_piece(str(tmp_path.resolve() / bad), 0)
        assert not isinstance(refused.value, FileNotFoundError)
    with pytest.raises(FileNotFoundError):
        read_piece(str(tmp_path / "none"), 0)
