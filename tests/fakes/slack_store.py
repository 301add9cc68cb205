"""What a workspace of the fake Slack holds: messages, files, people, channels."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from aiohttp import web

Json = dict[str, object]

TEAM, BOT_USER, BOT = "T0TEAM", "U0BOT", "B0BOT"
CHANNEL, ANN, BEN = "C0ROOM", "U0ANN", "U0BEN"
DIRECT = "D0ANN"
MARKDOWN_LIMIT = 12_000
TEXT_LIMIT = 40_000
LABEL_LIMIT, TOKEN_LIMIT, ACTION_LIMIT = 75, 2000, 255


class Refusal(Exception):
    """Slack's `error`."""

    def __init__(self, code: str, **more: object) -> None:
        super().__init__(code)
        self.answer: Json = {"ok": False, "error": code, **more}


@dataclass
class Message:
    """One message; `thread` is its own time stamp if it begins one."""

    channel: str
    ts: str
    thread: str
    user: str
    text: str
    subtype: str = ""
    bot_id: str = ""
    blocks: list[Json] = field(default_factory=list)
    metadata: Json | None = None
    files: list[Json] = field(default_factory=list)

    def as_json(self, *, with_metadata: bool = False) -> Json:
        """As events and histories show it."""
        shown: Json = {"type": "message", "user": self.user, "text": self.text, "ts": self.ts}
        if self.subtype:
            shown["subtype"] = self.subtype
        if self.thread != self.ts:
            shown["thread_ts"] = self.thread
        if self.bot_id:
            shown["bot_id"] = self.bot_id
        if self.blocks:
            shown["blocks"] = self.blocks
        if self.files:
            shown["files"] = self.files
        if with_metadata and self.metadata is not None:
            shown["metadata"] = self.metadata
        return shown

    @property
    def shown(self) -> str:
        """What people read: the markdown block if there is one."""
        pieces = [str(block["text"]) for block in self.blocks if block["type"] == "markdown"]
        return "".join(pieces) or self.text

    @property
    def buttons(self) -> list[Json]:
        """Its buttons, as they were posted."""
        found: list[Json] = []
        for block in self.blocks:
            elements = block.get("elements")
            if isinstance(elements, list):
                found.extend(elements)
        return found


class Workspace:
    """Everything that lasts."""

    def __init__(self) -> None:
        self.messages: dict[str, Message] = {}
        self.files: dict[str, bytes] = {}
        self.file_facts: dict[str, Json] = {}
        self.signs: dict[str, list[str]] = {}
        self.channels = {CHANNEL: "room", "C0LOBBY": "lobby", DIRECT: ""}
        self.people: list[Json] = [
            {"id": ANN, "name": "ann", "real_name": "Ann Example", "profile": {}},
            {"id": BEN, "name": "ben", "profile": {"display_name": "Big Ben"}},
            {"id": "U0GONE", "name": "ann-gone", "deleted": True},
        ]
        self._seconds = 1_700_000_000

    def next_ts(self) -> str:
        """A time stamp that was not used before."""
        self._seconds += 1
        return f"{self._seconds}.{self._seconds % 1_000_000:06}"

    def thread(self, channel: str, root: str) -> list[Message]:
        """A thread, oldest first; raises `Refusal` if there is none."""
        found = [m for m in self.messages.values() if (m.channel, m.thread) == (channel, root)]
        if not found:
            raise Refusal("thread_not_found")
        return sorted(found, key=lambda message: float(message.ts))

    def add(self, message: Message) -> Message:
        """Keep one."""
        self.messages[message.ts] = message
        return message

    def require(self, channel: str, ts: str) -> Message:
        """One message of ours; raises `Refusal`."""
        message = self.messages.get(ts)
        if message is None or message.channel != channel:
            raise Refusal("message_not_found")
        if message.bot_id != BOT:
            raise Refusal("cant_update_message")
        return message

    def add_file(self, name: str, media_type: str, data: bytes, url: str) -> Json:
        """Keep a file; its facts as messages show them."""
        file_id = f"F{len(self.file_facts):04}"
        self.files[file_id] = data
        facts: Json = {
            "id": file_id,
            "name": name,
            "mimetype": media_type,
            "size": len(data),
            "url_private_download": f"{url}/files/{file_id}",
        }
        self.file_facts[file_id] = facts
        return facts


def check_post(text: str, blocks: list[Json]) -> None:
    """Refuse what Slack would."""
    if not text and not blocks:
        raise Refusal("no_text")
    if len(text) > TEXT_LIMIT:
        raise Refusal("msg_too_long")
    markdown = sum(len(str(b["text"])) for b in blocks if b.get("type") == "markdown")
    if markdown > MARKDOWN_LIMIT:
        raise Refusal("msg_blocks_too_long")
    for block in blocks:
        if block.get("type") not in ("markdown", "section", "actions"):
            raise Refusal("invalid_blocks")
        if block["type"] == "actions":
            _check_buttons(block)


def _check_buttons(block: Json) -> None:
    elements = block["elements"]
    assert isinstance(elements, list)
    names = [str(button["action_id"]) for button in elements]
    right = len(set(names)) == len(names) and all(len(name) <= ACTION_LIMIT for name in names)
    for button in elements:
        right = right and len(button["text"]["text"]) <= LABEL_LIMIT
        right = right and 0 < len(button["value"]) <= TOKEN_LIMIT
        right = right and button.get("style", "danger") in ("danger", "primary")
    if not right:
        raise Refusal("invalid_blocks")


async def arguments_of(request: web.Request) -> Json:
    """A request's arguments, in whichever of the ways Slack takes them."""
    if request.content_type == "application/json":
        found: Json = await request.json()
        return found
    return dict(request.query) | dict(await request.post())


def kind_of(channel: str) -> str:
    """`channel_type` of events."""
    return "im" if channel.startswith("D") else "channel"


def blocks_of(given: Json) -> list[Json]:
    """The blocks of a post."""
    blocks = given.get("blocks")
    return [dict(block) for block in blocks] if isinstance(blocks, list) else []


def metadata_of(given: Json) -> Json | None:
    """What a post is named by."""
    found = given.get("metadata")
    return found if isinstance(found, dict) else None


def shown_of(messages: Iterable[Message], given: Json) -> list[Json]:
    """Messages as a method answers them."""
    with_metadata = str(given.get("include_all_metadata", "")) in ("1", "True", "true")
    return [message.as_json(with_metadata=with_metadata) for message in messages]
