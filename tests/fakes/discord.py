"""Discord on loopback: the REST calls that netclaw uses, its gateway, and faults on demand.

    async with DiscordServer() as discord:
        config = ChannelConfig(name="discord", secrets=discord.secrets, options=discord.options)
        await discord.say(f"<@{BOT}> hello")

Strict where Discord is: the token, limits of posts, nonces that no history tells, threads that have
the id of their message. `calls` records every request.
"""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from typing import Self

from aiohttp import web

from tests.fakes.discord_gateway import Gateway
from tests.fakes.discord_rest import Call, Rest
from tests.fakes.discord_store import (
    ANN,
    BOT,
    CHANNEL,
    GUILD,
    Json,
    Message,
    Refusal,
    Store,
    bad_form,
    member,
    person,
)

TOKEN = "MTIzNDU2Nzg5MDEyMzQ1Njc4.GabcdE.fake-token-0123456789-abcdefgh"
BASE = "/api/v10"


class Fault(Enum):
    """What goes wrong with the next call that posts or edits."""

    RATE_LIMITED = "429 with a time to wait"
    ACCEPTED_THEN_500 = "the post is made, and the answer is 500"
    ACCEPTED_THEN_CUT = "the post is made, and the connection is cut before an answer"
    ERROR_500 = "500, and nothing is made"
    NO_BUTTONS = "components are not taken"


