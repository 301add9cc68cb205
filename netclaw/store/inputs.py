"""Admission of inputs: durable, deduplicated, bounded; and the ledger of what became of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from netclaw.core.errors import NetclawError, SessionUnreadableError
from netclaw.core.ids import InputId, SessionId, TurnId
from netclaw.core.session.admission import check_pending, check_resend, check_run
from netclaw.core.session.events import InputAdmitted
from netclaw.core.signals import actors
from netclaw.ports.journal import Admission, AdmitRequest, LedgerDelivery, LedgerEntry
from netclaw.store import outbox
from netclaw.store.connection import Database, Row
from netclaw.store.journal import publish_events, read_row
from netclaw.store.projections import WAITING
from netclaw.store.rows import PendingInput, SessionRow
from netclaw.store.scope import WriteScope
from netclaw.store.threads import keep_cursor
from netclaw.wire.journal_codec import decode_event, encode_event

_FIND = "SELECT input_id, seq FROM source_messages WHERE session = ? AND source_message_id = ?"
_OVER = "SELECT 1 FROM child_runs WHERE child = ? AND ended_seq IS NOT NULL"


def admit(scope: WriteScope, request: AdmitRequest) -> Admission:
    """Commit InputAdmitted, or answer the first admission of the same message."""
    row = scope.session(request.session_id)
    source_id = request.source_message_id
    if source_id is not None:
        known = scope.db.row(_FIND, (row.id, source_id))
        if known is not None:
            admission = _duplicate(known)
            _check_same(scope.db, row.id, admission.seq, request)
            return admission
    scope.require_space()
    if row.parent is not None:
        # In one order with the end of the run: what is admitted before that, its process sees.
        check_run(is_over=scope.db.row(_OVER, (request.session_id,)) is not None)
    size = _size(request)
    check_pending(row.pending_inputs, row.pending_bytes, size, scope.limits)
    event = InputAdmitted(
        input_id=request.input_id,
        source_message_id=source_id,
        text=request.text,
        authority=request.authority,
        attended=request.attended,
        media=request.media,
    )
    draft = encode_event(event)
    (stored,) = publish_events(scope, row, (draft,), at=request.at, cause=request.input_id)
    enter(scope, row, request, stored.seq, person=actors.person_of(request.authority))
    keep_cursor(scope, row, request)
    return Admission(input_id=request.input_id, seq=stored.seq, is_duplicate=False)


def admit_many(
    scope: WriteScope, requests: Sequence[AdmitRequest]
) -> tuple[Admission | NetclawError, ...]:
    """Admit several inputs as one write; what one is refused for never touches the others."""
    return tuple(_try_admit(scope, request) for request in requests)


def _try_admit(scope: WriteScope, request: AdmitRequest) -> Admission | NetclawError:
    # Safe without a savepoint: `admit` judges everything before its first statement that writes.
    try:
        return admit(scope, request)
    except NetclawError as error:
        return error


def _check_same(db: Database, session: int, seq: int, request: AdmitRequest) -> None:
    """Compare with the first message as the journal keeps it; raises `InvalidArgumentError`."""
    stored = read_row(db, session, seq)
    if stored is None:
        return
    try:
        first = decode_event(stored.type, stored.version, stored.payload)
    except SessionUnreadableError:
        return  # nothing shows that it is another message
    if isinstance(first, InputAdmitted):
        check_resend(first, request.text, request.media)


def enter(
    scope: WriteScope, row: SessionRow, request: AdmitRequest, seq: int, *, person: str | None
) -> None:
    """Keep an input, whose InputAdmitted is written, among those that wait for an answer."""
    channel = request.authority.provenance.source_kind.value
    source_id = request.source_message_id
    size = _size(request)
    scope.db.run(
        "INSERT INTO inputs (session, seq, input_id, source, source_message_id, text_bytes,"
        " received_at, admitted_at, outcome, person) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            row.id,
            seq,
            request.input_id,
            channel,
            source_id,
            size,
            request.at,
            scope.now,
            WAITING,
            person,
        ),
    )
    if source_id is not None:
        scope.db.run(
            "INSERT INTO source_messages (session, source_message_id, input_id, seq)"
            " VALUES (?, ?, ?, ?)",
            (row.id, source_id, request.input_id, seq),
        )
    row.admitted_inputs += 1
    row.pending = {**row.pending, request.input_id: PendingInput(seq, size, None, person, channel)}
    row.pending_inputs += 1
    row.pending_bytes += size


def _size(request: AdmitRequest) -> int:
    return len(request.text.encode("utf-8", "surrogatepass"))


def _duplicate(known: Row) -> Admission:
    input_id, seq = known
    return Admission(
        input_id=InputId(cast("str", input_id)), seq=cast("int", seq), is_duplicate=True
    )


def find_input(db: Database, session_id: SessionId, source_message_id: str) -> Admission | None:
    """The admission of a message by its source id."""
    known = db.row(
        "SELECT input_id, seq FROM source_messages"
        " WHERE session = (SELECT id FROM sessions WHERE key = ?) AND source_message_id = ?",
        (session_id, source_message_id),
    )
    return None if known is None else _duplicate(known)


def ledger(db: Database, session_id: SessionId, *, limit: int) -> tuple[LedgerEntry, ...]:
    """The newest inputs, oldest of them first; the caller holds one transaction open."""
    found = db.row("SELECT id FROM sessions WHERE key = ?", (session_id,))
    if found is None:
        return ()
    session = cast("int", found[0])
    inputs = db.rows(
        "SELECT input_id, seq, source, source_message_id, received_at, admitted_at, turn, outcome"
        " FROM inputs WHERE session = ? ORDER BY seq DESC LIMIT ?",
        (session, limit),
    )
    return tuple(
        _entry(values, outbox.deliveries(db, session, cast("str", values[0])))
        for values in reversed(inputs)
    )


def _entry(values: Row, deliveries: tuple[LedgerDelivery, ...]) -> LedgerEntry:
    input_id, seq, source, source_message_id, received_at, admitted_at, turn, outcome = values
    return LedgerEntry(
        input_id=InputId(cast("str", input_id)),
        seq=cast("int", seq),
        source=cast("str", source),
        source_message_id=cast("str | None", source_message_id),
        received_at=cast("int", received_at),
        admitted_at=cast("int", admitted_at),
        turn_id=None if turn is None else TurnId(cast("str", turn)),
        outcome=cast("str", outcome),
        deliveries=deliveries,
    )
