"""The goal of a session: what is wanted of it, and how far it is."""

from __future__ import annotations

from dataclasses import dataclass

from netclaw.core.session.events import GoalStatus


@dataclass(frozen=True, slots=True, kw_only=True)
class Goal:
    """What a session is for, in one's own words; empty means that it has none."""

    text: str = ""
    status: GoalStatus = GoalStatus.ACTIVE
    """Means nothing while `text` is empty."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GoalChange:
    """What somebody wants of a session's goal."""

    text: str | None = None
    """The new words; empty clears the goal, None leaves it as it is."""
    status: GoalStatus | None = None
    """None: as it is, of a goal that is created or begun anew `active`."""
