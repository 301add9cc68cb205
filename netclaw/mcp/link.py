"""The session's side: starts the host at the first need, asks it, notices its end.

One host per session. It is announced to the supervisor like a tool's tree before it may start
anything, so that the next process of the session begins only when it is gone; it dies with this
process, and each server with it. A host that ended is started again by the next need, once.
"""

from __future__ import annotations

import asyncio
import logging
import os
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field

from netclaw.core.ids import CallId
from netclaw.core.redaction import MIN_SECRET_LENGTH
from netclaw.core.redaction_shapes import REDACTED
from netclaw.core.tool_servers import ToolServerSettings
from netclaw.linux.start_time import start_ticks
from netclaw.mcp.frames import (
    CallTool,
    CancelCall,
    Ended,
    FrameError,
    Listed,
    ListTools,
    Progress,
    ServerEntry,
    Setup,
    StatusEntry,
    ToHost,
    pack,
    read_body,
    to_session,
)
from netclaw.ports.tool import ToolTrees
from netclaw.ports.tool_servers import (
    Catalogue,
    ReplyKind,
    ServerCallRequest,
    ServerReply,
    ServerState,
    ServerStatus,
    ServerTool,
)

_log = logging.getLogger(__name__)

TREE = CallId("mcp-host")
"""What the host is announced as; no call has this id."""
FRESH_S = 60.0
"""A catalogue that is younger is not asked for again."""
CATALOGUE_S = 35.0
"""More than a host allows for connecting and listing together."""
CLOSE_S = 3.0
INHERITED = (
    *("HOME", "LANG", "LC_ALL", "LOGNAME", "PATH", "SHELL", "TERM", "TZ", "USER"),
    *("SSL_CERT_DIR", "SSL_CERT_FILE"),
)
HOST_GONE = "The process that reaches tool servers ended, so it is not known what the call did."
NOT_STARTED = "The process that reaches tool servers cannot be started."
NOT_IN_TIME = "It did not answer in time."


@dataclass(slots=True)
class _Host:
    """A host that runs."""

    process: asyncio.subprocess.Process
    writer: asyncio.StreamWriter
    reading: asyncio.Task[None] | None = None
    calls: dict[int, tuple[asyncio.Future[ServerReply], Callable[[], None]]] = field(
        default_factory=dict
    )
    lists: dict[int, asyncio.Future[Catalogue]] = field(default_factory=dict)
    is_gone: bool = False


