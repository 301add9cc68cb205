"""Background jobs across all sessions: listed, found, and forgotten once they are cleaned up."""

from __future__ import annotations

from typing import cast

from netclaw.core.authority import SourceKind
from netclaw.core.ids import CallId, JobId, SessionId, TurnId
from netclaw.core.session.job_events import JobState
from netclaw.ports.job_records import JobRecord
from netclaw.store.connection import Database, Row
from netclaw.store.readers import ReaderPool
from netclaw.store.scope import WriteScope
from netclaw.store.writer import GroupWriter


def _at(column: str) -> str:
    return f"(SELECT e.at FROM journal AS e WHERE e.session = j.session AND e.seq = j.{column})"  # noqa: S608 names of our own


# A session whose key begins with a control character is deleted, and its rows are being removed.
_SELECT = (
    "SELECT j.id, s.key, s.channel, j.job_id, j.turn, j.call_id, j.command, j.log_path, j.limit_s,"  # noqa: S608 names of our own
    f" j.state, j.exit_code, {_at('seq')}, {_at('ended_seq')}, {_at('told_seq')}"
    " FROM jobs AS j JOIN sessions AS s ON s.id = j.session WHERE s.key >= ' ' AND "
)
_ALL = f"{_SELECT} j.id > ? ORDER BY j.id LIMIT ?"
_OF_SESSION = f"{_SELECT} s.key = ? AND j.id > ? ORDER BY j.id LIMIT ?"
_NAMED = f"{_SELECT} j.job_id = ? ORDER BY j.id"
_TOLD = (
    f"{_SELECT} j.told_seq IS NOT NULL AND coalesce({_at('told_seq')}, 0) < ? ORDER BY j.id LIMIT ?"
)


class JobLists:
    """The jobs part of the store; see the port for the contract of each method."""

    _writer: GroupWriter
    _readers: ReaderPool

    async def list_jobs(
        self, *, limit: int, after: int = 0, session_id: SessionId | None = None
    ) -> tuple[JobRecord, ...]:
        """Jobs by age."""

        def read(db: Database) -> tuple[JobRecord, ...]:
            if session_id is None:
                return _records(db, _ALL, (after, limit))
            return _records(db, _OF_SESSION, (session_id, after, limit))

        return await self._readers.read(read)

    async def find_jobs(self, job_id: JobId) -> tuple[JobRecord, ...]:
        """The jobs of exactly this name."""
        return await self._readers.read(lambda db: _records(db, _NAMED, (job_id,)))

    async def told_jobs(self, *, before: int, limit: int) -> tuple[JobRecord, ...]:
        """Jobs that were told of before a moment."""
        return await self._readers.read(lambda db: _records(db, _TOLD, (before, limit)))

    async def forget_job(self, session_id: SessionId, job_id: JobId) -> None:
        """Remove a job that was told of."""
        await self._writer.submit(lambda scope: _forget(scope, session_id, job_id))


def _forget(scope: WriteScope, session_id: SessionId, job_id: JobId) -> None:
    row = scope.session(session_id)
    scope.db.run(
        "DELETE FROM jobs WHERE session = ? AND job_id = ? AND told_seq IS NOT NULL",
        (row.id, job_id),
    )


def _records(db: Database, sql: str, values: Row) -> tuple[JobRecord, ...]:
    return tuple(_record(found) for found in db.rows(sql, values))


def _record(values: Row) -> JobRecord:
    position, key, channel, job_id, turn, call, command, log, limit, state, *rest = values
    exit_code, started, ended, told = cast("list[int | None]", rest)
    return JobRecord(
        position=cast("int", position),
        session_id=SessionId(cast("str", key)),
        channel=SourceKind(cast("str", channel)),
        job_id=JobId(cast("str", job_id)),
        turn_id=TurnId(cast("str", turn)),
        call_id=CallId(cast("str", call)),
        command=cast("str", command),
        log_path=cast("str", log),
        limit_s=cast("float | None", limit),
        state=JobState(cast("str", state)),
        exit_code=exit_code,
        started_at=started or 0,
        ended_at=ended,
        told_at=told,
    )
