"""Messages between sessions in the in-memory journal; see the port for each method's contract."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from netclaw.core.errors import InvalidArgumentError
from netclaw.core.ids import AppendId, CallId, SessionId
from netclaw.core.session.inter_session import SendEnd, check_sender, kept_reply
from netclaw.core.settings import DaemonSettings
from netclaw.ports.journal import AdmitRequest, JournalRow
from netclaw.ports.session_sends import SendRequest, SentMessage
from netclaw.testing.memory_commit import MemoryCommitter
from netclaw.testing.memory_json import Json, object_of, text_of, texts_of
from netclaw.testing.memory_session import MemorySession


@dataclass(slots=True, kw_only=True)
class MemorySends:
    """Every message whose reply is not settled, by its number, with the turn that sent it."""

    by_id: dict[int, tuple[str, SentMessage]] = field(default_factory=dict)
    last: int = 0

    def find(self, sender: SessionId, call_id: CallId) -> SentMessage | None:
        """The message of a call."""
        for _, sent in self.by_id.values():
            if (sent.sender, sent.call_id) == (sender, call_id):
                return sent
        return None

    def add(self, turn: str, sent: SentMessage) -> SentMessage:
        """Keep a message under the next number."""
        self.last += 1
        kept = replace(sent, send_id=self.last)
        self.by_id[self.last] = (turn, kept)
        return kept

    def bury(self, session_id: SessionId, end: SendEnd = SendEnd.DELETED) -> None:
        """A session, or its life, is over."""
        for number, (turn, sent) in list(self.by_id.items()):
            if sent.sender == session_id:
                del self.by_id[number]
            elif sent.target == session_id and sent.end is None:
                self.by_id[number] = (turn, replace(sent, end=end))

    def follow(self, session_id: SessionId, rows: tuple[JournalRow, ...]) -> None:
        """What events change."""
        for row in rows:
            match row.type:
                case "TurnRecorded" | "TurnFailed":
                    self._end_turn(session_id, row.type, json.loads(row.payload))
                case "ToolResultRecorded":
                    self._end_call(session_id, object_of(json.loads(row.payload), "result"))
                case "SessionReset":
                    self.bury(session_id, SendEnd.CLOSED)

    def _end_turn(self, session_id: SessionId, type_: str, content: Json) -> None:
        end, reply = SendEnd.FAILED, ""
        if type_ == "TurnRecorded":
            end = SendEnd(text_of(content, "outcome"))
        if end is SendEnd.COMPLETED:
            reply = kept_reply(text_of(object_of(content, "message"), "text"))
        for number, (turn, sent) in list(self.by_id.items()):
            is_answered = sent.input_id in texts_of(content, "input_ids") and sent.end is None
            if sent.target == session_id and is_answered:
                self.by_id[number] = (turn, replace(sent, end=end, reply=reply))
            elif sent.sender == session_id and turn == text_of(content, "turn_id"):
                self.by_id[number] = (turn, replace(sent, is_late=True))

    def _end_call(self, session_id: SessionId, result: Json) -> None:
        sent = self.find(session_id, CallId(text_of(result, "call_id")))
        if sent is None:
            return
        if sent.end is not None and result.get("answered_input") == sent.input_id:
            del self.by_id[sent.send_id]
        else:
            turn, _ = self.by_id[sent.send_id]
            self.by_id[sent.send_id] = (turn, replace(sent, is_late=True))


class MemorySendLists:
    """Mixed into `MemoryJournal`."""

    _committer: MemoryCommitter
    _limits: DaemonSettings
    _clock_ms: Callable[[], int]

    @property
    def _sends(self) -> MemorySends:
        raise NotImplementedError

    def _known(self, session_id: SessionId) -> MemorySession:
        raise NotImplementedError

    def _keep(
        self,
        session: MemorySession,
        rows: tuple[JournalRow, ...] = (),
        append_id: AppendId | None = None,
    ) -> None:
        raise NotImplementedError

    async def send_message(self, request: SendRequest) -> SentMessage:
        """Admit the message and keep its record."""
        return await self._committer.write(lambda: self._send(request))

    def _send(self, request: SendRequest) -> SentMessage:
        sender = self._known(request.sender)
        known = self._sends.find(request.sender, request.call_id)
        if known is not None:
            return known
        check_sender(sender.open_turn, request.turn_id)
        message = request.message
        target = self._known(message.session_id)
        admission, rows = target.admit(message, self._limits, self._clock_ms())
        if admission.is_duplicate:
            raise InvalidArgumentError("This call has sent its message already.")
        self._keep(target, rows)
        sent = SentMessage(
            send_id=0,
            sender=request.sender,
            call_id=request.call_id,
            target=message.session_id,
            input_id=message.input_id,
            reply_authority=request.reply_authority,
        )
        return self._sends.add(request.turn_id, sent)

    async def find_send(self, sender: SessionId, call_id: CallId) -> SentMessage | None:
        """The message of a call."""
        self._committer.check_open()
        return self._sends.find(sender, call_id)

    async def open_sends(self) -> tuple[SentMessage, ...]:
        """Every message whose reply is not settled."""
        self._committer.check_open()
        return tuple(sent for _, sent in self._sends.by_id.values())

    async def deliver_reply(self, send_id: int, reply: AdmitRequest) -> bool:
        """Admit a late reply and drop the record."""

        def work() -> bool:
            _, sent = self._sends.by_id.get(send_id, ("", None))
            if sent is None or not sent.is_due:
                return False
            session = self._known(reply.session_id)
            _, rows = session.admit(reply, self._limits, self._clock_ms())
            self._keep(session, rows)
            del self._sends.by_id[send_id]
            return True

        return await self._committer.write(work)

    async def drop_send(self, send_id: int) -> None:
        """Let go of a record."""
        await self._committer.write(lambda: self._sends.by_id.pop(send_id, None))
