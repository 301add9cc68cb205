"""The platform of the loop channel: rooms, threads, posts, buttons, files, and faults on demand.

HTTP with JSON, events by WebSocket: each is sent until it is acknowledged, again after each
connect. `Authorization: Bearer <token>` everywhere.
"""

from __future__ import annotations

import asyncio
import json
from collections import deque
from contextlib import suppress
from dataclasses import dataclass, field
from enum import Enum
from typing import Self

from aiohttp import WSCloseCode, WSMsgType, web
from aiohttp.typedefs import Handler

TOKEN = "loop-token-0123456789abcdef"
TEXT_LIMIT = 500
FILE_LIMIT = 64 * 1024

Json = dict[str, object]


class Fault(Enum):
    """What goes wrong with the next call that makes or changes something."""

    RATE_LIMITED = "rate limited"
    ACCEPTED_THEN_500 = "accepted, then 500"
    ERROR_500 = "500"
    CUT_OFF = "the connection is cut before an answer"


@dataclass
class Message:
    """A message in a thread, by anybody."""

    id: str
    room: str
    thread: str
    sender: str
    text: str
    key: str = ""
    buttons: list[Json] = field(default_factory=list)
    files: list[Json] = field(default_factory=list)

    def as_json(self) -> Json:
        """For the wire."""
        return dict(vars(self))


