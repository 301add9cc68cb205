"""Whether a session without a process is due to start (protocol "Runnable work")."""

from __future__ import annotations

from netclaw.core.session.state import SessionState


def runnable_work(state: SessionState) -> bool:
    """Whether an input, an open turn or an answer waits for a process."""
    return bool(state.buffered or state.answers) or state.turn is not None
