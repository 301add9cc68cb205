"""What events do to the background jobs of a session: started, ended, told of.

The rules are those by which the session's state follows the same events; a job's row stays after
the model was told of it, until its files are cleaned up.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from netclaw.core.session.job_events import (
    JobEnded,
    JobReaped,
    JobReported,
    JobStarted,
    JobState,
)
from netclaw.store.rows import SessionRow, UntoldJob
from netclaw.store.scope import WriteScope

_END = (
    "UPDATE jobs SET state = ?, exit_code = ?, ended_seq = ?"
    " WHERE session = ? AND job_id = ? AND ended_seq IS NULL"
)
_TELL = "UPDATE jobs SET told_turn = ? WHERE session = ? AND job_id = ?"
_TOLD = "UPDATE jobs SET told_seq = ? WHERE session = ? AND job_id = ?"
_END_ALL = "UPDATE jobs SET state = 'Reaped', ended_seq = ? WHERE session = ? AND ended_seq IS NULL"
_TOLD_ALL = "UPDATE jobs SET told_seq = ? WHERE session = ? AND told_seq IS NULL"


def job_started(scope: WriteScope, row: SessionRow, seq: int, event: JobStarted) -> None:
    """It is live."""
    scope.db.run(
        "INSERT OR IGNORE INTO jobs (session, job_id, turn, call_id, command, log_path, limit_s,"
        " seq) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        (
            row.id,
            event.job_id,
            event.turn_id,
            event.call_id,
            event.command,
            event.log_path,
            event.limit_s,
            seq,
        ),
    )
    if scope.db.connection.changes() > 0:
        row.jobs = {**row.jobs, event.job_id: UntoldJob()}


def job_ended(scope: WriteScope, row: SessionRow, seq: int, event: JobEnded) -> None:
    """It is over; a turn will tell of it. The first end stands."""
    row.untold_jobs += 1
    scope.db.run(_END, (event.state.value, event.exit_code, seq, row.id, event.job_id))


def job_reaped(scope: WriteScope, row: SessionRow, seq: int, event: JobReaped) -> None:
    """It died with its process; the next turn lists it."""
    scope.db.run(_END, (JobState.REAPED.value, None, seq, row.id, event.job_id))
    known = row.jobs.get(event.job_id)
    if known is not None and scope.db.connection.changes() > 0:
        row.jobs = {**row.jobs, event.job_id: replace(known, is_reaped=True)}


def job_reported(scope: WriteScope, row: SessionRow, seq: int, event: JobReported) -> None:
    """The open turn tells of it."""
    del seq
    row.untold_jobs = max(0, row.untold_jobs - 1)
    _tell(scope, row, event.turn_id, lambda job_id, _job: job_id == event.job_id)


def list_reaped(scope: WriteScope, row: SessionRow, turn: str) -> None:
    """A turn begins that shows the model what was reaped."""
    _tell(scope, row, turn, lambda _job_id, job: job.is_reaped)


def end_turn(
    scope: WriteScope, row: SessionRow, turn: str, seq: int, *, is_completed: bool
) -> None:
    """A turn is over: what it told of is told; what it listed, only if it completed."""
    told = [
        job_id
        for job_id, job in row.jobs.items()
        if job.told_turn == turn and (is_completed or not job.is_reaped)
    ]
    if told:
        scope.db.run_many(_TOLD, [(seq, row.id, job_id) for job_id in told])
        row.jobs = {job_id: job for job_id, job in row.jobs.items() if job_id not in told}


def end_life(scope: WriteScope, row: SessionRow, seq: int) -> None:
    """A life is over: what ran died with it, and there is nobody to tell."""
    if row.jobs:
        scope.db.run(_END_ALL, (seq, row.id))
        scope.db.run(_TOLD_ALL, (seq, row.id))
        row.jobs = {}


def _tell(
    scope: WriteScope, row: SessionRow, turn: str, is_told: Callable[[str, UntoldJob], bool]
) -> None:
    told = [job_id for job_id, job in row.jobs.items() if is_told(job_id, job)]
    if told:
        scope.db.run_many(_TELL, [(turn, row.id, job_id) for job_id in told])
        changed = {job_id: replace(row.jobs[job_id], told_turn=turn) for job_id in told}
        row.jobs = {**row.jobs, **changed}
