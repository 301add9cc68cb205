"""Mattermost on loopback: the REST calls that netclaw uses, the WebSocket, and faults on demand.

    async with MattermostServer() as mattermost:
        config = ChannelConfig(name="mattermost", secrets=..., options=mattermost.options)
        await mattermost.say("@netclaw hello")

Strict where Mattermost is: who may change a post, roots that are there, buttons that nobody sees
through. `calls` records every request.
"""

from __future__ import annotations

import json
from collections import deque
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Self

import aiohttp
from aiohttp import web

from tests.fakes.mattermost_events import Events
from tests.fakes.mattermost_store import (
    ANN,
    BOT,
    CHANNEL,
    DIRECT,
    Json,
    Refusal,
    Store,
    listed,
    order,
    shown,
)

BOT_TOKEN = "mattermostbottoken12345678"
MAX_POST = 16_383
MAX_SINCE = 1000
WRITES = frozenset({"make", "patch"})


class Fault(Enum):
    """What goes wrong with the next call that posts or edits."""

    RATE_LIMITED = "429 with Retry-After"
    RATE_LIMITED_OLD = "429 with X-Ratelimit-Reset alone"
    ACCEPTED_THEN_500 = "the post is made, and the answer is 500"
    ACCEPTED_THEN_CUT = "the post is made, and the connection is cut before an answer"
    ERROR_500 = "500, and nothing is made"


@dataclass(frozen=True)
class Call:
    """One request."""

    name: str
    path: str
    content: Any


