"""Background jobs as tools see them: begun by a call that is cleared, looked at, cancelled.

The session keeps the record; who may see a job is decided there, by the authority of the call's
turn (ADR 0031).
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Protocol

from netclaw.core.ids import JobId
from netclaw.core.session.job_events import JobState
from netclaw.ports.shell_runner import OutputSink, ShellOutcome

LOG_ROTATE_BYTES = 5_000_000
"""A job's log that is larger becomes `output.1.log`, in the place of an older one."""
KEPT_S = 24 * 3600.0
"""How long the files of a job stay after the turn that told of it (decision 72)."""

OnStarted = Callable[[int, int], Awaitable[None]]


class JobRefusedError(Exception):
    """Nothing was started; the sentence is fit for a model."""

    def __init__(self, sentence: str) -> None:
        super().__init__(sentence)
        self.sentence = sentence


class JobBarredError(Exception):
    """At its start, maybe long after its call, a job may not run any more."""

    def __init__(self, sentence: str) -> None:
        super().__init__(sentence)
        self.sentence = sentence


class JobRun(Protocol):
    """Runs a job's command to its end, with the profile that was cleared."""

    async def __call__(
        self, *, announce: OnStarted, sink: OutputSink, room: asyncio.Event
    ) -> ShellOutcome:
        """As `ShellRunner.run`; the last judgement comes after `announce`, right before its gate.

        Raises `JobBarredError` if that judgement is against it; nothing of it ran then.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class JobPlan:
    """What a cleared call wants done in the background."""

    command: str
    """Redacted, for people and records."""
    limit_s: float | None
    """Total seconds; None for no limit."""
    run: JobRun


@dataclass(frozen=True, slots=True, kw_only=True)
class JobView:
    """A job as of now."""

    job_id: JobId
    state: JobState
    log_path: str
    elapsed_s: float
    """Since it was recorded, up to its end."""
    exit_code: int | None = None
    tail: str = ""
    """The end of its redacted output."""


class Jobs(Protocol):
    """The background jobs of a session, for one call."""

    async def start(self, plan: JobPlan) -> JobView:
        """Record a job and let it begin; returns once it is durable, Pending or Running.

        Raises `JobRefusedError` if nothing was started.
        """

    async def look(self, job_id: JobId, *, tail_chars: int) -> JobView | None:
        """A job, None for one that does not exist or that this call may not see."""

    async def cancel(self, job_id: JobId) -> bool:
        """Kill a job's whole tree; returns when it is over, or is taking long to die.

        False for one that does not exist or that this call may not see.
        """


class NoJobs:
    """Where no job can be: the context of a call that is only judged."""

    async def start(self, plan: JobPlan) -> JobView:
        """See `Jobs`."""
        del plan
        raise JobRefusedError("No job was started: only a call that runs can start one.")

    async def look(self, job_id: JobId, *, tail_chars: int) -> JobView | None:
        """See `Jobs`."""
        del job_id, tail_chars
        return None

    async def cancel(self, job_id: JobId) -> bool:
        """See `Jobs`."""
        del job_id
        return False


NO_JOBS = NoJobs()
