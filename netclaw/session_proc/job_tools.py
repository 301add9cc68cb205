"""The background jobs of a session as one tool call may use them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from netclaw.core.authority import Authority
from netclaw.core.ids import CallId, DispatchToken, JobId
from netclaw.core.session import jobs
from netclaw.core.session.child_effects import CancelAnswer
from netclaw.core.session.job_commands import CancelJob
from netclaw.core.session.state import SessionState
from netclaw.ports.jobs import JobPlan, JobView
from netclaw.session_proc import job_files
from netclaw.session_proc.background_jobs import BackgroundJobs

DIES_WITHIN_S = 10.0
"""How long a cancel waits for the end of what it kills."""


class CallJobs:
    """The `Jobs` port of one call."""

    def __init__(
        self,
        part: BackgroundJobs,
        *,
        call_id: CallId,
        token: DispatchToken,
        authority: Authority,
        look: Callable[[], SessionState],
        now_ms: Callable[[], int],
    ) -> None:
        self._part = part
        self._call_id = call_id
        self._token = token
        self._authority = authority
        self._look = look
        self._now_ms = now_ms

    async def start(self, plan: JobPlan) -> JobView:
        """See `Jobs`."""
        job_id, state = await self._part.start(plan, self._call_id, self._token)
        path = job_files.log_path(self._part.storage, job_id)
        return JobView(job_id=job_id, state=state, log_path=path, elapsed_s=0.0)

    async def look(self, job_id: JobId, *, tail_chars: int) -> JobView | None:
        """See `Jobs`."""
        job = jobs.find(self._look(), job_id)
        if job is None or not jobs.may_control(job, self._authority):
            return None
        state, exit_code = self._part.as_it_is(job)
        ended_at = job.ended_at or self._now_ms()
        return JobView(
            job_id=job_id,
            state=state,
            log_path=job.started.log_path,
            elapsed_s=max(0, ended_at - job.started_at) / 1000,
            exit_code=exit_code,
            tail=await asyncio.to_thread(job_files.tail, self._part.storage, job_id, tail_chars),
        )

    async def cancel(self, job_id: JobId) -> bool:
        """See `Jobs`."""
        answer = self._part.expect_answer(job_id, self._call_id)
        self._part.post(CancelJob(job_id=job_id, actor=self._call_id, authority=self._authority))
        if await answer is CancelAnswer.NOT_FOUND:
            return False
        try:
            async with asyncio.timeout(DIES_WITHIN_S):
                await self._part.until_over(job_id)
        except TimeoutError:
            pass
        return True
