"""What happened to the goal of a session."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from netclaw.core.signals.events import Actor


class GoalStatus(StrEnum):
    """How far a session is with its goal."""

    ACTIVE = "active"
    PAUSED = "paused"
    BLOCKED = "blocked"
    COMPLETE = "complete"


@dataclass(frozen=True, slots=True, kw_only=True)
class GoalSet:
    """S: the session's goal was created, reworded, moved to a status, or cleared (empty text).

    Only a real change is recorded. Anybody who may sets it through the supervisor, whether or not
    the session has a process, so it may lie between an append's expected head and the real one.
    """

    text: str
    status: GoalStatus
    actor: Actor
