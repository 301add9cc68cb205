"""The small parts: tasks, frames, places, health, tokens of the service manager, the manifest."""

from __future__ import annotations

import asyncio
import os
import socket
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from netclaw.core.errors import DrainingError, InternalError, StorageFullError
from netclaw.core.ids import SessionId
from netclaw.supervisor.frames import FrameQueue
from netclaw.supervisor.manifest import MANIFEST, take_manifest, write_manifest
from netclaw.supervisor.sd_notify import ServiceManager
from netclaw.supervisor.start_gate import StartGate, Urgency
from netclaw.supervisor.storage_health import StorageHealth
from netclaw.supervisor.tasks import OnFault, Tasks
from netclaw.testing.memory_journal import MemoryJournal
from netclaw.wire.v1.common_pb2 import JournalRow
from netclaw.wire.v1.session_host_pb2 import Ping, ToSession


@pytest.mark.requirement("supervisor.no-silent-task")
async def test_a_failing_task_is_logged_and_a_vital_one_stops_the_daemon(
    caplog: pytest.LogCaptureFixture,
) -> None:
    fatal: list[BaseException] = []
    tasks = Tasks(on_fatal=fatal.append)

    async def fail() -> None:
        raise ValueError("nobody awaits me")

    await asyncio.wait({tasks.start(fail(), name="small")})
    assert "task small failed" in caplog.text
    assert fatal == []
    await asyncio.wait({tasks.start(fail(), name="vital", on_fault=OnFault.STOP_DAEMON)})
    assert [type(fault) for fault in fatal] == [ValueError]
    endless = tasks.start(asyncio.Event().wait(), name="endless", on_fault=OnFault.STOP_DAEMON)
    await tasks.cancel_all()
    assert endless.cancelled()
    assert len(fatal) == 1


class Written:
    """Collects what a queue writes."""

    def __init__(self) -> None:
        self.frames: list[ToSession] = []
        self.has_any = asyncio.Event()

    async def write(self, message: bytes) -> None:
        """Take one message."""
        self.frames.append(ToSession.FromString(message))
        self.has_any.set()

    def order(self) -> list[list[int] | int]:
        """Seqs of committed rows, numbers of pings."""
        return [
            [row.seq for row in frame.committed.rows]
            if frame.HasField("committed")
            else frame.ping.number
            for frame in self.frames
        ]


@pytest.mark.requirement("supervisor.commit-order")
async def test_postponed_rows_leave_joined_and_before_any_later_frame() -> None:
    queue, written = FrameQueue(), Written()
    queue.send(ToSession(ping=Ping(number=1)))
    queue.postpone([JournalRow(seq=4)])
    queue.postpone([JournalRow(seq=5)])
    queue.send(ToSession(ping=Ping(number=2)))
    queue.postpone([JournalRow(seq=6)])
    queue.close()
    queue.send(ToSession(ping=Ping(number=3)))
    await queue.write_all(written.write)
    assert written.order() == [1, [4, 5], 2, [6]]


async def test_postponed_rows_do_not_wait_for_ever() -> None:
    queue, written = FrameQueue(), Written()
    writing = asyncio.create_task(queue.write_all(written.write))
    queue.postpone([JournalRow(seq=4)])
    await asyncio.wait_for(written.has_any.wait(), 15)
    assert written.order() == [[4]]
    queue.close()
    await writing


@pytest.mark.requirement("supervisor.places")
async def test_places_go_by_urgency_then_order_and_somebody_is_asked_to_leave() -> None:
    asked: list[int] = []
    gate = StartGate(places=1, concurrency=8, make_room=lambda: asked.append(1))
    order: list[str] = []
    leave = asyncio.Event()

    async def live(name: str, urgency: Urgency) -> None:
        async with gate.place(lambda: urgency):
            order.append(name)
            if name == "first":
                await leave.wait()

    living = [asyncio.create_task(live("first", Urgency.WORK))]
    await asyncio.sleep(0)
    for name, urgency in (("b", Urgency.WORK), ("c", Urgency.WORK), ("answer", Urgency.ANSWER)):
        living.append(asyncio.create_task(live(name, urgency)))
    await asyncio.sleep(0)
    assert gate.is_short
    assert len(asked) == 3
    leave.set()
    await asyncio.gather(*living)
    assert order == ["first", "answer", "b", "c"]
    assert not gate.is_short


@pytest.mark.requirement("supervisor.people-first")
async def test_a_start_that_a_person_waits_for_goes_ahead_of_any_number_of_wakes() -> None:
    gate = StartGate(places=100, concurrency=1)
    order: list[str] = []
    first = asyncio.Event()
    urgency = dict.fromkeys(("first", "a", "b", "late", "person"), Urgency.WORK)
    urgency["person"] = Urgency.PERSON

    async def start(name: str) -> None:
        async with gate.permit(lambda: urgency[name]):
            order.append(name)
            if name == "first":
                await first.wait()

    starting = [asyncio.create_task(start(name)) for name in urgency]
    await asyncio.sleep(0)
    urgency["late"] = Urgency.PERSON  # somebody writes to a session that waits already
    first.set()
    await asyncio.gather(*starting)
    assert order == ["first", "late", "person", "a", "b"]


