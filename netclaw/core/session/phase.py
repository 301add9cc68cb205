"""The five phases of a session and the only moves between them (S0 Lifecycle).

The move table is data; the diagram in the developer pages is drawn from it. A move that is not
listed raises and leaves the phase as it was.
"""

from __future__ import annotations

from enum import StrEnum

from netclaw.core.errors import IllegalTransitionError


class Phase(StrEnum):
    """What a session process is doing; lower case on the wire and in every listing."""

    RECOVERING = "recovering"
    """Journal replay and snapshot recovery, before it takes a message."""
    READY = "ready"
    """Accepting messages, idle timer ticking."""
    PROCESSING = "processing"
    """A model call or tool execution is in flight; incoming messages are buffered."""
    COMPACTING = "compacting"
    """Shrinking the history; messages are buffered as in Processing."""
    PASSIVATING = "passivating"
    """Winding down; a new message aborts it and returns to Ready."""


LEGAL_MOVES: dict[Phase, frozenset[Phase]] = {
    Phase.RECOVERING: frozenset({Phase.READY}),
    Phase.READY: frozenset({Phase.PROCESSING, Phase.COMPACTING, Phase.PASSIVATING}),
    Phase.PROCESSING: frozenset({Phase.READY, Phase.COMPACTING}),
    Phase.COMPACTING: frozenset({Phase.READY, Phase.PROCESSING}),
    Phase.PASSIVATING: frozenset({Phase.READY}),
}


def move(current: Phase, target: Phase) -> Phase:
    """Return `target` if the table lists the move; staying put is always legal.

    Raises `IllegalTransitionError` otherwise.
    """
    if target is current or target in LEGAL_MOVES[current]:
        return target
    raise IllegalTransitionError(f"{current.value} -> {target.value} is not a legal move")
