"""The jobs part of the in-memory journal; see the port for the contract of each method."""

from __future__ import annotations

from netclaw.core.ids import JobId, SessionId
from netclaw.ports.job_records import JobRecord
from netclaw.testing.memory_commit import MemoryCommitter
from netclaw.testing.memory_data import MemoryData
from netclaw.testing.memory_session import MemorySession


class MemoryJobLists:
    """Mixed into `MemoryJournal`."""

    _committer: MemoryCommitter
    _data: MemoryData

    def _known(self, session_id: SessionId) -> MemorySession:
        raise NotImplementedError

    def _all_jobs(self) -> list[JobRecord]:
        self._committer.check_open()
        found = [job for each in self._data.sessions.values() for job in each.jobs.by_id.values()]
        return sorted(found, key=lambda job: job.position)

    async def list_jobs(
        self, *, limit: int, after: int = 0, session_id: SessionId | None = None
    ) -> tuple[JobRecord, ...]:
        """Jobs by age."""
        found = [
            job
            for job in self._all_jobs()
            if job.position > after and session_id in (None, job.session_id)
        ]
        return tuple(found[:limit])

    async def find_jobs(self, job_id: JobId) -> tuple[JobRecord, ...]:
        """The jobs of exactly this name."""
        return tuple(job for job in self._all_jobs() if job.job_id == job_id)

    async def told_jobs(self, *, before: int, limit: int) -> tuple[JobRecord, ...]:
        """Jobs that were told of before a moment."""
        found = [job for job in self._all_jobs() if job.told_at is not None]
        return tuple([job for job in found if (job.told_at or 0) < before][:limit])

    async def forget_job(self, session_id: SessionId, job_id: JobId) -> None:
        """Remove a job that was told of."""

        def work() -> None:
            session = self._known(session_id)
            job = session.jobs.by_id.get(job_id)
            if job is not None and job.told_at is not None:
                del session.jobs.by_id[job_id]
                self._data.sessions[session_id] = session

        await self._committer.write(work)