@dataclass
class MattermostServer:
    """One server with one bot account; use it as a context manager."""

    store: Store = field(default_factory=Store)
    calls: list[Call] = field(default_factory=list)
    faults: deque[Fault] = field(default_factory=deque)
    broken: deque[str] = field(default_factory=deque)
    """Calls, by name, that answer 500 once."""
    retry_after_s: float = 0.2
    page_size: int = 2
    """Posts of one page of a thread at most, so that callers have to turn pages."""
    channel_page_size: int = 200
    """The same of a channel."""
    closed: set[str] = field(default_factory=set)
    """Channels that may not be read, though they are listed."""
    unknown: set[str] = field(default_factory=set)
    """Calls, by name, that the server does not know: it is an old one."""
    burst: int = 0
    """After so many pages of channels one is refused as too many; 0: none."""
    pages: int = 0
    is_revoked: bool = False
    away: web.HTTPException | None = None
    """What the proxy in front of it answers while the server is not there."""
    url: str = ""
    _runner: web.AppRunner | None = None

    def __post_init__(self) -> None:
        self.events = Events(clock=self.store.now_ms)

    @property
    def secrets(self) -> dict[str, str]:
        """For `ChannelConfig.secrets`."""
        return {"bot_token": BOT_TOKEN}

    @property
    def options(self) -> dict[str, str]:
        """For `ChannelConfig.options`; without buttons."""
        return {"server_url": self.url}

    async def __aenter__(self) -> Self:
        app = web.Application(client_max_size=64 * 1024 * 1024)
        api = "/api/v4"
        app.add_routes(
            [
                web.get(f"{api}/websocket", self._socket),
                web.get(f"{api}/users/me", self._call(self._me)),
                web.get(f"{api}/users/me/channels", self._call(self._channels)),
                web.post(f"{api}/users/search", self._call(self._search)),
                web.get(f"{api}/users/{{id}}", self._call(self._person)),
                web.post(f"{api}/channels/direct", self._call(self._direct)),
                web.get(f"{api}/channels/{{id}}", self._call(self._channel)),
                web.get(f"{api}/channels/{{id}}/posts", self._call(self._channel_posts)),
                web.post(f"{api}/posts", self._call(self._make, "make")),
                web.get(f"{api}/posts/{{id}}", self._call(self._post)),
                web.delete(f"{api}/posts/{{id}}", self._call(self._delete)),
                web.put(f"{api}/posts/{{id}}/patch", self._call(self._patch, "patch")),
                web.get(f"{api}/posts/{{id}}/thread", self._call(self._thread)),
                web.post(f"{api}/files", self._call(self._upload)),
                web.get(f"{api}/files/{{id}}/info", self._call(self._info)),
                web.get(f"{api}/files/{{id}}", self._file),
            ]
        )
        self._runner = web.AppRunner(app, shutdown_timeout=0.1)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        self.url = f"http://127.0.0.1:{self._runner.addresses[0][1]}"
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.events.drop()
        if self._runner is not None:
            await self._runner.cleanup()

    # What tests do ------------------------------------------------------------------------

    async def say(
        self,
        text: str,
        *,
        user: str = ANN,
        channel: str = CHANNEL,
        root: str = "",
        files: list[str] | None = None,
        props: Json | None = None,
        kind: str = "",
    ) -> Json:
        """Somebody writes."""
        post = self.store.add_post(
            channel, user, text, root=root, file_ids=files, props=props, kind=kind
        )
        await self.tell(post)
        return post

    async def tell(self, post: Json) -> None:
        """The event of a post."""
        channel = self.store.channels[post["channel_id"]]
        await self.events.send(
            "posted",
            {
                "post": json.dumps(shown(post)),
                "channel_type": channel["type"],
                "team_id": channel["team_id"],
            },
        )

    async def press(self, post_id: str, token: str, *, user: str = ANN) -> tuple[int, Json]:
        """Somebody presses a button; what the callback answered."""
        action = next(
            action
            for part in self.store.require(post_id)["props"]["attachments"]
            for action in part["actions"]
            if action["integration"]["context"]["token"] == token
        )
        return await self.call_back(
            action["integration"]["url"], self.press_body(post_id, action, user=user)
        )

    def press_body(self, post_id: str, action: Json, *, user: str = ANN) -> Json:
        """What the server says of a press."""
        post = self.store.posts[post_id]
        return {
            "user_id": user,
            "channel_id": post["channel_id"],
            "post_id": post_id,
            "type": "button",
            "context": action["integration"]["context"],
        }

    async def call_back(self, url: str, body: object) -> tuple[int, Json]:
        """A call to a callback address."""
        raw = body if isinstance(body, bytes) else json.dumps(body).encode()
        async with (
            aiohttp.ClientSession() as client,
            client.post(url, data=raw, headers={"Content-Type": "application/json"}) as answer,
        ):
            return answer.status, await answer.json()

    async def revoke(self) -> None:
        """The token is good no more."""
        self.is_revoked = self.events.is_revoked = True
        await self.events.drop()

    def ours(self, channel: str, root: str) -> list[Json]:
        """What we posted in a thread."""
        found = [p for p in self.store.posts.values() if p["user_id"] == BOT and not p["delete_at"]]
        inside = [p for p in found if root in (p["root_id"], p["id"])]
        return sorted((p for p in inside if p["channel_id"] == channel), key=order)

    # The interface ------------------------------------------------------------------------

    def _call(self, work: Any, name: str = "") -> Any:
        async def handle(request: web.Request) -> web.StreamResponse:
            return await self._handle(request, work, name or work.__name__.strip("_"))

        return handle

    async def _handle(self, request: web.Request, work: Any, name: str) -> web.StreamResponse:
        is_json = request.can_read_body and "json" in request.content_type
        content = await request.json() if is_json else None
        self.calls.append(Call(name, request.path, content))
        if self.away is not None:
            return web.Response(status=self.away.status, text=self.away.text)
        fault = self.faults.popleft() if self.faults and name in WRITES else None
        if name in self.broken:
            self.broken.remove(name)
            fault = Fault.ERROR_500
        if fault is Fault.RATE_LIMITED:
            return _limited({"Retry-After": str(self.retry_after_s)})
        if fault is Fault.RATE_LIMITED_OLD:
            return _limited({"X-Ratelimit-Reset": "1"})
        if fault is Fault.ERROR_500:
            return web.Response(status=500, text="oops")
        try:
            self._check_token(request)
            self._check_known(name)
            if name == "channel_posts" and self._is_too_often():
                return _limited({"Retry-After": str(self.retry_after_s)})
            answer = await work(request, content)
        except Refusal as refusal:
            return web.json_response(refusal.body, status=refusal.status)
        if fault is Fault.ACCEPTED_THEN_500:
            return web.Response(status=500, text="oops")
        if fault is Fault.ACCEPTED_THEN_CUT and request.transport is not None:
            request.transport.abort()
        return web.json_response(answer, status=201 if name == "make" else 200)

    def _check_token(self, request: web.Request) -> None:
        given = request.headers.get("Authorization", "").removeprefix("Bearer ")
        if self.is_revoked or given != BOT_TOKEN:
            raise Refusal(401, "api.context.session_expired.app_error")

    def _is_too_often(self) -> bool:
        self.pages += 1
        return bool(self.burst) and self.pages % (self.burst + 1) == 0

    def _check_known(self, name: str) -> None:
        if name in self.unknown:
            raise Refusal(404, "api.context.404.app_error")

    async def _socket(self, request: web.Request) -> web.StreamResponse:
        if self.away is not None:
            return web.Response(status=self.away.status, text=self.away.text)
        try:
            self._check_token(request)
        except Refusal as refusal:
            return web.json_response(refusal.body, status=refusal.status)
        return await self.events.serve(request)

    async def _me(self, *_: object) -> Json:
        return self.store.people[BOT]

    async def _channels(self, *_: object) -> list[Json]:
        return list(self.store.channels.values())

    async def _search(self, _: web.Request, given: Json) -> list[Json]:
        people = self.store.people.values()
        return [one for one in people if given["term"].lower() in one["username"]]

    async def _person(self, request: web.Request, _: object) -> Json:
        found = self.store.people.get(request.match_info["id"])
        if found is None:
            raise Refusal(404, "store.sql_user.get.app_error")
        return found

    async def _direct(self, _: web.Request, given: list[str]) -> Json:
        if given != [BOT, ANN]:
            raise Refusal(400, "api.channel.create_direct_channel.invalid_user.app_error")
        return self.store.channels[DIRECT]

    async def _channel(self, request: web.Request, _: object) -> Json:
        found = self.store.channels.get(request.match_info["id"])
        if found is None:
            raise Refusal(404, "app.channel.get.existing.app_error")
        return found

    async def _channel_posts(self, request: web.Request, _: object) -> Json:
        channel = request.match_info["id"]
        if channel in self.closed:
            raise Refusal(403, "api.context.permissions.app_error")
        posts = self.store.posts
        inside = [post for post in posts.values() if post["channel_id"] == channel]
        inside = [post for post in inside if not post["delete_at"]]
        since = int(request.query.get("since", "0"))
        if since:
            # Which ones of more than a thousand nobody says.
            return listed([post for post in inside if post["update_at"] > since][:MAX_SINCE])
        newest = sorted(inside, key=order, reverse=True)
        size = min(int(request.query["per_page"]), self.channel_page_size)
        first = int(request.query.get("page", "0")) * size
        page = newest[first : first + size]
        # The beginnings of their threads come along, and are not in the order; all else as well,
        # unless that is not wanted.
        roots = {post["root_id"] for post in page} - {""}
        is_whole = request.query.get("skipFetchThreads") != "true"
        more = [
            one for one in inside if one["id"] in roots or (is_whole and one["root_id"] in roots)
        ]
        return listed(page) | {"posts": listed([*page, *more])["posts"]}

    async def _make(self, _: web.Request, given: Json) -> Json:
        pending = str(given.get("pending_post_id", ""))
        if pending in self.store.pending:
            return shown(self.store.posts[self.store.pending[pending]])
        _check_length(given["message"])
        post = self.store.add_post(
            given["channel_id"],
            BOT,
            given["message"],
            root=given.get("root_id", ""),
            props=dict(given.get("props") or {}, from_bot="true"),
            file_ids=given.get("file_ids"),
        )
        self.store.pending[pending] = post["id"]
        await self.tell(post)
        return shown(post)

    async def _post(self, request: web.Request, _: object) -> Json:
        return shown(self.store.require(request.match_info["id"]))

    async def _patch(self, request: web.Request, given: Json) -> Json:
        post = self.store.require(request.match_info["id"])
        if post["user_id"] != BOT:
            raise Refusal(403, "api.context.permissions.app_error")
        _check_length(given["message"])
        post["message"] = given["message"]
        # As a whole: before version 11 the mark of a bot goes with the rest.
        post["props"] = dict(given["props"])
        post["update_at"] += 1
        return shown(post)

    async def _delete(self, request: web.Request, _: object) -> Json:
        post = self.store.posts.get(request.match_info["id"])
        if post is None or post["delete_at"]:
            # Nobody may delete what is not there.
            raise Refusal(403, "api.context.permissions.app_error")
        post["delete_at"] = self.store.now_ms()
        return {"status": "OK"}

    async def _thread(self, request: web.Request, _: object) -> Json:
        posts = self.store.thread(request.match_info["id"])
        root, rest = posts[0], posts[1:]
        behind = (int(request.query.get("fromCreateAt", "0")), request.query.get("fromPost", ""))
        left = [post for post in rest if order(post) > behind]
        page = left[: self.page_size]
        return listed([root, *page]) | {"has_next": len(left) > len(page)}

    async def _upload(self, request: web.Request, _: object) -> Json:
        content = await request.read()
        file_id = self.store.add_file(request.query["filename"], content)
        return {"file_infos": [self.store.files[file_id][0]]}

    async def _info(self, request: web.Request, _: object) -> Json:
        return self._found(request)[0]

    async def _file(self, request: web.Request) -> web.StreamResponse:
        try:
            self._check_token(request)
            return web.Response(body=self._found(request)[1])
        except Refusal as refusal:
            return web.json_response(refusal.body, status=refusal.status)

    def _found(self, request: web.Request) -> tuple[Json, bytes]:
        found = self.store.files.get(request.match_info["id"])
        if found is None:
            raise Refusal(404, "app.file_info.get.app_error")
        return found


def _limited(headers: dict[str, str]) -> web.Response:
    return web.json_response({"id": "api.rate_limit"}, status=429, headers=headers)


def _check_length(message: str) -> None:
    if len(message) > MAX_POST:
        raise Refusal(400, "model.post.is_valid.msg.app_error")
