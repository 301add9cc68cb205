"""Carries a job's output to its log without holding the session, however much there is of it."""

from __future__ import annotations

import asyncio
import logging

from netclaw.session_proc.job_files import JobLog

_log = logging.getLogger(__name__)

ROOM_BYTES = 1024 * 1024
"""Output that may wait to be written; with more of it the job waits at its full pipe."""
SETTLE_S = 0.2
"""How long a whole line may be kept back."""


class JobSink:
    """The sink of one job's command. `take` and `close` are called on the event loop."""

    def __init__(self, log: JobLog) -> None:
        self._log = log
        self._waiting: list[bytes] = []
        self._size = 0
        self._has_news = asyncio.Event()
        self._is_closed = False
        self.room = asyncio.Event()
        self.room.set()
        self._writer = asyncio.create_task(self._write_all(), name="log of a job")

    def take(self, piece: bytes) -> None:
        """Keep a piece until it is written."""
        if self._writer.done():
            return
        self._waiting.append(piece)
        self._size += len(piece)
        if self._size > ROOM_BYTES:
            self.room.clear()
        self._has_news.set()

    async def close(self, note: str) -> None:
        """Return when everything is written that can be, with a last line of netclaw's own."""
        self._is_closed = True
        self._has_news.set()
        await asyncio.wait((self._writer,))
        await asyncio.shield(asyncio.ensure_future(asyncio.to_thread(self._log.close, note)))

    async def _write_all(self) -> None:
        try:
            await self._keep_writing()
        except Exception:  # noqa: BLE001 - a job goes on without its log, and its session too
            _log.exception("the log of a job is not written any more")
        finally:
            self.room.set()

    async def _keep_writing(self) -> None:
        loop = asyncio.get_running_loop()
        settle_at: float | None = None
        while self._waiting or not self._is_closed:
            try:
                async with asyncio.timeout_at(settle_at):
                    await self._has_news.wait()
            except TimeoutError:
                settle_at = None
                await asyncio.to_thread(self._log.settle)
                continue
            self._has_news.clear()
            data, self._waiting = b"".join(self._waiting), []
            await asyncio.to_thread(self._log.feed, data)
            self._size -= len(data)
            if self._size <= ROOM_BYTES:
                self.room.set()
            if settle_at is None and self._log.is_holding:
                settle_at = loop.time() + SETTLE_S
