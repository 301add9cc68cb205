"""Messages between sessions: admitted with a record, found, and settled by a late reply."""

from __future__ import annotations

from typing import cast

from netclaw.core.errors import InvalidArgumentError
from netclaw.core.ids import CallId, InputId, SessionId
from netclaw.core.session.inter_session import SendEnd, check_sender
from netclaw.ports.journal import AdmitRequest
from netclaw.ports.session_sends import SendRequest, SentMessage
from netclaw.store import inputs
from netclaw.store.connection import Database, Row, Value
from netclaw.store.readers import ReaderPool
from netclaw.store.scope import WriteScope
from netclaw.store.writer import GroupWriter
from netclaw.wire.sessions import decode_authority, encode_authority

# A session whose key begins with a control character is deleted, and its rows are being removed.
_SELECT = (
    "SELECT m.id, s.key, m.call_id, m.target_key, m.input_id, m.authority, m.ended, m.reply,"
    " m.is_late FROM session_sends AS m JOIN sessions AS s ON s.id = m.sender WHERE s.key >= ' '"
)
_ALL = f"{_SELECT} ORDER BY m.id"
_OF_CALL = f"{_SELECT} AND s.key = ? AND m.call_id = ?"
_BY_ID = f"{_SELECT} AND m.id = ?"
_INSERT = (
    "INSERT INTO session_sends (sender, turn, call_id, target, target_key, input_id, authority)"
    " VALUES (?, ?, ?, ?, ?, ?, ?)"
)


class SessionSends:
    """The part of the store about messages between sessions; see the port for each contract."""

    _writer: GroupWriter
    _readers: ReaderPool

    async def send_message(self, request: SendRequest) -> SentMessage:
        """Admit the message and keep its record."""
        return await self._writer.submit(lambda scope: send(scope, request))

    async def find_send(self, sender: SessionId, call_id: CallId) -> SentMessage | None:
        """The message of a call."""
        return await self._readers.read(lambda db: _one(db, _OF_CALL, (sender, call_id)))

    async def open_sends(self) -> tuple[SentMessage, ...]:
        """Every message whose reply is not settled."""
        return await self._readers.read(lambda db: tuple(map(_message, db.rows(_ALL, ()))))

    async def deliver_reply(self, send_id: int, reply: AdmitRequest) -> bool:
        """Admit a late reply and drop the record."""
        return await self._writer.submit(lambda scope: deliver(scope, send_id, reply))

    async def drop_send(self, send_id: int) -> None:
        """Let go of a record."""
        await self._writer.submit(lambda scope: drop(scope, send_id))


def send(scope: WriteScope, request: SendRequest) -> SentMessage:
    """Admit a message in its target under the id of its call, which no other message has."""
    sender = scope.session(request.sender)
    known = _one(scope.db, _OF_CALL, (request.sender, request.call_id))
    if known is not None:
        return known
    check_sender(sender.open_turn, request.turn_id)
    message = request.message
    admission = inputs.admit(scope, message)
    if admission.is_duplicate:
        raise InvalidArgumentError("This call has sent its message already.")
    target = scope.session(message.session_id)
    values: tuple[Value, ...] = (
        sender.id,
        request.turn_id,
        request.call_id,
        target.id,
        target.key,
        message.input_id,
        encode_authority(request.reply_authority),
    )
    scope.db.run(_INSERT, values)
    sender.sent = (*sender.sent, request.call_id)
    target.awaited = (*target.awaited, message.input_id)
    made = _one(scope.db, _OF_CALL, (request.sender, request.call_id))
    if made is None:
        raise InvalidArgumentError("The sending session was deleted.")
    return made


def deliver(scope: WriteScope, send_id: int, reply: AdmitRequest) -> bool:
    """Hand a late reply to its sender, once."""
    known = _one(scope.db, _BY_ID, (send_id,))
    if known is None or not known.is_due:
        return False
    inputs.admit(scope, reply)
    drop(scope, send_id)
    return True


def drop(scope: WriteScope, send_id: int) -> None:
    """Forget a message, whatever became of it."""
    known = _one(scope.db, _BY_ID, (send_id,))
    scope.db.run("DELETE FROM session_sends WHERE id = ?", (send_id,))
    sender = None if known is None else scope.find(known.sender)
    if sender is not None and known is not None:
        sender.sent = tuple(call for call in sender.sent if call != known.call_id)


def _one(db: Database, sql: str, values: Row) -> SentMessage | None:
    found = db.row(sql, values)
    return None if found is None else _message(found)


def _message(values: Row) -> SentMessage:
    send_id, sender, call_id, target, input_id, authority, ended, reply, is_late = values
    return SentMessage(
        send_id=cast("int", send_id),
        sender=SessionId(cast("str", sender)),
        call_id=CallId(cast("str", call_id)),
        target=SessionId(cast("str", target)),
        input_id=InputId(cast("str", input_id)),
        reply_authority=decode_authority(cast("str", authority)),
        end=None if ended is None else SendEnd(cast("str", ended)),
        reply=cast("str", reply),
        is_late=bool(is_late),
    )