@dataclass
class DiscordServer:
    """One server with one bot; use it as a context manager."""

    store: Store = field(default_factory=Store)
    calls: list[Call] = field(default_factory=list)
    faults: deque[Fault] = field(default_factory=deque)
    errors: dict[str, tuple[int, object]] = field(default_factory=dict)
    """Answers by "METHOD path" instead of what it does: status, and body or code."""
    retry_after_s: float = 0.2
    limits_everything: bool = False
    """Whether a rate limit is one of every call."""
    is_revoked: bool = False
    tells_us: bool = True
    """Whether the gateway tells us of our own messages."""
    refuses_presses: bool = False
    """Whether acknowledgements of presses come too late."""
    answer: Callable[[], web.Response] | None = None
    """Instead of whatever a call answers."""
    url: str = ""
    deferred: dict[str, float] = field(default_factory=dict)
    """When presses were acknowledged."""
    pressed: dict[str, float] = field(default_factory=dict)
    _runner: web.AppRunner | None = None

    def __post_init__(self) -> None:
        self.rest = Rest(self.store)
        self.gateway = Gateway(TOKEN, self.rest.guild)

    @property
    def secrets(self) -> dict[str, str]:
        """For `ChannelConfig.secrets`."""
        return {"bot_token": TOKEN}

    @property
    def options(self) -> dict[str, str]:
        """For `ChannelConfig.options`."""
        return {"api_base_url": f"{self.url}{BASE}", "gateway_url": self.gateway.url}

    async def __aenter__(self) -> Self:
        app = web.Application(client_max_size=64 * 1024 * 1024)
        app.add_routes(
            [
                web.route("*", f"{BASE}/{{path:.*}}", self._api),
                web.get("/gateway/", self.gateway.serve),
                web.get("/files/{id}", self._file),
            ]
        )
        self._runner = web.AppRunner(app, shutdown_timeout=0.1)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        self.url = f"http://127.0.0.1:{self._runner.addresses[0][1]}"
        self.gateway.url = f"{self.url.replace('http', 'ws')}/gateway/"
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.gateway.drop()
        if self._runner is not None:
            await self._runner.cleanup()

    # What tests do ------------------------------------------------------------------------

    async def say(
        self,
        text: str,
        *,
        user: str = ANN,
        channel: str = CHANNEL,
        thread: str = "",
        file: bytes | None = None,
    ) -> Message:
        """Somebody writes; in a thread, which that person makes if it is not there."""
        if thread and thread not in self.store.channels:
            made = self.store.open_thread(channel, thread, "made by a person")
            await self.gateway.tell("THREAD_CREATE", made)
        message = Message(self.store.next_id(), thread or channel, user, text)
        if file is not None:
            message.attachments.append(self._add_file("notes.txt", file))
        await self.put(message)
        return message

    async def put(self, message: Message) -> None:
        """A message comes, whatever it is."""
        self.store.messages[message.id] = message
        await self.gateway.tell("MESSAGE_CREATE", self._event(message))

    async def press(self, message_id: str, custom_id: str, *, user: str = ANN) -> str:
        """Somebody presses a button; the interaction's id."""
        message = self.store.messages[message_id]
        channel = self.store.channels[message.channel]
        interaction = self.store.next_id()
        who: Json = {"member": member(user)} if "guild_id" in channel else {"user": person(user)}
        self.pressed[interaction] = time.monotonic()
        await self.gateway.tell(
            "INTERACTION_CREATE",
            {
                "id": interaction,
                "type": 3,
                "token": f"press-{interaction}",
                "channel_id": message.channel,
                "channel": channel,
                "message": message.as_json(),
                "data": {"custom_id": custom_id, "component_type": 2},
                **({"guild_id": GUILD} if "guild_id" in channel else {}),
                **who,
            },
        )
        return interaction

    async def revoke(self) -> None:
        """The token is good no more."""
        self.is_revoked = self.gateway.is_revoked = True
        await self.gateway.drop()

    def ours(self, channel: str, thread: str) -> list[Message]:
        """What we posted in a thread, and what of ours it began with."""
        return [
            message
            for message in self.store.messages.values()
            if message.author == BOT
            and (message.channel == thread or (message.channel, message.id) == (channel, thread))
        ]

    def made(self, call: str) -> list[Call]:
        """The calls of one kind: a regular expression over method and path."""
        return [found for found in self.calls if re.fullmatch(call, str(found))]

    async def until_deferred(self, interaction: str) -> float:
        """What it took until a press was acknowledged."""
        await self.gateway.until(lambda: interaction in self.deferred)
        return self.deferred[interaction] - self.pressed[interaction]

    def _event(self, message: Message) -> Json:
        guild = self.store.channels.get(message.channel, {}).get("guild_id")
        nonce: Json = {"nonce": message.nonce} if message.nonce else {}
        return message.as_json() | nonce | ({"guild_id": guild} if guild else {})

    def _add_file(self, name: str, data: bytes) -> Json:
        file_id = self.store.next_id()
        self.store.files[file_id] = data
        return {
            "id": file_id,
            "filename": name,
            "content_type": "text/plain; charset=utf-8",
            "size": len(data),
            "url": f"{self.url}/files/{file_id}?ex=1",
        }

    # REST ---------------------------------------------------------------------------------

    async def _api(self, request: web.Request) -> web.Response:
        path = "/" + request.match_info["path"]
        body, files = await _body_of(request)
        call = Call(request.method, path, body, dict(request.query), time.monotonic())
        self.calls.append(call)
        if self.answer is not None:
            return self.answer()
        try:
            return await self._answered(request, call, files)
        except Refusal as refusal:
            return _json(refusal.answer, refusal.status)

    async def _answered(
        self, request: web.Request, call: Call, files: list[tuple[str, bytes]]
    ) -> web.Response:
        if call.path.startswith("/interactions/"):
            return await self._defer(call)
        if self.is_revoked or request.headers.get("Authorization") != f"Bot {TOKEN}":
            raise Refusal(401, 0)
        if str(call) in self.errors:
            status, found = self.errors[str(call)]
            body = {"code": found, "message": "no"} if isinstance(found, int) else found
            return _json(body, status)
        fault = self._fault(call)
        if fault is Fault.RATE_LIMITED:
            limit: Json = {"message": "slowly", "retry_after": self.retry_after_s}
            limit["global"] = self.limits_everything
            headers = {"Retry-After": str(self.retry_after_s), "Via": "1.1 example"}
            return _json(limit, 429, headers)
        if fault is Fault.ERROR_500:
            return web.Response(status=500, text="oops")
        if fault is Fault.NO_BUTTONS and call.body.get("components"):
            raise bad_form()
        status, answer = await self._do(call, files)
        if fault is Fault.ACCEPTED_THEN_500:
            return web.Response(status=500, text="oops")
        if fault is Fault.ACCEPTED_THEN_CUT and request.transport is not None:
            request.transport.abort()
        return _json(answer, status)

    def _fault(self, call: Call) -> Fault | None:
        is_write = call.method in ("POST", "PATCH") and re.search(r"/messages(/\d+)?$", call.path)
        return self.faults.popleft() if self.faults and is_write else None

    async def _do(self, call: Call, files: list[tuple[str, bytes]]) -> tuple[int, object]:
        answer = self.rest.answer(call)
        if isinstance(answer, Message):
            await self._publish(call, answer, files)
            return 200, self._event(answer)
        if call.path.endswith("/threads") and isinstance(answer, dict):
            await self.gateway.tell("THREAD_CREATE", answer)
        return (204, None) if answer is None else (200, answer)

    async def _publish(self, call: Call, message: Message, files: list[tuple[str, bytes]]) -> None:
        """A message that was made now, and not before with the same nonce."""
        if call.method != "POST" or message.id in self.store.messages:
            return
        message.attachments = [self._add_file(name, data) for name, data in files]
        self.store.messages[message.id] = message
        if self.tells_us:
            await self.gateway.tell("MESSAGE_CREATE", self._event(message))

    async def _defer(self, call: Call) -> web.Response:
        assert call.body == {"type": 6}
        if self.refuses_presses:
            raise Refusal(404, 10062)
        self.deferred[call.path.split("/")[2]] = time.monotonic()
        await self.gateway.touch()
        return web.Response(status=204)

    async def _file(self, request: web.Request) -> web.Response:
        assert "Authorization" not in request.headers
        data = self.store.files.get(request.match_info["id"])
        return web.Response(status=404) if data is None else web.Response(body=data)


def _json(answer: object, status: int, headers: dict[str, str] | None = None) -> web.Response:
    """The library wants the bare content type."""
    limits = {"X-RateLimit-Limit": "50", "X-RateLimit-Remaining": "49"}
    limits |= {"X-RateLimit-Reset-After": "1.0"} | (headers or {})
    if status == 204:
        return web.Response(status=status, headers=limits)
    limits["Content-Type"] = "application/json"
    return web.Response(body=json.dumps(answer).encode(), status=status, headers=limits)


async def _body_of(request: web.Request) -> tuple[Json, list[tuple[str, bytes]]]:
    """A request's arguments and files."""
    if not request.content_type.startswith("multipart/"):
        raw = await request.read()
        return (json.loads(raw) if raw else {}), []
    form = await request.post()
    files = [
        (part.filename, await asyncio.to_thread(part.file.read))
        for part in form.values()
        if isinstance(part, web.FileField)
    ]
    return json.loads(str(form["payload_json"])), files
