"""What the signal log records of a session: kind, actor and one line, never what was said.

The set of kinds is closed. Summaries and payloads hold no text of a message (seed "Het
signaallogboek").
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from netclaw.core.ids import RunId, SessionId


class SignalKind(StrEnum):
    """What changed in a session."""

    HUMAN_DIRECT_MESSAGE = "human_direct_message"
    GOAL_CHANGED = "goal_changed"
    UPSTREAM_MISSING = "upstream_missing"
    CHILD_SPAWNED = "child_spawned"
    RUN_COMPLETED = "run_completed"
    RUN_FAILED = "run_failed"
    COMPACTED = "compacted"
    ADOPTED = "adopted"

    @property
    def is_material(self) -> bool:
        """Whether watchers are told; the others are only for those who look back."""
        return self in MATERIAL


FOREIGN_TIME_MS = 24 * 3_600_000
"""How old a change may be that somebody else's clock dates."""

MATERIAL = frozenset(
    {SignalKind.HUMAN_DIRECT_MESSAGE, SignalKind.GOAL_CHANGED, SignalKind.UPSTREAM_MISSING}
)


class ActorType(StrEnum):
    """Who changed it."""

    HUMAN = "human"
    AGENT = "agent"
    SYSTEM = "system"


@dataclass(frozen=True, slots=True, kw_only=True)
class Actor:
    """Who changed a session. Of an agent `id` is its session's id; of a person, the sender's."""

    type: ActorType
    id: str = ""


SYSTEM = Actor(type=ActorType.SYSTEM)


@dataclass(frozen=True, slots=True, kw_only=True)
class SignalPayload:
    """The few facts beside the summary; models see `outcome`, `channel` and `turns` alone."""

    outcome: str = ""
    """Of a run that failed: error, timeout or cancelled."""
    channel: str = ""
    """Where the change came from, or the catalog of an adopted transcript."""
    turns: int = 0
    """How many messages of people one event stands for, if more than one."""
    catalog_id: str = ""
    host_id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Signal:
    """A change to record. A known `dedupe_key` records nothing a second time."""

    target: SessionId
    kind: SignalKind
    actor: Actor
    occurred_at: int
    summary: str
    payload: SignalPayload = field(default_factory=SignalPayload)
    run_id: RunId | None = None
    dedupe_key: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SignalEvent:
    """A recorded change. `sequence` rises over all sessions, so within one it has gaps."""

    sequence: int
    signal: Signal


class GoalStep(StrEnum):
    """What became of a goal."""

    CREATED = "created"
    REWORDED = "reworded"
    STATUS = "status"
    CLEARED = "cleared"


class RunOutcome(StrEnum):
    """How a child run ended; `completed` is the one that is no failure (decision 65)."""

    COMPLETED = "completed"
    ERROR = "error"
    TIMEOUT = "timeout"
    CANCELLED = "cancelled"


_RUN_SUMMARIES = {
    RunOutcome.COMPLETED: "child run completed",
    RunOutcome.ERROR: "child run failed",
    RunOutcome.TIMEOUT: "child run timed out",
    RunOutcome.CANCELLED: "child run cancelled",
}

_GOAL_SUMMARIES = {
    GoalStep.CREATED: "goal created",
    GoalStep.REWORDED: "goal objective changed",
    GoalStep.CLEARED: "goal cleared",
}


def human_message(target: SessionId, actor: Actor, *, channel: str, at: int) -> Signal:
    """A person's message began or joined a turn of the session; `channel` is where it came from."""
    return Signal(
        target=target,
        kind=SignalKind.HUMAN_DIRECT_MESSAGE,
        actor=actor,
        occurred_at=at,
        summary=_human_summary(channel),
    )


def upstream_message(
    target: SessionId, *, catalog: str, source_hash: str, activity_id: str, turns: int, at: int
) -> Signal:
    """`turns` messages of people that an adopted transcript has beside the session's own.

    Of a message that somebody wrote elsewhere only the place is known. `at` is foreign: see
    `clamped`.
    """
    return Signal(
        target=target,
        kind=SignalKind.HUMAN_DIRECT_MESSAGE,
        actor=Actor(type=ActorType.HUMAN),
        occurred_at=at,
        summary=_human_summary(catalog),
        payload=SignalPayload(channel=catalog, turns=turns if turns > 1 else 0),
        dedupe_key=f"upstream:{target}:{source_hash}:{activity_id}",
    )


def goal_changed(
    target: SessionId, actor: Actor, *, step: GoalStep, status: str, at: int
) -> Signal:
    """The session's goal is another one, or further; `status` is what it is now."""
    return Signal(
        target=target,
        kind=SignalKind.GOAL_CHANGED,
        actor=actor,
        occurred_at=at,
        summary=_GOAL_SUMMARIES.get(step, f"goal status changed to {status}"),
    )


def upstream_missing(
    target: SessionId, *, catalog: str, source_hash: str, link_updated_at: int, at: int
) -> Signal:
    """The transcript that the session was adopted from is gone for good."""
    return Signal(
        target=target,
        kind=SignalKind.UPSTREAM_MISSING,
        actor=SYSTEM,
        occurred_at=at,
        summary=f"upstream missing via {catalog}",
        payload=SignalPayload(channel=catalog),
        dedupe_key=f"upstream-missing:{target}:{source_hash}:{link_updated_at}",
    )


def child_spawned(target: SessionId, *, parent: SessionId, run_id: RunId, at: int) -> Signal:
    """The session is a child run's; its parent's cursor is seeded with this event."""
    return Signal(
        target=target,
        kind=SignalKind.CHILD_SPAWNED,
        actor=Actor(type=ActorType.AGENT, id=parent),
        occurred_at=at,
        summary="child session spawned",
        run_id=run_id,
        dedupe_key=f"child-spawned:{run_id}",
    )


def run_ended(target: SessionId, *, run_id: RunId, outcome: RunOutcome, at: int) -> Signal:
    """A child run ended for good: the first word of it is the one that counts."""
    is_completed = outcome is RunOutcome.COMPLETED
    return Signal(
        target=target,
        kind=SignalKind.RUN_COMPLETED if is_completed else SignalKind.RUN_FAILED,
        actor=SYSTEM,
        occurred_at=at,
        summary=_RUN_SUMMARIES[outcome],
        payload=SignalPayload() if is_completed else SignalPayload(outcome=outcome.value),
        run_id=run_id,
        dedupe_key=f"run-terminal:{run_id}",
    )


def compacted(target: SessionId, *, operation: str, at: int) -> Signal:
    """The session's history was shortened; `operation` names this one compaction for ever."""
    return Signal(
        target=target,
        kind=SignalKind.COMPACTED,
        actor=SYSTEM,
        occurred_at=at,
        summary="session compacted",
        dedupe_key=f"compacted:{operation}",
    )


def adopted(
    target: SessionId, actor: Actor, *, catalog: str, host: str, key: str, at: int
) -> Signal:
    """The session goes on from a transcript of a catalog; `key` names this one adoption."""
    return Signal(
        target=target,
        kind=SignalKind.ADOPTED,
        actor=actor,
        occurred_at=at,
        summary=f"adopted from {catalog}",
        payload=SignalPayload(catalog_id=catalog, host_id=host),
        dedupe_key=f"adopted:{key}",
    )


def clamped(at: int, *, now: int) -> int:
    """A foreign time as it may be recorded: between 24 hours ago and now (reference section 2)."""
    return min(max(at, now - FOREIGN_TIME_MS), now)


def _human_summary(channel: str) -> str:
    return f"human message via {channel or 'unknown'}"
