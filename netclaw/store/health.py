"""Whether the database is sound and writable: marker of a clean stop, checks, probe write."""

from __future__ import annotations

from pathlib import Path

import apsw

from netclaw.store.connection import Database, ForkGuard, Row, open_reader
from netclaw.store.scope import WriteScope

_FAULTS_SHOWN = 10


def mark_running(db: Database) -> bool:
    """Note that the database is in use; answer whether the last use ended cleanly."""
    was_clean = db.row("SELECT value FROM meta WHERE name = 'clean_shutdown'") == ("1",)
    db.run("UPDATE meta SET value = '0' WHERE name = 'clean_shutdown'")
    return was_clean


def mark_clean(scope: WriteScope) -> None:
    """Note that this use ends cleanly."""
    scope.db.run("UPDATE meta SET value = '1' WHERE name = 'clean_shutdown'")


def probe_write(scope: WriteScope) -> None:
    """Write something harmless, so that the commit proves that writing works.

    Raises `StorageFullError` below the floor as well: a start would not get far.
    """
    scope.require_space()
    scope.db.run("UPDATE meta SET value = value + 1 WHERE name = 'probe'")


def check(db: Database, *, is_full: bool) -> str | None:
    """None when sound, else the first faults SQLite names.

    The quick check leaves out that indexes match their tables.
    """
    pragma = "integrity_check" if is_full else "quick_check"
    try:
        found = [str(value) for (value,) in db.rows(f"PRAGMA {pragma}({_FAULTS_SHOWN})")]
        if is_full:
            found += [f"foreign key violated in {values[0]!r}" for values in _orphans(db)]
    except (apsw.CorruptError, apsw.NotADBError) as error:
        return str(error)
    faults = [text for text in found if text != "ok"]
    return "; ".join(faults) or None


def _orphans(db: Database) -> list[Row]:
    return db.rows("PRAGMA foreign_key_check")[:_FAULTS_SHOWN]


def check_file(path: Path, *, is_full: bool) -> str | None:
    """Check a database that no daemon uses; hold the home's lock. Raises a `StorageError`."""
    database = open_reader(path, ForkGuard())
    try:
        return check(database, is_full=is_full)
    except apsw.Error as error:
        raise database.translate(error) from error
    finally:
        database.close()
