"""What has happened to background jobs (`shell_execute` in background mode)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from netclaw.core.authority import Authority
from netclaw.core.ids import CallId, JobId, TurnId


class JobState(StrEnum):
    """State of a background job; the values are those of `netclaw jobs list`."""

    PENDING = "Pending"
    """It waits for one of the daemon's slots; it counts as live (decision 72)."""
    RUNNING = "Running"
    COMPLETED = "Completed"
    FAILED = "Failed"
    TIMED_OUT = "TimedOut"
    CANCELLED = "Cancelled"
    REAPED = "Reaped"
    """Killed with its session's process (decisions 17 and 85)."""
    LOST = "Lost"

    @property
    def is_live(self) -> bool:
        """Whether it runs or waits to run."""
        return self in (JobState.PENDING, JobState.RUNNING)


@dataclass(frozen=True, slots=True, kw_only=True)
class JobStarted:
    """P: a job exists; precedes its process and the next model call. `command` is redacted.

    `limit_s` is the total time the model gave it; None means no limit.
    """

    job_id: JobId
    turn_id: TurnId
    call_id: CallId
    command: str
    authority: Authority
    log_path: str
    limit_s: float | None = None
    is_attended: bool = False
    """Whether a person can answer consent requests of the turn that tells of its end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobEnded:
    """P: the job is over; its result is a turn of its own. `exit_code` is None for a signal."""

    job_id: JobId
    state: JobState
    exit_code: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class JobReaped:
    """P: the job died with its process; the next turn lists it, no turn is started for it."""

    job_id: JobId


@dataclass(frozen=True, slots=True, kw_only=True)
class JobReported:
    """P: this turn tells the model of the job's end."""

    job_id: JobId
    turn_id: TurnId
