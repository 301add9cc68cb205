"""One server: connected at its first need, connected anew for a later call if that broke.

A call is sent once. If the connection fails under it, the call is answered with that fact and the
next one makes a new connection; nothing is ever sent again.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from dataclasses import dataclass, field

import httpx2
import mcp_types as types
from mcp import Client
from mcp.client._transport import TransportStreams
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.dispatcher import ProgressFnT

from netclaw.mcp import failures, stdio
from netclaw.mcp.frames import Ended, ServerEntry, StatusEntry, ToolEntry
from netclaw.mcp.http import CURRENT, MAX_ANSWER_BYTES, Exchange, make_client
from netclaw.mcp.rendering import text_of
from netclaw.mcp.stdio import Pipe
from netclaw.ports.tool_servers import ReplyKind, ServerState

CONNECT_S = 20.0
"""How long a server may take from its start to the end of the handshake."""
LIST_S = 10.0
CLOSE_S = 8.0
MAX_TOOLS = 512
MAX_PAGES = 64
MAX_DESCRIPTION_CHARS = 4_000
MAX_SCHEMA_CHARS = 64_000
MAX_CATALOGUE_CHARS = 1_000_000
"""Of all schemas and descriptions of one server together."""
PROGRESS_S = 0.05
"""Signs of life that follow sooner are one."""


@dataclass(slots=True)
class _Live:
    """A connection that was made, or is being made."""

    client: asyncio.Future[Client]
    exchange: Exchange = field(default_factory=Exchange)
    """Of the handshake."""
    pipe: Pipe = field(default_factory=Pipe)
    leave: asyncio.Event = field(default_factory=asyncio.Event)
    task: asyncio.Task[None] | None = None


class NotConnectedError(Exception):
    """There is no connection; the status says why."""


class Connection:
    """The one client of one server."""

    def __init__(self, entry: ServerEntry) -> None:
        self.entry = entry
        self._live: _Live | None = None
        self._opening = asyncio.Lock()
        self._tools: tuple[ToolEntry, ...] = ()
        self._state = ServerState.UNREACHABLE
        self._sentence = "It was not asked yet."

    @property
    def status(self) -> StatusEntry:
        """How the server stands as of its last request."""
        return StatusEntry(
            name=self.entry.name,
            state=self._state,
            tools=len(self._tools) if self._state is ServerState.CONNECTED else 0,
            sentence=self._sentence,
        )

    async def tools(self) -> tuple[ToolEntry, ...]:
        """The server's catalogue of this moment; empty if it does not answer, see `status`."""
        try:
            client = await self._connected()
        except NotConnectedError:
            return ()
        exchange = self._begin()
        try:
            async with asyncio.timeout(LIST_S):
                self._tools = await _list(self.entry.name, client)
        except Exception as fault:  # noqa: BLE001 - of whatever kind: the server has no catalogue
            self._tools = ()
            self._failed_to_list(fault, exchange)
        else:
            self._is_connected()
        return self._tools

    async def call(
        self, tool: str, arguments: str, *, max_chars: int, on_progress: Callable[[], None]
    ) -> tuple[ReplyKind, str, bool]:
        """Run a tool once: how it ended, its text, and whether that is all of it."""
        try:
            client = await self._connected()
        except NotConnectedError:
            return ReplyKind.TRANSPORT, f"The call was not sent. {self._sentence}", True
        exchange, live = self._begin(), self._live
        try:
            result = await client.session.call_tool(
                tool, json.loads(arguments), progress_callback=_told(on_progress)
            )
        except Exception as fault:  # noqa: BLE001 - the library raises many kinds; all are answers
            return self._failed(fault, exchange, live)
        self._is_connected()
        text, is_complete = text_of(result, max_chars=max_chars)
        kind = ReplyKind.TOOL_ERROR if result.is_error else ReplyKind.RESULT
        return kind, text, is_complete

    def suspect(self) -> None:
        """The server was silent for too long: later calls get a new connection."""
        self._lose("It did not answer a call in time; the next call connects anew.")

    async def close(self) -> None:
        """End the connection, and the program behind it."""
        live, self._live = self._live, None
        if live is not None:
            await _end(live)

    async def _connected(self) -> Client:
        async with self._opening:
            live = self._live
            if live is not None and (live.task is None or live.task.done() or live.pipe.is_ended):
                await self.close()
                live = None
            if live is None:
                live = self._live = self._open()
                try:
                    async with asyncio.timeout(CONNECT_S):
                        await asyncio.shield(live.client)
                except Exception as fault:  # noqa: BLE001 - see `failures.of_connecting`
                    self._state, self._sentence = failures.of_connecting(
                        self.entry, fault, live.exchange, live.pipe
                    )
                    await self.close()
                    raise NotConnectedError from None
            self._is_connected()
            return live.client.result()

    def _open(self) -> _Live:
        live = _Live(asyncio.get_running_loop().create_future())
        live.task = asyncio.create_task(self._keep(live), name=f"connection {self.entry.name}")
        return live

    async def _keep(self, live: _Live) -> None:
        """Hold the connection open. The library's scopes belong to this one task."""
        CURRENT.set(live.exchange)
        try:
            async with Client(_transport(self.entry, live.pipe), cache=None) as client:
                live.client.set_result(client)
                await live.leave.wait()
        except Exception as fault:  # noqa: BLE001 - told to whoever waits, or the end of it all
            if not live.client.done():
                live.client.set_exception(fault)
                live.client.exception()  # nobody may be waiting any more
        finally:
            live.pipe.is_ended = True

    def _begin(self) -> Exchange:
        exchange = Exchange()
        CURRENT.set(exchange)
        return exchange

    def _is_connected(self) -> None:
        self._state, self._sentence = ServerState.CONNECTED, ""

    def _failed_to_list(self, fault: Exception, exchange: Exchange) -> None:
        pipe = self._live.pipe if self._live is not None else Pipe()
        self._state, self._sentence = failures.of_connecting(self.entry, fault, exchange, pipe)

    def _failed(
        self, fault: Exception, exchange: Exchange, live: _Live | None
    ) -> tuple[ReplyKind, str, bool]:
        pipe = live.pipe if live is not None else Pipe()
        kind, sentence = failures.of_call(self.entry, fault, exchange, pipe)
        if kind is ReplyKind.TRANSPORT and live is self._live:
            self._lose("The connection broke; the next call connects anew.")
        elif failures.is_unauthorized(exchange):
            self._state, self._sentence = failures.of_refusal(self.entry, exchange)
        return kind, sentence, True

    def _lose(self, sentence: str) -> None:
        self._state, self._sentence = ServerState.UNREACHABLE, sentence
        if self._live is not None:
            # Whoever needs it next closes it and opens another; here nobody waits for its end.
            self._live.pipe.is_ended = True
            self._live.leave.set()


