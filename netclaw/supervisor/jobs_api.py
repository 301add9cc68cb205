"""The part of the operator's service about background jobs: list, cancel, read their output."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import AsyncIterator
from pathlib import Path

from netclaw.core.errors import InvalidArgumentError, NotFoundError
from netclaw.core.ids import JobId, parse_session_id
from netclaw.core.session.job_events import JobState
from netclaw.ports.job_records import JobRecord
from netclaw.supervisor.callers import Caller, check_short_text
from netclaw.supervisor.router import Router
from netclaw.supervisor.rpc import RpcStream
from netclaw.supervisor.services import Services
from netclaw.wire.v1 import admin_pb2 as pb
from netclaw.wire.v1.session_host_pb2 import HostCommand

_log = logging.getLogger(__name__)

LIST_LIMIT = 1000
LIST_BYTES = 3 * 1024 * 1024
"""What one answer carries of jobs: as much as fits into 4 MiB with room for one more."""
DIES_WITHIN_S = 12.0
"""How long a cancel waits for the end of a job to be on record."""
LOOK_S = 0.1
"""Between two looks at a record or a log that is followed."""
TAIL_BYTES = 16 * 1024
PIECE_BYTES = 64 * 1024


class AdminJobs:
    """Mixed into `Admin`."""

    _services: Services
    _router: Router

    async def list_jobs(self, request: pb.ListJobsRequest, _caller: Caller) -> pb.ListJobsResponse:
        """Jobs by age, as they stand now."""
        limit = min(request.limit or LIST_LIMIT, LIST_LIMIT)
        if request.job_id:
            found = await self._services.store.find_jobs(_job_id(request.job_id))
        else:
            session_id = parse_session_id(request.session_id) if request.session_id else None
            if session_id is not None:
                await self._router.record(session_id)
            found = await self._services.store.list_jobs(
                limit=limit + 1, after=request.after, session_id=session_id
            )
        response = pb.ListJobsResponse()
        size = 0
        for record in found:
            row = self._job_row(record)
            size += row.ByteSize()
            if response.jobs and (size > LIST_BYTES or len(response.jobs) >= limit):
                response.more = True
                break
            response.jobs.append(row)
        return response

    async def cancel_job(self, request: pb.JobRef, caller: Caller) -> pb.JobRow:
        """Have the session kill it; returns when its end is on record."""
        record = await self._job(request.job_id)
        slot = self._router.find(record.session_id)
        live = None if slot is None else slot.live
        if live is None or not record.state.is_live:
            raise InvalidArgumentError(
                f"The job is over ({self._job_state(record).value}); there is nothing to cancel.",
                fix=f"`netclaw jobs show {record.job_id}` says how it ended.",
            )
        live.command(HostCommand(kind="cancel_job", job_id=record.job_id, actor=caller.name))
        try:
            async with asyncio.timeout(DIES_WITHIN_S):
                while self._job_state(record).is_live:
                    await asyncio.sleep(LOOK_S)
                    record = await self._job(request.job_id)
        except TimeoutError:
            _log.warning("job %s takes long to die", record.job_id)
        return self._job_row(record)

    async def tail_job(
        self, request: pb.TailJobRequest, _caller: Caller, stream: RpcStream
    ) -> None:
        """The end of its log, and what is added to it."""
        record = await self._job(request.job_id)
        session = await self._router.record(record.session_id)
        storage = self._services.envelopes.storage(record.session_id, session)
        log = _Log(Path(storage.jobs, record.job_id, "output.log"))
        try:
            first = await asyncio.to_thread(log.open_at_end, request.bytes or TAIL_BYTES)
            if first:
                await stream.write(pb.JobOutput(data=first))
            if request.follow:
                async for piece in self._added(log, request):
                    await stream.write(pb.JobOutput(data=piece))
        finally:
            log.close()

    async def _added(self, log: _Log, request: pb.TailJobRequest) -> AsyncIterator[bytes]:
        """What is written to a log until its job is over and all of it was read."""
        while True:
            # Asked before the log is read: what is written before the end is read after it.
            found = await self._services.store.find_jobs(_job_id(request.job_id))
            is_over = not found or not self._job_state(found[0]).is_live
            while piece := await asyncio.to_thread(log.read):
                yield piece
            if is_over:
                return
            await asyncio.sleep(LOOK_S)

    async def _job(self, job_id: str) -> JobRecord:
        found = await self._services.store.find_jobs(_job_id(job_id))
        if not found:
            raise NotFoundError(
                "There is no such background job.", fix="`netclaw jobs list` names them."
            )
        return found[0]

    def _job_state(self, record: JobRecord) -> JobState:
        """The state as it is: a job that is live on record died if its process did."""
        if not record.state.is_live:
            return record.state
        slot = self._router.find(record.session_id)
        if slot is None or slot.live is None:
            return JobState.REAPED
        is_waiting = self._services.job_slots.is_waiting(record.session_id, record.job_id)
        return JobState.PENDING if is_waiting else JobState.RUNNING

    def _job_row(self, record: JobRecord) -> pb.JobRow:
        return pb.JobRow(
            job_id=record.job_id,
            session_id=record.session_id,
            state=self._job_state(record).value,
            command=record.command,
            started_at_ms=record.started_at,
            ended_at_ms=record.ended_at or 0,
            exit_code=record.exit_code,
            log_path=record.log_path,
            limit_s=record.limit_s or 0.0,
            turn_id=record.turn_id,
            call_id=record.call_id,
            told_at_ms=record.told_at or 0,
            position=record.position,
        )


class _Log:
    """A log that is written and rotated while it is read. Everything here blocks."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file = -1

    def open_at_end(self, size: int) -> bytes:
        """The last bytes of it, from the begin of a character; empty if it is not there."""
        self._file = self._opened()
        if self._file < 0:
            return b""
        length = os.fstat(self._file).st_size
        start = max(0, length - min(size, 1024 * 1024))
        os.lseek(self._file, start, os.SEEK_SET)
        data = os.read(self._file, length - start)
        return data.lstrip(bytes(range(0x80, 0xC0))) if start else data

    def read(self) -> bytes:
        """What follows; empty at its present end. Goes on in the new file after a rotation."""
        data = os.read(self._file, PIECE_BYTES) if self._file >= 0 else b""
        if not data and self._is_replaced():
            data = os.read(self._file, PIECE_BYTES) if self._file >= 0 else b""
            if not data:
                self.close()
                self._file = self._opened()
                data = os.read(self._file, PIECE_BYTES) if self._file >= 0 else b""
        return data

    def close(self) -> None:
        """Let go of the file."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def _is_replaced(self) -> bool:
        try:
            there = self._path.stat(follow_symlinks=False)
        except OSError:
            return False
        return self._file < 0 or there.st_ino != os.fstat(self._file).st_ino

    def _opened(self) -> int:
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
        try:
            return os.open(self._path, flags)
        except OSError:
            return -1


def _job_id(text: str) -> JobId:
    return JobId(check_short_text(text, "job id"))
