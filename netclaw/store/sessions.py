"""The catalog: sessions made, looked up, counted, reset and deleted."""

from __future__ import annotations

from typing import cast

from netclaw.core.errors import SessionUnreadableError
from netclaw.core.ids import SessionId
from netclaw.core.session.events import ResetReason, SessionCreated, SessionReset
from netclaw.core.session.runnable import waits_for_people
from netclaw.core.storage_layout import LAYOUT
from netclaw.ports.journal import NewSession, SessionRecord
from netclaw.ports.store_counts import StoreCounts
from netclaw.store import signal_log, watch_table
from netclaw.store.connection import Database, Row
from netclaw.store.journal import publish_events, read_state
from netclaw.store.rows import SELECT_SESSION, SessionRow, record_from
from netclaw.store.scope import WriteScope
from netclaw.wire.journal_codec import encode_event
from netclaw.wire.stored_state import stored_state

# What may make a start due (protocol "Runnable work"). A session whose process passivated with
# nothing to do has none of these. An open notice is none either: the sweep at boot names those of
# top-level watchers, and the supervisor wakes them by an input, which is. Whether all of the work
# waits for people is in no column: the journal is looked at, and only where a run is open or
# somebody was asked since the open turn began.
_RUNNABLE = (
    "SELECT id, key, pending_answers = 0 AND (open_runs > 0 OR open_turn IS NOT NULL AND EXISTS ("
    " SELECT 1 FROM journal AS j WHERE j.session = sessions.id AND j.type = 'ConsentRequested'"
    "  AND j.seq > ifnull((SELECT t.seq FROM journal AS t WHERE t.session = sessions.id"
    "   AND t.type = 'TurnStarted' ORDER BY t.seq DESC LIMIT 1), 0)))"
    " FROM sessions WHERE is_quarantined = 0"
    " AND (pending_inputs > 0 OR open_turn IS NOT NULL OR pending_answers > 0"
    "  OR open_runs > 0 OR untold_jobs > 0)"
)
_FIRST_KEY = " "
"""A session id holds no control character: keys below this are of deleted sessions."""
_RUNNABLE_IN_ORDER = _RUNNABLE + " ORDER BY id"
_RUNNABLE_ONE = _RUNNABLE + " AND key = ?"


def create(scope: WriteScope, new: NewSession) -> tuple[SessionRecord, bool]:
    """Make a session with its first event, or answer the one that exists."""
    known = scope.find(new.session_id)
    if known is not None:
        return known.to_record(), False
    scope.require_space()
    row = insert(scope, new)
    created = SessionCreated(
        session_id=new.session_id,
        kind=new.kind,
        channel=new.channel,
        audience=new.audience,
        life=row.life,
        parent=new.parent,
    )
    publish_events(scope, row, (encode_event(created),), at=new.at)
    return row.to_record(), True


def insert(scope: WriteScope, new: NewSession) -> SessionRow:
    """Make the catalog row of a session that there is not; its first event is to follow."""
    buried = scope.db.row(
        "SELECT life, incarnation, state_version FROM tombstones WHERE key = ?", (new.session_id,)
    )
    life, incarnation, version = (0, 0, 0) if buried is None else buried
    scope.db.run(
        "INSERT INTO sessions (key, kind, channel, audience, parent, storage_layout,"
        " storage_root, created_at, life, incarnation, last_activity_at)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            new.session_id,
            new.kind.value,
            new.channel.value,
            new.audience.value,
            new.parent,
            LAYOUT,
            new.storage_root,
            new.at,
            cast("int", life) + 1,
            incarnation,
            new.at,
        ),
    )
    if buried is not None:
        scope.db.run("DELETE FROM tombstones WHERE key = ?", (new.session_id,))
    if version:
        signal_log.inherit_gap(scope, new.session_id, cast("int", version))
    return scope.session(new.session_id)


def reset(scope: WriteScope, session_id: SessionId, *, at: int) -> SessionRecord:
    """End the session's life: the present process is fenced out and nothing stays open."""
    row = scope.session(session_id)
    row.incarnation += 1
    row.is_start_open = 0
    event = SessionReset(reason=ResetReason.OPERATOR, life=row.life + 1)
    publish_events(scope, row, (encode_event(event),), at=at)
    return row.to_record()


def find(db: Database, session_id: SessionId) -> SessionRecord | None:
    """The catalog row, or None."""
    values = db.row(f"{SELECT_SESSION} WHERE key = ?", (session_id,))
    return None if values is None else record_from(values)


def list_all(db: Database, *, limit: int, after_id: str) -> tuple[SessionRecord, ...]:
    """Catalog rows in id order, after one of them."""
    found = db.rows(
        f"{SELECT_SESSION} WHERE key > ? ORDER BY key LIMIT ?", (max(after_id, _FIRST_KEY), limit)
    )
    return tuple(record_from(values) for values in found)


def runnable(db: Database) -> tuple[SessionId, ...]:
    """Sessions with runnable work, longest known first."""
    return _with_work(db, db.rows(_RUNNABLE_IN_ORDER))


def has_runnable_work(db: Database, session_id: SessionId) -> bool:
    """Whether one session has runnable work."""
    return bool(_with_work(db, db.rows(_RUNNABLE_ONE, (session_id,))))


def _with_work(db: Database, found: list[Row]) -> tuple[SessionId, ...]:
    """Those of the rows that do not wait for people alone."""
    return tuple(
        SessionId(cast("str", key))
        for row_id, key, may_be_parked in found
        if not (may_be_parked and _is_at_rest(db, cast("int", row_id), cast("str", key)))
    )


def _is_at_rest(db: Database, row_id: int, key: str) -> bool:
    """Judged by the session's own rules; one that cannot be read is a matter for its start."""
    try:
        return waits_for_people(stored_state(SessionId(key), *read_state(db, row_id)))
    except SessionUnreadableError:
        return False


def counts(db: Database, *, database_bytes: int) -> StoreCounts:
    """Totals, from the counters of the catalog rows."""
    found = db.rows(
        "SELECT count(*), total(is_quarantined), total(pending_inputs), total(admitted_inputs),"
        " total(turns_recorded), total(turns_failed) FROM sessions WHERE key > ?",
        (_FIRST_KEY,),
    )
    sessions, quarantined, pending, admitted, turns, failed = (
        int(cast("float", value)) for value in found[0]
    )
    waiting = db.number("SELECT count(*) FROM outbox WHERE state IN ('waiting', 'claimed')")
    asking = db.number(
        "SELECT count(*) FROM consent_requests WHERE state <> 'closed' AND state = 'open'"
        " AND session NOT IN (SELECT id FROM sessions WHERE kind = 'child')"
    )
    watches, unseen = watch_table.totals(db)
    return StoreCounts(
        sessions=sessions,
        quarantined=quarantined,
        pending_inputs=pending,
        admitted_inputs=admitted,
        turns_completed=turns,
        turns_failed=failed,
        outbox_waiting=waiting,
        database_bytes=database_bytes,
        open_approvals=asking,
        watches=watches,
        open_notices=unseen,
    )
