"""Opens the database the way it must be opened, and keeps forked children away from it.

WAL with `synchronous=FULL`: an acknowledged commit survives a power cut. No memory mapping: a
truncated or failing file must become an error of one statement, not a SIGBUS of the supervisor.
"""

from __future__ import annotations

import os
import weakref
from collections.abc import Iterable
from pathlib import Path
from typing import cast

import apsw

from netclaw.core.errors import NetclawError, ProgrammingError
from netclaw.store import failures

Value = int | str | bytes | float | None
Row = tuple[Value, ...]

APPLICATION_ID = 0x6E636C77
"""Marks the file as netclaw's ("nclw")."""

WAL_CHECKPOINT_PAGES = 2000
JOURNAL_SIZE_LIMIT_BYTES = 32 * 1024 * 1024
BUSY_TIMEOUT_MS = 2000
"""Only a foreign program (a shell, a backup) can make us wait: there is one writer."""
STATEMENT_CACHE = 200

_guarded: weakref.WeakSet[ForkGuard] = weakref.WeakSet()
_kept_in_child: list[Database] = []


class ForkGuard:
    """Refuses the use of a database in a process that did not open it.

    A connection used on both sides of a fork damages the file without one error, so a child may
    not even close what it inherited: its copies are kept for ever.
    """

    def __init__(self) -> None:
        self._pid = os.getpid()
        self._held: list[Database] = []
        _guarded.add(self)

    def check(self) -> None:
        """Raises `ProgrammingError` in a forked child."""
        if os.getpid() != self._pid:
            raise ProgrammingError("The database was opened before this process was forked.")

    def hold(self, database: Database) -> None:
        """Know a connection that a child must not finalise."""
        self._held.append(database)

    def release(self, database: Database) -> None:
        """Forget a connection that was closed."""
        if database in self._held:
            self._held.remove(database)

    def after_fork(self) -> None:
        """In a child: keep every inherited connection from being closed."""
        _kept_in_child.extend(self._held)


def _after_fork_in_child() -> None:
    for guard in list(_guarded):
        guard.after_fork()


os.register_at_fork(after_in_child=_after_fork_in_child)


class Database:
    """One connection with one reused cursor; every result is fetched before the call returns."""

    def __init__(self, connection: apsw.Connection, guard: ForkGuard) -> None:
        self._connection = connection
        self._cursor = connection.cursor()
        self._guard = guard
        guard.hold(self)

    @property
    def connection(self) -> apsw.Connection:
        """The connection itself, for what statements cannot say."""
        return self._connection

    @property
    def is_in_transaction(self) -> bool:
        """False after SQLite rolled a whole transaction back by itself."""
        return self._connection.in_transaction

    def run(self, sql: str, bindings: tuple[Value, ...] = ()) -> None:
        """Execute a statement that returns nothing."""
        self._cursor.execute(sql, bindings)

    def run_many(self, sql: str, bindings: Iterable[tuple[Value, ...]]) -> None:
        """Execute one statement for each tuple."""
        self._cursor.executemany(sql, bindings)

    def rows(self, sql: str, bindings: tuple[Value, ...] = ()) -> list[Row]:
        """All rows of a query."""
        return cast("list[Row]", self._cursor.execute(sql, bindings).fetchall())

    def row(self, sql: str, bindings: tuple[Value, ...] = ()) -> Row | None:
        """The first row of a query that has at most one."""
        found = self.rows(sql, bindings)
        return found[0] if found else None

    def number(self, sql: str, bindings: tuple[Value, ...] = ()) -> int:
        """The integer that a query of one row and column answers."""
        return cast("int", self.rows(sql, bindings)[0][0])

    def last_row_id(self) -> int:
        """The rowid of the last row inserted."""
        return self._connection.last_insert_rowid()

    def roll_back(self) -> None:
        """Leave the open transaction, if SQLite has not left it by itself already."""
        if self._connection.in_transaction:
            self._cursor.close(force=True)
            self._cursor = self._connection.cursor()
            self._cursor.execute("ROLLBACK")

    def translate(self, error: apsw.Error) -> NetclawError:
        """What an error of this connection means; ask before the next statement."""
        return failures.from_sqlite(error, self._connection.system_errno)

    def close(self) -> None:
        """Close the connection; harmless when repeated."""
        self._guard.check()
        self._cursor.close(force=True)
        self._connection.close(force=True)
        self._guard.release(self)


def open_writer(path: Path, guard: ForkGuard) -> Database:
    """Open for writing, creating an empty file readable by its owner only.

    Raises a `StorageError`.
    """
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
    except OSError as error:
        raise failures.from_os(error) from error
    database = _open(path, apsw.SQLITE_OPEN_READWRITE, guard)
    try:
        _set_up_writer(database)
    except apsw.Error as error:
        translated = database.translate(error)
        database.close()
        raise translated from error
    return database


def _set_up_writer(database: Database) -> None:
    mode = database.row("PRAGMA journal_mode = WAL")
    if mode != ("wal",):
        raise apsw.CantOpenError("write-ahead logging is not possible here")
    database.run("PRAGMA synchronous = FULL")
    database.run("PRAGMA foreign_keys = ON")
    database.run("PRAGMA mmap_size = 0")
    database.run("PRAGMA temp_store = MEMORY")
    database.run("PRAGMA cache_size = -8000")
    database.run(f"PRAGMA wal_autocheckpoint = {WAL_CHECKPOINT_PAGES}")
    database.run(f"PRAGMA journal_size_limit = {JOURNAL_SIZE_LIMIT_BYTES}")


def open_reader(path: Path, guard: ForkGuard) -> Database:
    """Open an existing database read-only. Raises a `StorageError`."""
    database = _open(path, apsw.SQLITE_OPEN_READONLY, guard)
    try:
        database.run("PRAGMA query_only = ON")
        database.run("PRAGMA mmap_size = 0")
        database.run("PRAGMA temp_store = MEMORY")
    except apsw.Error as error:
        translated = database.translate(error)
        database.close()
        raise translated from error
    return database


def _open(path: Path, flags: int, guard: ForkGuard) -> Database:
    try:
        connection = apsw.Connection(str(path), flags=flags, statementcachesize=STATEMENT_CACHE)
    except apsw.Error as error:
        raise failures.from_sqlite(error) from error
    connection.set_busy_timeout(BUSY_TIMEOUT_MS)
    return Database(connection, guard)
