"""The outbox of the in-memory journal: FIFO per binding, one claimant each."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from netclaw.core.authority import DeliveryTarget
from netclaw.core.errors import NotFoundError, QueueFullError, StaleIncarnationError
from netclaw.core.ids import CallId, InputId, SessionId, TurnId
from netclaw.core.session.events import OutboxRow
from netclaw.core.tool_call import Attachment
from netclaw.ports.journal import LedgerDelivery
from netclaw.ports.outbox import (
    MAX_OPENINGS,
    Opening,
    OpeningRequest,
    OutboxItem,
    OutboxKind,
    OutboxState,
    fitting,
)


@dataclass(slots=True, kw_only=True)
class MemoryReply:
    """A reply in the outbox."""

    row_id: int
    session_id: SessionId
    row: OutboxRow
    state: str = "waiting"
    attempts: int = 0
    next_attempt_at: int = 0
    claimant: str = ""
    external_id: str = ""
    call_id: str = ""

    @property
    def kind(self) -> OutboxKind:
        """What it is."""
        if self.call_id:
            return OutboxKind.OPENING
        return OutboxKind.REPLY if self.row.file is None else OutboxKind.FILE

    @property
    def opening(self) -> Opening:
        """Itself as a message that begins a thread."""
        return Opening(row_id=self.row_id, state=OutboxState(self.state), address=self.external_id)

    @property
    def is_open(self) -> bool:
        """Whether it still has to be sent."""
        return self.state in ("waiting", "claimed")


@dataclass(slots=True)
class MemoryOutbox:
    """All replies, oldest first; row ids are never used twice."""

    replies: list[MemoryReply] = field(default_factory=list)
    made: int = 0

    def enqueue(self, session_id: SessionId, rows: tuple[OutboxRow, ...]) -> None:
        """Add the replies of an append."""
        for row in rows:
            self.made += 1
            self.replies.append(MemoryReply(row_id=self.made, session_id=session_id, row=row))

    def forget(self, session_id: SessionId) -> None:
        """Remove the replies of a deleted session."""
        self.replies = [reply for reply in self.replies if reply.session_id != session_id]

    def claim(self, channel: str, *, limit: int, claimant: str, at: int) -> tuple[OutboxItem, ...]:
        """Claim the due head of each binding."""
        due = [
            reply
            for reply in self._heads(channel)
            if reply.claimant != claimant and reply.next_attempt_at <= at
        ][:limit]
        due = due[: fitting(reply.row.text for reply in due)]
        items = tuple(
            OutboxItem(
                row_id=reply.row_id,
                session_id=reply.session_id,
                target=reply.row.target,
                text=reply.row.text,
                attempts=reply.attempts,
                turn_id=reply.row.turn_id,
                is_taken_over=bool(reply.claimant),
                kind=reply.kind,
                file=reply.row.file,
            )
            for reply in due
        )
        for reply in due:
            reply.state, reply.claimant = "claimed", claimant
        return items

    def next_at(self, channel: str, *, claimant: str) -> int | None:
        """When there is something to claim."""
        times = (
            reply.next_attempt_at for reply in self._heads(channel) if reply.claimant != claimant
        )
        return min(times, default=None)

    def _heads(self, channel: str) -> list[MemoryReply]:
        """The oldest open reply of each binding."""
        heads: dict[str, MemoryReply] = {}
        for reply in self.replies:
            if reply.is_open and reply.row.target.channel.value == channel:
                heads.setdefault(reply.row.target.address, reply)
        return list(heads.values())

    def confirm(
        self, row_id: int, *, claimant: str, external_id: str, failure: str, next_attempt_at: int
    ) -> None:
        """Close a reply, schedule it again or give it up."""
        reply = next((one for one in self.replies if one.row_id == row_id), None)
        if reply is None:
            raise NotFoundError(f"There is no reply {row_id} in the outbox.")
        if not reply.is_open:
            return
        if reply.state != "claimed" or reply.claimant != claimant:
            raise StaleIncarnationError(f"Reply {row_id} is no longer claimed by this sender.")
        if not failure:
            reply.state = "delivered"
            reply.row = replace(reply.row, text="")
        else:
            reply.state = "waiting" if next_attempt_at > 0 else "failed"
        reply.claimant = ""
        reply.attempts += 1
        reply.external_id = external_id
        reply.next_attempt_at = next_attempt_at

    def open(self, request: OpeningRequest) -> Opening:
        """Add a message that begins a thread."""
        waiting = [
            reply
            for reply in self.replies
            if reply.session_id == request.session_id and reply.call_id and reply.is_open
        ]
        if len(waiting) >= MAX_OPENINGS:
            raise QueueFullError("Too many messages of this session wait for their channel.")
        row = OutboxRow(
            target=request.target, text=request.text, turn_id=request.turn_id, input_ids=()
        )
        self.enqueue(request.session_id, (row,))
        self.replies[-1].call_id = request.call_id
        return self.replies[-1].opening

    def opening(self, session_id: SessionId, call_id: CallId) -> Opening | None:
        """The message of a call."""
        for reply in self.replies:
            if call_id and (reply.session_id, reply.call_id) == (session_id, call_id):
                return reply.opening
        return None

    def file(self, row_id: int, *, claimant: str) -> tuple[SessionId, Attachment]:
        """The file of a claimed row."""
        for reply in self.replies:
            if reply.row_id == row_id and reply.row.file is not None:
                if reply.state != "claimed" or reply.claimant != claimant:
                    raise StaleIncarnationError(f"File {row_id} is not claimed by this sender.")
                return reply.session_id, reply.row.file
        raise NotFoundError(f"There is no file {row_id} in the outbox.")

    def is_reply_open(self, session_id: SessionId, turn_id: TurnId, target: DeliveryTarget) -> bool:
        """Whether a reply of a turn is on its way."""
        return any(
            reply.is_open
            and reply.kind is OutboxKind.REPLY
            and (reply.session_id, reply.row.turn_id) == (session_id, turn_id)
            and reply.row.target == target
            for reply in self.replies
        )

    def deliveries(self, session_id: SessionId, input_id: InputId) -> tuple[LedgerDelivery, ...]:
        """The replies that answer an input."""
        return tuple(
            LedgerDelivery(
                channel=reply.row.target.channel.value,
                state=reply.state,
                attempts=reply.attempts,
                external_id=reply.external_id,
            )
            for reply in self.replies
            if reply.session_id == session_id and input_id in reply.row.input_ids
        )

    @property
    def waiting(self) -> int:
        """How many replies still have to be sent."""
        return sum(reply.is_open for reply in self.replies)
