"""Bounds how many sessions live and how many start at the same time (decision 89).

A place is held for the whole life of a process, a permit only until it is ready. Who waits for
either is served by urgency and then in order, so that however many machines have something to say
a person does not wait for them; while somebody waits for a place, the longest idle session is
asked to passivate.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from enum import IntEnum


class Urgency(IntEnum):
    """Who goes first when places or permits are short."""

    ANSWER = 0
    """A person answered a request: ahead of the queue (protocol "Answers")."""
    PERSON = 1
    """A person wrote: ahead of wakes and other automation (decision 54)."""
    WORK = 2
    """Anything else."""


UrgencyOf = Callable[[], Urgency]
"""How urgent one that waits is by now: a person may write to a session that waits already."""


class _Line:
    """So many at once; the others wait, the most urgent and then the first of them goes next."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._taken = 0
        self._waiting: dict[asyncio.Future[None], UrgencyOf] = {}
        """In order; while there are any, nothing is free."""

    @property
    def is_short(self) -> bool:
        """Whether somebody waits."""
        return bool(self._waiting)

    async def enter(self, urgency_of: UrgencyOf, on_short: Callable[[], None]) -> None:
        """Take one, as soon as it is one's turn."""
        if self._taken < self._size and not self._waiting:
            self._taken += 1
            return
        granted: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting[granted] = urgency_of
        on_short()
        try:
            await granted
        except asyncio.CancelledError:
            self._waiting.pop(granted, None)
            if not granted.cancelled():
                self.leave()
            raise

    def leave(self) -> None:
        """Give one back."""
        self._taken -= 1
        while self._waiting and self._taken < self._size:
            granted = min(self._waiting, key=lambda one: self._waiting[one]())
            del self._waiting[granted]
            if not granted.done():
                granted.set_result(None)
                self._taken += 1


class StartGate:
    """Places for live sessions and permits for starts."""

    def __init__(
        self, *, places: int, concurrency: int, make_room: Callable[[], None] = lambda: None
    ) -> None:
        self._places = _Line(places)
        self._permits = _Line(concurrency)
        self._make_room = make_room

    def when_short(self, make_room: Callable[[], None]) -> None:
        """Name what asks an idle session to leave."""
        self._make_room = make_room

    @property
    def is_short(self) -> bool:
        """Whether somebody waits for a place."""
        return self._places.is_short

    @asynccontextmanager
    async def place(self, urgency_of: UrgencyOf) -> AsyncIterator[None]:
        """Hold one of the places; waits for it."""
        await self._places.enter(urgency_of, self._make_room)
        try:
            yield
        finally:
            self._places.leave()

    @asynccontextmanager
    async def permit(self, urgency_of: UrgencyOf) -> AsyncIterator[None]:
        """Hold one of the permits to be starting; waits for it."""
        await self._permits.enter(urgency_of, lambda: None)
        try:
            yield
        finally:
            self._permits.leave()
