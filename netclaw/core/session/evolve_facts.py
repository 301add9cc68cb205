"""What is known of a session beside its turns: title, directory, goal, where it came from."""

from __future__ import annotations

from dataclasses import replace

from netclaw.core.session import goals
from netclaw.core.session.adoption_events import HistoryAdopted, SessionAdopted
from netclaw.core.session.events import Recorded, TitleSet, WorkingDirectorySet
from netclaw.core.session.goal_events import GoalSet
from netclaw.core.session.state import SessionState


def title_set(state: SessionState, recorded: Recorded, event: TitleSet) -> SessionState:
    """The session has this title."""
    del recorded
    return replace(
        state,
        title=event.title,
        title_actor=event.actor if event.title else "",
        title_set_at_turn=state.turns,
    )


def working_directory_set(
    state: SessionState, recorded: Recorded, event: WorkingDirectorySet
) -> SessionState:
    """The session has this project directory."""
    del recorded
    return replace(state, working_directory=event.path)


def goal_set(state: SessionState, recorded: Recorded, event: GoalSet) -> SessionState:
    """The session has this goal, or none; nobody was at work in it for that."""
    del recorded
    return replace(state, goal=goals.of_event(event))


def session_adopted(state: SessionState, recorded: Recorded, event: SessionAdopted) -> SessionState:
    """The session goes on from a transcript."""
    return replace(state, life=event.life, last_activity_at=recorded.at)


def history_adopted(state: SessionState, recorded: Recorded, event: HistoryAdopted) -> SessionState:
    """Nothing but its messages (see `evolve_messages`)."""
    del event
    return replace(state, last_activity_at=recorded.at)
