"""Who follows the signal log: each reader has a bounded queue, and is told what it missed.

A reader that is slower than the fleet holds nobody up. What its queue had no room for is counted
in its place, so that the reader knows where to look it up.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Sequence

from netclaw.core.ids import SessionId
from netclaw.core.signals.events import SignalEvent

QUEUE_EVENTS = 1000
"""Events that wait for one reader."""
BATCH_EVENTS = 200
"""Events of one message; each has a few hundred bytes."""


class SignalTail:
    """One reader: of one session, or of all (None)."""

    def __init__(self, session_id: SessionId | None, *, limit: int = QUEUE_EVENTS) -> None:
        self.session_id = session_id
        self._limit = limit
        self._after = 0
        """What the reader has from elsewhere ends here."""
        self._queue: deque[SignalEvent] = deque()
        self._missed = 0
        """Events that belong behind the queue; nothing is queued again before they are told."""
        self._more = asyncio.Event()
        self._is_closed = False

    def skip_to(self, sequence: int) -> None:
        """Leave out what a replay has shown already."""
        self._after = sequence

    def push(self, event: SignalEvent) -> None:
        """Queue an event, or count it as missed; in commit order."""
        if self.session_id is not None and event.signal.target != self.session_id:
            return
        if self._missed or len(self._queue) >= self._limit:
            self._missed += 1
        else:
            self._queue.append(event)
        self._more.set()

    def close(self) -> None:
        """End the stream after what is queued."""
        self._is_closed = True
        self._more.set()

    async def next(self) -> tuple[list[SignalEvent], int] | None:
        """The next events, and how many are missing behind them; None when there are no more."""
        while True:
            events: list[SignalEvent] = []
            while self._queue and len(events) < BATCH_EVENTS:
                event = self._queue.popleft()
                if event.sequence > self._after:
                    events.append(event)
            missed = 0
            if not self._queue:
                missed, self._missed = self._missed, 0
            if events or missed:
                return events, missed
            if self._is_closed:
                return None
            self._more.clear()
            await self._more.wait()


class SignalTails:
    """All readers of one daemon."""

    def __init__(self) -> None:
        self._open: set[SignalTail] = set()
        self._is_closing = False

    def open(self, session_id: SessionId | None) -> SignalTail:
        """Follow the log from now on."""
        tail = SignalTail(session_id)
        self._open.add(tail)
        if self._is_closing:
            tail.close()
        return tail

    def leave(self, tail: SignalTail) -> None:
        """The reader is gone."""
        self._open.discard(tail)

    def publish(self, events: Sequence[SignalEvent]) -> None:
        """Hand committed events to every reader."""
        for tail in self._open:
            for event in events:
                tail.push(event)

    def close(self) -> None:
        """End every stream, new ones included: the daemon stops."""
        self._is_closing = True
        for tail in self._open:
            tail.close()
