"""Tells those who wait for a row of the outbox that its adapter said how sending went."""

from __future__ import annotations

import asyncio
from contextlib import suppress


class OutboxWatch:
    """Rows that somebody waits for now."""

    def __init__(self) -> None:
        self._waiting: dict[int, set[asyncio.Event]] = {}

    def confirmed(self, row_id: int) -> None:
        """Something became of a row."""
        for event in self._waiting.get(row_id, ()):
            event.set()

    def begin(self, row_id: int) -> asyncio.Event:
        """Set at the row's next confirmation; to be given to `end` afterwards."""
        event = asyncio.Event()
        self._waiting.setdefault(row_id, set()).add(event)
        return event

    def end(self, row_id: int, event: asyncio.Event) -> None:
        """Wait no more."""
        waiting = self._waiting.get(row_id, set())
        waiting.discard(event)
        if not waiting:
            self._waiting.pop(row_id, None)

    @staticmethod
    async def until(event: asyncio.Event, deadline: float) -> None:
        """Wait for it, on the loop's clock."""
        with suppress(TimeoutError):
            async with asyncio.timeout_at(deadline):
                await event.wait()
