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
