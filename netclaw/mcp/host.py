"""The process in which a session's tool servers are reached: frames in, frames out.

It exists so that a session process never loads the protocol's library, and so that nothing a
server sends can reach the session's memory before it is bounded.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from netclaw.mcp.connection import Connection, ended
from netclaw.mcp.frames import (
    CallTool,
    CancelCall,
    Listed,
    ListTools,
    Progress,
    Setup,
    ToSession,
    pack,
    read_body,
    to_host,
)


class Host:
    """All connections of one session."""

    def __init__(self, writer: asyncio.StreamWriter) -> None:
        self._writer = writer
        self._connections: Mapping[str, Connection] = {}
        self._calls: dict[int, tuple[asyncio.Task[None], Connection]] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    async def serve(self, reader: asyncio.StreamReader) -> None:
        """Until the session closes the pipe; then every server is ended."""
        while (body := await read_body(reader)) is not None:
            match to_host.decode(body):
                case Setup() as setup:
                    self._connections = {item.name: Connection(item) for item in setup.servers}
                case ListTools(request=request):
                    self._start(self._list(request))
                case CallTool() as call:
                    self._call(call)
                case CancelCall() as cancel:
                    self._cancel(cancel)
        for task in tuple(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await asyncio.gather(*(item.close() for item in self._connections.values()))

    def _start(self, work: asyncio._CoroutineLike[None]) -> asyncio.Task[None]:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def _list(self, request: int) -> None:
        found = await asyncio.gather(*(item.tools() for item in self._connections.values()))
        self._send(
            Listed(
                request=request,
                tools=tuple(tool for tools in found for tool in tools),
                statuses=tuple(item.status for item in self._connections.values()),
            )
        )

    def _call(self, call: CallTool) -> None:
        connection = self._connections[call.server]
        task = self._start(self._run(call, connection))
        self._calls[call.request] = (task, connection)
        task.add_done_callback(lambda _: self._calls.pop(call.request, None))

    async def _run(self, call: CallTool, connection: Connection) -> None:
        outcome = await connection.call(
            call.tool,
            call.arguments,
            max_chars=call.max_chars,
            on_progress=lambda: self._send(Progress(request=call.request)),
        )
        self._send(ended(call.request, outcome, connection))

    def _cancel(self, cancel: CancelCall) -> None:
        found = self._calls.pop(cancel.request, None)
        if found is None:
            return
        task, connection = found
        task.cancel()
        if cancel.is_timeout:
            connection.suspect()

    def _send(self, frame: ToSession) -> None:
        self._writer.write(pack(frame))
