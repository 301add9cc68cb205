"""Whether the database is sound and writable: marker of a clean stop, checks, probe write."""

from __future__ import annotations

from pathlib import Path

import apsw

from netclaw.core.errors import DrainingError
from netclaw.store.connection import Database, ForkGuard, open_reader
from netclaw.store.scope import WriteScope

_FAULTS_SHOWN = 10
_STEPS_BETWEEN_LOOKS = 10_000


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


class IntegrityCheck:
    """Checks a file on connections of its own, beside readers and writer; may be interrupted."""

    def __init__(self, path: Path, guard: ForkGuard) -> None:
        self._path = path
        self._guard = guard
        self._is_ended = False

    def run(self, *, is_full: bool) -> str | None:
        """None when sound, else the first faults SQLite names; blocks its thread.

        The quick check leaves out that indexes match their tables. Raises a `StorageError` when
        the file cannot be checked, and `DrainingError` when interrupted.
        """
        database = open_reader(self._path, self._guard)
        database.connection.set_progress_handler(lambda: self._is_ended, _STEPS_BETWEEN_LOOKS)
        try:
            return _faults(database, is_full=is_full)
        except (apsw.CorruptError, apsw.NotADBError) as error:
            return str(error)
        except apsw.InterruptError:
            raise DrainingError("The check of the database was interrupted.") from None
        except apsw.Error as error:
            raise database.translate(error) from error
        finally:
            database.close()

    def interrupt(self) -> None:
        """Make running checks end soon, and later ones at once."""
        self._is_ended = True


def _faults(db: Database, *, is_full: bool) -> str | None:
    pragma = "integrity_check" if is_full else "quick_check"
    found = [str(value) for (value,) in db.rows(f"PRAGMA {pragma}({_FAULTS_SHOWN})")]
    if is_full and found == ["ok"]:
        orphans = db.rows("PRAGMA foreign_key_check")[:_FAULTS_SHOWN]
        found += [f"a row of {table!r} belongs to no session" for table, *_ in orphans]
    return "; ".join(text for text in found if text != "ok") or None


def check_file(path: Path, *, is_full: bool) -> str | None:
    """Check a database that no daemon uses; hold the home's lock. Raises a `StorageError`."""
    return IntegrityCheck(path, ForkGuard()).run(is_full=is_full)


def size_on_disk(path: Path) -> int:
    """Bytes of the database and of what was not moved into it yet."""
    return sum(_size(Path(f"{path}{suffix}")) for suffix in ("", "-wal"))


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0
