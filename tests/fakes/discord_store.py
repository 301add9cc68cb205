"""What the servers of the fake Discord hold: messages, threads, files, people, channels."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

Json = dict[str, object]

GUILD, CHANNEL, LOBBY, VOICE = (
    "900000000000000001",
    "900000000000000010",
    "900000000000000011",
    "12",
)
BOT, ANN, BEN = "900000000000000100", "900000000000000101", "900000000000000102"
DIRECT = "900000000000000200"
EPOCH_MS = 1_420_070_400_000
TEXT_LIMIT, LABEL_LIMIT, CUSTOM_ID_LIMIT, NONCE_LIMIT, NAME_LIMIT = 2_000, 80, 100, 25, 100
TEXT, DM, PUBLIC_THREAD, VOICE_KIND = 0, 1, 11, 2


class Refusal(Exception):
    """Discord's status and code."""

    def __init__(self, status: int, code: int) -> None:
        super().__init__(f"{status} {code}")
        self.status = status
        self.answer: Json = {"code": code, "message": f"refused with {code}"}


def unknown_channel() -> Refusal:
    """What Discord says of a channel that is not there."""
    return Refusal(404, 10003)


def bad_form() -> Refusal:
    """What Discord says of what it does not take."""
    return Refusal(400, 50035)


@dataclass
class Message:
    """One message; `nonce` is told when it is made, and in no history."""

    id: str
    channel: str
    author: str
    content: str
    components: list[Json] = field(default_factory=list)
    attachments: list[Json] = field(default_factory=list)
    nonce: str = ""
    flags: int = 0
    kind: int = 0
    extra: Json = field(default_factory=dict)

    def as_json(self) -> Json:
        """As histories show it."""
        names = [user for user in (BOT, ANN, BEN) if f"<@{user}>" in self.content]
        return {
            "id": self.id,
            "channel_id": self.channel,
            "type": self.kind,
            "author": person(self.author),
            "content": self.content,
            "components": self.components,
            "attachments": self.attachments,
            "embeds": [],
            "mentions": [person(user) for user in names],
            "flags": self.flags,
            **self.extra,
        }

    @property
    def buttons(self) -> list[Json]:
        """Its buttons, as they were posted."""
        found: list[Json] = []
        for row in self.components:
            inner = row["components"]
            assert isinstance(inner, list)
            found.extend(inner)
        return found


class Store:
    """Everything that lasts."""

    def __init__(self) -> None:
        self.messages: dict[str, Message] = {}
        self.channels: dict[str, Json] = {
            CHANNEL: {"id": CHANNEL, "type": TEXT, "name": "room", "guild_id": GUILD},
            LOBBY: {"id": LOBBY, "type": TEXT, "name": "lobby", "guild_id": GUILD},
            VOICE: {"id": VOICE, "type": VOICE_KIND, "name": "room to talk", "guild_id": GUILD},
            DIRECT: {"id": DIRECT, "type": DM, "recipients": [{"id": ANN}]},
        }
        """Channels and threads, as Discord shows them."""
        self.files: dict[str, bytes] = {}
        self.typing: list[str] = []
        """The channels in which we were seen typing, in order."""
        self._last = 0

    def next_id(self) -> str:
        """An id that was not used before; it holds the time."""
        now = (time.time_ns() // 1_000_000 - EPOCH_MS) << 22
        self._last = max(self._last + 1, now)
        return str(self._last)

    def require_channel(self, channel: str) -> Json:
        """A channel; raises `Refusal`."""
        if channel not in self.channels:
            raise unknown_channel()
        return self.channels[channel]

    def require(self, channel: str, message: str) -> Message:
        """A message of a channel; raises `Refusal`."""
        self.require_channel(channel)
        found = self.messages.get(message)
        if found is None or found.channel != channel:
            raise Refusal(404, 10008)
        return found

    def open_thread(self, channel: str, message: str, name: str) -> Json:
        """Make a message's thread, which has its id; raises `Refusal`."""
        self.require(channel, message)
        if message in self.channels:
            raise Refusal(400, 160004)
        if not 0 < len(name) <= NAME_LIMIT:
            raise bad_form()
        made: Json = {
            "id": message,
            "type": PUBLIC_THREAD,
            "parent_id": channel,
            "guild_id": GUILD,
            "name": name,
        }
        self.channels[message] = made
        return made

    def inside(self, channel: str) -> list[Message]:
        """A channel's messages, oldest first."""
        return [message for message in self.messages.values() if message.channel == channel]


def person(user: str) -> Json:
    """Somebody, as messages show them."""
    names = {BOT: "netclaw", ANN: "ann", BEN: "ben"}
    return {"id": user, "username": names.get(user, "somebody"), "bot": user == BOT}


def member(user: str, nick: str | None = None) -> Json:
    """Somebody in a server."""
    return {"user": person(user) | {"global_name": None}, "nick": nick}


def check_post(given: Json) -> None:
    """Refuse what Discord would."""
    content, components = given.get("content"), given.get("components") or []
    if not content and not components and not given.get("attachments"):
        raise Refusal(400, 50006)
    if len(str(content or "")) > TEXT_LIMIT or len(str(given.get("nonce", ""))) > NONCE_LIMIT:
        raise bad_form()
    assert isinstance(components, list)
    buttons = [button for row in components for button in row["components"]]
    right = len(components) <= 5 and all(0 < len(row["components"]) <= 5 for row in components)
    right = right and len({button["custom_id"] for button in buttons}) == len(buttons)
    for button in buttons:
        right = right and 0 < len(button["label"]) <= LABEL_LIMIT
        right = right and 0 < len(button["custom_id"]) <= CUSTOM_ID_LIMIT
        right = right and button["style"] in (1, 2, 3, 4)
    if not right:
        raise bad_form()
