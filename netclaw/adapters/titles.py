"""Names threads by the titles of their sessions, where a platform's threads have names."""

from __future__ import annotations

import asyncio
import logging

from netclaw.adapters.bounded import bounded
from netclaw.adapters.driver import DriverFailure, Thread, TransientFailure
from netclaw.adapters.parts import HostContext
from netclaw.core.errors import NetclawError
from netclaw.wire.v1.gateway_pb2 import GetSessionRequest

_log = logging.getLogger(__name__)

ATTEMPTS = 3
PAUSE_S = 5.0


class Titles:
    """The titles of one channel's sessions; a newer one overtakes what is still under way."""

    def __init__(self, context: HostContext, *, pause_s: float = PAUSE_S) -> None:
        self._context = context
        self._pause_s = pause_s
        self._tasks: dict[str, asyncio.Task[None]] = {}

    def look(self, session_id: str) -> None:
        """A session has a new title."""
        thread = Thread.at(session_id)
        if not self._context.driver.abilities.has_titles or not thread.thread_id:
            return
        before = self._tasks.get(session_id)
        if before is not None:
            before.cancel()
        task = asyncio.create_task(self._show(thread), name=f"title {session_id}")
        self._tasks[session_id] = task
        task.add_done_callback(lambda _: self._forget(session_id, task))

    async def close(self) -> None:
        """Name nothing any more."""
        tasks = tuple(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _forget(self, session_id: str, task: asyncio.Task[None]) -> None:
        if self._tasks.get(session_id) is task:
            del self._tasks[session_id]

    async def _show(self, thread: Thread) -> None:
        request = GetSessionRequest(session_id=thread.address)
        try:
            title = (await self._context.link.get_session(request)).row.title
            for attempt in range(1, ATTEMPTS + 1):
                try:
                    if title:
                        await bounded(self._context.driver.set_title(thread, title))
                except TransientFailure as failure:
                    if attempt == ATTEMPTS:
                        raise
                    await asyncio.sleep(max(self._pause_s, failure.retry_after_s or 0.0))
                else:
                    return
        except (DriverFailure, NetclawError) as error:
            # A name that nothing depends on.
            _log.info("a thread was not named: %s", error.sentence)
