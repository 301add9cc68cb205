"""Appends to a session's journal: who may write, where, once; and how rows are read back."""

from __future__ import annotations

import logging
from typing import cast

import apsw

from netclaw.core.errors import (
    HeadMovedError,
    InvalidArgumentError,
    SessionUnreadableError,
    StaleIncarnationError,
)
from netclaw.core.ids import SessionId
from netclaw.core.session.events import (
    MAY_INTERLEAVE,
    SUPERVISOR_ONLY,
    CrashRecorded,
    DrainStopped,
    OutboxRow,
    Passivated,
)
from netclaw.ports.journal import (
    AppendRequest,
    Commit,
    EventDraft,
    JournalRow,
    SnapshotDraft,
    StoredSnapshot,
)
from netclaw.ports.outbox import channels_of
from netclaw.store import outbox
from netclaw.store.connection import Database, Row
from netclaw.store.projections import PROJECTIONS
from netclaw.store.rows import APPEND_SLOTS, SessionRow
from netclaw.store.scope import WriteScope
from netclaw.store.signal_projections import SIGNALS
from netclaw.wire.journal_codec import EVENT_VERSIONS, decode_event

logger = logging.getLogger(__name__)

SUPERVISOR_CAUSE = "supervisor"

_VERSIONS = {event.__name__: version for event, version in EVENT_VERSIONS.items()}
_SUPERVISOR_ONLY = frozenset(event.__name__ for event in SUPERVISOR_ONLY)
_MAY_INTERLEAVE = frozenset(event.__name__ for event in MAY_INTERLEAVE)
_NO_ACTIVITY = frozenset(event.__name__ for event in (CrashRecorded, DrainStopped, Passivated))
_PASSIVATED = Passivated.__name__

_INSERT = (
    "INSERT INTO journal (session, seq, at, type, version, incarnation, cause, payload)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
)
_SELECT = "SELECT seq, at, type, version, incarnation, cause, payload FROM journal WHERE session = "
_OF_KEY = "(SELECT id FROM sessions WHERE key = ?)"
_READ_SINCE = _SELECT + _OF_KEY + " AND seq > ? ORDER BY seq LIMIT ?"
_READ_TAIL = _SELECT + "? AND seq > ? ORDER BY seq"
_READ_SPAN = _SELECT + "? AND seq BETWEEN ? AND ? ORDER BY seq"


def append(scope: WriteScope, request: AppendRequest) -> tuple[JournalRow, ...]:
    """Commit a session process's append (protocol "Appending")."""
    row = scope.session(request.session_id)
    known = row.recent_appends.get(request.append_id)
    if known is not None:
        return _read_span(scope.db, row.id, *known)
    _check_events(request)
    if request.incarnation != row.incarnation:
        raise StaleIncarnationError("This process of the session was replaced; its write is void.")
    is_exact = _check_head(row, request)
    rows = write_events(scope, row, request.events, at=request.at, cause=request.cause)
    if request.snapshot is not None:
        _take_snapshot(scope, row, request.snapshot, is_exact=is_exact)
    if request.outbox:
        outbox.enqueue(scope, row, request.outbox, at=request.at)
    _remember_append(scope, row, request.append_id, rows)
    scope.publish(
        Commit(
            session_id=request.session_id,
            append_id=request.append_id,
            rows=rows,
            replies_to=channels_of(request.outbox),
        )
    )
    return rows


def append_own(
    scope: WriteScope,
    session_id: SessionId,
    events: tuple[EventDraft, ...],
    *,
    at: int,
    raise_incarnation: bool,
    replies: tuple[OutboxRow, ...] = (),
) -> tuple[JournalRow, ...]:
    """Commit supervisor-authored events, fencing the present process out if asked to."""
    row = scope.session(session_id)
    if raise_incarnation:
        row.incarnation += 1
    rows = publish_events(scope, row, events, at=at, replies=replies)
    if replies:
        outbox.enqueue(scope, row, replies, at=at)
    return rows


def publish_events(
    scope: WriteScope,
    row: SessionRow,
    events: tuple[EventDraft, ...],
    *,
    at: int,
    cause: str = SUPERVISOR_CAUSE,
    replies: tuple[OutboxRow, ...] = (),
) -> tuple[JournalRow, ...]:
    """Write the supervisor's events and name them to the listener, with where replies go.

    The replies themselves are the caller's to store.
    """
    rows = write_events(scope, row, events, at=at, cause=cause)
    if rows:
        scope.publish(
            Commit(
                session_id=SessionId(row.key),
                append_id=None,
                rows=rows,
                replies_to=channels_of(replies),
            )
        )
    return rows


def write_events(
    scope: WriteScope, row: SessionRow, events: tuple[EventDraft, ...], *, at: int, cause: str
) -> tuple[JournalRow, ...]:
    """Give events their seq, store them, and maintain the tables they change."""
    first = row.head + 1
    rows = tuple(
        JournalRow(
            seq=seq,
            at=at,
            type=draft.type,
            version=draft.version,
            incarnation=row.incarnation,
            cause=cause,
            payload=draft.payload,
        )
        for seq, draft in enumerate(events, first)
    )
    scope.db.run_many(
        _INSERT,
        [
            (row.id, new.seq, at, new.type, new.version, new.incarnation, cause, new.payload)
            for new in rows
        ],
    )
    for new in rows:
        row.head = new.seq
        if new.type not in _MAY_INTERLEAVE:
            row.firm_head = new.seq
        if new.type not in _NO_ACTIVITY:
            row.last_activity_at = max(row.last_activity_at, at)
        _project(scope, row, new)
    return rows


