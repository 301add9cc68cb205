"""Whether a session without a process needs one (protocol "Runnable work")."""

from __future__ import annotations

from netclaw.core.session import consent, open_work
from netclaw.core.session.state import SessionState


def has_runnable_work(state: SessionState) -> bool:
    """Whether a start is due: something may go on without anybody acting first.

    A turn that waits on consent alone starts nothing, nor does what waits behind it: a new
    process would find nothing to do, rest, and be started again for ever.
    """
    if state.answers or open_work.is_start_due(state):
        return True
    if state.turn is not None:
        return not consent.is_at_rest(state)
    return open_work.next_up(state) is not None


def waits_for_people(state: SessionState) -> bool:
    """Whether the open turn or runs, and all that waits behind them, need somebody to act first."""
    is_open = state.turn is not None or any(not run.is_closed for run in state.children)
    return is_open and not has_runnable_work(state)
