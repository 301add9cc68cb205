"""The goal of a session: what is wanted of it, and how far it is.

Only a real change is recorded, so watchers are never told of one that changed nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

from netclaw.core.errors import InvalidArgumentError
from netclaw.core.session.goal_events import GoalSet, GoalStatus
from netclaw.core.signals.events import Actor, GoalStep
from netclaw.core.text import storable

MAX_CHARACTERS = 2_000
"""A goal is a sentence or two; a plan belongs into a file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Goal:
    """What a session is for, in one's own words; empty means that it has none."""

    text: str = ""
    status: GoalStatus = GoalStatus.ACTIVE
    """Means nothing while `text` is empty."""


NO_GOAL = Goal()


@dataclass(frozen=True, slots=True, kw_only=True)
class GoalChange:
    """What somebody wants of a session's goal."""

    text: str | None = None
    """The new words; empty clears the goal, None leaves it as it is."""
    status: GoalStatus | None = None
    """None: as it is, of a goal that is created or begun anew `active`."""


def decide(goal: Goal, change: GoalChange, actor: Actor) -> GoalSet | None:
    """What the change makes of the goal; None where it is so already.

    A completed goal that is reworded is begun anew. Raises `InvalidArgumentError` for a text that
    is too long and for a status where there is no goal.
    """
    after = _after(goal, change)
    if after == goal:
        return None
    return GoalSet(text=after.text, status=after.status, actor=actor)


def of_event(event: GoalSet) -> Goal:
    """The goal after the event."""
    return Goal(text=event.text, status=event.status) if event.text else NO_GOAL


def step_of(before: Goal, event: GoalSet) -> GoalStep:
    """Which change the event is, seen from the goal before it."""
    if not event.text:
        return GoalStep.CLEARED
    if not before.text:
        return GoalStep.CREATED
    return GoalStep.STATUS if event.text == before.text else GoalStep.REWORDED


def _after(goal: Goal, change: GoalChange) -> Goal:
    text = goal.text if change.text is None else storable(change.text).strip()
    if len(text) > MAX_CHARACTERS:
        raise InvalidArgumentError(
            f"A goal has at most {MAX_CHARACTERS:,} characters; this one has {len(text):,}."
        )
    if not text:
        if change.status is not None:
            raise InvalidArgumentError(
                "There is no goal whose status could be set.",
                fix="Give it words first; it is active then.",
            )
        return NO_GOAL
    return Goal(text=text, status=change.status or _status(goal, text))


def _status(goal: Goal, text: str) -> GoalStatus:
    """The status of a goal that nobody named one for."""
    is_begun = not goal.text or (goal.status is GoalStatus.COMPLETE and text != goal.text)
    return GoalStatus.ACTIVE if is_begun else goal.status
