"""The part of the store about what is on its way to channels, and messages that begin threads."""

from __future__ import annotations

from typing import cast

from netclaw.core.authority import DeliveryTarget
from netclaw.core.errors import NotFoundError, QueueFullError, StaleIncarnationError
from netclaw.core.ids import CallId, SessionId, TurnId
from netclaw.core.session.inter_session import check_sender
from netclaw.core.tool_call import Attachment
from netclaw.ports.outbox import (
    MAX_OPENINGS,
    Opening,
    OpeningRequest,
    OutboxItem,
    OutboxKind,
    OutboxState,
)
from netclaw.store import outbox
from netclaw.store.connection import Database, Row
from netclaw.store.readers import ReaderPool
from netclaw.store.scope import WriteScope
from netclaw.store.writer import GroupWriter

_SELECT = (
    "SELECT o.id, o.state, o.external_id FROM outbox AS o JOIN sessions AS s ON s.id = o.session"
    " WHERE s.key = ? AND o.call_id = ? AND o.call_id <> ''"
)
_COUNT = (
    "SELECT count(*) FROM outbox WHERE session = ? AND call_id <> ''"
    " AND state IN ('waiting', 'claimed')"
)
_INSERT = (
    "INSERT INTO outbox (session, channel, address, turn, text, created_at, kind, call_id)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
)
_FILE = (
    "SELECT s.key, o.state, o.claimant, o.file, o.media_type, o.size_bytes, o.sha256"
    " FROM outbox AS o JOIN sessions AS s ON s.id = o.session WHERE o.id = ? AND o.kind = 'file'"
)
_IS_OPEN = (
    "SELECT count(*) FROM outbox AS o JOIN sessions AS s ON s.id = o.session"
    " WHERE s.key = ? AND o.turn = ? AND o.channel = ? AND o.address = ? AND o.kind = 'reply'"
    " AND o.state IN ('waiting', 'claimed')"
)


class OutboxBook:
    """See the port for each contract."""

    _writer: GroupWriter
    _readers: ReaderPool

    async def claim_outbox(
        self, channel: str, *, limit: int, claimant: str, at: int
    ) -> tuple[OutboxItem, ...]:
        """Claim due rows."""
        return await self._writer.submit(
            lambda scope: outbox.claim(scope, channel, limit=limit, claimant=claimant, at=at)
        )

    async def next_outbox_at(self, channel: str, *, claimant: str) -> int | None:
        """When there is something to claim."""
        return await self._readers.read(lambda db: outbox.next_at(db, channel, claimant=claimant))

    async def confirm_outbox(
        self,
        row_id: int,
        *,
        claimant: str,
        external_id: str,
        failure: str,
        next_attempt_at: int,
    ) -> None:
        """Close a row, or schedule it again."""
        await self._writer.submit(
            lambda scope: outbox.confirm(
                scope,
                row_id,
                claimant=claimant,
                external_id=external_id,
                failure=failure,
                next_attempt_at=next_attempt_at,
            )
        )

    async def open_thread(self, request: OpeningRequest) -> Opening:
        """Put a message that begins a thread into the outbox."""
        return await self._writer.submit(lambda scope: _open(scope, request))

    async def find_opening(self, session_id: SessionId, call_id: CallId) -> Opening | None:
        """What became of the message of a call."""
        return await self._readers.read(lambda db: _find(db, session_id, call_id))

    async def claimed_file(self, row_id: int, *, claimant: str) -> tuple[SessionId, Attachment]:
        """The file of a row that is claimed."""
        found = await self._readers.read(lambda db: db.row(_FILE, (row_id,)))
        return _claimed(found, row_id, claimant)

    async def is_reply_open(
        self, session_id: SessionId, turn_id: TurnId, target: DeliveryTarget
    ) -> bool:
        """Whether a reply of a turn is on its way."""
        values = (session_id, turn_id, target.channel.value, target.address)
        found = await self._readers.read(lambda db: db.number(_IS_OPEN, values))
        return found > 0


def _open(scope: WriteScope, request: OpeningRequest) -> Opening:
    """Store the message under its call, which has no other."""
    row = scope.session(request.session_id)
    known = _find(scope.db, request.session_id, request.call_id)
    if known is not None:
        return known
    check_sender(row.open_turn, request.turn_id)
    if scope.db.number(_COUNT, (row.id,)) >= MAX_OPENINGS:
        raise QueueFullError("Too many messages of this session wait for their channel.")
    target = request.target
    scope.db.run(
        _INSERT,
        (
            row.id,
            target.channel.value,
            target.address,
            request.turn_id,
            request.text,
            request.at,
            OutboxKind.OPENING.value,
            request.call_id,
        ),
    )
    return Opening(row_id=scope.db.last_row_id(), state=OutboxState.WAITING)


def _find(db: Database, session_id: str, call_id: str) -> Opening | None:
    found = db.row(_SELECT, (session_id, call_id))
    if found is None:
        return None
    row_id, state, address = found
    return Opening(
        row_id=cast("int", row_id),
        state=OutboxState(cast("str", state)),
        address=cast("str", address),
    )


def _claimed(found: Row | None, row_id: int, claimant: str) -> tuple[SessionId, Attachment]:
    if found is None:
        raise NotFoundError(f"There is no file {row_id} in the outbox.")
    key, state, holder = found[:3]
    if state != OutboxState.CLAIMED or holder != claimant:
        raise StaleIncarnationError(f"File {row_id} is not claimed by this sender.")
    return SessionId(cast("str", key)), outbox.file_of(found[3:])
