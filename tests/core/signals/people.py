"""Who watches whom in the tests of the signal log."""

from __future__ import annotations

from netclaw.core.ids import RunId, SessionId
from netclaw.core.signals import events
from netclaw.core.signals.events import Actor, ActorType, GoalStep, Signal

P = SessionId("cli/parent")
RUN = RunId("run1")
C = SessionId("cli/parent/sub/run1")
Q = SessionId("slack:T1/C1/1.1")
D = SessionId("cli/other")

ADA = Actor(type=ActorType.HUMAN, id="ada")


def agent(session_id: SessionId) -> Actor:
    """The model of this session."""
    return Actor(type=ActorType.AGENT, id=session_id)


def human(target: SessionId, *, at: int = 0) -> Signal:
    """A person writes to the session."""
    return events.human_message(target, ADA, channel="cli", at=at)


def goal(target: SessionId, actor: Actor = ADA, *, at: int = 0) -> Signal:
    """Somebody changes the session's goal."""
    return events.goal_changed(target, actor, step=GoalStep.REWORDED, status="active", at=at)
