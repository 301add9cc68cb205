"""What is on its way to a channel, as its adapter claims it: replies, files, beginnings of threads.

A part of the journal store's port (`netclaw.ports.journal`), apart for its own vocabulary.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from netclaw.core.authority import DeliveryTarget, SourceKind
from netclaw.core.ids import CallId, SessionId, TurnId
from netclaw.core.session.events import OutboxRow
from netclaw.core.tool_call import Attachment

CLAIM_BYTES = 3 * 1024 * 1024
"""Text of the replies of one claim: as much as one answer over the public socket carries."""
MAX_OPENINGS = 50
"""Beginnings of threads of one session that are not delivered: a channel may be down for long."""


class OutboxKind(StrEnum):
    """What a row is."""

    REPLY = "reply"
    FILE = "file"
    """A file that a call attached; it has no text."""
    OPENING = "opening"
    """A message that begins a thread; its address is where, not yet a thread."""


class OutboxState(StrEnum):
    """Where a row stands."""

    WAITING = "waiting"
    CLAIMED = "claimed"
    DELIVERED = "delivered"
    GIVEN_UP = "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class OutboxItem:
    """A claimed row."""

    row_id: int
    session_id: SessionId
    target: DeliveryTarget
    text: str
    attempts: int
    turn_id: str = ""
    """The turn that it tells of."""
    is_taken_over: bool = False
    """Another claimant held it, and may have sent some of it."""
    kind: OutboxKind = OutboxKind.REPLY
    file: Attachment | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class OpeningRequest:
    """A message of a call that is to begin a thread; `target` holds the place as its address."""

    session_id: SessionId
    turn_id: TurnId
    call_id: CallId
    target: DeliveryTarget
    text: str
    at: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Opening:
    """What became of such a message; `address` is the thread once it was delivered."""

    row_id: int
    state: OutboxState
    address: str = ""

    @property
    def is_over(self) -> bool:
        """Whether it is delivered or given up."""
        return self.state in (OutboxState.DELIVERED, OutboxState.GIVEN_UP)


class OutboxStore(Protocol):
    """The part of `JournalStore` about the outbox."""

    async def claim_outbox(
        self, channel: str, *, limit: int, claimant: str, at: int
    ) -> tuple[OutboxItem, ...]:
        """Claim due rows that `fitting` lets out, FIFO per binding.

        Claims of another claimant have lapsed.
        """

    async def next_outbox_at(self, channel: str, *, claimant: str) -> int | None:
        """When a claim of this claimant has to be made again: the time of the earliest row that
        heads its binding and is not in the claimant's hands; None if there is none.
        """

    async def confirm_outbox(
        self,
        row_id: int,
        *,
        claimant: str,
        external_id: str,
        failure: str,
        next_attempt_at: int,
    ) -> None:
        """Close a row as sent, or after a `failure` schedule it again; at 0 it is given up.

        A closed row answers a repeat silently. Raises `NotFoundError`, and
        `StaleIncarnationError` when another claimant holds the row by now.
        """

    async def open_thread(self, request: OpeningRequest) -> Opening:
        """Put the message into the outbox; a repeat of the call answers the first.

        Raises `InvalidArgumentError` for a turn that is over, `QueueFullError` for a session with
        `MAX_OPENINGS` of them, `NotFoundError`.
        """

    async def find_opening(self, session_id: SessionId, call_id: CallId) -> Opening | None:
        """What became of the message of a call; None if it sent none."""

    async def claimed_file(self, row_id: int, *, claimant: str) -> tuple[SessionId, Attachment]:
        """The file of a row that this claimant holds, and whose it is.

        Raises `NotFoundError` and `StaleIncarnationError`.
        """

    async def is_reply_open(
        self, session_id: SessionId, turn_id: TurnId, target: DeliveryTarget
    ) -> bool:
        """Whether a reply of a turn is still to be delivered there."""


def channels_of(replies: Iterable[OutboxRow]) -> frozenset[SourceKind]:
    """Where these replies go: whose adapter has something to claim."""
    return frozenset(reply.target.channel for reply in replies)


def fitting(texts: Iterable[str]) -> int:
    """How many of these replies one claim hands out: at least one, at most `CLAIM_BYTES`."""
    size = count = 0
    for text in texts:
        size += len(text.encode("utf-8", "surrogatepass"))
        if count and size > CLAIM_BYTES:
            break
        count += 1
    return count
