"""The gateway of the fake Discord: WebSockets, sessions that go on, heartbeats, faults."""

from __future__ import annotations

import asyncio
import json
import zlib
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field

from aiohttp import WSMsgType, web

from tests.fakes.discord_store import BOT, GUILD, Json, person

PATIENCE_S = 10.0
CONTENT_INTENT = 1 << 15
DISPATCH, HEARTBEAT, IDENTIFY, RESUME, RECONNECT, INVALID, HELLO, ACK = 0, 1, 2, 6, 7, 9, 10, 11


@dataclass(eq=False)
class Line:
    """One connection; `is_serving` from READY or RESUMED on."""

    socket: web.WebSocketResponse
    request: web.Request
    packer: zlib._Compress | None
    is_serving: bool = False
    is_frozen: bool = False

    async def send(self, frame: Json) -> None:
        """One frame, compressed as the connection asked for."""
        text = json.dumps(frame)
        with suppress(ConnectionError):
            if self.packer is None:
                await self.socket.send_str(text)
                return
            packed = self.packer.compress(text.encode()) + self.packer.flush(zlib.Z_SYNC_FLUSH)
            await self.socket.send_bytes(packed)


@dataclass(eq=False)
class Gateway:
    """Sessions and their connections. An event belongs to the newest session, and is lost if there
    is none."""

    token: str
    guild: Callable[[], Json]
    heartbeat_ms: int = 41_250
    is_revoked: bool = False
    may_read_content: bool = True
    holds_ready: bool = False
    """Whoever greets us hears nothing more."""
    url: str = ""
    frames: list[Json] = field(default_factory=list)
    """What was sent to us, in order."""
    connects: int = 0
    identifies: int = 0
    resumes: int = 0
    session: str = ""
    events: list[Json] = field(default_factory=list)
    """Of the session, in order."""
    _lines: list[Line] = field(default_factory=list)
    _changed: asyncio.Condition = field(default_factory=asyncio.Condition)

    async def serve(self, request: web.Request) -> web.StreamResponse:
        """One connection."""
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        packer = zlib.compressobj() if request.query.get("compress") == "zlib-stream" else None
        line = Line(socket, request, packer)
        self._lines.append(line)
        self.connects += 1
        await line.send({"op": HELLO, "d": {"heartbeat_interval": self.heartbeat_ms}})
        await self._tell()
        try:
            async for frame in socket:
                if frame.type is WSMsgType.TEXT and not line.is_frozen:
                    await self._take(line, json.loads(frame.data))
        finally:
            self._lines.remove(line)
            await self._tell()
        return socket

    # What tests do ------------------------------------------------------------------------

    async def tell(self, name: str, data: Json) -> None:
        """An event, over the connection or with the session's next one."""
        if not self.session:
            return
        event: Json = {"op": DISPATCH, "t": name, "s": len(self.events) + 1, "d": data}
        self.events.append(event)
        await self._send_out(event)

    async def repeat(self) -> None:
        """The newest message comes once more, as it came."""
        newest = [event for event in self.events if event["t"] == "MESSAGE_CREATE"][-1]
        await self._send_out(newest)

    async def _send_out(self, event: Json) -> None:
        for line in self._lines:
            if line.is_serving and not line.is_frozen:
                await line.send(event)

    async def send(self, frame: Json) -> None:
        """A frame as it is, to whoever is connected."""
        for line in tuple(self._lines):
            await line.send(frame)

    async def send_raw(self, text: str) -> None:
        """The same, of any text."""
        for line in tuple(self._lines):
            await line.socket.send_str(text)

    async def end(self, code: int) -> None:
        """Close every connection with a code."""
        for line in tuple(self._lines):
            await line.socket.close(code=code)

    async def drop(self) -> None:
        """Cut every connection without a word."""
        for line in tuple(self._lines):
            if line.request.transport is not None:
                line.request.transport.abort()
        await self.until(lambda: not self._lines)

    def freeze(self) -> None:
        """What is connected now stays so and says nothing: half-open."""
        for line in self._lines:
            line.is_frozen = True

    def forget_session(self) -> None:
        """The session cannot go on."""
        self.session = ""

    @property
    def open_connections(self) -> int:
        """Connections that are there now."""
        return len(self._lines)

    async def until(self, is_so: Callable[[], bool]) -> None:
        """Wait for a state; bounded."""
        async with asyncio.timeout(PATIENCE_S), self._changed:
            await self._changed.wait_for(is_so)

    # The protocol -------------------------------------------------------------------------

    async def _take(self, line: Line, frame: Json) -> None:
        self.frames.append(frame)
        if frame["op"] == HEARTBEAT:
            await line.send({"op": ACK})
        elif frame["op"] in (IDENTIFY, RESUME):
            await self._greet(line, frame)
        await self._tell()

    async def _greet(self, line: Line, frame: Json) -> None:
        given = frame["d"]
        assert isinstance(given, dict)
        if self.is_revoked or given["token"] != self.token:
            await line.socket.close(code=4004)
        elif frame["op"] == RESUME:
            await self._resume(line, given)
        elif given["intents"] & CONTENT_INTENT and not self.may_read_content:
            await line.socket.close(code=4014)
        elif not self.holds_ready:
            await self._identify(line)

    async def _identify(self, line: Line) -> None:
        self.identifies += 1
        self.session, self.events = f"session-{self.identifies}", []
        line.is_serving = True
        ready: Json = {
            "v": 10,
            "user": person(BOT),
            "session_id": self.session,
            "resume_gateway_url": self.url,
            "guilds": [{"id": GUILD, "unavailable": True}],
        }
        await self.tell("READY", ready)
        await self.tell("GUILD_CREATE", self.guild())

    async def _resume(self, line: Line, given: Json) -> None:
        if not self.session or given["session_id"] != self.session:
            await line.send({"op": INVALID, "d": False})
            return
        self.resumes += 1
        seen = int(str(given["seq"]))
        for event in self.events[seen:]:
            await line.send(event)
        line.is_serving = True
        await self.tell("RESUMED", {})

    async def touch(self) -> None:
        """Let those who wait look again."""
        await self._tell()

    async def _tell(self) -> None:
        async with self._changed:
            self._changed.notify_all()
