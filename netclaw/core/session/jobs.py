"""Background jobs: on record before they run, told of in a turn of their own, dead with the
process (S0 "Passivation, idle behavior and background work").

A job's result cannot come before its start: the process is launched when the start is committed.
"""

from __future__ import annotations

from netclaw.core.authority import Authority
from netclaw.core.context.turn_block import COMMAND_CHARACTERS
from netclaw.core.ids import JobId
from netclaw.core.session import open_work, turn
from netclaw.core.session.child_effects import CancelAnswer
from netclaw.core.session.draft import Draft
from netclaw.core.session.job_commands import CancelJob, EndJob, StartJob
from netclaw.core.session.job_effects import (
    AnswerJobCancel,
    JobRefusal,
    KillJob,
    LaunchJob,
    RefuseJob,
)
from netclaw.core.session.job_events import JobEnded, JobReaped, JobStarted, JobState
from netclaw.core.session.job_state import JobRun
from netclaw.core.session.outputs import JobOutput
from netclaw.core.session.state import RunningTool, SessionState
from netclaw.core.text import one_line, storable


def find(state: SessionState, job_id: JobId) -> JobRun | None:
    """The job of this name, until the model was told of its end."""
    return next((job for job in state.jobs if job.job_id == job_id), None)


def start(draft: Draft, command: StartJob) -> None:
    """Record the job of a running call and launch it; without such a call it is an error.

    Subscribers are told by whoever launches it, who alone knows whether it waits for a slot.
    """
    turn_, runtime = draft.state.turn, draft.runtime
    asking = RunningTool(token=command.token, call_id=command.call_id)
    if turn_ is None or asking not in runtime.running:
        _refuse(draft, command, JobRefusal.NOT_RUNNING)
    elif runtime.drain is not None or runtime.is_stop_requested:
        _refuse(draft, command, JobRefusal.STOPPING)
    elif find(draft.state, command.job_id) is None:
        draft.record(
            JobStarted(
                job_id=command.job_id,
                turn_id=turn_.turn_id,
                call_id=command.call_id,
                command=storable(command.command),
                authority=turn_.authority,
                log_path=command.log_path,
                limit_s=command.limit_s,
                is_attended=open_work.is_attended(draft.state),
            )
        )
        draft.perform(LaunchJob(token=command.token, job_id=command.job_id))


def _refuse(draft: Draft, command: StartJob, refusal: JobRefusal) -> None:
    draft.perform(RefuseJob(token=command.token, job_id=command.job_id, refusal=refusal))


def end(draft: Draft, command: EndJob) -> None:
    """Record the end of a live job, once, and tell of it as soon as a turn may start."""
    job = find(draft.state, command.job_id)
    if job is None or not job.state.is_live:
        return
    state = JobState.FAILED if command.state.is_live else command.state
    draft.record(JobEnded(job_id=job.job_id, state=state, exit_code=command.exit_code))
    _show(draft, job.job_id)
    turn.wake(draft)


def may_control(job: JobRun, asking: Authority | None) -> bool:
    """Whether a turn may see and cancel a job: same session, audience and trust boundary."""
    if asking is None:
        return True
    owner, other = job.started.authority.requester, asking.requester
    return (owner.session_id, owner.audience, owner.boundary) == (
        other.session_id,
        other.audience,
        other.boundary,
    )


def cancel(draft: Draft, command: CancelJob) -> None:
    """Kill a live job; its end is recorded when its whole tree is gone.

    Whoever may not cancel it learns nothing of it.
    """
    job = find(draft.state, command.job_id)
    answer = CancelAnswer.ADMITTED
    if job is None or not may_control(job, command.authority):
        answer = CancelAnswer.NOT_FOUND
    elif not job.state.is_live:
        answer = CancelAnswer.ALREADY
    else:
        draft.perform(KillJob(job_id=job.job_id))
    draft.perform(AnswerJobCancel(job_id=command.job_id, actor=command.actor, answer=answer))


def reap(draft: Draft) -> None:
    """After a start: no job outlived the last process (decision 85)."""
    for job in draft.state.jobs:
        if job.state.is_live:
            draft.record(JobReaped(job_id=job.job_id))
            _show(draft, job.job_id)


def _show(draft: Draft, job_id: JobId) -> None:
    """Tell subscribers of the end of a job on record."""
    job = next(job for job in draft.state.jobs if job.job_id == job_id)
    draft.say(
        JobOutput(
            job_id=job_id,
            state=job.state,
            command=one_line(job.started.command, COMMAND_CHARACTERS),
            log_path=job.started.log_path,
            exit_code=job.exit_code,
        )
    )
