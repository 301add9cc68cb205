"""The outbox of the in-memory journal: FIFO per binding, one claimant each."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from netclaw.core.errors import NotFoundError, StaleIncarnationError
from netclaw.core.ids import InputId, SessionId
from netclaw.core.session.events import OutboxRow
from netclaw.ports.journal import LedgerDelivery
from netclaw.ports.outbox import OutboxItem, fitting


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
