"""The rows of watchers: how they are read, written and removed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import cast

import apsw

from netclaw.core.ids import SessionId, TurnId
from netclaw.core.signals import custody
from netclaw.core.signals.cursors import Cursor
from netclaw.core.signals.custody import Watch
from netclaw.store.connection import Database, Row, Value
from netclaw.store.signal_book import SignalBook

_COLUMNS = (
    "watcher_session_key, target_session_key, last_seen_sequence, notified_sequence,"
    " material_sequence, told_turn, told_since, reopened"
)
_SELECT = f"SELECT {_COLUMNS} FROM session_watch_cursors"  # noqa: S608 names of our own
_ONE = f"{_SELECT} WHERE watcher_session_key = ? AND target_session_key = ?"
_OF_TARGET = f"{_SELECT} WHERE target_session_key = ? ORDER BY watcher_session_key"
_OF_WATCHER = f"{_SELECT} WHERE watcher_session_key = ? ORDER BY target_session_key"
_TOLD = f"{_SELECT} WHERE watcher_session_key = ? AND told_turn IS NOT NULL"
_OPEN = f"{_SELECT} WHERE watcher_session_key = ? AND material_sequence > last_seen_sequence"
_ALL_OPEN = (
    f"{_SELECT} WHERE material_sequence > last_seen_sequence"  # noqa: S608 names of our own
    " AND EXISTS (SELECT 1 FROM sessions WHERE key = watcher_session_key)"
    " ORDER BY watcher_session_key, target_session_key"
)
_CONCERNING = (
    f"{_SELECT} WHERE watcher_session_key = ?1 OR target_session_key = ?1"
    " ORDER BY watcher_session_key, target_session_key"
)
_ALL = f"{_SELECT} ORDER BY watcher_session_key, target_session_key"
_OLD = f"{_SELECT} WHERE updated_at < ? ORDER BY watcher_session_key, target_session_key"
_TOWARDS = (
    f"{_SELECT} WHERE target_session_key >= ? AND target_session_key < ?"
    " ORDER BY watcher_session_key, target_session_key"
)
_TOTALS = (
    "SELECT (SELECT count(*) FROM session_watch_cursors), (SELECT count(*)"
    " FROM session_watch_cursors WHERE material_sequence > last_seen_sequence)"
)
_SAVE = (
    "INSERT INTO session_watch_cursors (watcher_session_key, target_session_key,"
    " last_seen_sequence, notified_sequence, material_sequence, told_turn, told_since, reopened,"
    " updated_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
    " ON CONFLICT (watcher_session_key, target_session_key) DO UPDATE SET"
    " last_seen_sequence = excluded.last_seen_sequence,"
    " notified_sequence = excluded.notified_sequence,"
    " material_sequence = excluded.material_sequence, told_turn = excluded.told_turn,"
    " told_since = excluded.told_since, reopened = excluded.reopened,"
    " updated_at = excluded.updated_at"
)
_REMOVE = (
    "DELETE FROM session_watch_cursors WHERE watcher_session_key = ? AND target_session_key = ?"
)


def find(db: Database, watcher: SessionId, target: SessionId) -> Watch | None:
    """One row, or None."""
    values = db.row(_ONE, (watcher, target))
    return None if values is None else _watch(values)


def of_target(db: Database, target: SessionId) -> tuple[Watch, ...]:
    """Who watches a session."""
    return _watches(db, _OF_TARGET, (target,))


def of_watcher(db: Database, watcher: SessionId) -> tuple[Watch, ...]:
    """What a session watches."""
    return _watches(db, _OF_WATCHER, (watcher,))


def told_by(db: Database, watcher: SessionId) -> tuple[Watch, ...]:
    """The rows whose notice the watcher's open turn tells of."""
    return _watches(db, _TOLD, (watcher,))


def open_of(db: Database, watcher: SessionId) -> tuple[Watch, ...]:
    """The rows of a watcher with a notice to consume."""
    return _watches(db, _OPEN, (watcher,))


def all_open(db: Database) -> tuple[Watch, ...]:
    """The rows with a notice to consume, of every watcher that exists."""
    return _watches(db, _ALL_OPEN, ())


def concerning(db: Database, session_id: SessionId | None) -> tuple[Watch, ...]:
    """The rows in which a session is watcher or target, or every row."""
    if session_id is None:
        return _watches(db, _ALL, ())
    return _watches(db, _CONCERNING, (session_id,))


def forgotten(db: Database, before: int) -> tuple[Watch, ...]:
    """The rows that nothing happened to for long."""
    return _watches(db, _OLD, (before,))


def towards(db: Database, first: str, end: str) -> tuple[Watch, ...]:
    """The rows of targets from one key on, up to another."""
    return _watches(db, _TOWARDS, (first, end))


def totals(db: Database) -> tuple[int, int]:
    """How many watches there are and how many have a notice to consume; none that can be read."""
    try:
        watches, unseen = db.rows(_TOTALS)[0]
    except apsw.SQLError:
        return 0, 0
    return cast("int", watches), cast("int", unseen)


def save(db: Database, watches: Iterable[Watch], *, at: int) -> None:
    """Write rows, new or known; from now on they are as good as new."""
    db.run_many(_SAVE, [(*_values(watch), at) for watch in watches])


def remove(db: Database, book: SignalBook, watches: Iterable[Watch]) -> None:
    """Remove rows, and the notices that were open in them."""
    gone = list(watches)
    if gone:
        db.run_many(_REMOVE, [(item.cursor.watcher, item.cursor.target) for item in gone])
    for watch in gone:
        if watch.cursor.is_open:
            book.tell(custody.closed(watch))


def _watches(db: Database, sql: str, bindings: tuple[Value, ...]) -> tuple[Watch, ...]:
    return tuple([_watch(values) for values in db.rows(sql, bindings)])


def _watch(values: Row) -> Watch:
    watcher, target, seen, notified, material, turn, since, reopened = values
    return Watch(
        cursor=Cursor(
            watcher=SessionId(cast("str", watcher)),
            target=SessionId(cast("str", target)),
            seen=cast("int", seen),
            notified=cast("int", notified),
            material=cast("int", material),
        ),
        told_turn=None if turn is None else TurnId(cast("str", turn)),
        told_since=cast("int", since),
        reopened=cast("int", reopened),
    )


def _values(watch: Watch) -> tuple[Value, ...]:
    cursor = watch.cursor
    return (
        cursor.watcher,
        cursor.target,
        cursor.seen,
        cursor.notified,
        cursor.material,
        watch.told_turn,
        watch.told_since,
        watch.reopened,
    )
