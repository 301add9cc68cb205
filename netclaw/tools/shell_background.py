"""Hands a cleared command to the session's background jobs.

What runs, in which view, is what was judged for the call; the last judgement comes right before
the gate opens, also for a job that waited long for its slot: a grant that was revoked meanwhile
starts nothing.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace

from netclaw.core.session.job_events import JobState
from netclaw.core.text import storable
from netclaw.ports.jobs import (
    JobBarredError,
    JobPlan,
    JobRefusedError,
    JobView,
    OnStarted,
)
from netclaw.ports.shell_runner import OutputSink, ShellOutcome, ShellRequest, ShellRunner
from netclaw.tools.faults import ToolFault
from netclaw.tools.shell_confinement import clear_again
from netclaw.tools.tool import Outcome, Scope

COMMAND_CHARS = 8_192
"""Of a job's command in records and lists."""


async def start_job(
    runner: ShellRunner, request: ShellRequest, scope: Scope, command: str
) -> Outcome:
    """Begin a job and say so at once. Raises `ToolFault` if nothing was started."""
    plan = JobPlan(
        command=storable(scope.context.redact(command)[:COMMAND_CHARS]),
        limit_s=request.limits.total_s or None,
        run=_Run(runner, request, scope),
    )
    try:
        return _begun(await scope.context.jobs.start(plan))
    except JobRefusedError as refusal:
        raise ToolFault.failed(refusal.sentence) from None


class _Run:
    """The `JobRun` of one cleared command."""

    def __init__(self, runner: ShellRunner, request: ShellRequest, scope: Scope) -> None:
        self._runner = runner
        self._request = request
        self._scope = scope

    async def __call__(
        self, *, announce: OnStarted, sink: OutputSink, room: asyncio.Event
    ) -> ShellOutcome:
        """See `JobRun`."""

        async def on_started(pid: int, start_ticks: int) -> None:
            await announce(pid, start_ticks)
            try:
                await clear_again(self._scope.clearance)
            except ToolFault as fault:
                raise JobBarredError(fault.sentence) from None

        request = replace(self._request, room=room)
        return await self._runner.run(request, on_started=on_started, sink=sink)


def _begun(job: JobView) -> Outcome:
    how = (
        "waits for one of the daemon's job slots (Pending)"
        if job.state is JobState.PENDING
        else f"is {job.state.value}"
    )
    return Outcome(
        text=f"Background job {job.job_id} {how}. Its output goes to {job.log_path} (stdout and"
        " stderr together).",
        note="You are told when it ends; `check_background_job` shows how it stands.",
    )
