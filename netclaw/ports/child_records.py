"""Child runs as the journal store knows them: for lists, for their starts, and for their purge.

A part of the store's port (`netclaw.ports.journal`), apart for its own vocabulary.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from netclaw.core.authority import SourceKind
from netclaw.core.ids import CallId, RunId, SessionId, TurnId
from netclaw.core.session.child_effects import ChildAnswer
from netclaw.core.session.child_events import ChildFrozen, ChildState


@dataclass(frozen=True, slots=True, kw_only=True)
class ChildRecord:
    """One run by its parent's journal; times are epoch ms."""

    position: int
    """Its place among all runs of this database, by age; for paging."""
    session_id: SessionId
    """Of the parent, whose journal is the truth of the run."""
    channel: SourceKind
    run_id: RunId
    child: SessionId
    """The run's own session."""
    agent: str
    turn_id: TurnId
    call_id: CallId
    seq: int
    """Of its ChildAccepted in the parent's journal."""
    state: ChildState
    reason: str
    result_path: str
    start: int
    """The newest start whose task or answers the run's own journal holds; 0 before the first."""
    accepted_at: int
    ended_at: int | None
    told_at: int | None
    """When the turn was over that told of its end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChildStart:
    """What a start of a run's process begins from.

    The first one makes the session, frozen as it says, with the task as its one input. A later one
    hands in the answers to its parked calls, once for each number.
    """

    parent: SessionId
    run_id: RunId
    start: int
    storage_root: str
    at: int
    frozen: ChildFrozen | None = None
    answers: tuple[ChildAnswer, ...] = ()


class ChildStore(Protocol):
    """The part of `JournalStore` about child runs."""

    async def start_child(self, request: ChildStart) -> ChildRecord:
        """Make a run's journal ready for this start, in one commit; a repeat changes nothing.

        Task, authority and attendance are those of the parent's ChildAccepted, whatever a process
        says. Raises `NotFoundError` for a run that the parent does not have or that is over, and
        `InvalidArgumentError` for a first start that says nothing of what it is frozen to.
        """

    async def list_runs(
        self, *, limit: int, after: int = 0, session_id: SessionId | None = None
    ) -> tuple[ChildRecord, ...]:
        """Runs of every session, or of one, by age, from a position on."""

    async def find_runs(self, run_id: RunId) -> tuple[ChildRecord, ...]:
        """The runs of exactly this name; ids are random, so there is one or none."""

    async def run_of_child(self, child: SessionId) -> ChildRecord | None:
        """The run whose own session this is."""

    async def children_of(self, parent: SessionId) -> tuple[SessionId, ...]:
        """The child sessions of a session that have rows, oldest first."""

    async def parents_of_children(self) -> tuple[SessionId, ...]:
        """The sessions of which there are child sessions, or were, in no order."""

    async def stale_children(self, *, limit: int) -> tuple[SessionId, ...]:
        """Child sessions of which nobody will hear: told of, or their parent is gone or reset."""
