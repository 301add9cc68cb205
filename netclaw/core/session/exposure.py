"""Which deferred tools the next model request of a session shows: those that hold a lease.

Core tools are always shown and hold none. A deferred tool is shown after `load_tool`, from the
next model request on, for three turns that do not ask for it; at most twelve at a time, and the
one that was asked for least recently makes way (decision 42). Exposure grants nothing: policy
hides a leased tool as it hides any other, and every call is judged.

The leases are part of the session's state, so the journal determines them: they survive
passivation and crashes, end with a reset, and every child run has its own.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

LEASE_TURNS = 3
"""How many turns a lease lasts, the one of its load or of its last use counted."""
MAX_LEASES = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    """One deferred tool that is shown."""

    tool: str
    used_at: int
    """seq of the load or of the last round that asked for the tool."""
    turns_left: int = LEASE_TURNS
    """Turns that may still end before it runs out, the open one counted."""


def load(leases: tuple[Lease, ...], tool: str, *, at: int) -> tuple[Lease, ...]:
    """The leases once a tool was loaded; an empty name loads nothing.

    They stay in the order in which they were first loaded, because a request whose tools begin
    like those of the one before shares a provider's cache.
    """
    if not tool:
        return leases
    if any(lease.tool == tool for lease in leases):
        return use(leases, (tool,), at=at)
    while len(leases) >= MAX_LEASES:
        oldest = min(leases, key=lambda lease: lease.used_at)
        leases = tuple(lease for lease in leases if lease is not oldest)
    return (*leases, Lease(tool=tool, used_at=at))


def use(leases: tuple[Lease, ...], tools: Iterable[str], *, at: int) -> tuple[Lease, ...]:
    """The leases once a round asked for these tools, whatever becomes of the calls."""
    asked = frozenset(tools)
    if not any(lease.tool in asked for lease in leases):
        return leases
    return tuple(
        replace(lease, used_at=at, turns_left=LEASE_TURNS) if lease.tool in asked else lease
        for lease in leases
    )


def end_turn(leases: tuple[Lease, ...]) -> tuple[Lease, ...]:
    """The leases after a turn: each is one turn older, and those that lasted three are over."""
    return tuple(
        replace(lease, turns_left=lease.turns_left - 1) for lease in leases if lease.turns_left > 1
    )


def loaded(leases: tuple[Lease, ...]) -> tuple[str, ...]:
    """The tools that hold a lease, in the order in which a model is shown them."""
    return tuple(lease.tool for lease in leases)
