"""Reads beside the writer: never in its way, never a half-written view."""

from __future__ import annotations

import asyncio
import threading

import apsw
import pytest

from netclaw.core.errors import InternalError, StorageReadOnlyError
from netclaw.store.connection import Database
from tests.contracts.journal_world import SqliteWorld


@pytest.mark.requirement("store.readers")
async def test_a_reader_never_blocks_the_writer(sqlite_world: SqliteWorld) -> None:
    reached, leave = threading.Event(), threading.Event()

    def long_read(db: Database) -> tuple[int, int]:
        before = db.number("SELECT count(*) FROM journal")
        reached.set()
        assert leave.wait(15)
        return before, db.number("SELECT count(*) FROM journal")

    reading = asyncio.ensure_future(sqlite_world.journal._readers.read(long_read))
    await asyncio.to_thread(reached.wait, 15)
    for _ in range(5):
        await sqlite_world.admit()
    assert (await sqlite_world.record()).pending_inputs == 5, "another reader sees what is new"
    assert not reading.done()
    leave.set()
    assert await reading == (1, 1), "one read sees one moment"


@pytest.mark.requirement("store.readers")
async def test_a_reader_cannot_write(sqlite_world: SqliteWorld) -> None:
    with pytest.raises(StorageReadOnlyError):
        await sqlite_world.journal._readers.read(lambda db: db.run("DELETE FROM sessions"))
    assert (await sqlite_world.record()).head == 1


async def test_a_failing_read_gives_its_connection_back(sqlite_world: SqliteWorld) -> None:
    for _ in range(5):
        with pytest.raises(InternalError):
            await sqlite_world.journal._readers.read(lambda db: db.run("SELECT nothing"))
    assert (await sqlite_world.record()).head == 1


@pytest.mark.requirement("store.readers")
async def test_no_read_transaction_outlives_its_read(sqlite_world: SqliteWorld) -> None:
    await sqlite_world.record()
    await sqlite_world.admit()
    foreign = apsw.Connection(str(sqlite_world.path))
    # A truncating checkpoint succeeds only when no reader holds a part of the log.
    foreign.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
    foreign.close()
