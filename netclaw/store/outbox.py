"""Replies waiting for a channel: FIFO per binding, one claimant each, closed or tried again."""

from __future__ import annotations

from typing import cast

from netclaw.core.authority import DeliveryTarget, SourceKind
from netclaw.core.errors import NotFoundError, StaleIncarnationError
from netclaw.core.ids import SessionId
from netclaw.core.session.events import OutboxRow
from netclaw.core.tool_call import Attachment
from netclaw.ports.journal import LedgerDelivery
from netclaw.ports.outbox import OutboxItem, OutboxKind, OutboxState, fitting
from netclaw.store.connection import Database, Row
from netclaw.store.rows import SessionRow
from netclaw.store.scope import WriteScope

WAITING = OutboxState.WAITING.value
CLAIMED = OutboxState.CLAIMED.value
DELIVERED = OutboxState.DELIVERED.value
GIVEN_UP = OutboxState.GIVEN_UP.value

# The oldest open row of each binding, if it is due and not in the claimant's hands already.
_SELECT_DUE = """
SELECT o.id, s.key, o.channel, o.address, o.text, o.attempts, o.turn, o.claimant,
  o.kind, o.file, o.media_type, o.size_bytes, o.sha256
FROM outbox AS o JOIN sessions AS s ON s.id = o.session
WHERE o.state IN ('waiting', 'claimed') AND o.channel = ?
  AND o.next_attempt_at <= ? AND o.claimant <> ?
  AND NOT EXISTS (
    SELECT 1 FROM outbox AS earlier
    WHERE earlier.state IN ('waiting', 'claimed')
      AND earlier.channel = o.channel AND earlier.address = o.address AND earlier.id < o.id)
ORDER BY o.id LIMIT ?
"""
_SELECT_NEXT = """
SELECT min(o.next_attempt_at) FROM outbox AS o
WHERE o.state IN ('waiting', 'claimed') AND o.channel = ? AND o.claimant <> ?
  AND NOT EXISTS (
    SELECT 1 FROM outbox AS earlier
    WHERE earlier.state IN ('waiting', 'claimed')
      AND earlier.channel = o.channel AND earlier.address = o.address AND earlier.id < o.id)
"""


def enqueue(scope: WriteScope, row: SessionRow, replies: tuple[OutboxRow, ...], *, at: int) -> None:
    """Store replies in the transaction of the turn that made them (decision 7)."""
    for reply in replies:
        scope.db.run(
            "INSERT INTO outbox (session, channel, address, turn, text, created_at, kind, file,"
            " media_type, size_bytes, sha256) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                row.id,
                reply.target.channel.value,
                reply.target.address,
                reply.turn_id,
                reply.text,
                at,
                *_columns_of(reply.file),
            ),
        )
        reply_id = scope.db.last_row_id()
        scope.db.run_many(
            "INSERT OR IGNORE INTO outbox_inputs (session, input_id, reply) VALUES (?, ?, ?)",
            [(row.id, input_id, reply_id) for input_id in reply.input_ids],
        )


def _columns_of(file: Attachment | None) -> tuple[str, str, str, int, str]:
    if file is None:
        return OutboxKind.REPLY.value, "", "", 0, ""
    return OutboxKind.FILE.value, file.path, file.media_type, file.size_bytes, file.sha256


def file_of(values: Row) -> Attachment:
    """The file of a row: path, media type, size and digest."""
    path, media_type, size_bytes, sha256 = values
    return Attachment(
        path=cast("str", path),
        media_type=cast("str", media_type),
        size_bytes=cast("int", size_bytes),
        sha256=cast("str", sha256),
    )


def deliveries(db: Database, session: int, input_id: str) -> tuple[LedgerDelivery, ...]:
    """The replies that answer an input, oldest first."""
    found = db.rows(
        "SELECT o.channel, o.state, o.attempts, o.external_id"
        " FROM outbox_inputs AS i JOIN outbox AS o ON o.id = i.reply"
        " WHERE i.session = ? AND i.input_id = ? ORDER BY o.id",
        (session, input_id),
    )
    return tuple(
        LedgerDelivery(
            channel=cast("str", channel),
            state=cast("str", state),
            attempts=cast("int", attempts),
            external_id=cast("str", external_id),
        )
        for channel, state, attempts, external_id in found
    )


def claim(
    scope: WriteScope, channel: str, *, limit: int, claimant: str, at: int
) -> tuple[OutboxItem, ...]:
    """Claim the due head of each binding; what another claimant held is taken over.

    Not more than fits into one answer to the claimant, but always one.
    """
    due = scope.db.rows(_SELECT_DUE, (channel, at, claimant, limit))
    found = due[: fitting(cast("str", values[4]) for values in due)]
    scope.db.run_many(
        "UPDATE outbox SET state = ?, claimant = ? WHERE id = ?",
        [(CLAIMED, claimant, values[0]) for values in found],
    )
    return tuple(_item(values) for values in found)


def _item(values: Row) -> OutboxItem:
    row_id, session_id, channel, address, text, attempts, turn, claimant, kind = values[:9]
    is_file = kind == OutboxKind.FILE
    return OutboxItem(
        row_id=cast("int", row_id),
        session_id=SessionId(cast("str", session_id)),
        target=DeliveryTarget(
            channel=SourceKind(cast("str", channel)), address=cast("str", address)
        ),
        text=cast("str", text),
        attempts=cast("int", attempts),
        turn_id=cast("str", turn),
        is_taken_over=claimant != "",
        kind=OutboxKind(cast("str", kind)),
        file=file_of(values[9:]) if is_file else None,
    )


def next_at(db: Database, channel: str, *, claimant: str) -> int | None:
    """When there is something to claim; None if all is done or in the claimant's hands."""
    found = db.row(_SELECT_NEXT, (channel, claimant))
    return None if found is None else cast("int | None", found[0])


def confirm(
    scope: WriteScope,
    row_id: int,
    *,
    claimant: str,
    external_id: str,
    failure: str,
    next_attempt_at: int,
) -> None:
    """Close a row as sent, schedule it again, or give it up (a failure without a next attempt).

    A repeated confirmation of a closed row changes nothing. Raises `NotFoundError`, and
    `StaleIncarnationError` when another claimant holds the row.
    """
    found = scope.db.row("SELECT state, claimant FROM outbox WHERE id = ?", (row_id,))
    if found is None:
        raise NotFoundError(f"There is no reply {row_id} in the outbox.")
    state, holder = found
    if state in (DELIVERED, GIVEN_UP):
        return
    if state != CLAIMED or holder != claimant:
        raise StaleIncarnationError(f"Reply {row_id} is no longer claimed by this sender.")
    if not failure:
        new_state = DELIVERED
    elif next_attempt_at > 0:
        new_state = WAITING
    else:
        new_state = GIVEN_UP
    scope.db.run(
        # What was delivered is in the journal; its text is kept here no longer.
        "UPDATE outbox SET state = ?1, claimant = '', attempts = attempts + 1, external_id = ?2,"
        " failure = ?3, next_attempt_at = ?4, text = iif(?1 = 'delivered', '', text)"
        " WHERE id = ?5",
        (new_state, external_id, failure, next_attempt_at, row_id),
    )
