"""Background jobs as the journal store knows them: for lists, and for what has to be cleaned up.

A part of the store's port (`netclaw.ports.journal`), apart for its own vocabulary.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from netclaw.core.authority import SourceKind
from netclaw.core.ids import CallId, JobId, SessionId, TurnId
from netclaw.core.session.job_events import JobState


@dataclass(frozen=True, slots=True, kw_only=True)
class JobRecord:
    """One job; times are epoch ms."""

    position: int
    """Its place among all jobs of this database, by age; for paging."""
    session_id: SessionId
    channel: SourceKind
    job_id: JobId
    turn_id: TurnId
    call_id: CallId
    command: str
    """Redacted."""
    log_path: str
    limit_s: float | None
    state: JobState
    """A live one is Running here, also while it waits for a slot or its process just died."""
    exit_code: int | None
    started_at: int
    ended_at: int | None
    told_at: int | None
    """When the turn was over that told of its end, or listed it as reaped."""


class JobStore(Protocol):
    """The jobs part of `JournalStore`."""

    async def list_jobs(
        self, *, limit: int, after: int = 0, session_id: SessionId | None = None
    ) -> tuple[JobRecord, ...]:
        """Jobs of every session, or of one, by age, from a position on."""

    async def find_jobs(self, job_id: JobId) -> tuple[JobRecord, ...]:
        """The jobs of exactly this name; ids are random, so there is one or none."""

    async def told_jobs(self, *, before: int, limit: int) -> tuple[JobRecord, ...]:
        """Jobs that were told of before a moment, oldest first."""

    async def forget_job(self, session_id: SessionId, job_id: JobId) -> None:
        """Remove a job that was told of from the lists; nothing happens to any other.

        Raises `NotFoundError` for an unknown session.
        """
