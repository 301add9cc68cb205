"""What a session process is asked about background jobs."""

from __future__ import annotations

from dataclasses import dataclass

from netclaw.core.authority import Authority
from netclaw.core.ids import CallId, DispatchToken, JobId
from netclaw.core.session.job_events import JobState


@dataclass(frozen=True, slots=True, kw_only=True)
class StartJob:
    """A running call wants its command in the background; `command` is redacted by now.

    The tool names the job, because the log's path holds its id. `limit_s` as in `JobStarted`.
    """

    token: DispatchToken
    call_id: CallId
    job_id: JobId
    command: str
    log_path: str
    limit_s: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class EndJob:
    """A job is over, its whole process tree gone; `exit_code` is None for a signal."""

    job_id: JobId
    state: JobState
    exit_code: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CancelJob:
    """Somebody wants a job ended; `authority` as in `CancelChild`."""

    job_id: JobId
    actor: str
    authority: Authority | None


JobCommand = StartJob | EndJob | CancelJob
