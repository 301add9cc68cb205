"""What the signal log answers to those who look back; it moves no cursor."""

from __future__ import annotations

from typing import cast

from netclaw.core.ids import SessionId
from netclaw.core.signals.history import Head, page
from netclaw.ports.signals import StateChanges
from netclaw.store import signal_log
from netclaw.store.connection import Database, Row, Value
from netclaw.store.signal_log import EVENT_COLUMNS

_SELECT = f"SELECT {EVENT_COLUMNS} FROM session_state_events"  # noqa: S608 names of our own
_OF_SESSION = f"{_SELECT} WHERE session_key = ? AND sequence > ? ORDER BY sequence LIMIT ?"
_OF_ALL = f"{_SELECT} WHERE sequence > ? ORDER BY sequence LIMIT ?"
_FIRST = "SELECT sequence FROM session_state_events ORDER BY sequence LIMIT 1"
_FIRST_OF_SESSION = (
    "SELECT sequence FROM session_state_events WHERE session_key = ? ORDER BY sequence LIMIT 1"
)
_GONE = "SELECT max(pruned_max_sequence) FROM session_state_heads"
_NEWEST = "SELECT seq FROM sqlite_sequence WHERE name = 'session_state_events'"


def of_session(db: Database, target: SessionId, since: int, limit: int) -> StateChanges:
    """The events of one session after a version, one page of them."""
    found = db.rows(_OF_SESSION, (target, since, limit + 1))
    first = _number(db, _FIRST_OF_SESSION, (target,))
    return _changes(found, limit, since, signal_log.head(db, target), first)


def of_all(db: Database, since: int, limit: int) -> StateChanges:
    """The events of all sessions after a sequence, one page of them."""
    found = db.rows(_OF_ALL, (since, limit + 1))
    head = Head(last=_number(db, _NEWEST) or 0, gone=_number(db, _GONE) or 0)
    return _changes(found, limit, since, head, _number(db, _FIRST))


def _changes(
    found: list[Row], limit: int, since: int, head: Head, first: int | None
) -> StateChanges:
    shown, is_truncated = page(found, limit)
    return StateChanges(
        state_version=head.last,
        events=tuple(signal_log.event_from(row) for row in shown),
        is_truncated=is_truncated,
        earliest_available=head.earliest_available(first),
        has_history_gap=head.has_gap_after(since),
    )


def _number(db: Database, sql: str, values: tuple[Value, ...] = ()) -> int | None:
    found = db.row(sql, values)
    return None if found is None else cast("int | None", found[0])
