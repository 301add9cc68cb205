"""Keeps what belongs to one thread in order, and threads beside each other."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable

_log = logging.getLogger(__name__)

AT_WORK = 64
"""Threads whose events are dealt with at the same time."""
WAITING = 1000
"""Events that wait for their turn; the platform's connection is not read beyond it."""

Work = Callable[[], Awaitable[None]]


class Lanes:
    """Runs work by key: of one key one after another, of several keys side by side.

    Work deals with its own errors; one that escapes is logged and disturbs nothing else.
    """

    def __init__(self, *, at_work: int = AT_WORK, waiting: int = WAITING) -> None:
        self._lanes: dict[str, deque[Work]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._at_work = asyncio.Semaphore(at_work)
        self._places = asyncio.Semaphore(waiting)

    async def put(self, key: str, work: Work) -> None:
        """Queue work behind what waits for its key; waits itself while too much waits."""
        await self._places.acquire()
        lane = self._lanes.get(key)
        if lane is not None:
            lane.append(work)
            return
        self._lanes[key] = deque((work,))
        task = asyncio.create_task(self._run(key), name=f"thread {key}")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def settle(self) -> None:
        """Wait until nothing is left."""
        while self._tasks:
            await asyncio.wait(self._tasks)

    async def close(self) -> None:
        """Give up what is left; what was not acknowledged comes again."""
        for task in self._tasks:
            task.cancel()
        await self.settle()

    async def _run(self, key: str) -> None:
        lane = self._lanes[key]
        try:
            while lane:
                work = lane.popleft()
                self._places.release()
                async with self._at_work:
                    await _guarded(work)
        finally:
            del self._lanes[key]


async def _guarded(work: Work) -> None:
    try:
        await work()
    except Exception:  # noqa: BLE001 - one event's fault must not reach another's
        _log.exception("an event was not dealt with")
