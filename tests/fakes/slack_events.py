"""The event side of the fake Slack: WebSockets, envelopes until they are acknowledged, faults."""

from __future__ import annotations

import asyncio
import json
import time
from contextlib import suppress

from aiohttp import WSMsgType, web

from tests.fakes.slack_store import Json

PATIENCE_S = 10.0


class Events:
    """Envelopes for whoever is connected, now or later; each until its acknowledgement.

    `patience_s` is what an acknowledgement may take before the event comes again in a new envelope;
    None: it comes again when the connection it went over is gone, and there is another.
    """

    def __init__(self) -> None:
        self.patience_s: float | None = None
        self.connects = 0
        self.acknowledged: list[Json] = []
        self.delivered: list[Json] = []
        self._tickets: set[str] = set()
        self._sockets: dict[web.WebSocketResponse, web.Request] = {}
        self._frozen: set[web.WebSocketResponse] = set()
        self._waiting: dict[str, Json] = {}
        self._sent_over: dict[str, web.WebSocketResponse] = {}
        self._numbers = 0
        self._changed = asyncio.Condition()
        self._repeats: set[asyncio.Task[None]] = set()

    def ticket(self) -> str:
        """Permits one connection."""
        self._numbers += 1
        made = f"ticket-{self._numbers}"
        self._tickets.add(made)
        return made

    async def serve(self, request: web.Request) -> web.StreamResponse:
        """One connection. Pings are answered here, so that a frozen one answers none."""
        if request.query.get("ticket") not in self._tickets:
            return web.Response(status=403)
        self._tickets.discard(request.query["ticket"])
        socket = web.WebSocketResponse(autoping=False)
        await socket.prepare(request)
        self.connects += 1
        await socket.send_json({"type": "hello", "num_connections": len(self._sockets) + 1})
        self._sockets[socket] = request
        await self._tell()
        try:
            await self._send_rest()
            async for frame in socket:
                if socket in self._frozen:
                    continue
                if frame.type is WSMsgType.PING:
                    await socket.pong(frame.data)
                elif frame.type is WSMsgType.TEXT:
                    await self._acknowledge(json.loads(frame.data))
        finally:
            del self._sockets[socket]
            self._frozen.discard(socket)
            await self._tell()
            await self._send_rest()
        return socket

    async def send(self, kind: str, payload: Json, *, attempt: int = 0) -> str:
        """An envelope over the newest connection, or the next one; its id."""
        self._numbers += 1
        name = f"envelope-{self._numbers}"
        envelope: Json = {
            "type": kind,
            "envelope_id": name,
            "payload": payload,
            "accepts_response_payload": kind == "interactive",
        }
        if attempt:
            envelope |= {"retry_attempt": attempt, "retry_reason": "timeout"}
        self._waiting[name] = envelope
        await self._send_rest()
        if self.patience_s is not None:
            task = asyncio.create_task(self._repeat(name, attempt))
            self._repeats.add(task)
            task.add_done_callback(self._repeats.discard)
        return name

    async def ask_to_renew(self, reason: str = "refresh_requested") -> None:
        """What Slack says before it closes a connection, or when Socket Mode is switched off."""
        for socket in tuple(self._sockets):
            await socket.send_json({"type": "disconnect", "reason": reason})

    async def send_raw(self, text: str) -> None:
        """A frame as it is."""
        for socket in tuple(self._sockets):
            await socket.send_str(text)

    async def drop(self) -> None:
        """Cut every connection without a word."""
        for request in tuple(self._sockets.values()):
            if request.transport is not None:
                request.transport.abort()
        async with asyncio.timeout(PATIENCE_S), self._changed:
            await self._changed.wait_for(lambda: not self._sockets)

    def freeze(self) -> None:
        """What is connected now stays so and answers nothing: half-open."""
        self._frozen.update(self._sockets)

    async def until_acknowledged(self) -> None:
        """Wait until nothing waits."""
        async with asyncio.timeout(PATIENCE_S), self._changed:
            await self._changed.wait_for(lambda: not self._waiting)

    async def until_connects(self, number: int) -> None:
        """Wait for so many connections in all."""
        async with asyncio.timeout(PATIENCE_S), self._changed:
            await self._changed.wait_for(lambda: self.connects >= number)

    @property
    def waiting(self) -> int:
        """Envelopes that were not acknowledged."""
        return len(self._waiting)

    @property
    def open_connections(self) -> int:
        """Connections that are there now."""
        return len(self._sockets)

    async def close(self) -> None:
        """End everything."""
        for task in self._repeats:
            task.cancel()
        await asyncio.gather(*self._repeats, return_exceptions=True)
        await self.drop()

    async def _send_rest(self) -> None:
        """Send what waits and is on its way over no connection that is still there."""
        socket = next(reversed(self._sockets), None)
        if socket is None or socket in self._frozen:
            return
        for name, envelope in tuple(self._waiting.items()):
            if self._sent_over.get(name) not in self._sockets:
                self._sent_over[name] = socket
                self.delivered.append(envelope)
                with suppress(ConnectionError):
                    await socket.send_json(envelope)

    async def _tell(self) -> None:
        async with self._changed:
            self._changed.notify_all()

    async def _repeat(self, name: str, attempt: int) -> None:
        await asyncio.sleep(self.patience_s or 0)
        envelope = self._waiting.get(name)
        payload = envelope["payload"] if envelope is not None else None
        if envelope is not None and isinstance(payload, dict) and attempt < 3:
            await self.send(str(envelope["type"]), payload, attempt=attempt + 1)

    async def _acknowledge(self, answer: Json) -> None:
        async with self._changed:
            self.acknowledged.append(answer | {"at": time.monotonic()})
            found = self._waiting.pop(str(answer["envelope_id"]), None)
            if found is not None:
                # Any delivery of one event is as good as another.
                payload = found["payload"]
                for name in [n for n, e in self._waiting.items() if e["payload"] is payload]:
                    del self._waiting[name]
            self._changed.notify_all()