class ToolServerLink:
    """The `ToolServers` of one session."""

    def __init__(
        self,
        servers: tuple[ToolServerSettings, ...],
        *,
        credentials: Mapping[str, str],
    ) -> None:
        self._settings = {server.name: server for server in servers}
        self._credentials = credentials
        self._trees: ToolTrees | None = None
        self._host: _Host | None = None
        self._starting = asyncio.Lock()
        self._listing = asyncio.Lock()
        self._requests = 0
        self._statuses = {server.name: _unasked(server) for server in servers}
        self._known = Catalogue(statuses=tuple(self._statuses.values()))
        self._known_at: float | None = None

    def announce_to(self, trees: ToolTrees) -> None:
        """See `ToolServers`. Without them a host dies with this process all the same."""
        self._trees = trees

    @property
    def names(self) -> tuple[str, ...]:
        """See `ToolServers`."""
        return tuple(name for name, server in self._settings.items() if server.is_usable)

    @property
    def known(self) -> Catalogue:
        """See `ToolServers`."""
        return self._known

    @property
    def pid(self) -> int:
        """The host's process id; 0 if none runs."""
        return self._host.process.pid if self._host is not None and not self._host.is_gone else 0

    async def catalogue(self) -> Catalogue:
        """See `ToolServers`."""
        async with self._listing:
            is_fresh = self._known_at is not None and time.monotonic() - self._known_at < FRESH_S
            if self.names and not (is_fresh and self._host is not None and not self._host.is_gone):
                await self._list()
                self._known_at = time.monotonic()
            return self._known

    async def call(self, request: ServerCallRequest, *, on_item: Callable[[], None]) -> ServerReply:
        """See `ToolServers`."""
        host = await self._running()
        if host is None or request.server not in self.names:
            return ServerReply(kind=ReplyKind.TRANSPORT, text=NOT_STARTED)
        number = self._number()
        answer: asyncio.Future[ServerReply] = asyncio.get_running_loop().create_future()
        heard = _Heard(on_item)
        host.calls[number] = (answer, heard)
        try:
            await self._send(
                host,
                CallTool(
                    request=number,
                    server=request.server,
                    tool=request.tool,
                    arguments=request.arguments,
                    max_chars=request.max_chars,
                ),
            )
            return await answer
        except asyncio.CancelledError:
            is_timeout = heard.silence_s >= request.silence_s
            if not host.is_gone:
                # Not waited for: whoever cancels must not hang on a host that reads nothing.
                host.writer.write(pack(CancelCall(request=number, is_timeout=is_timeout)))
            raise
        finally:
            host.calls.pop(number, None)

    async def close(self) -> None:
        """See `ToolServers`."""
        host, self._host = self._host, None
        if host is None:
            return
        host.writer.close()
        await self._reap(host)

    async def _list(self) -> None:
        host = await self._running()
        if host is None:
            self._note(dict.fromkeys(self.names, NOT_STARTED))
            return
        number = self._number()
        answer: asyncio.Future[Catalogue] = asyncio.get_running_loop().create_future()
        host.lists[number] = answer
        try:
            await self._send(host, ListTools(request=number))
            async with asyncio.timeout(CATALOGUE_S):
                self._known = self._with_unasked(await answer)
        except TimeoutError:
            self._note(dict.fromkeys(self.names, NOT_IN_TIME))
        except FrameError:
            self._note(dict.fromkeys(self.names, HOST_GONE))
        finally:
            host.lists.pop(number, None)

    def _note(self, sentences: Mapping[str, str]) -> None:
        for name, sentence in sentences.items():
            self._statuses[name] = ServerStatus(
                name=name,
                transport=self._settings[name].transport,
                state=ServerState.UNREACHABLE,
                sentence=sentence,
            )
        self._known = Catalogue(statuses=tuple(self._statuses.values()))

    def _with_unasked(self, found: Catalogue) -> Catalogue:
        self._statuses |= {status.name: status for status in found.statuses}
        return Catalogue(tools=found.tools, statuses=tuple(self._statuses.values()))

    async def _running(self) -> _Host | None:
        async with self._starting:
            host = self._host
            if host is not None and not host.is_gone:
                return host
            if host is not None:
                await self._reap(host)
            try:
                self._host = await self._start()
            except OSError as fault:
                _log.warning("the host of tool servers cannot be started: %s", fault.strerror)
                self._host = None
            return self._host

    async def _start(self) -> _Host:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            *("-I", "-m", "netclaw.mcp", str(os.getpid())),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            env={name: os.environ[name] for name in INHERITED if name in os.environ},
            cwd="/",
            start_new_session=True,
        )
        assert process.stdin is not None  # noqa: S101 - both were asked for
        assert process.stdout is not None  # noqa: S101
        host = _Host(process, process.stdin)
        try:
            if self._trees is not None:
                # It starts no server before its setup, and gets that only when it is known.
                await self._trees.opened(TREE, process.pid, start_ticks(process.pid))
        except asyncio.CancelledError:
            process.kill()
            raise
        host.reading = asyncio.create_task(self._read(host, process.stdout), name="mcp answers")
        await self._send(host, Setup(servers=tuple(self._entries())))
        return host

    def _entries(self) -> list[ServerEntry]:
        return [
            ServerEntry(
                name=name,
                transport=server.transport,
                command=server.command,
                arguments=server.arguments,
                url=server.url,
                environment=server.environment_from(self._credentials),
                headers=server.headers_from(self._credentials),
            )
            for name, server in self._settings.items()
            if server.is_usable
        ]

    async def _send(self, host: _Host, frame: ToHost) -> None:
        if host.is_gone:
            return
        with suppress(ConnectionError):
            host.writer.write(pack(frame))
            await host.writer.drain()

    async def _read(self, host: _Host, stdout: asyncio.StreamReader) -> None:
        try:
            while (body := await read_body(stdout)) is not None:
                self._take(host, to_session.decode(body))
        except (FrameError, ValueError):
            _log.warning("the host of tool servers sent what cannot be read; it is ended")
            with suppress(ProcessLookupError):
                host.process.kill()
        finally:
            host.is_gone = True
            for answer, _ in tuple(host.calls.values()):
                if not answer.done():
                    answer.set_result(ServerReply(kind=ReplyKind.TRANSPORT, text=HOST_GONE))
            for listed in tuple(host.lists.values()):
                if not listed.done():
                    listed.set_exception(FrameError("the host is gone"))

    def _take(self, host: _Host, frame: Listed | Progress | Ended) -> None:
        match frame:
            case Listed():
                listed = host.lists.get(frame.request)
                if listed is not None and not listed.done():
                    listed.set_result(self._catalogue_of(frame))
            case Progress():
                found = host.calls.get(frame.request)
                if found is not None:
                    found[1]()
            case Ended():
                self._end(host, frame)

    def _end(self, host: _Host, frame: Ended) -> None:
        self._statuses[frame.status.name] = self._status(frame.status)
        self._known = Catalogue(tools=self._known.tools, statuses=tuple(self._statuses.values()))
        found = host.calls.get(frame.request)
        if found is not None and not found[0].done():
            reply = ServerReply(kind=frame.kind, text=frame.text, is_complete=frame.is_complete)
            found[0].set_result(reply)

    def _catalogue_of(self, frame: Listed) -> Catalogue:
        tools = tuple(
            ServerTool(
                server=tool.server,
                name=tool.name,
                description=self._clean(tool.description),
                parameters=self._clean(tool.parameters),
            )
            for tool in frame.tools
        )
        return Catalogue(tools=tools, statuses=tuple(map(self._status, frame.statuses)))

    def _clean(self, text: str) -> str:
        """A server's words without what it was given in confidence: models are shown them."""
        for value in self._credentials.values():
            if len(value) >= MIN_SECRET_LENGTH:
                text = text.replace(value, REDACTED)
        return text

    def _status(self, entry: StatusEntry) -> ServerStatus:
        return ServerStatus(
            name=entry.name,
            transport=self._settings[entry.name].transport,
            state=entry.state,
            tools=entry.tools,
            sentence=entry.sentence,
        )

    async def _reap(self, host: _Host) -> None:
        """The host ends its servers when its input ends; it is killed if it takes too long."""
        with suppress(TimeoutError):
            async with asyncio.timeout(CLOSE_S):
                await host.process.wait()
        if host.process.returncode is None:
            with suppress(ProcessLookupError):
                host.process.kill()
            await host.process.wait()
        if host.reading is not None:
            host.reading.cancel()
            await asyncio.wait((host.reading,))
        if self._trees is not None:
            await self._trees.closed(TREE)

    def _number(self) -> int:
        self._requests += 1
        return self._requests


class _Heard:
    """Passes signs of life on and remembers when the last one came."""

    def __init__(self, on_item: Callable[[], None]) -> None:
        self._on_item = on_item
        self._at = time.monotonic()

    def __call__(self) -> None:
        self._at = time.monotonic()
        self._on_item()

    @property
    def silence_s(self) -> float:
        return time.monotonic() - self._at


def _unasked(server: ToolServerSettings) -> ServerStatus:
    if server.is_usable:
        state, sentence = ServerState.UNREACHABLE, "It was not asked yet."
    else:
        state, sentence = ServerState.DISABLED, server.fault or "It is switched off."
    return ServerStatus(
        name=server.name, transport=server.transport, state=state, sentence=sentence
    )
