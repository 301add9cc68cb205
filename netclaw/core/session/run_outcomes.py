"""How the end of a child run is told in the signal log: exactly as it ended (decision 65)."""

from __future__ import annotations

from netclaw.core.errors import ErrorCategory
from netclaw.core.session.child_events import ChildEnded, ChildState
from netclaw.core.signals.events import RunOutcome

_BY_STATE = {
    ChildState.COMPLETED: RunOutcome.COMPLETED,
    ChildState.CANCELLED: RunOutcome.CANCELLED,
}


def outcome_of(event: ChildEnded) -> RunOutcome:
    """Completed, cancelled, timeout or error: a run that was lost, or kept back a part, erred."""
    if event.reason == ErrorCategory.TIMEOUT.value:
        return RunOutcome.TIMEOUT
    return _BY_STATE.get(event.state, RunOutcome.ERROR)
