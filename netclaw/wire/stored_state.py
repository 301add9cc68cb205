"""Rebuilds the state of a session from what is stored of it: its snapshot and the rows after it."""

from __future__ import annotations

from netclaw.core.errors import SessionUnreadableError
from netclaw.core.ids import SessionId
from netclaw.core.session.evolve import replay
from netclaw.core.session.state import SessionState
from netclaw.ports.journal import JournalRow, StoredSnapshot
from netclaw.wire.convert import recorded_of
from netclaw.wire.journal_codec import decode_state


def stored_state(
    session_id: SessionId, snapshot: StoredSnapshot | None, tail: tuple[JournalRow, ...]
) -> SessionState:
    """The state as of the last row; raises `SessionUnreadableError` and nothing else."""
    try:
        return _replay_all(SessionState(session_id=session_id), snapshot, tail)
    except SessionUnreadableError:
        raise
    except Exception as fault:
        # Events that can be decoded one by one and yet tell no story: as bad for their session.
        raise SessionUnreadableError("The stored events contradict each other.") from fault


def _replay_all(
    state: SessionState, snapshot: StoredSnapshot | None, tail: tuple[JournalRow, ...]
) -> SessionState:
    if snapshot is not None:
        state = decode_state(snapshot.codec, snapshot.payload)
        if state.head != snapshot.seq:
            raise SessionUnreadableError(f"The snapshot at {snapshot.seq} is one of {state.head}.")
    for expected, row in enumerate(tail, state.head + 1):
        if row.seq != expected:
            raise SessionUnreadableError(f"Event {row.seq} is stored where {expected} belongs.")
    return replay(state, (recorded_of(row) for row in tail))
