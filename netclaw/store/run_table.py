"""What events do to the child runs of a session: accepted, at work, parked, over, told of.

The rules are those by which the session's state follows the same events. A run was told of when the
turn that told of its end is over, however that ended; from then on its own journal may go.
"""

from __future__ import annotations

from netclaw.core.session.child_events import (
    ChildAccepted,
    ChildCancelAdmitted,
    ChildEnded,
    ChildParked,
    ChildResultDelivered,
    ChildResumed,
    ChildStarted,
    ChildState,
)
from netclaw.store.rows import SessionRow
from netclaw.store.scope import WriteScope

PARENT_RESET = "parent_reset"
"""The reason of a run that ended because its session began a new life."""

_MOVE = (
    "UPDATE child_runs SET state = ? WHERE session = ? AND run_id = ? AND ended_seq IS NULL"
    " AND state <> 'Cancelling'"
)
_END = (
    "UPDATE child_runs SET state = ?, reason = ?, result_path = ?, ended_seq = ?"
    " WHERE session = ? AND run_id = ? AND ended_seq IS NULL"
)
_TELL = "UPDATE child_runs SET told_turn = ? WHERE session = ? AND run_id = ?"
_TOLD = "UPDATE child_runs SET told_seq = ? WHERE session = ? AND run_id = ?"
_END_ALL = (
    "UPDATE child_runs SET state = 'Lost', reason = ?, ended_seq = ?"
    " WHERE session = ? AND ended_seq IS NULL"
)
_TOLD_ALL = "UPDATE child_runs SET told_seq = ? WHERE session = ? AND told_seq IS NULL"


def run_accepted(scope: WriteScope, row: SessionRow, seq: int, event: ChildAccepted) -> None:
    """It exists, and its result is to be told."""
    row.open_runs += 1
    scope.db.run(
        "INSERT OR IGNORE INTO child_runs (session, run_id, child, agent, turn, call_id, seq)"
        " VALUES (?, ?, ?, ?, ?, ?, ?)",
        (
            row.id,
            event.run_id,
            event.session_id,
            event.agent,
            event.turn_id,
            event.call_id,
            seq,
        ),
    )
    row.runs = {**row.runs, event.run_id: None}


def run_started(scope: WriteScope, row: SessionRow, seq: int, event: ChildStarted) -> None:
    """Its process was seen at work."""
    del seq
    _move(scope, row, event.run_id, ChildState.RUNNING)


def run_parked(scope: WriteScope, row: SessionRow, seq: int, event: ChildParked) -> None:
    """It has no process."""
    del seq
    _move(scope, row, event.run_id, ChildState.PARKED)


def run_resumed(scope: WriteScope, row: SessionRow, seq: int, event: ChildResumed) -> None:
    """It goes on in a new process."""
    del seq
    _move(scope, row, event.run_id, ChildState.RUNNING)


def cancel_admitted(
    scope: WriteScope, row: SessionRow, seq: int, event: ChildCancelAdmitted
) -> None:
    """It is being cancelled; nothing but its end changes that."""
    del seq
    _move(scope, row, event.run_id, ChildState.CANCELLING)


def run_ended(scope: WriteScope, row: SessionRow, seq: int, event: ChildEnded) -> None:
    """It is over; the first end stands."""
    scope.db.run(
        _END, (event.state.value, event.reason, event.result_path, seq, row.id, event.run_id)
    )


def run_delivered(
    scope: WriteScope, row: SessionRow, seq: int, event: ChildResultDelivered
) -> None:
    """The open turn tells of it."""
    del seq
    row.open_runs = max(0, row.open_runs - 1)
    if event.run_id in row.runs:
        scope.db.run(_TELL, (event.turn_id, row.id, event.run_id))
        row.runs = {**row.runs, event.run_id: event.turn_id}


def end_turn(scope: WriteScope, row: SessionRow, turn: str, seq: int) -> None:
    """A turn is over: what it told of is told, also if it failed (S3 "open child run")."""
    told = [run_id for run_id, told_turn in row.runs.items() if told_turn == turn]
    if told:
        scope.db.run_many(_TOLD, [(seq, row.id, run_id) for run_id in told])
        row.runs = {run_id: turn for run_id, turn in row.runs.items() if run_id not in told}


def end_life(scope: WriteScope, row: SessionRow, seq: int) -> None:
    """A life is over: its runs are nobody's, and there is nobody to tell (decision 90)."""
    row.open_runs = 0
    if row.runs:
        scope.db.run(_END_ALL, (PARENT_RESET, seq, row.id))
        scope.db.run(_TOLD_ALL, (seq, row.id))
        row.runs = {}


def _move(scope: WriteScope, row: SessionRow, run_id: str, state: ChildState) -> None:
    scope.db.run(_MOVE, (state.value, row.id, run_id))
