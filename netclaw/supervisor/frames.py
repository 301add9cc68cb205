"""The sending half of a session's stream: frames leave in the order they were queued.

gRPC allows one write at a time, so one task writes and everybody else queues without waiting.

Rows that a busy session can do nothing with yet are postponed: they leave before the next frame
of any kind, or after a short while. A session in the middle of a turn looks at new inputs only
when its own append is committed: what was committed before that append is sent before its answer,
and the session takes a second look at the boundary for it (`core.session.settle`). So nothing
misses a boundary, and a flood of admissions does not cost a session one wake-up each.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Iterable

from netclaw.wire.chunks import to_session_messages
from netclaw.wire.v1.common_pb2 import JournalRow
from netclaw.wire.v1.session_host_pb2 import Committed, ToSession

POSTPONE_S = 1.0
"""The longest that postponed rows wait when nothing else is sent."""


class FrameQueue:
    """Frames to one session process; queueing never blocks."""

    def __init__(self) -> None:
        self._queue: deque[bytes] = deque()
        self._postponed: list[JournalRow] = []
        self._timer: asyncio.TimerHandle | None = None
        self._waiter: asyncio.Future[None] | None = None
        self._is_closed = False

    def send(self, frame: ToSession) -> None:
        """Queue a frame, after what was postponed; ignored once the queue is closed."""
        if self._is_closed:
            return
        if self._postponed:
            self.flush()
        self._queue.extend(to_session_messages(frame.SerializeToString()))
        self._wake()

    def postpone(self, rows: Iterable[JournalRow]) -> None:
        """Queue committed rows that are in no hurry; they keep their place before later frames."""
        self._postponed.extend(rows)
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(POSTPONE_S, self.flush)

    def flush(self) -> None:
        """Send what was postponed now, as one frame."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._postponed:
            rows, self._postponed = self._postponed, []
            self.send(ToSession(committed=Committed(rows=rows)))

    def close(self) -> None:
        """Let `write_all` return after what is queued; later frames are dropped."""
        self.flush()
        self._is_closed = True
        self._wake()

    async def write_all(self, write: Callable[[bytes], Awaitable[None]]) -> None:
        """Write what is queued and what comes, until closed."""
        queue = self._queue
        while True:
            while queue:
                await write(queue.popleft())
            if self._is_closed:
                return
            self._waiter = asyncio.get_running_loop().create_future()
            try:
                await self._waiter
            finally:
                self._waiter = None

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)