async def test_one_that_stops_waiting_for_a_place_takes_none() -> None:
    gate = StartGate(places=1, concurrency=1)
    async with gate.place(lambda: Urgency.WORK):
        waiting = asyncio.create_task(gate.place(lambda: Urgency.WORK).__aenter__())
        await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
        assert not gate.is_short
    async with asyncio.timeout(15), gate.place(lambda: Urgency.WORK):
        pass


@pytest.mark.requirement("supervisor.storage-wait")
async def test_starts_wait_until_a_probe_write_succeeds() -> None:
    store, tasks = MemoryJournal(), Tasks()
    health = StorageHealth(store, tasks, probe_interval_s=0.005)
    recovered: list[int] = []
    health.when_recovered(lambda: recovered.append(1))
    await asyncio.wait_for(health.wait_usable(), 15)
    store.failure = StorageFullError("full")
    health.note(store.failure)
    health.note(store.failure)
    assert health.state == "storage_full"
    waiting = asyncio.create_task(health.wait_usable())
    for _ in range(10):
        await asyncio.sleep(0.005)
    assert not waiting.done()
    store.failure = None
    await asyncio.wait_for(waiting, 15)
    assert health.state == "ok"
    assert recovered == [1]
    await tasks.cancel_all()


@pytest.mark.requirement("supervisor.storage-wait")
async def test_no_failure_ends_the_probe_while_the_daemon_lives(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    fatal: asyncio.Future[BaseException] = asyncio.get_running_loop().create_future()
    store, tasks = MemoryJournal(), Tasks(on_fatal=fatal.set_result)
    health = StorageHealth(store, tasks, probe_interval_s=0.005)
    faults: list[Exception] = [InternalError("odd"), DrainingError("odd"), StorageFullError("full")]
    probe_write = store.probe_write

    async def probe() -> None:
        if faults:
            raise faults.pop(0)
        await probe_write()

    monkeypatch.setattr(store, "probe_write", probe)
    health.note(StorageFullError("full"))
    await asyncio.wait_for(health.wait_usable(), 15)
    assert (health.state, fatal.done()) == ("ok", False)
    faults.append(ValueError("a fault of ours"))
    health.note(StorageFullError("full"))
    assert isinstance(await asyncio.wait_for(fatal, 15), ValueError)
    await tasks.cancel_all()


@pytest.mark.requirement("supervisor.service-manager")
async def test_a_service_manager_hears_states_and_the_watchdog(tmp_path: Path) -> None:
    address = tmp_path / "n"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(str(address))
        manager.settimeout(5)
        environ = {"NOTIFY_SOCKET": str(address), "WATCHDOG_USEC": "20000"}
        daemon = ServiceManager(environ)
        daemon.tell("READY=1", "MAINPID=1")
        assert manager.recv(100) == b"READY=1\nMAINPID=1"
        quiet = asyncio.create_task(daemon.keep_watchdog_quiet())
        for _ in range(3):
            assert await asyncio.to_thread(manager.recv, 100) == b"WATCHDOG=1"
        quiet.cancel()


async def test_without_a_service_manager_nothing_is_sent_and_a_lost_one_is_no_fault(
    tmp_path: Path,
) -> None:
    ServiceManager({}).tell("READY=1")
    ServiceManager({"NOTIFY_SOCKET": str(tmp_path / "gone")}).tell("READY=1")
    other = {"NOTIFY_SOCKET": "x", "WATCHDOG_USEC": "5", "WATCHDOG_PID": str(os.getpid() + 1)}
    await asyncio.wait_for(ServiceManager(other).keep_watchdog_quiet(), 15)


@pytest.mark.requirement("supervisor.warm-up")
def test_a_manifest_is_taken_once_and_a_broken_one_is_none(tmp_path: Path) -> None:
    write_manifest(tmp_path, [SessionId("b"), SessionId("a")])
    assert take_manifest(tmp_path) == ("a", "b")
    assert take_manifest(tmp_path) == ()
    write_manifest(tmp_path, [SessionId("a")])
    write_manifest(tmp_path, [])
    assert take_manifest(tmp_path) == ()
    outside = tmp_path / "outside"
    outside.write_text("untouched")
    (tmp_path / MANIFEST).symlink_to(outside)
    write_manifest(tmp_path, [SessionId("a")])
    assert outside.read_text() == "untouched"
    assert stat.S_IMODE((tmp_path / MANIFEST).lstat().st_mode) == 0o600
    assert [path.name for path in tmp_path.iterdir() if path != outside] == [MANIFEST]
    assert take_manifest(tmp_path) == ("a",)
    for broken in ("{", '["\\u0000"]', "5"):
        (tmp_path / MANIFEST).write_text(broken)
        assert take_manifest(tmp_path) == ()
        assert not (tmp_path / MANIFEST).exists()


@pytest.mark.requirement("supervisor.tokens")
def test_a_process_with_credentials_leaves_no_core() -> None:
    program = (
        "import resource; from netclaw.linux.prctl import forbid_inspection; forbid_inspection();"
        "print(resource.getrlimit(resource.RLIMIT_CORE)[0])"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert ran.stdout == "0\n"