def _project(scope: WriteScope, row: SessionRow, new: JournalRow) -> None:
    projection, signals = PROJECTIONS.get(new.type), SIGNALS.get(new.type)
    is_projected = projection is not None and projection.is_needed(row)
    is_signalled = signals is not None and signals.is_needed(row)
    if not is_projected and not is_signalled:
        return
    try:
        event = decode_event(new.type, new.version, new.payload)
    except SessionUnreadableError as error:
        raise InvalidArgumentError(f"The {new.type} event of the append is malformed.") from error
    if signals is not None and is_signalled:
        signals.apply(scope, row, new, event)
    if projection is not None and is_projected:
        projection.apply(scope, row, new.seq, event)


def _check_events(request: AppendRequest) -> None:
    if not request.events:
        raise InvalidArgumentError("An append holds at least one event.")
    for draft in request.events:
        if draft.type in _SUPERVISOR_ONLY:
            raise InvalidArgumentError(f"A session process may not author {draft.type}.")
        version = _VERSIONS.get(draft.type)
        if version is None or not 1 <= draft.version <= version:
            raise InvalidArgumentError(
                f"The event {draft.type} at version {draft.version} is not known here."
            )


def _check_head(row: SessionRow, request: AppendRequest) -> bool:
    """Whether the append sees the exact head. Raises `HeadMovedError` when it may not commit."""
    if request.expected_head == row.head:
        return True
    needs_exact = (request.snapshot is not None and request.snapshot.is_mandatory) or any(
        draft.type == _PASSIVATED for draft in request.events
    )
    if needs_exact or not row.firm_head <= request.expected_head < row.head:
        raise HeadMovedError("Something else was committed first.", head=row.head)
    return False


def _take_snapshot(
    scope: WriteScope, row: SessionRow, snapshot: SnapshotDraft, *, is_exact: bool
) -> None:
    """Keep a snapshot as of the append's last event.

    A state made before an interleaved input would lose that input, so a periodic one is put off;
    a mandatory one was refused together with its append.
    """
    if not is_exact:
        logger.info("a periodic snapshot of session %s was put off: the head moved", row.id)
        return
    sql = "INSERT OR REPLACE INTO snapshots (session, seq, codec, payload) VALUES (?, ?, ?, ?)"
    values = (row.id, row.head, snapshot.codec, snapshot.payload)
    if snapshot.is_mandatory:
        scope.db.run(sql, values)
        return
    scope.db.run("SAVEPOINT snapshot")
    try:
        scope.db.run(sql, values)
    except apsw.Error:
        if not scope.db.is_in_transaction:
            raise
        logger.warning("a periodic snapshot of session %s was not written", row.id, exc_info=True)
        scope.db.run("ROLLBACK TO snapshot")
    scope.db.run("RELEASE snapshot")


def _remember_append(
    scope: WriteScope, row: SessionRow, append_id: str, rows: tuple[JournalRow, ...]
) -> None:
    span = (rows[0].seq, rows[-1].seq)
    scope.db.run(
        "INSERT OR REPLACE INTO append_ids (session, slot, append_id, first_seq, last_seq)"
        " VALUES (?, ?, ?, ?, ?)",
        (row.id, row.appends % APPEND_SLOTS, append_id, *span),
    )
    row.appends += 1
    recent = {**row.recent_appends, append_id: span}
    if len(recent) > APPEND_SLOTS:
        del recent[next(iter(recent))]
    row.recent_appends = recent


def read_rows(
    db: Database, session_id: SessionId, *, since: int, limit: int
) -> tuple[JournalRow, ...]:
    """Rows with a greater seq, oldest first; none for an unknown session."""
    found = db.rows(
        _READ_SINCE,
        (session_id, since, limit),
    )
    return tuple(_row_from(values) for values in found)


def read_row(db: Database, session: int, seq: int) -> JournalRow | None:
    """One stored row, or None."""
    found = _read_span(db, session, seq, seq)
    return found[0] if found else None


def read_state_of(
    db: Database, session_id: SessionId
) -> tuple[StoredSnapshot | None, tuple[JournalRow, ...]]:
    """Snapshot and tail of a session by its public id; nothing for an unknown one."""
    found = db.row("SELECT id FROM sessions WHERE key = ?", (session_id,))
    return (None, ()) if found is None else read_state(db, cast("int", found[0]))


def read_state(db: Database, session: int) -> tuple[StoredSnapshot | None, tuple[JournalRow, ...]]:
    """The newest snapshot and the rows after it; the caller holds one transaction open."""
    found = db.row("SELECT seq, codec, payload FROM snapshots WHERE session = ?", (session,))
    snapshot = None
    if found is not None:
        seq, codec, payload = found
        snapshot = StoredSnapshot(
            seq=cast("int", seq), codec=cast("str", codec), payload=cast("bytes", payload)
        )
    after = snapshot.seq if snapshot else 0
    tail = db.rows(_READ_TAIL, (session, after))
    return snapshot, tuple(_row_from(values) for values in tail)


def _read_span(db: Database, session: int, first: int, last: int) -> tuple[JournalRow, ...]:
    found = db.rows(_READ_SPAN, (session, first, last))
    return tuple(_row_from(values) for values in found)


def _row_from(values: Row) -> JournalRow:
    seq, at, type_, version, incarnation, cause, payload = values
    return JournalRow(
        seq=cast("int", seq),
        at=cast("int", at),
        type=cast("str", type_),
        version=cast("int", version),
        incarnation=cast("int", incarnation),
        cause=cast("str", cause),
        payload=cast("bytes", payload),
    )
