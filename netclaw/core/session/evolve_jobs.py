"""What events of background jobs do to the session's record of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from netclaw.core.ids import JobId, TurnId
from netclaw.core.session.events import Recorded
from netclaw.core.session.job_events import (
    JobEnded,
    JobReaped,
    JobReported,
    JobStarted,
    JobState,
)
from netclaw.core.session.job_state import JobRun
from netclaw.core.session.state import SessionState


def job_started(state: SessionState, recorded: Recorded, event: JobStarted) -> SessionState:
    """The job is live."""
    return replace(state, jobs=(*state.jobs, JobRun(started=event, started_at=recorded.at)))


def job_ended(state: SessionState, recorded: Recorded, event: JobEnded) -> SessionState:
    """The job is over; the first end stands."""
    return _with_job(
        state,
        event.job_id,
        lambda job: (
            replace(
                job,
                state=event.state,
                exit_code=event.exit_code,
                ended_seq=recorded.seq,
                ended_at=recorded.at,
            )
            if job.state.is_live
            else job
        ),
    )


def job_reaped(state: SessionState, recorded: Recorded, event: JobReaped) -> SessionState:
    """The job died with its process."""
    return _with_job(
        state,
        event.job_id,
        lambda job: (
            replace(job, state=JobState.REAPED, ended_seq=recorded.seq, ended_at=recorded.at)
            if job.state.is_live
            else job
        ),
    )


def job_reported(state: SessionState, recorded: Recorded, event: JobReported) -> SessionState:
    """The open turn tells of its end."""
    del recorded
    turn = state.turn
    if turn is None or turn.turn_id != event.turn_id:
        return state
    state = replace(state, turn=replace(turn, reports=(*turn.reports, event.job_id)))
    return _with_job(state, event.job_id, lambda job: replace(job, reported_in=event.turn_id))


def drop_told(jobs: tuple[JobRun, ...], turn_id: TurnId, *, are_listed: bool) -> tuple[JobRun, ...]:
    """The record once this turn is over; `are_listed` if it completed and a model saw the list.

    What it reported is gone; a reaped job goes with the first turn that listed it.
    """
    if not jobs:
        return jobs
    return tuple(
        job
        for job in jobs
        if job.reported_in != turn_id and not (are_listed and job.state is JobState.REAPED)
    )


def _with_job(
    state: SessionState, job_id: JobId, change: Callable[[JobRun], JobRun]
) -> SessionState:
    jobs = tuple(change(job) if job.job_id == job_id else job for job in state.jobs)
    return replace(state, jobs=jobs)
