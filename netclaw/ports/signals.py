"""The signal log and its cursors as the supervisor uses them.

Most signals are no calls: the store records them in the very append or admission that makes the
change, inside a savepoint of their own, best effort (decision 10). Notices are consumed by the
`TurnStarted` that names them, and open again when that turn fails before its first round.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from netclaw.core.ids import SessionId
from netclaw.core.session.goals import Goal, GoalChange
from netclaw.core.signals.cursors import Cursor, NoticeChange
from netclaw.core.signals.events import Actor, Signal, SignalEvent

CHANGES_LIMIT = 200
"""Events of one answer (decision 63)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StateChanges:
    """The events of a session after a version, oldest first."""

    state_version: int
    """The session's head in the log; 0 when nothing was ever recorded, or nothing can be read."""
    events: tuple[SignalEvent, ...] = ()
    is_truncated: bool = False
    earliest_available: int = 0
    """The lowest sequence that is still kept, else head + 1, else 0."""
    has_history_gap: bool = False
    """Exact: something after the version asked for was pruned, or was of a former life."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GoalOutcome:
    """A session's goal as it is now, and whether the change made it so."""

    goal: Goal
    is_changed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class SignalLimits:
    """Signals.{RetentionDays, RowCap} (decision 57)."""

    retention_days: int = 30
    row_cap: int = 50_000


@dataclass(frozen=True, slots=True, kw_only=True)
class PruneOutcome:
    """What a pruning removed."""

    events: int
    cursors: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SignalsCommitted:
    """What one transaction recorded, in order; told before the transaction's journal rows are."""

    events: tuple[SignalEvent, ...] = ()
    notices: tuple[NoticeChange, ...] = ()


SignalListener = Callable[[SignalsCommitted], None]


class SignalStore(Protocol):
    """Every method may raise a `StorageError`."""

    def set_signal_listener(self, listener: SignalListener) -> None:
        """Name the one receiver; set before the first write."""

    @property
    def signals_problem(self) -> str:
        """Why the log takes no events at present, in one sentence; empty if it does."""

    async def record_signal(self, signal: Signal) -> SignalEvent:
        """Record one change that is no journal event; a known dedupe key answers the first."""

    async def watch_session(self, watcher: SessionId, target: SessionId, *, at: int) -> bool:
        """Watch from the target's head on. A watch there is stays as it is and is as good as new.

        False if `watcher` is `target`. Raises `NotFoundError` for an unknown session.
        """

    async def unwatch_session(self, watcher: SessionId, target: SessionId) -> bool:
        """End a watch; False if there was none."""

    async def cursors(self, session_id: SessionId | None = None) -> tuple[Cursor, ...]:
        """Every cursor, or those in which a session is watcher or target."""

    async def changes_since(
        self, target: SessionId, since: int, *, limit: int = CHANGES_LIMIT
    ) -> StateChanges:
        """What changed after a version (0: everything kept); moves no cursor.

        An unknown session answers version 0.
        """

    async def all_changes_since(self, since: int, *, limit: int = CHANGES_LIMIT) -> StateChanges:
        """The same of all sessions together, for who watches a fleet.

        `state_version` is the newest sequence of the log.
        """

    async def set_goal(
        self, session_id: SessionId, change: GoalChange, *, actor: Actor, at: int
    ) -> GoalOutcome:
        """Set a session's goal: one job that decides by the pure rule and commits `GoalSet`.

        Nothing is written where nothing changes. Raises `NotFoundError` for an unknown session,
        `InvalidArgumentError` for what is no goal, or a status where there is none.
        """

    async def sweep_cursors(self, *, at: int) -> tuple[NoticeChange, ...]:
        """At boot: every cursor with something to tell is opened up to the last of it.

        Answers all open notices of sessions that exist (decision 91).
        """

    async def prune_signals(self, limits: SignalLimits, *, at: int) -> PruneOutcome:
        """Remove what is too old, then what is too much, then forgotten cursors; heads stay."""