def _transport(entry: ServerEntry, pipe: Pipe) -> AbstractAsyncContextManager[TransportStreams]:
    if entry.transport == "stdio":
        return stdio.connect(entry, pipe)
    if entry.transport == "sse":
        return sse_client(entry.url, httpx_client_factory=_Factory(entry))
    return _over_http(entry)


@asynccontextmanager
async def _over_http(entry: ServerEntry) -> AsyncGenerator[TransportStreams]:
    async with (
        make_client(entry.headers) as client,
        streamable_http_client(
            entry.url, http_client=client, max_sse_event_size=MAX_ANSWER_BYTES
        ) as streams,
    ):
        yield streams


class _Factory:
    """Makes the client of the older transport; bounds and headers are ours, not the library's."""

    def __init__(self, entry: ServerEntry) -> None:
        self._entry = entry

    def __call__(
        self,
        headers: dict[str, str] | None = None,
        timeout: httpx2.Timeout | None = None,
        auth: httpx2.Auth | None = None,
    ) -> httpx2.AsyncClient:
        del headers, timeout, auth
        return make_client(self._entry.headers)


def _told(on_progress: Callable[[], None]) -> ProgressFnT:
    last = -PROGRESS_S

    async def told(progress: float, total: float | None, message: str | None) -> None:
        nonlocal last
        del progress, total, message
        now = time.monotonic()
        if now - last >= PROGRESS_S:
            last = now
            on_progress()

    return told


async def _list(server: str, client: Client) -> tuple[ToolEntry, ...]:
    found: list[types.Tool] = []
    cursor: str | None = None
    for _ in range(MAX_PAGES):
        page = await client.list_tools(cursor=cursor)
        found.extend(page.tools)
        cursor = page.next_cursor
        if not cursor or len(found) >= MAX_TOOLS:
            break
    return tuple(_usable(server, found[:MAX_TOOLS]))


def _usable(server: str, tools: Iterable[types.Tool]) -> Iterator[ToolEntry]:
    """The tools that a model can be shown: one whose schema it cannot take would spoil a turn."""
    room = MAX_CATALOGUE_CHARS
    for tool in tools:
        schema = json.dumps(tool.input_schema, ensure_ascii=False, separators=(",", ":"))
        if tool.input_schema.get("type") != "object" or len(schema) > MAX_SCHEMA_CHARS:
            continue
        description = (tool.description or tool.title or "")[:MAX_DESCRIPTION_CHARS]
        room -= len(schema) + len(description)
        if room < 0:
            break
        yield ToolEntry(server=server, name=tool.name, description=description, parameters=schema)


async def _end(live: _Live) -> None:
    live.leave.set()
    task = live.task
    if task is None:
        return
    if not live.client.done():
        task.cancel()
    with suppress(asyncio.CancelledError):
        await asyncio.wait((task,), timeout=CLOSE_S)
    task.cancel()


def ended(request: int, outcome: tuple[ReplyKind, str, bool], connection: Connection) -> Ended:
    """The frame that tells the end of a call."""
    kind, text, is_complete = outcome
    return Ended(
        request=request,
        kind=kind,
        text=text,
        is_complete=is_complete,
        status=connection.status,
    )
