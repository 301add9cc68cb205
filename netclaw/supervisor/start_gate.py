"""Bounds how many sessions live and how many start at the same time (decision 89).

A place is held for the whole life of a process, a permit only until it is ready. Who waits for a
place is served by urgency and then in order; while somebody waits, the longest idle session is
asked to passivate.
"""

from __future__ import annotations

import asyncio
import heapq
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from enum import IntEnum
from itertools import count


class Urgency(IntEnum):
    """Who goes first when places are short."""

    ANSWER = 0
    """A person answered a request: ahead of the queue (protocol "Answers")."""
    WORK = 1
    """Anything else."""


@dataclass(order=True, slots=True)
class _Waiting:
    urgency: Urgency
    order: int
    granted: asyncio.Future[None] = field(compare=False)


class StartGate:
    """Places for live sessions and permits for starts."""

    def __init__(
        self, *, places: int, concurrency: int, make_room: Callable[[], None] = lambda: None
    ) -> None:
        self._places = places
        self._taken = 0
        self._waiting: list[_Waiting] = []
        self._order = count()
        self._permits = asyncio.Semaphore(concurrency)
        self._make_room = make_room

    def when_short(self, make_room: Callable[[], None]) -> None:
        """Name what asks an idle session to leave."""
        self._make_room = make_room

    @property
    def is_short(self) -> bool:
        """Whether somebody waits for a place."""
        return any(not waiting.granted.done() for waiting in self._waiting)

    @asynccontextmanager
    async def place(self, urgency: Urgency) -> AsyncIterator[None]:
        """Hold one of the places; waits for it."""
        await self._take(urgency)
        try:
            yield
        finally:
            self._leave()

    @asynccontextmanager
    async def permit(self) -> AsyncIterator[None]:
        """Hold one of the permits to be starting."""
        async with self._permits:
            yield

    async def _take(self, urgency: Urgency) -> None:
        if self._taken < self._places and not self.is_short:
            self._taken += 1
            return
        waiting = _Waiting(urgency, next(self._order), asyncio.get_running_loop().create_future())
        heapq.heappush(self._waiting, waiting)
        self._make_room()
        try:
            await waiting.granted
        except asyncio.CancelledError:
            if waiting.granted.done() and not waiting.granted.cancelled():
                self._leave()
            raise

    def _leave(self) -> None:
        self._taken -= 1
        while self._waiting and self._taken < self._places:
            waiting = heapq.heappop(self._waiting)
            if not waiting.granted.done():
                waiting.granted.set_result(None)
                self._taken += 1
