"""What a pruning of the signal log removes, in the stated order (decision 57, reference 6).

First events that are too old, then the oldest of those that are too many in the whole log, then
cursors that nothing happened to for as long. State versions stay.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from netclaw.core.ids import SessionId

DAY_MS = 24 * 3_600_000


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptEvent:
    """What a pruning looks at of an event; `occurred_at` is epoch ms."""

    sequence: int
    target: SessionId
    occurred_at: int


def too_old_before(at: int, retention_days: int) -> int:
    """Events that occurred and cursors that were touched before this time (epoch ms) go."""
    return at - retention_days * DAY_MS


def doomed(events: Sequence[KeptEvent], *, before: int, row_cap: int) -> tuple[KeptEvent, ...]:
    """The events that go, in the order of the log."""
    young = [event for event in events if event.occurred_at >= before]
    young.sort(key=lambda event: event.sequence)
    kept = frozenset(event.sequence for event in young[max(0, len(young) - row_cap) :])
    return tuple(sorted((e for e in events if e.sequence not in kept), key=lambda e: e.sequence))


def stamps(removed: Iterable[KeptEvent]) -> dict[SessionId, int]:
    """The highest sequence that each session loses."""
    highest: dict[SessionId, int] = {}
    for event in removed:
        highest[event.target] = max(highest.get(event.target, 0), event.sequence)
    return highest
