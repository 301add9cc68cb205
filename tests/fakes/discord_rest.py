"""The REST calls of the fake Discord, each by its method and path."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from tests.fakes.discord_store import (
    ANN,
    BEN,
    BOT,
    DIRECT,
    GUILD,
    Json,
    Message,
    Refusal,
    Store,
    bad_form,
    check_post,
    member,
    person,
)

SEES_CONTENT = 1 << 19


@dataclass(frozen=True)
class Call:
    """One request."""

    method: str
    path: str
    body: Json
    query: dict[str, str]
    at: float

    def __str__(self) -> str:
        return f"{self.method} {self.path}"


@dataclass
class Rest:
    """What calls do; a message that they make is for the server to publish."""

    store: Store
    page_size: int = 100
    application_flags: int = SEES_CONTENT
    nonces: dict[str, str] = field(default_factory=dict)
    """Messages by nonce, for some minutes; clear it when those are over."""

    def answer(self, call: Call) -> object:
        """What is answered; raises `Refusal`."""
        for method, pattern, work in _ROUTES:
            found = re.fullmatch(pattern, call.path)
            if found is not None and method == call.method:
                return work(self, call, *found.groups())
        raise Refusal(404, 0)

    def guild(self) -> Json:
        """The server, as the gateway tells of it."""
        found = [channel for channel in self.store.channels.values() if "guild_id" in channel]
        return {
            "id": GUILD,
            "name": "Example",
            "channels": [channel for channel in found if "parent_id" not in channel],
            "threads": [channel for channel in found if "parent_id" in channel],
        }

    def _post(self, call: Call, channel: str) -> Message:
        self.store.require_channel(channel)
        check_post(call.body)
        nonce = str(call.body.get("nonce", ""))
        if call.body.get("enforce_nonce") and nonce in self.nonces:
            return self.store.messages[self.nonces[nonce]]
        message = Message(
            self.store.next_id(), channel, BOT, str(call.body.get("content") or ""), nonce=nonce
        )
        _fill(message, call.body)
        self.nonces[nonce] = message.id
        return message

    def _edit(self, call: Call, channel: str, message_id: str) -> Json:
        message = self._own(channel, message_id)
        check_post(call.body)
        message.content = str(call.body["content"])
        _fill(message, call.body)
        return message.as_json()

    def _delete(self, call: Call, channel: str, message_id: str) -> None:
        del call
        del self.store.messages[self._own(channel, message_id).id]

    def _own(self, channel: str, message_id: str) -> Message:
        message = self.store.require(channel, message_id)
        if message.author != BOT:
            raise Refusal(403, 50005)
        return message

    def _one(self, call: Call, channel: str, message_id: str) -> Json:
        del call
        return self.store.require(channel, message_id).as_json()

    def _history(self, call: Call, channel: str) -> list[Json]:
        self.store.require_channel(channel)
        found = self.store.inside(channel)
        limit = min(int(call.query.get("limit", 50)), self.page_size)
        if "after" in call.query:
            found = [m for m in found if int(m.id) > int(call.query["after"])][:limit]
        else:
            before = int(call.query.get("before", 1 << 63))
            found = [m for m in found if int(m.id) < before][-limit:]
        return [message.as_json() for message in reversed(found)]

    def _thread(self, call: Call, channel: str, message_id: str) -> Json:
        return self.store.open_thread(channel, message_id, str(call.body.get("name", "")))

    def _rename(self, call: Call, channel: str) -> Json:
        found = self.store.require_channel(channel)
        found["name"] = str(call.body["name"])
        return found

    def _type(self, call: Call, channel: str) -> None:
        del call
        self.store.require_channel(channel)
        self.store.typing.append(channel)

    def _direct(self, call: Call) -> Json:
        if call.body["recipient_id"] != ANN:
            raise bad_form()
        return self.store.channels[DIRECT]

    def _search(self, call: Call) -> list[Json]:
        wanted = call.query["query"]
        people = [member(ANN, "Annie"), member(BEN)]
        return [
            found
            for found in people
            if str(found["nick"] or "").casefold().startswith(wanted)
            or str(dict(found["user"])["username"]).startswith(wanted)  # type: ignore[call-overload]
        ][: int(call.query["limit"])]


Work = Callable[..., object]
_C, _M = r"/channels/([^/]+)", r"/messages/([^/]+)"
_ROUTES: tuple[tuple[str, str, Work], ...] = (
    ("GET", "/users/@me", lambda _, __: person(BOT)),
    ("GET", "/applications/@me", lambda rest, _: {"id": BOT, "flags": rest.application_flags}),
    ("GET", "/users/@me/guilds", lambda _, __: [{"id": GUILD, "name": "Example"}]),
    ("POST", "/users/@me/channels", Rest._direct),
    ("GET", _C, lambda rest, _, channel: rest.store.require_channel(channel)),
    ("PATCH", _C, Rest._rename),
    ("POST", f"{_C}/typing", Rest._type),
    ("GET", f"{_C}/messages", Rest._history),
    ("POST", f"{_C}/messages", Rest._post),
    ("GET", f"{_C}{_M}", Rest._one),
    ("PATCH", f"{_C}{_M}", Rest._edit),
    ("DELETE", f"{_C}{_M}", Rest._delete),
    ("POST", f"{_C}{_M}/threads", Rest._thread),
    ("GET", f"/guilds/{GUILD}/channels", lambda rest, _: rest.guild()["channels"]),
    ("GET", f"/guilds/{GUILD}/members/search", Rest._search),
)


def _fill(message: Message, given: Json) -> None:
    components, flags = given.get("components"), given.get("flags")
    message.components = components if isinstance(components, list) else []
    message.flags = flags if isinstance(flags, int) else 0
