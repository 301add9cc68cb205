"""How the end of a child run is told in the signal log: exactly as it ended (decision 65)."""

from __future__ import annotations

from netclaw.core.errors import ErrorCategory, ErrorCode
from netclaw.core.session.child_events import ChildEnded, ChildState
from netclaw.core.signals.events import RunOutcome

_BY_STATE = {
    ChildState.COMPLETED: RunOutcome.COMPLETED,
    ChildState.CANCELLED: RunOutcome.CANCELLED,
}

_TIMEOUTS = frozenset({ErrorCategory.TIMEOUT.value, ErrorCode.TIMEOUT.value})
"""Of the run's own turn, and of whoever watched over it."""


def outcome_of(event: ChildEnded) -> RunOutcome:
    """Completed, cancelled, timeout or error: a run that was lost, or kept back a part, erred."""
    if event.reason in _TIMEOUTS:
        return RunOutcome.TIMEOUT
    return _BY_STATE.get(event.state, RunOutcome.ERROR)
