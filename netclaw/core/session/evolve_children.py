"""What events of child runs do to the parent's run record."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from netclaw.core.context import working_context
from netclaw.core.ids import RunId, TurnId
from netclaw.core.session.child_events import (
    ChildAccepted,
    ChildCancelAdmitted,
    ChildClosed,
    ChildDispatchClosed,
    ChildEnded,
    ChildFrozen,
    ChildParked,
    ChildResultDelivered,
    ChildResumed,
    ChildStarted,
    ChildState,
)
from netclaw.core.session.child_state import ChildRun
from netclaw.core.session.events import Recorded, SessionKind
from netclaw.core.session.own_run import OwnRun
from netclaw.core.session.state import SessionState

CLOSED_RUNS_KEPT = 32
"""Closed runs that the state remembers, so that they can still be asked about."""


def child_accepted(state: SessionState, recorded: Recorded, event: ChildAccepted) -> SessionState:
    """The run is open from here on."""
    run = ChildRun(accepted=event, accepted_at=recorded.at)
    return replace(state, children=(*state.children, run))


def child_started(state: SessionState, recorded: Recorded, event: ChildStarted) -> SessionState:
    """Its process works, and the answers it took along are its own to act on."""
    del recorded
    return with_run(
        state,
        event.run_id,
        lambda run: replace(
            _moved(run, ChildState.RUNNING), is_started=True, requests=run.unanswered
        ),
    )


def child_parked(state: SessionState, recorded: Recorded, event: ChildParked) -> SessionState:
    """It has no process, until its answers or the next start."""
    del recorded
    return with_run(
        state,
        event.run_id,
        lambda run: replace(_moved(run, ChildState.PARKED), park=event.kind),
    )


def child_resumed(state: SessionState, recorded: Recorded, event: ChildResumed) -> SessionState:
    """It is to run again; its answers stay until the new process was seen with them."""
    del recorded
    return with_run(
        state,
        event.run_id,
        lambda run: replace(
            _moved(run, ChildState.RUNNING), park=None, start=run.start + 1, is_started=False
        ),
    )


def child_cancel_admitted(
    state: SessionState, recorded: Recorded, event: ChildCancelAdmitted
) -> SessionState:
    """It is being cancelled."""
    del recorded
    return with_run(state, event.run_id, lambda run: _moved(run, ChildState.CANCELLING))


def child_dispatch_closed(
    state: SessionState, recorded: Recorded, event: ChildDispatchClosed
) -> SessionState:
    """It starts nothing any more."""
    del recorded
    return with_run(state, event.run_id, lambda run: replace(run, is_dispatch_closed=True))


def child_ended(state: SessionState, recorded: Recorded, event: ChildEnded) -> SessionState:
    """It is over, with this receipt; the first terminal receipt stands.

    What it is known to have written joins the recent files (S0 Sub-agents).
    """
    is_news = any(run.run_id == event.run_id and run.ended is None for run in state.children)
    recent = working_context.with_paths(state.recent_files, event.files if is_news else ())
    return with_run(
        replace(state, recent_files=recent),
        event.run_id,
        lambda run: (
            run
            if run.ended is not None
            else replace(
                run,
                state=event.state,
                park=None,
                requests=(),
                ended=event,
                ended_seq=recorded.seq,
            )
        ),
    )


def child_result_delivered(
    state: SessionState, recorded: Recorded, event: ChildResultDelivered
) -> SessionState:
    """The open turn tells of its end."""
    del recorded
    turn = state.turn
    if turn is None or turn.turn_id != event.turn_id:
        return state
    state = replace(state, turn=replace(turn, delivers=(*turn.delivers, event.run_id)))
    return with_run(state, event.run_id, lambda run: replace(run, delivered_in=event.turn_id))


def child_frozen(state: SessionState, recorded: Recorded, event: ChildFrozen) -> SessionState:
    """This session is the run."""
    del recorded
    is_run = state.kind is SessionKind.CHILD and state.run is None
    return replace(state, run=OwnRun(frozen=event)) if is_run else state


def child_closed(state: SessionState, recorded: Recorded, event: ChildClosed) -> SessionState:
    """Nothing: the journal ends here."""
    del recorded, event
    return state


def close_delivered(children: tuple[ChildRun, ...], turn_id: TurnId) -> tuple[ChildRun, ...]:
    """The record once this turn is over: what it told of is closed, the oldest closed ones go."""
    if not any(run.delivered_in == turn_id and not run.is_closed for run in children):
        return children
    closed = [
        replace(run, is_closed=True) if run.delivered_in == turn_id else run for run in children
    ]
    surplus = sum(run.is_closed for run in closed) - CLOSED_RUNS_KEPT
    kept: list[ChildRun] = []
    for run in closed:
        if run.is_closed and surplus > 0:
            surplus -= 1
        else:
            kept.append(run)
    return tuple(kept)


def with_run(
    state: SessionState, run_id: RunId, change: Callable[[ChildRun], ChildRun]
) -> SessionState:
    """The state with this run changed; a run nobody knows changes nothing."""
    children = tuple(change(run) if run.run_id == run_id else run for run in state.children)
    return replace(state, children=children)


def _moved(run: ChildRun, state: ChildState) -> ChildRun:
    """A run that is over stays so, and one that is being cancelled is parked by nobody."""
    is_fixed = run.ended is not None or run.state is ChildState.CANCELLING
    return run if is_fixed else replace(run, state=state)