class LoopServer:
    """One platform; use it as a context manager."""

    def __init__(self) -> None:
        self.token = TOKEN
        self.messages: dict[str, Message] = {}
        self.files: dict[str, bytes] = {}
        self.signs: dict[str, list[str]] = {}
        self.titles: dict[str, str] = {}
        self.rooms = {"room": "The Room", "lobby": "The Lobby"}
        self.users = {"ann": "Ann", "bob": "Bob"}
        self.faults: deque[Fault] = deque()
        self.retry_after_s = 0.2
        self.calls: list[str] = []
        self.connects = 0
        self.is_closed_to_all = False
        self.is_down = False
        """Answers every call with 503."""
        self._numbers = 0
        self._unacknowledged: dict[str, Json] = {}
        self._sockets: set[web.WebSocketResponse] = set()
        self._acknowledged = asyncio.Condition()
        self._runner: web.AppRunner | None = None
        self.url = ""

    async def __aenter__(self) -> Self:
        app = web.Application(middlewares=[self._guard])
        app.add_routes(
            [
                web.get("/me", self._me),
                web.get("/events", self._events),
                web.post("/posts", self._post),
                web.get("/posts", self._find),
                web.patch("/posts/{id}", self._edit),
                web.delete("/posts/{id}", self._delete),
                web.get("/threads/{room}/{thread}", self._thread),
                web.post("/direct", self._direct),
                web.post("/signs", self._sign),
                web.post("/titles", self._title),
                web.get("/files/{id}", self._file),
                web.post("/files", self._upload),
                web.get("/users", self._names),
                web.get("/rooms", self._names),
            ]
        )
        self._runner = web.AppRunner(app, shutdown_timeout=0.1)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        self.url = f"http://127.0.0.1:{self._runner.addresses[0][1]}"
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.drop()
        if self._runner is not None:
            await self._runner.cleanup()

    # What tests do ------------------------------------------------------------------------

    async def say(
        self,
        text: str,
        *,
        sender: str = "ann",
        room: str = "room",
        thread: str = "",
        is_bot: bool = False,
        files: list[Json] | None = None,
    ) -> Message:
        """Somebody writes: an event for whoever is connected, now or later."""
        number = self._number("m")
        message = Message(number, room, thread or number, sender, text, files=files or [])
        self.messages[message.id] = message
        event: Json = {"kind": "message", "is_bot": is_bot, **message.as_json()}
        await self._tell(f"e-{message.id}", event)
        return message

    async def press(self, post_id: str, token: str, *, sender: str = "ann") -> None:
        """Somebody presses a button."""
        post = self.messages[post_id]
        event: Json = {"kind": "click", "token": token, "sender": sender}
        await self._tell(self._number("c"), event | {"post": post.as_json()})

    async def send_again(self, message: Message) -> None:
        """Deliver an event once more, although it was acknowledged."""
        event: Json = {"kind": "message", "is_bot": False, **message.as_json()}
        await self._tell(f"e-{message.id}", event)

    def add_file(self, name: str, media_type: str, data: bytes) -> Json:
        """A file that a message can carry."""
        number = self._number("f")
        self.files[number] = data
        return {"id": number, "name": name, "media_type": media_type, "size": len(data)}

    async def drop(self) -> None:
        """Cut every event connection."""
        for socket in tuple(self._sockets):
            await socket.close(code=WSCloseCode.GOING_AWAY)

    async def revoke(self) -> None:
        """From now on no token is good."""
        self.is_closed_to_all = True
        await self.drop()

    def ours(self, room: str = "room", thread: str = "") -> list[Message]:
        """What the account of the token posted."""
        return [
            message
            for message in self.messages.values()
            if message.sender == "netclaw"
            and message.room == room
            and thread in ("", message.thread)
        ]

    async def until_acknowledged(self) -> None:
        """Wait until no event is left to deliver."""
        async with self._acknowledged:
            await self._acknowledged.wait_for(lambda: not self._unacknowledged)

    @property
    def waiting(self) -> int:
        """Events that were not acknowledged."""
        return len(self._unacknowledged)

    # The wire -----------------------------------------------------------------------------

    async def _tell(self, event_id: str, event: Json) -> None:
        self._unacknowledged[event_id] = event | {"event_id": event_id}
        for socket in tuple(self._sockets):
            with suppress(ConnectionError):
                await socket.send_json(self._unacknowledged[event_id])

    @web.middleware
    async def _guard(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        self.calls.append(f"{request.method} {request.path}")
        if self.is_down:
            return web.json_response({"error": "down"}, status=503)
        given = request.headers.get("Authorization", "")
        if self.is_closed_to_all or given != f"Bearer {self.token}":
            return web.json_response({"error": "unauthorized"}, status=401)
        if request.method == "GET" or not self.faults:
            return await handler(request)
        fault = self.faults.popleft()
        if fault is Fault.RATE_LIMITED:
            retry = {"Retry-After": str(self.retry_after_s)}
            return web.json_response({"error": "slow down"}, status=429, headers=retry)
        if fault is Fault.CUT_OFF and request.transport is not None:
            request.transport.abort()
        if fault is Fault.ACCEPTED_THEN_500:
            await handler(request)
        return web.json_response({"error": "broken"}, status=500)

    async def _me(self, _request: web.Request) -> web.Response:
        return web.json_response({"id": "netclaw", "name": "netclaw-bot", "team": "loopers"})

    async def _events(self, request: web.Request) -> web.WebSocketResponse:
        socket = web.WebSocketResponse(heartbeat=5.0)
        await socket.prepare(request)
        self.connects += 1
        self._sockets.add(socket)
        try:
            for event in tuple(self._unacknowledged.values()):
                await socket.send_json(event)
            async for frame in socket:
                if frame.type is WSMsgType.TEXT:
                    await self._acknowledge(json.loads(frame.data)["acknowledge"])
        finally:
            self._sockets.discard(socket)
        return socket

    async def _acknowledge(self, event_id: str) -> None:
        async with self._acknowledged:
            self._unacknowledged.pop(event_id, None)
            self._acknowledged.notify_all()

    async def _post(self, request: web.Request) -> web.Response:
        body = await request.json()
        if body["room"] not in self.rooms and not body["room"].startswith("dm-"):
            return web.json_response({"error": "no such room"}, status=404)
        if len(body["text"]) > TEXT_LIMIT:
            return web.json_response({"error": "too long"}, status=400)
        number = self._number("m")
        thread = body["thread"] or number
        self.messages[number] = Message(
            number, body["room"], thread, "netclaw", body["text"], body["key"], body["buttons"]
        )
        return web.json_response({"id": number, "thread": thread})

    async def _find(self, request: web.Request) -> web.Response:
        key = request.query["key"]
        found = [m.id for m in self.messages.values() if m.key == key]
        return web.json_response({"ids": found})

    async def _edit(self, request: web.Request) -> web.Response:
        message = self.messages.get(request.match_info["id"])
        if message is None:
            return web.json_response({"error": "gone"}, status=404)
        body = await request.json()
        message.text, message.buttons = body["text"], body["buttons"]
        return web.json_response({})

    async def _delete(self, request: web.Request) -> web.Response:
        gone = self.messages.pop(request.match_info["id"], None)
        return web.json_response({}, status=200 if gone else 404)

    async def _thread(self, request: web.Request) -> web.Response:
        room, thread = request.match_info["room"], request.match_info["thread"]
        found = [
            message.as_json()
            for message in self.messages.values()
            if (message.room, message.thread) == (room, thread)
        ]
        return web.json_response({"messages": found})

    async def _direct(self, request: web.Request) -> web.Response:
        user = (await request.json())["user"]
        if user not in self.users:
            return web.json_response({"error": "no such user"}, status=404)
        return web.json_response({"room": f"dm-{user}"})

    async def _sign(self, request: web.Request) -> web.Response:
        body = await request.json()
        self.signs.setdefault(f"{body['room']}/{body['thread']}", []).append(body["text"])
        return web.json_response({})

    async def _title(self, request: web.Request) -> web.Response:
        body = await request.json()
        self.titles[f"{body['room']}/{body['thread']}"] = body["title"]
        return web.json_response({})

    async def _file(self, request: web.Request) -> web.Response:
        data = self.files.get(request.match_info["id"])
        if data is None:
            return web.json_response({"error": "gone"}, status=404)
        return web.Response(body=data)

    async def _upload(self, request: web.Request) -> web.Response:
        facts = request.query
        data = await request.read()
        file = self.add_file(facts["name"], "application/octet-stream", data)
        number = self._number("m")
        self.messages[number] = Message(
            number, facts["room"], facts["thread"], "netclaw", "", facts["key"], files=[file]
        )
        return web.json_response({"id": number})

    async def _names(self, request: web.Request) -> web.Response:
        names = self.users if request.path == "/users" else self.rooms
        wanted = request.query["text"].casefold()
        found = [
            {"id": key, "name": name} for key, name in names.items() if wanted in name.casefold()
        ]
        return web.json_response({"found": found})

    def _number(self, kind: str) -> str:
        self._numbers += 1
        return f"{kind}{self._numbers:06}"
