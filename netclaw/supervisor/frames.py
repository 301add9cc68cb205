"""The sending half of a session's stream: frames leave in the order they were queued.

gRPC allows one write at a time, so one task writes and everybody else queues without waiting.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable

from netclaw.wire.chunks import to_session_messages
from netclaw.wire.v1.session_host_pb2 import ToSession


class FrameQueue:
    """Frames to one session process; queueing never blocks."""

    def __init__(self) -> None:
        self._queue: deque[bytes] = deque()
        self._waiter: asyncio.Future[None] | None = None
        self._is_closed = False

    def send(self, frame: ToSession) -> None:
        """Queue a frame; ignored once the queue is closed."""
        if self._is_closed:
            return
        self._queue.extend(to_session_messages(frame.SerializeToString()))
        self._wake()

    def close(self) -> None:
        """Let `write_all` return after what is queued; later frames are dropped."""
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
