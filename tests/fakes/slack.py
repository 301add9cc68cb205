"""Slack on loopback: the Web API methods that netclaw uses, Socket Mode, and faults on demand.

    async with SlackServer() as slack:
        config = ChannelConfig(name="slack", secrets=slack.secrets, options=slack.options)
        await slack.say("<@U0BOT> hello")

Strict where Slack is: tokens by kind, limits of posts, pages, permissions of files. `calls` records
every request.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from typing import Self

from aiohttp import web

from tests.fakes.slack_events import Events
from tests.fakes.slack_store import (
    ANN,
    BOT,
    BOT_USER,
    CHANNEL,
    DIRECT,
    TEAM,
    Json,
    Message,
    Refusal,
    Workspace,
    arguments_of,
    blocks_of,
    check_post,
    kind_of,
    metadata_of,
    shown_of,
)

BOT_TOKEN = "xoxb-0123456789-abcdefghijkl"
APP_TOKEN = "xapp-1-A0APP-0123456789-abcdef"
WRITES = frozenset({"chat.postMessage", "chat.update", "files.completeUploadExternal"})


class Fault(Enum):
    """What goes wrong with the next call that posts or edits."""

    RATE_LIMITED = "429 with Retry-After"
    ACCEPTED_THEN_500 = "the post is made, and the answer is 500"
    ACCEPTED_THEN_CUT = "the post is made, and the connection is cut before an answer"
    ERROR_500 = "500, and nothing is made"
    NO_MARKDOWN = "a workspace that takes no markdown blocks"


@dataclass(frozen=True)
class Call:
    """One request of the Web API."""

    method: str
    arguments: Json


@dataclass
class SlackServer:
    """One workspace with one app; use it as a context manager."""

    store: Workspace = field(default_factory=Workspace)
    events: Events = field(default_factory=Events)
    calls: list[Call] = field(default_factory=list)
    faults: deque[Fault] = field(default_factory=deque)
    errors: dict[str, Json] = field(default_factory=dict)
    """Answers by method instead of what it does: `{"error": "missing_scope", ...}`."""
    retry_after_s: float = 0.2
    page_size: int = 2
    """Items of a page at most, so that callers have to turn pages."""
    is_revoked: bool = False
    answer: Callable[[], web.Response] | None = None
    """Instead of whatever a method answers."""
    file_answer: Callable[[], web.Response] | None = None
    """Instead of a file's bytes: a redirect, a page to sign in."""
    file_tokens: list[str] = field(default_factory=list)
    """`Authorization` of requests for files."""
    url: str = ""
    _runner: web.AppRunner | None = None
    _newest: tuple[str, Json] | None = None

    @property
    def secrets(self) -> dict[str, str]:
        """For `ChannelConfig.secrets`."""
        return {"bot_token": BOT_TOKEN, "app_token": APP_TOKEN}

    @property
    def options(self) -> dict[str, str]:
        """For `ChannelConfig.options`."""
        return {"api_base_url": f"{self.url}/api/"}

    async def __aenter__(self) -> Self:
        app = web.Application(client_max_size=64 * 1024 * 1024)
        app.add_routes(
            [
                web.post("/api/{method}", self._api),
                web.get("/api/{method}", self._api),
                web.get("/socket", self.events.serve),
                web.get("/files/{id}", self._file),
                web.post("/upload/{id}", self._take_upload),
            ]
        )
        self._runner = web.AppRunner(app, shutdown_timeout=0.1)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        self.url = f"http://127.0.0.1:{self._runner.addresses[0][1]}"
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.events.close()
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
        subtype: str = "",
        bot_id: str = "",
        files: list[Json] | None = None,
        as_mention: bool = False,
    ) -> Message:
        """Somebody writes; with `as_mention` Slack tells of it twice, as it does of mentions."""
        ts = self.store.next_ts()
        subtype = subtype or ("file_share" if files else "")
        message = Message(
            channel, ts, thread or ts, user, text, subtype, bot_id=bot_id, files=files or []
        )
        self.store.add(message)
        event = message.as_json() | {"channel": channel, "channel_type": kind_of(channel)}
        if as_mention:
            await self.tell(event | {"type": "app_mention"})
        await self.tell(event)
        return message

    async def tell(self, event: Json) -> str:
        """Any event of the Events API; the envelope's id."""
        self._newest = (
            "events_api",
            {
                "type": "event_callback",
                "team_id": TEAM,
                "event": event,
                "event_id": f"Ev{len(self.events.delivered)}",
                "event_time": 1_700_000_000,
            },
        )
        return await self.events.send(*self._newest)

    async def say_again(self) -> None:
        """The newest event comes once more."""
        assert self._newest is not None
        await self.events.send(*self._newest, attempt=1)

    async def press(self, ts: str, token: str, *, user: str = ANN) -> str:
        """Somebody presses a button; the envelope's id."""
        message = self.store.messages[ts]
        (button,) = [found for found in message.buttons if found["value"] == token]
        payload: Json = {
            "type": "block_actions",
            "user": {"id": user},
            "team": {"id": TEAM},
            "channel": {"id": message.channel},
            "message": message.as_json(),
            "actions": [{"type": "button", **button}],
        }
        return await self.events.send("interactive", payload)

    async def revoke(self) -> None:
        """Both tokens are good no more."""
        self.is_revoked = True
        await self.events.drop()

    def ours(self, channel: str, thread: str) -> list[Message]:
        """What we posted in a thread."""
        found = [m for m in self.store.messages.values() if m.bot_id == BOT]
        return [m for m in found if (m.channel, m.thread) == (channel, thread)]

    def methods(self) -> list[str]:
        """The methods that were called."""
        return [call.method for call in self.calls]

    # The Web API --------------------------------------------------------------------------

    async def _api(self, request: web.Request) -> web.Response:
        method = request.match_info["method"]
        arguments = await arguments_of(request)
        self.calls.append(Call(method, arguments))
        if self.answer is not None:
            return self.answer()
        fault = self.faults.popleft() if self.faults and method in WRITES else None
        if fault is Fault.RATE_LIMITED:
            headers = {"Retry-After": str(self.retry_after_s)}
            return web.json_response(
                {"ok": False, "error": "ratelimited"}, status=429, headers=headers
            )
        if fault is Fault.ERROR_500:
            return web.Response(status=500, text="oops")
        try:
            self._check_token(request, method)
            self._check_call(method, arguments, fault)
            answer = _METHODS[method](self, arguments)
        except Refusal as refusal:
            return web.json_response(refusal.answer)
        if fault is Fault.ACCEPTED_THEN_500:
            return web.Response(status=500, text="oops")
        if fault is Fault.ACCEPTED_THEN_CUT and request.transport is not None:
            request.transport.abort()
        return web.json_response({"ok": True, **answer})

    def _check_token(self, request: web.Request, method: str) -> None:
        given = request.headers.get("Authorization", "").removeprefix("Bearer ")
        if self.is_revoked:
            raise Refusal("token_revoked")
        if given not in (BOT_TOKEN, APP_TOKEN):
            raise Refusal("invalid_auth")
        if (given == APP_TOKEN) != (method == "apps.connections.open"):
            raise Refusal("not_allowed_token_type")

    def _check_call(self, method: str, arguments: Json, fault: Fault | None) -> None:
        error = self.errors.get(method)
        if error is not None:
            raise Refusal(str(error["error"]), **error)
        if fault is Fault.NO_MARKDOWN and "markdown" in str(arguments.get("blocks")):
            raise Refusal("invalid_blocks")

    def _auth(self, _: Json) -> Json:
        return {
            "user_id": BOT_USER,
            "user": "netclaw",
            "bot_id": BOT,
            "team_id": TEAM,
            "team": "Example",
        }

    def _open(self, _: Json) -> Json:
        return {"url": f"{self.url.replace('http', 'ws')}/socket?ticket={self.events.ticket()}"}

    def _post(self, given: Json) -> Json:
        channel, ts = str(given["channel"]), self.store.next_ts()
        if channel not in self.store.channels:
            raise Refusal("channel_not_found")
        blocks = blocks_of(given)
        check_post(str(given.get("text", "")), blocks)
        message = Message(
            channel,
            ts,
            str(given.get("thread_ts") or ts),
            BOT_USER,
            str(given["text"]),
            bot_id=BOT,
            blocks=blocks,
            metadata=metadata_of(given),
        )
        self.store.add(message)
        return {"channel": channel, "ts": ts, "message": message.as_json()}

    def _update(self, given: Json) -> Json:
        message = self.store.require(str(given["channel"]), str(given["ts"]))
        blocks = blocks_of(given)
        check_post(str(given.get("text", "")), blocks)
        message.text, message.blocks = str(given["text"]), blocks
        # Whether Slack keeps what an update leaves out is not to be relied on.
        message.metadata = metadata_of(given)
        return {"channel": message.channel, "ts": message.ts, "text": message.text}

    def _delete(self, given: Json) -> Json:
        message = self.store.require(str(given["channel"]), str(given["ts"]))
        del self.store.messages[message.ts]
        return {"ts": message.ts}

    def _replies(self, given: Json) -> Json:
        found = self.store.thread(str(given["channel"]), str(given["ts"]))
        oldest = float(str(given.get("oldest") or 0))
        rest = [message for message in found[1:] if float(message.ts) > oldest]
        page = self._page(rest, given)
        return page | {"messages": shown_of([found[0], *_listed(page)], given)}

    def _history(self, given: Json) -> Json:
        messages = self.store.messages.values()
        roots = [m for m in messages if m.channel == given["channel"] and m.ts == m.thread]
        return {"messages": shown_of(reversed(roots), given)}

    def _status(self, given: Json) -> Json:
        place = f"{given['channel_id']}/{given['thread_ts']}"
        self.store.signs.setdefault(place, []).append(str(given.get("status", "")))
        return {}

    def _direct(self, given: Json) -> Json:
        if given["users"] != ANN:
            raise Refusal("user_not_found")
        return {"channel": {"id": DIRECT}}

    def _people(self, given: Json) -> Json:
        page = self._page(self.store.people, given)
        return page | {"members": _listed(page)}

    def _channels(self, given: Json) -> Json:
        named: list[Json] = [
            {"id": key, "name": name} for key, name in self.store.channels.items() if name
        ]
        page = self._page(named, given)
        return page | {"channels": _listed(page)}

    def _page(self, found: list[Json] | list[Message], given: Json) -> Json:
        start = int(str(given.get("cursor") or 0))
        end = start + min(int(str(given.get("limit") or 100)), self.page_size)
        cursor = str(end) if end < len(found) else ""
        return {"items": found[start:end], "response_metadata": {"next_cursor": cursor}}

    # Files --------------------------------------------------------------------------------

    def _facts(self, given: Json) -> Json:
        facts = self.store.file_facts.get(str(given["file"]))
        if facts is None:
            raise Refusal("file_not_found")
        return {"file": facts}

    def _ticket(self, given: Json) -> Json:
        facts = self.store.add_file(str(given["filename"]), "text/plain", b"", self.url)
        facts["size"] = int(str(given["length"]))
        return {"file_id": facts["id"], "upload_url": f"{self.url}/upload/{facts['id']}"}

    def _complete(self, given: Json) -> Json:
        (file,) = json.loads(str(given["files"]))
        facts = self.store.file_facts[file["id"]]
        if len(self.store.files[file["id"]]) != facts["size"]:
            raise Refusal("file_not_uploaded")
        channel, ts = str(given["channel_id"]), self.store.next_ts()
        root = str(given.get("thread_ts") or ts)
        facts["shares"] = {"public": {channel: [{"ts": ts, "thread_ts": root}]}}
        self.store.add(
            Message(channel, ts, root, BOT_USER, "", "file_share", bot_id=BOT, files=[facts])
        )
        return {"files": [{"id": file["id"], "title": file["title"]}]}

    async def _file(self, request: web.Request) -> web.Response:
        self.file_tokens.append(request.headers.get("Authorization", ""))
        if self.file_answer is not None:
            return self.file_answer()
        if self.file_tokens[-1] != f"Bearer {BOT_TOKEN}":
            return web.Response(status=302, headers={"Location": "/signin"})
        return web.Response(body=self.store.files[request.match_info["id"]])

    async def _take_upload(self, request: web.Request) -> web.Response:
        assert "Authorization" not in request.headers
        self.store.files[request.match_info["id"]] = await request.read()
        return web.Response(text="OK")


_METHODS: dict[str, Callable[[SlackServer, Json], Json]] = {
    "apps.connections.open": SlackServer._open,
    "assistant.threads.setStatus": SlackServer._status,
    "auth.test": SlackServer._auth,
    "chat.delete": SlackServer._delete,
    "chat.postMessage": SlackServer._post,
    "chat.update": SlackServer._update,
    "conversations.history": SlackServer._history,
    "conversations.list": SlackServer._channels,
    "conversations.open": SlackServer._direct,
    "conversations.replies": SlackServer._replies,
    "files.completeUploadExternal": SlackServer._complete,
    "files.getUploadURLExternal": SlackServer._ticket,
    "files.info": SlackServer._facts,
    "users.list": SlackServer._people,
}


def _listed(page: Json) -> list[Message]:
    found = page.pop("items")
    assert isinstance(found, list)
    return found
