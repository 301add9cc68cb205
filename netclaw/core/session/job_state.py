"""The session's record of its background jobs, as part of its state."""

from __future__ import annotations

from dataclasses import dataclass

from netclaw.core.ids import JobId, TurnId
from netclaw.core.session.job_events import JobStarted, JobState


@dataclass(frozen=True, slots=True, kw_only=True)
class JobRun:
    """One job, kept until a completed turn has told the model of its end."""

    started: JobStarted
    started_at: int
    state: JobState = JobState.RUNNING
    exit_code: int | None = None
    ended_seq: int = 0
    """seq of its JobEnded: its place among the waiting inputs."""
    reported_in: TurnId | None = None
    ended_at: int = 0
    """When that was, epoch ms; 0 while it is live."""

    @property
    def job_id(self) -> JobId:
        """The job's name."""
        return self.started.job_id

    @property
    def is_unreported(self) -> bool:
        """Whether its end is still to be told by a turn of its own; a reaped job starts none."""
        is_over = not self.state.is_live and self.state is not JobState.REAPED
        return is_over and self.reported_in is None
