"""The driver of the loop channel; `create` is its entry point."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import aiohttp

from netclaw.adapters.driver import (
    Abilities,
    Account,
    Attachment,
    Button,
    ChannelConfig,
    Clicked,
    Driver,
    FatalFailure,
    Found,
    Health,
    Incoming,
    Place,
    Post,
    Received,
    RefusedFailure,
    Thread,
    TransientFailure,
)

MENTION = "@netclaw"
TIMEOUT_S = 10.0

Json = dict[str, Any]


def create(config: ChannelConfig) -> Driver:
    """What the entry point names."""
    return LoopDriver(config)


class LoopDriver:
    """One connection to one loop server."""

    abilities = Abilities(
        text_limit=500,
        has_buttons=True,
        has_edit=True,
        has_status=True,
        file_limit_bytes=64 * 1024,
    )

    def __init__(self, config: ChannelConfig) -> None:
        self._url = config.options.get("server_url", "")
        self._token = config.secrets.get("bot_token", "")
        self._http: aiohttp.ClientSession | None = None
        self._health = Health.DISCONNECTED

    # The connection -----------------------------------------------------------------------

    async def check(self) -> Account:
        """See `Driver`."""
        me = await self._call("GET", "/me")
        return Account(user_id=me["id"], name=me["name"], scope=me["team"])

    def health(self) -> Health:
        """See `Driver`."""
        return self._health

    async def events(self) -> AsyncIterator[Incoming]:
        """See `Driver`."""
        self._health = Health.CONNECTING
        try:
            async with self._session().ws_connect(f"{self._url}/events") as socket:
                self._health = Health.READY
                async for frame in socket:
                    if frame.type is aiohttp.WSMsgType.TEXT:
                        event = json.loads(frame.data)
                        yield Incoming(
                            event=_event(event),
                            acknowledge=partial(_acknowledge, socket, event["event_id"]),
                        )
        except aiohttp.WSServerHandshakeError as error:
            raise _failure_of(error.status, error.headers or {}) from None
        except (aiohttp.ClientError, OSError):
            raise TransientFailure("The loop server cannot be reached.") from None
        finally:
            self._health = Health.DISCONNECTED

    async def close(self) -> None:
        """See `Driver`."""
        http, self._http = self._http, None
        if http is not None:
            await http.close()
        self._health = Health.DISCONNECTED

    # Posts --------------------------------------------------------------------------------

    async def post(self, post: Post) -> str:
        """See `Driver`."""
        made = await self._call(
            "POST",
            "/posts",
            {
                "room": post.thread.channel_id,
                "thread": post.thread.thread_id,
                "key": post.key,
                "text": post.text,
                "buttons": _buttons(post.buttons),
            },
        )
        return str(made["id"])

    async def find_post(self, thread: Thread, key: str) -> str | None:
        """See `Driver`."""
        del thread
        found = await self._call("GET", "/posts", query={"key": key})
        return str(found["ids"][0]) if found["ids"] else None

    async def edit(
        self, thread: Thread, post_id: str, text: str, buttons: tuple[Button, ...]
    ) -> None:
        """See `Driver`."""
        del thread
        await self._call("PATCH", f"/posts/{post_id}", {"text": text, "buttons": _buttons(buttons)})

    async def delete(self, thread: Thread, post_id: str) -> None:
        """See `Driver`."""
        del thread
        try:
            await self._call("DELETE", f"/posts/{post_id}")
        except RefusedFailure:
            return

    async def set_status(self, thread: Thread, text: str) -> None:
        """See `Driver`."""
        await self._call("POST", "/signs", {**_place(thread), "text": text})

    async def set_title(self, thread: Thread, title: str) -> None:
        """See `Driver`."""
        await self._call("POST", "/titles", {**_place(thread), "title": title})

    async def open_direct(self, user_id: str) -> str:
        """See `Driver`."""
        made = await self._call("POST", "/direct", {"user": user_id})
        return str(made["room"])

    async def find_thread(self, channel_id: str, key: str) -> Thread | None:
        """See `Driver`."""
        found = await self._call("GET", "/posts", query={"key": key})
        return _thread(channel_id, found["ids"][0]) if found["ids"] else None

    async def begin_thread(self, channel_id: str, post: str, key: str) -> Thread:
        """See `Driver`."""
        made = await self._call(
            "POST",
            "/posts",
            {"room": channel_id, "thread": "", "key": key, "text": post, "buttons": []},
        )
        return _thread(channel_id, made["thread"])

    async def backfill(self, thread: Thread, *, after: str, limit: int) -> tuple[Received, ...]:
        """See `Driver`."""
        found = await self._call("GET", f"/threads/{thread.channel_id}/{thread.thread_id}")
        messages = [_received(item) for item in found["messages"]]
        places = [index for index, item in enumerate(messages) if item.event_id == after]
        if places:
            return tuple(messages[places[0] + 1 :][:limit])
        return tuple(messages[-limit:])

    # Files and names ----------------------------------------------------------------------

    async def download(self, attachment: Attachment, target: Path, limit_bytes: int) -> None:
        """See `Driver`."""
        try:
            async with self._session().get(f"{self._url}/files/{attachment.handle}") as answer:
                _check(answer)
                with target.open("xb") as file:
                    size = 0
                    async for piece in answer.content.iter_chunked(16 * 1024):
                        size += len(piece)
                        if size > limit_bytes:
                            raise RefusedFailure("The file is larger than allowed.")
                        file.write(piece)
        except (aiohttp.ClientError, OSError):
            raise TransientFailure("The loop server cannot be reached.") from None

    async def upload(self, thread: Thread, path: Path, name: str, key: str) -> str:
        """See `Driver`."""
        data = await asyncio.to_thread(path.read_bytes)
        query = {**_place(thread), "name": name, "key": key}
        made = await self._call("POST", "/files", data=data, query=query)
        return str(made["id"])

    async def find_users(self, text: str) -> tuple[Found, ...]:
        """See `Driver`."""
        return await self._names("/users", text)

    async def find_places(self, text: str) -> tuple[Found, ...]:
        """See `Driver`."""
        return await self._names("/rooms", text)

    async def _names(self, path: str, text: str) -> tuple[Found, ...]:
        found = await self._call("GET", path, query={"text": text})
        return tuple(Found(id=item["id"], name=item["name"]) for item in found["found"][:10])

    # The wire -----------------------------------------------------------------------------

    def _session(self) -> aiohttp.ClientSession:
        if self._http is None:
            self._http = aiohttp.ClientSession(
                headers={"Authorization": f"Bearer {self._token}"},
                timeout=aiohttp.ClientTimeout(total=None, sock_read=None, connect=TIMEOUT_S),
            )
        return self._http

    async def _call(
        self,
        method: str,
        path: str,
        body: Json | None = None,
        *,
        data: bytes | None = None,
        query: Mapping[str, str] | None = None,
    ) -> Json:
        try:
            async with (
                asyncio.timeout(TIMEOUT_S),
                self._session().request(
                    method, f"{self._url}{path}", json=body, data=data, params=query
                ) as answer,
            ):
                _check(answer)
                found: Json = await answer.json()
                return found
        except (aiohttp.ClientError, OSError, TimeoutError):
            raise TransientFailure("The loop server cannot be reached.") from None


def _check(answer: aiohttp.ClientResponse) -> None:
    if answer.status >= 400:
        raise _failure_of(answer.status, answer.headers)


def _failure_of(
    status: int, headers: Mapping[str, str]
) -> FatalFailure | TransientFailure | RefusedFailure:
    if status in (401, 403):
        return FatalFailure("The loop server refuses the token.")
    if status == 429:
        return TransientFailure(
            "The loop server is rate limiting.",
            retry_after_s=float(headers.get("Retry-After", "1")),
        )
    if status >= 500:
        return TransientFailure("The loop server failed.")
    return RefusedFailure("The loop server does not take this post.")


async def _acknowledge(socket: aiohttp.ClientWebSocketResponse, event_id: str) -> None:
    try:
        await socket.send_json({"acknowledge": event_id})
    except (aiohttp.ClientError, OSError):
        raise TransientFailure("The loop server cannot be reached.") from None


def _event(event: Json) -> Received | Clicked:
    if event["kind"] == "message":
        return _received(event)
    post = event["post"]
    return Clicked(
        token=event["token"],
        sender_id=event["sender"],
        post_id=post["id"],
        thread=_thread(post["room"], post["thread"]),
    )


def _received(event: Json) -> Received:
    return Received(
        event_id=event["id"],
        thread=_thread(event["room"], event["thread"]),
        sender_id=event["sender"],
        text=event["text"],
        at_ms=0,
        is_bot=bool(event.get("is_bot")) or event["sender"] == "netclaw",
        is_own=event["sender"] == "netclaw",
        is_mention=MENTION in event["text"],
        is_in_thread=event["thread"] != event["id"],
        mention=MENTION if MENTION in event["text"] else "",
        attachments=tuple(
            Attachment(
                handle=file["id"],
                name=file["name"],
                media_type=file["media_type"],
                size_bytes=file["size"],
            )
            for file in event["files"]
        ),
    )


def _thread(room: str, thread: str) -> Thread:
    return Thread(
        channel_id=room,
        thread_id=thread,
        place=Place.DIRECT if room.startswith("dm-") else Place.CHANNEL,
        boundary=f"loop:loopers/{room}",
    )


def _place(thread: Thread) -> dict[str, str]:
    return {"room": thread.channel_id, "thread": thread.thread_id}


def _buttons(buttons: tuple[Button, ...]) -> list[Json]:
    return [
        {"token": button.token, "label": button.label, "is_danger": button.is_danger}
        for button in buttons
    ]
