"""The fake Mattermost's WebSocket: numbered events, kept for who comes back, and faults."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field

from aiohttp import WSMsgType, web

from tests.fakes.mattermost_store import Json


@dataclass
class Kept:
    """A connection as the server remembers it, also while it is lost."""

    id: str
    events: list[Json] = field(default_factory=list)
    """All of them, by number from 1."""
    socket: web.WebSocketResponse | None = None


@dataclass
class Events:
    """Connections of one account."""

    clock: Callable[[], int]
    connections: list[Kept] = field(default_factory=list)
    opened: list[Json] = field(default_factory=list)
    """What each connection was opened with."""
    is_revoked: bool = False
    deaf: set[web.WebSocketResponse] = field(default_factory=set)
    forgets: bool = False
    """The server knows no connection that comes back."""
    skips: int = 0
    """So many of the next events get a number and are never sent."""

    async def serve(self, request: web.Request) -> web.WebSocketResponse:
        """One connection."""
        query = dict(request.query)
        self.opened.append(query)
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        # Only whom the server knows at once can come back.
        is_known = "Authorization" in request.headers
        kept = self._find(query) if is_known else None
        after = int(query.get("sequence_number", "1")) if kept else 1
        if kept is None:
            kept = Kept(id=f"connection{len(self.connections)}".ljust(26, "c"))
            self.connections.append(kept)
            kept.events.append(
                {"event": "hello", "data": {"connection_id": kept.id}, "broadcast": {}, "seq": 0}
            )
            await socket.send_json(kept.events[0])
        kept.socket = socket
        for event in kept.events:
            if event["seq"] and event["seq"] >= after:
                await socket.send_json(event)
        await self._read(socket, is_known=is_known)
        if kept.socket is socket:
            kept.socket = None
        return socket

    async def send(self, event: str, data: Json) -> None:
        """An event to whoever is connected, and to who comes back."""
        for kept in self._live():
            frame = {"event": event, "data": data, "broadcast": {}, "seq": len(kept.events)}
            kept.events.append(frame)
            if self.skips:
                self.skips -= 1
                kept.events.pop()
                kept.events.append({**frame, "event": "typing", "data": {}})
                continue
            await self._push(kept, frame)

    async def send_again(self) -> None:
        """The newest event once more, with a number of its own."""
        for kept in self._live():
            newest = kept.events[-1]
            await self.send(newest["event"], newest["data"])

    async def send_raw(self, text: str) -> None:
        """Anything."""
        for kept in self._live():
            if kept.socket is not None:
                await kept.socket.send_str(text)

    async def send_late(self, number: int) -> None:
        """An event that was sent, out of its order."""
        for kept in self._live():
            await self._push(kept, kept.events[number])

    def go_deaf(self) -> None:
        """The connections are half-open: nothing is answered, and nobody says that they ended."""
        for kept in self.connections:
            if kept.socket is not None:
                self.deaf.add(kept.socket)
                kept.socket._autoping = False

    async def drop(self) -> None:
        """Cut every connection; the server keeps what they were."""
        for kept in self.connections:
            socket, kept.socket = kept.socket, None
            if socket is not None and socket._req is not None and socket._req.transport:
                socket._req.transport.abort()

    def _live(self) -> list[Kept]:
        return self.connections[-1:]

    def _find(self, query: dict[str, str]) -> Kept | None:
        if self.forgets:
            self.forgets = False
            return None
        known = (kept for kept in self.connections if kept.id == query.get("connection_id"))
        return next(known, None)

    async def _push(self, kept: Kept, frame: Json) -> None:
        if kept.socket is not None and kept.socket not in self.deaf:
            with suppress(ConnectionError):
                await kept.socket.send_json(frame)

    async def _read(self, socket: web.WebSocketResponse, *, is_known: bool) -> None:
        async for frame in socket:
            if frame.type is not WSMsgType.TEXT or socket in self.deaf:
                continue
            asked = json.loads(frame.data)
            if asked["action"] == "ping":
                await socket.send_json(self._answer(asked))
            elif not is_known:
                await socket.send_json({"status": "OK", "seq_reply": asked["seq"]})

    def _answer(self, asked: Json) -> Json:
        if self.is_revoked:
            return {"status": "FAIL", "seq_reply": asked["seq"], "error": {"id": "unauthorized"}}
        data = {"text": "pong", "version": "10.0.0", "server_time": self.clock()}
        return {"status": "OK", "data": data, "seq_reply": asked["seq"]}
