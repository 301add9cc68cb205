"""What the loop guard remembers of a turn: digests and counts, never arguments or results.

Part of the open turn, so it is derived from the journal, rides in snapshots and survives
compaction, drain, crash and park (decision 31). A new turn begins with an empty one.
"""

from __future__ import annotations

from dataclasses import dataclass

from netclaw.core.tool_call import OutcomeCategory


@dataclass(frozen=True, slots=True, kw_only=True)
class Sighting:
    """One identity (tool name and arguments) and the outcome of the last round that ran it."""

    identity: str
    outcome: str
    is_suspect: bool = False
    """Two rounds in which it ran had this outcome: it is not run again."""
    refusals: int = 0
    """Rounds in which it was refused."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchEvidence:
    """One whole batch that ran: what it asked for and what came of it."""

    key: str
    outcome: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Cycle:
    """Batches that ran twice in the same order with the same outcomes; none is run again."""

    keys: tuple[str, ...]
    refusals: int = 0
    """Rounds in which one of them was refused."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureTally:
    """What failures of one kind add to the failure score; the latest kind stands last."""

    category: OutcomeCategory
    score: int


@dataclass(frozen=True, slots=True, kw_only=True)
class GuardState:
    """The evidence of one turn since its last input of a person."""

    sightings: tuple[Sighting, ...] = ()
    """The latest stands last; bounded, except for suspects."""
    recent: tuple[BatchEvidence, ...] = ()
    """The last batches that ran as a whole, as many as the longest cycle needs."""
    cycles: tuple[Cycle, ...] = ()
    failures: tuple[FailureTally, ...] = ()
    """Failures since the last batch that held a success."""
