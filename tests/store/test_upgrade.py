"""A database written by an earlier netclaw is brought to this one's schema and loses nothing."""

from __future__ import annotations

from pathlib import Path

import apsw
import pytest

from netclaw.core.settings import DaemonSettings, StorageSettings
from netclaw.store.connection import APPLICATION_ID
from netclaw.store.migrations import known_migrations
from netclaw.store.store import SqliteJournalStore
from tests.contracts.journal_world import SESSION, SqliteWorld, recorded, started

NEWEST = len(known_migrations())


def as_version(current: Path, old: Path, version: int) -> None:
    """Write what a database of today holds into one of an earlier schema."""
    connection = apsw.Connection(str(old))
    connection.pragma("journal_mode", "wal")
    for step in known_migrations()[:version]:
        connection.execute(step.sql)
    connection.execute("ATTACH ? AS today", (str(current),))
    names = connection.execute(
        "SELECT name FROM main.sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
    ).fetchall()
    for (name,) in names:
        table = f'"{name}"'
        found = connection.execute(f"PRAGMA main.table_info({table})").fetchall()
        columns = ", ".join(str(row[1]) for row in found)
        connection.execute(f"DELETE FROM main.{table}")  # noqa: S608 names from our own schema
        connection.execute(
            f"INSERT INTO main.{table} ({columns}) SELECT {columns} FROM today.{table}"  # noqa: S608
        )
    connection.execute("DETACH today")
    connection.pragma("user_version", version)
    connection.pragma("application_id", APPLICATION_ID)
    connection.close()


@pytest.mark.requirement("operator.upgrade")
@pytest.mark.parametrize("version", range(1, NEWEST))
async def test_an_older_database_keeps_all_it_holds(tmp_path: Path, version: int) -> None:
    world = SqliteWorld(tmp_path / "today.db")
    await world.open()
    await world.create()
    first = await world.admit("answered")
    await world.admit("not answered")
    start = await world.start()
    await world.append(start, started("t1", first.input_id), recorded("t1", first.input_id))
    before = await world.record()
    await world.close()

    old = tmp_path / "netclaw.db"
    as_version(tmp_path / "today.db", old, version)
    store = await SqliteJournalStore.open(old, StorageSettings(), DaemonSettings())
    try:
        assert await store.get_session(SESSION) == before
        assert [entry.outcome for entry in await store.ledger(SESSION, limit=9)] == [
            *("completed", "waiting")
        ]
        rows = await store.read_journal(SESSION, since=0, limit=100)
        assert [row.seq for row in rows] == list(range(1, before.head + 1))
    finally:
        await store.close()
    connection = apsw.Connection(str(old), flags=apsw.SQLITE_OPEN_READONLY)
    assert connection.pragma("user_version") == NEWEST
    connection.close()
