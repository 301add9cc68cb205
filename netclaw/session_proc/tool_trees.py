"""Tells the supervisor which process trees exist and holds each tool until it was told."""

from __future__ import annotations

import asyncio
from collections import deque

from netclaw.core.ids import CallId
from netclaw.session_proc.frames import FrameSink
from netclaw.wire.v1.session_host_pb2 import ToHost, ToolTree


class AnnouncedTrees:
    """The `ToolTrees` port over the stream to the supervisor."""

    def __init__(self, sink: FrameSink) -> None:
        self._sink = sink
        self._waiting: dict[str, deque[asyncio.Future[None]]] = {}
        self._open: dict[str, ToolTree] = {}

    async def opened(self, call_id: CallId, pid: int, start_ticks: int) -> None:
        """Announce a tree; returns once it was acknowledged, before which it must not run."""
        tree = ToolTree(call_id=call_id, pid=pid, opened=True, start_ticks=start_ticks)
        acknowledged: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(call_id, deque()).append(acknowledged)
        self._open[call_id] = tree
        self._sink.send(ToHost(tool_tree=tree))
        await acknowledged

    async def closed(self, call_id: CallId) -> None:
        """Announce that the tree is known to be gone."""
        tree = self._open.pop(call_id, None)
        if tree is not None:
            tree.opened = False
            self._sink.send(ToHost(tool_tree=tree))

    def acknowledge(self, call_id: str) -> None:
        """The supervisor knows the tree; an acknowledgement nobody waits for is ignored."""
        waiting = self._waiting.get(call_id)
        if not waiting:
            return
        acknowledged = waiting.popleft()
        if not waiting:
            del self._waiting[call_id]
        if not acknowledged.done():
            acknowledged.set_result(None)
