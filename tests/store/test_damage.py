"""Files the store must not harm: damaged, foreign, of a newer schema, or not writable."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import apsw
import pytest

from netclaw.core.errors import (
    NetclawError,
    SchemaNewerError,
    StorageCorruptError,
    StorageReadOnlyError,
)
from netclaw.core.ids import SessionId
from netclaw.core.settings import DaemonSettings, StorageSettings
from netclaw.store import migrations
from netclaw.store.health import check_file
from netclaw.store.store import Soundness, SqliteJournalStore
from tests.contracts.journal_world import SqliteWorld
from tests.store.waiting import until

PAGE = 4096
"""SQLite's page size, as the store leaves it."""


async def open_store(path: Path) -> SqliteJournalStore:
    """Open with ordinary settings."""
    return await SqliteJournalStore.open(path, StorageSettings(), DaemonSettings())


async def filled(path: Path, inputs: int = 200) -> None:
    """A closed store with some content."""
    world = SqliteWorld(path)
    await world.open()
    for number in range(inputs // 5):
        session_id = SessionId(f"cli/{number}")
        await world.create(session_id)
        for _ in range(5):
            await world.admit("x" * 190, session_id=session_id)
    await world.close()


def run_sql(path: Path, sql: str) -> None:
    """Change a closed database from outside."""
    connection = apsw.Connection(str(path))
    connection.execute(sql)
    connection.close()


def overwrite(path: Path, offset: int, content: bytes) -> None:
    """Spoil bytes of a closed file."""
    with path.open("r+b") as file:
        file.seek(offset)
        file.write(content)


def content_of(path: Path) -> bytes:
    """The bytes of a closed file."""
    return path.read_bytes()


@pytest.mark.requirement("store.schema-newer")
async def test_a_newer_schema_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "netclaw.db"
    await filled(path)
    run_sql(path, "PRAGMA user_version = 9000")
    before = content_of(path)
    with pytest.raises(SchemaNewerError, match="9000"):
        await open_store(path)
    assert content_of(path) == before


@pytest.mark.requirement("store.foreign-file")
@pytest.mark.parametrize(
    "content", [b"this is no database, whatever its name says\n" * 200, b"\0" * 9000, b"x"]
)
async def test_a_file_that_is_no_database_is_left_as_it_is(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "netclaw.db"
    write_bytes(path, content)
    with pytest.raises(StorageCorruptError):
        await open_store(path)
    assert content_of(path) == content


def write_bytes(path: Path, content: bytes) -> None:
    """Make a file."""
    path.write_bytes(content)


@pytest.mark.requirement("store.foreign-file")
@pytest.mark.parametrize(
    "sql", ["CREATE TABLE t (x)", "PRAGMA user_version = 3", "PRAGMA application_id = 7"]
)
async def test_a_database_of_another_program_is_left_as_it_is(tmp_path: Path, sql: str) -> None:
    path = tmp_path / "netclaw.db"
    run_sql(path, sql)
    before = content_of(path)
    with pytest.raises(StorageCorruptError, match="another program"):
        await open_store(path)
    assert content_of(path) == before


@pytest.mark.requirement("store.foreign-file")
async def test_an_empty_file_becomes_a_database_for_its_owner_only(tmp_path: Path) -> None:
    path = tmp_path / "netclaw.db"
    write_bytes(path, b"")
    store = await open_store(path)
    assert await store.list_sessions(limit=1) == ()
    await store.close()
    fresh = tmp_path / "fresh.db"
    await (await open_store(fresh)).close()
    assert mode_of(fresh) == 0o600


def mode_of(path: Path) -> int:
    """Permission bits."""
    return path.stat().st_mode & 0o777


@pytest.mark.requirement("store.corrupt-file")
async def test_damage_met_by_a_write_ends_writing_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "netclaw.db"
    await filled(path)
    page = root_page(path, "inputs")
    overwrite(path, (page - 1) * PAGE, b"\xff" * PAGE)
    store = await open_store(path)
    for _ in range(2):
        with pytest.raises(StorageCorruptError):
            await admit_one(path, store)
    with pytest.raises(StorageCorruptError):
        await store.probe_write()
    assert len(await store.list_sessions(limit=100)) == 40, "what is sound can still be read"
    with pytest.raises(StorageCorruptError):
        await store.ledger(SessionId("cli/1"), limit=5)
    assert await store.check_integrity(is_full=True) is not None
    await store.close()
    assert check_file(path, is_full=False) is not None


async def admit_one(path: Path, store: SqliteJournalStore) -> None:
    """Admit one input to a session that exists."""
    world = SqliteWorld(path)
    await store.admit(world.input_request(session_id=SessionId("cli/1")))


def root_page(path: Path, table: str) -> int:
    """Where a table begins."""
    connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    (found,) = connection.execute("SELECT rootpage FROM sqlite_schema WHERE name = ?", (table,))
    connection.close()
    return int(str(found[0]))


@pytest.mark.requirement("store.integrity")
async def test_a_quick_check_after_an_unclean_stop_finds_damage(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "netclaw.db"
    await filled(path)
    run_sql(path, "UPDATE meta SET value = '0' WHERE name = 'clean_shutdown'")
    overwrite(path, (root_page(path, "journal") - 1) * PAGE, b"\xff" * 64)
    store = await open_store(path)
    assert not store.was_clean
    await until(lambda: store.soundness in (Soundness.SOUND, Soundness.DAMAGED))
    assert store.soundness is Soundness.DAMAGED
    assert store.damage
    assert "unclean stop" in caplog.text
    await store.close()


@pytest.mark.requirement("store.integrity")
async def test_only_an_unclean_stop_is_checked(sqlite_world: SqliteWorld) -> None:
    assert sqlite_world.journal.was_clean, "a new file was never left unclean"
    assert sqlite_world.journal.soundness is Soundness.TRUSTED
    await sqlite_world.die()
    died = sqlite_world.journal
    assert not died.was_clean
    await until(lambda: died.soundness is Soundness.SOUND)
    await sqlite_world.close()
    await sqlite_world.open()
    assert sqlite_world.journal.was_clean
    assert check_file(sqlite_world.path, is_full=True) is None


# Tries to open and write as a user whom permissions bind; root is not bound by them.
UNPRIVILEGED = """
import asyncio, os, sys
from pathlib import Path
from netclaw.core.errors import NetclawError
from netclaw.core.ids import SessionId
from netclaw.core.settings import DaemonSettings, StorageSettings
from netclaw.store.store import SqliteJournalStore
import netclaw.store.sql, netclaw.store.migrations
netclaw.store.migrations.known_migrations()
if os.getuid() == 0:
    os.setgroups([]); os.setgid(65534); os.setuid(65534)
async def main():
    try:
        path = Path(sys.argv[1])
        store = await SqliteJournalStore.open(path, StorageSettings(), DaemonSettings())
        await store.probe_write()
        await store.close()
        sys.stdout.write("written")
    except NetclawError as error:
        sys.stdout.write(str(error.code))
asyncio.run(main())
"""


def folder_read_only(path: Path) -> None:
    """Nothing may be made in the folder."""
    path.parent.chmod(0o555)


def file_read_only(path: Path) -> None:
    """The file may be read; the folder is open."""
    path.parent.chmod(0o777)
    path.chmod(0o444)


def all_read_only(path: Path) -> None:
    """Neither may be written."""
    path.chmod(0o444)
    path.parent.chmod(0o555)


def new_in_read_only(path: Path) -> None:
    """There is no file, and none can be made."""
    path.unlink()
    path.parent.chmod(0o555)


@pytest.mark.requirement("store.read-only")
@pytest.mark.parametrize(
    "forbid", [folder_read_only, file_read_only, all_read_only, new_in_read_only]
)
def test_what_cannot_be_written_is_said_and_left(
    short_tmp: Path, forbid: Callable[[Path], None]
) -> None:
    short_tmp.chmod(0o755)
    home = short_tmp / "home"
    home.mkdir()
    path = home / "netclaw.db"
    asyncio.run(filled(path, 10))
    forbid(path)
    before = databases(home)
    try:
        assert said_by_child(path) == "storage_read_only"
        assert databases(home) == before
    finally:
        home.chmod(0o755)


def databases(folder: Path) -> dict[str, bytes]:
    """Every database of a folder."""
    return {entry.name: entry.read_bytes() for entry in folder.glob("*.db")}


def said_by_child(path: Path) -> str:
    """What the unprivileged program says."""
    command = [sys.executable, "-c", UNPRIVILEGED, str(path)]
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=15, check=False, env=environment
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


async def test_a_missing_folder_is_said(tmp_path: Path) -> None:
    with pytest.raises(StorageReadOnlyError):
        await open_store(tmp_path / "missing" / "netclaw.db")


@pytest.mark.requirement("store.migrations")
def test_migrations_are_numbered_without_a_gap() -> None:
    numbers = [step.number for step in migrations.known_migrations()]
    assert numbers == list(range(1, len(numbers) + 1))


@pytest.mark.requirement("store.migrations")
async def test_missing_steps_are_taken_once_and_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "netclaw.db"
    await filled(path, 5)
    first = migrations.known_migrations()
    newest = len(first)
    good = migrations.Migration(
        number=newest + 1, sql="CREATE TABLE later (x); INSERT INTO later VALUES (1)"
    )
    bad = migrations.Migration(
        number=newest + 2, sql="INSERT INTO later VALUES (2); INSERT INTO nowhere"
    )
    monkeypatch.setattr(migrations, "known_migrations", lambda: (*first, good, bad))
    with pytest.raises(NetclawError):
        await open_store(path)
    assert schema_of(path) == (newest, 0)
    monkeypatch.setattr(migrations, "known_migrations", lambda: (*first, good))
    for _ in range(2):
        store = await open_store(path)
        assert len(await store.list_sessions(limit=5)) == 1
        await store.close()
    assert schema_of(path) == (newest + 1, 1)


def schema_of(path: Path) -> tuple[int, int]:
    """The schema's number, and how many rows the later step made."""
    connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    version = connection.pragma("user_version")
    is_there = connection.execute("SELECT 1 FROM sqlite_schema WHERE name = 'later'").fetchall()
    rows = connection.execute("SELECT * FROM later").fetchall() if is_there else []
    connection.close()
    return int(str(version)), len(rows)
