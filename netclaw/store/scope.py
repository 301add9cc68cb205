"""What one write sees: the open transaction, known sessions, the time, and what to publish."""

from __future__ import annotations

import os
import time
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from netclaw.core.errors import NotFoundError
from netclaw.core.ids import SessionId
from netclaw.core.settings import DaemonSettings
from netclaw.ports.journal import Commit
from netclaw.store import failures
from netclaw.store.connection import Database
from netclaw.store.rows import SessionRow, load_session, save_sessions
from netclaw.store.signal_book import SignalBook, SignalHealth

KNOWN_SESSIONS = 4096
"""Rows kept between transactions; any other is read again when it is written."""

SPACE_CHECK_INTERVAL_S = 0.25

T = TypeVar("T")
Work = Callable[["WriteScope"], T]
"""One write: runs on the writer thread inside its own savepoint, changes nothing but the database
through its scope, and answers the caller."""


class SpaceGauge:
    """Knows cheaply whether the disk is below the floor that is kept for running turns.

    New inputs and sessions are refused below it, so that the work already admitted can still
    write its end.
    """

    def __init__(self, path: Path, floor_bytes: int) -> None:
        self._path = path
        self._floor_bytes = floor_bytes
        self._checked_at = float("-inf")
        self._is_low = False

    def is_low(self) -> bool:
        """Ask the file system, at most once in `SPACE_CHECK_INTERVAL_S`."""
        now = time.monotonic()
        if now - self._checked_at >= SPACE_CHECK_INTERVAL_S:
            self._checked_at = now
            state = os.statvfs(self._path.parent)
            self._is_low = state.f_bavail * state.f_frsize < self._floor_bytes
        return self._is_low


class SessionCache:
    """Session rows as of the open transaction; exact, because only the writer changes them."""

    def __init__(self) -> None:
        self._rows: OrderedDict[str, SessionRow] = OrderedDict()
        self._dirty: dict[str, SessionRow] = {}

    def find(self, db: Database, key: str) -> SessionRow | None:
        """The row as the last successful write left it; never change it."""
        row = self._rows.get(key)
        if row is None:
            row = load_session(db, key)
            if row is not None:
                self._rows[key] = row
        return row

    def put(self, row: SessionRow) -> None:
        """Take a changed row over; it is written by `flush`."""
        self._rows[row.key] = row
        self._rows.move_to_end(row.key)
        self._dirty[row.key] = row

    def remove(self, key: str) -> None:
        """Forget a session that was deleted."""
        self._rows.pop(key, None)
        self._dirty.pop(key, None)

    def knows(self, key: str) -> bool:
        """Whether the row is held already."""
        return key in self._rows

    def unsaved_keys(self) -> list[str]:
        """Sessions whose row in the database is behind."""
        return list(self._dirty)

    def flush(self, db: Database) -> None:
        """Write every changed row, once, before the commit."""
        if self._dirty:
            save_sessions(db, list(self._dirty.values()))

    def committed(self) -> None:
        """The transaction is durable: nothing is unsaved, and the cache may shrink."""
        self._dirty.clear()
        while len(self._rows) > KNOWN_SESSIONS:
            self._rows.popitem(last=False)

    def clear(self) -> None:
        """The transaction was rolled back: know nothing."""
        self._rows.clear()
        self._dirty.clear()


class WriteScope:
    """One write inside a transaction; `accept` makes its effects known, else they are dropped."""

    def __init__(
        self,
        db: Database,
        cache: SessionCache,
        gauge: SpaceGauge,
        limits: DaemonSettings,
        now: int,
        signal_health: SignalHealth,
    ) -> None:
        self.db = db
        self.limits = limits
        self.now = now
        """Epoch ms at which the transaction began."""
        self.commits: list[Commit] = []
        self.book = SignalBook()
        """What the write records in the signal log."""
        self.signal_health = signal_health
        self._cache = cache
        self._gauge = gauge
        self._work: dict[str, SessionRow] = {}
        self._removed: list[str] = []
        self._learned: list[str] = []
        """Sessions read in this write: what it read may be of its own making."""

    def find(self, session_id: SessionId) -> SessionRow | None:
        """A session's row to work on, or None."""
        row = self._work.get(session_id)
        if row is None:
            is_new = not self._cache.knows(session_id)
            known = self._cache.find(self.db, session_id)
            if is_new:
                self._learned.append(session_id)
            if known is None:
                return None
            row = self._work[session_id] = known.copy()
        return row

    def session(self, session_id: SessionId) -> SessionRow:
        """A session's row to work on. Raises `NotFoundError`."""
        row = self.find(session_id)
        if row is None:
            raise NotFoundError(f"There is no session {session_id}.")
        return row

    def unsaved_keys(self) -> list[str]:
        """Sessions that a query over the catalog does not see as they are."""
        return self._cache.unsaved_keys()

    def remove(self, session_id: SessionId) -> None:
        """Forget a session whose rows were deleted."""
        self._work.pop(session_id, None)
        self._removed.append(session_id)

    def publish(self, commit: Commit) -> None:
        """Name rows to the listener, once they are committed."""
        self.commits.append(commit)

    def require_space(self) -> None:
        """Raises `StorageFullError` when only the reserve for running turns is left."""
        if self._gauge.is_low():
            raise failures.full()

    def accept(self) -> None:
        """The write succeeded: later writes of the transaction build on it."""
        for row in self._work.values():
            self._cache.put(row)
        for key in self._removed:
            self._cache.remove(key)

    def reject(self) -> None:
        """The write failed and is undone: what it read of the database is not so any more."""
        for key in self._learned:
            self._cache.remove(key)
