"""The writer thread: group commit, deadlines, and failures that stay where they happened."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

import apsw
import pytest

from netclaw.core.errors import InternalError, NotFoundError, StorageTimeoutError
from netclaw.core.ids import InputId, SessionId
from netclaw.core.settings import StorageSettings
from netclaw.ports.journal import AdmitRequest, Commit
from netclaw.store.scope import WriteScope
from netclaw.testing.people import OPERATOR
from tests.contracts.journal_world import OTHER, SESSION, SqliteWorld
from tests.store.waiting import until

GATE_S = 15.0


class Gate:
    """Holds the writer thread inside a write until the test lets it go."""

    def __init__(self) -> None:
        self._reached = threading.Event()
        self._open = threading.Event()

    def hold(self, scope: WriteScope) -> str:
        """The write."""
        del scope
        self._reached.set()
        assert self._open.wait(GATE_S)
        return "true outcome"

    async def reached(self) -> None:
        """Wait until the writer is in it."""
        await asyncio.to_thread(self._reached.wait, GATE_S)

    def open(self) -> None:
        """Let the writer go on."""
        self._open.set()


def request(session_id: SessionId, number: int) -> AdmitRequest:
    """An input of a flood."""
    return AdmitRequest(
        session_id=session_id,
        input_id=InputId(f"i{number}"),
        source_message_id=f"m{number}",
        text="x" * 50,
        authority=OPERATOR,
        attended=False,
        at=1,
    )


@pytest.mark.requirement("store.group-commit")
async def test_a_thousand_admissions_at_once_share_few_transactions(
    sqlite_world: SqliteWorld,
) -> None:
    journal = sqlite_world.journal
    sessions = [SessionId(f"cli/{number}") for number in range(250)]
    for session_id in sessions:
        await sqlite_world.create(session_id)
    before = journal.transactions
    answers = await asyncio.gather(
        *[
            journal.admit(request(session_id, number))
            for number in range(4)
            for session_id in sessions
        ]
    )
    assert len(answers) == 1000
    assert journal.transactions - before <= 50
    assert (await journal.counts()).pending_inputs == 1000
    assert await journal.check_integrity(is_full=True) is None


@pytest.mark.requirement("store.group-commit")
async def test_what_waits_behind_a_slow_write_is_committed_together(
    sqlite_world: SqliteWorld,
) -> None:
    gate = Gate()
    writer = sqlite_world.journal._writer
    slow = writer.submit(gate.hold)
    await gate.reached()
    before = sqlite_world.transactions()
    waiting = [asyncio.ensure_future(sqlite_world.admit()) for _ in range(4)]
    await asyncio.sleep(0)
    gate.open()
    assert await slow == "true outcome"
    assert [answer.seq for answer in await asyncio.gather(*waiting)] == [2, 3, 4, 5]
    assert sqlite_world.transactions() - before <= 2
    assert sqlite_world.batches[-1] == 4


@pytest.mark.requirement("store.write-timeout")
async def test_a_write_that_did_not_begin_in_time_is_dropped(tmp_path: Path) -> None:
    settings = StorageSettings(timeout_s=1.0, timeout_grace_s=0.1)
    world = SqliteWorld(tmp_path / "netclaw.db", settings)
    await world.open()
    await world.create()
    gate = Gate()
    begun = world.journal._writer.submit(gate.hold)
    await gate.reached()
    with pytest.raises(StorageTimeoutError):
        await world.admit()
    assert not begun.done(), "it is told while the writer is stuck"
    gate.open()
    assert await begun == "true outcome", "what has begun keeps its outcome, however late"
    assert (await world.admit()).seq == 2, "the dropped one was never written"
    await world.close()


@pytest.mark.requirement("store.write-timeout")
async def test_a_late_write_is_dropped_even_if_nobody_looked(tmp_path: Path) -> None:
    settings = StorageSettings(timeout_s=0.0, timeout_grace_s=0.0)
    world = SqliteWorld(tmp_path / "netclaw.db", settings)
    await world.open()
    with pytest.raises(StorageTimeoutError):
        await world.create()
    assert await world.journal.get_session(SESSION) is None
    await world.close()


@pytest.mark.requirement("store.commit-order")
async def test_a_broken_listener_keeps_nobody_waiting(
    sqlite_world: SqliteWorld, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(commits: Sequence[Commit]) -> None:
        raise RuntimeError(len(commits))

    sqlite_world.journal.set_listener(broken)
    assert (await sqlite_world.admit()).seq == 2
    assert "listener" in caplog.text


def fault(scope: WriteScope) -> None:
    """A fault of the store itself, after it wrote something."""
    scope.session(SESSION).title = "never"
    scope.db.run("UPDATE sessions SET title = 'never'")
    raise RuntimeError("a bug")


def bad_sql(scope: WriteScope) -> None:
    """A statement SQLite refuses, after one it took."""
    scope.session(SESSION).title = "never"
    scope.db.run("UPDATE sessions SET title = 'never'")
    scope.db.run("INSERT INTO meta (name, value) VALUES ('probe', '1')")


@pytest.mark.requirement("store.commit-order")
@pytest.mark.parametrize("work", [fault, bad_sql])
async def test_a_fault_in_one_write_leaves_the_others_and_no_trace(
    sqlite_world: SqliteWorld, work: Callable[[WriteScope], None], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.CRITICAL)
    writer = sqlite_world.journal._writer
    gate = Gate()
    slow = writer.submit(gate.hold)
    await gate.reached()
    before = asyncio.ensure_future(sqlite_world.admit())
    await asyncio.sleep(0)
    broken = writer.submit(work)
    after = asyncio.ensure_future(sqlite_world.admit())
    unknown = asyncio.ensure_future(sqlite_world.admit(session_id=OTHER))
    await asyncio.sleep(0)
    gate.open()
    with pytest.raises(InternalError):
        await broken
    with pytest.raises(NotFoundError):
        await unknown
    assert [(await before).seq, (await after).seq] == [2, 3]
    assert (await sqlite_world.record()).title == ""
    assert await slow == "true outcome"


async def test_a_caller_who_stopped_waiting_harms_nobody(sqlite_world: SqliteWorld) -> None:
    gate = Gate()
    slow = sqlite_world.journal._writer.submit(gate.hold)
    await gate.reached()
    gone = asyncio.ensure_future(sqlite_world.admit())
    stays = asyncio.ensure_future(sqlite_world.admit())
    await asyncio.sleep(0)
    gone.cancel()
    gate.open()
    await slow
    assert (await stays).seq == 3, "a write is not taken back when its caller leaves"


async def test_closing_commits_what_waits(sqlite_world: SqliteWorld) -> None:
    gate = Gate()
    slow = sqlite_world.journal._writer.submit(gate.hold)
    await gate.reached()
    waiting = [asyncio.ensure_future(sqlite_world.admit()) for _ in range(3)]
    await asyncio.sleep(0)
    closing = asyncio.ensure_future(sqlite_world.journal.close())
    await asyncio.sleep(0)
    gate.open()
    await closing
    await slow
    assert [answer.seq for answer in await asyncio.gather(*waiting)] == [2, 3, 4]
    await sqlite_world.open()
    assert (await sqlite_world.record()).pending_inputs == 3


async def test_a_foreign_program_that_holds_the_file_is_a_timeout(
    sqlite_world: SqliteWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    foreign = apsw.Connection(str(sqlite_world.path))
    foreign.execute("BEGIN IMMEDIATE")
    monkeypatch.setattr("netclaw.store.connection.BUSY_TIMEOUT_MS", 10)
    world = SqliteWorld(sqlite_world.path)
    with pytest.raises(StorageTimeoutError):
        await world.open()
    foreign.execute("COMMIT")
    foreign.close()
    assert (await sqlite_world.admit()).seq == 2


def log_size(path: Path) -> int:
    """Bytes in the write-ahead log."""
    return Path(f"{path}-wal").stat().st_size


@pytest.mark.requirement("store.checkpoint")
async def test_the_log_is_cut_when_it_is_quiet(
    sqlite_world: SqliteWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("netclaw.store.writer.IDLE_CHECKPOINT_S", 0.01)
    await sqlite_world.admit()
    await until(lambda: log_size(sqlite_world.path) == 0)
    assert (await sqlite_world.record()).pending_inputs == 1


@pytest.mark.requirement("store.group-commit")
async def test_a_creation_that_fails_leaves_no_session_behind(
    sqlite_world: SqliteWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_args: object, **_more: object) -> None:
        raise InternalError("not today")

    with monkeypatch.context() as patch:
        patch.setattr("netclaw.store.sessions.publish_events", fail)
        with pytest.raises(InternalError):
            await sqlite_world.create(OTHER)
    with pytest.raises(NotFoundError):
        await sqlite_world.admit(session_id=OTHER)
    record, is_new = await sqlite_world.create(OTHER)
    assert (is_new, record.head) == (True, 1)
    assert (await sqlite_world.admit(session_id=OTHER)).seq == 2


@pytest.mark.requirement("store.writer-watched")
async def test_a_writer_that_ends_by_itself_is_told_of_and_a_closed_one_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed = SqliteWorld(tmp_path / "closed.db")
    await closed.open()
    watching = asyncio.create_task(closed.journal.watch())
    await closed.close()
    await watching
    world = SqliteWorld(tmp_path / "netclaw.db")
    await world.open()
    watching = asyncio.create_task(world.journal.watch())

    def fail(*_: object) -> None:
        raise RuntimeError("a fault of ours")

    monkeypatch.setattr(world.journal._writer, "_gather", fail)
    refused = asyncio.ensure_future(world.create())
    with pytest.raises(InternalError, match="writer failed"):
        await watching
    refused.cancel()
    await world.close()
