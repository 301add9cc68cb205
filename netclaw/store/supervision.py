"""Starts and crashes of session processes, counted on disk so that a restart forgets none."""

from __future__ import annotations

from typing import cast

from netclaw.core.ids import SessionId
from netclaw.ports.journal import CrashHistory, EventDraft, StartPoint
from netclaw.store.journal import publish_events, read_state
from netclaw.store.rows import SessionRow
from netclaw.store.scope import WriteScope


def begin_incarnation(scope: WriteScope, session_id: SessionId, *, at: int) -> StartPoint:
    """Fence out every earlier process and read what the new one starts from."""
    del at
    row = scope.session(session_id)
    row.incarnation += 1
    row.is_start_open = 1
    snapshot, tail = read_state(scope.db, row.id)
    return StartPoint(
        record=row.to_record(), incarnation=row.incarnation, snapshot=snapshot, tail=tail
    )


def finish_start(scope: WriteScope, session_id: SessionId) -> None:
    """The started process is ready."""
    row = scope.session(session_id)
    row.is_start_open = 0
    row.starts_held = 0


def record_crash(
    scope: WriteScope, session_id: SessionId, crash: EventDraft, *, at: int, keep_after: int
) -> CrashHistory:
    """Journal a crash, count it, and forget those before the window."""
    row = scope.session(session_id)
    row.is_start_open = 0
    publish_events(scope, row, (crash,), at=at)
    scope.db.run("DELETE FROM crashes WHERE session = ? AND at < ?", (row.id, keep_after))
    scope.db.run("INSERT INTO crashes (session, at) VALUES (?, ?)", (row.id, at))
    found = scope.db.rows("SELECT at FROM crashes WHERE session = ? ORDER BY at, id", (row.id,))
    return CrashHistory(
        crash_times=tuple(cast("int", when) for (when,) in found), starts_held=row.starts_held
    )


def set_quarantined(scope: WriteScope, session_id: SessionId, *, is_quarantined: bool) -> None:
    """Quarantine a session, or lift it and forget its crashes."""
    row = scope.session(session_id)
    row.is_quarantined = int(is_quarantined)
    if not is_quarantined:
        row.starts_held = 0
        scope.db.run("DELETE FROM crashes WHERE session = ?", (row.id,))


def held_starts(scope: WriteScope) -> tuple[tuple[SessionId, int], ...]:
    """At boot: count the starts that the last death cut off, forget the count of the others."""
    held = []
    for row in _with_starts(scope):
        if row.is_start_open:
            row.starts_held += 1
            row.is_start_open = 0
            held.append((SessionId(row.key), row.starts_held))
        else:
            row.starts_held = 0
    return tuple(held)


def forget_open_starts(scope: WriteScope) -> None:
    """At an orderly stop: a start that is cut off by it is no death of the supervisor."""
    for row in _with_starts(scope):
        row.is_start_open = 0


def _with_starts(scope: WriteScope) -> list[SessionRow]:
    """Rows with a start in progress or held, those of this transaction's writes included."""
    found = scope.db.rows("SELECT key FROM sessions WHERE is_start_open <> 0 OR starts_held <> 0")
    keys = dict.fromkeys([cast("str", key) for (key,) in found] + scope.unsaved_keys())
    rows = [scope.session(SessionId(key)) for key in keys]
    rows.sort(key=lambda row: row.id)
    return [row for row in rows if row.is_start_open or row.starts_held]
