"""Replies as an adapter claims them, and how many one claim carries: a rule of both stores."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from netclaw.core.authority import DeliveryTarget, SourceKind
from netclaw.core.ids import SessionId
from netclaw.core.session.events import OutboxRow

CLAIM_BYTES = 3 * 1024 * 1024
"""Text of the replies of one claim: as much as one answer over the public socket carries."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OutboxItem:
    """A claimed reply."""

    row_id: int
    session_id: SessionId
    target: DeliveryTarget
    text: str
    attempts: int
    turn_id: str = ""
    """The turn that it tells of."""
    is_taken_over: bool = False
    """Another claimant held it, and may have sent some of it."""


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
