"""What the shell must do about background jobs after a decision was committed."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from netclaw.core.ids import DispatchToken, JobId
from netclaw.core.session.child_effects import CancelAnswer


class JobRefusal(StrEnum):
    """Why no job was started."""

    NOT_RUNNING = "not_running"
    """The call that asks does not run (any more), so the job would have no turn to answer to."""
    STOPPING = "stopping"
    """The turn or the session is being stopped."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchJob:
    """Start the job's process as soon as the daemon has a slot, and answer the call now."""

    token: DispatchToken
    job_id: JobId


@dataclass(frozen=True, slots=True, kw_only=True)
class RefuseJob:
    """Answer the call: nothing was started."""

    token: DispatchToken
    job_id: JobId
    refusal: JobRefusal


@dataclass(frozen=True, slots=True, kw_only=True)
class KillJob:
    """Kill the job's whole process tree; it still reports one EndJob."""

    job_id: JobId


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerJobCancel:
    """Tell who asked what becomes of it."""

    job_id: JobId
    actor: str
    answer: CancelAnswer


JobEffect = LaunchJob | RefuseJob | KillJob | AnswerJobCancel
