"""Reads Discord's messages and button presses as ours; what is neither is None. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from netclaw.adapters.discord.components import token_of, unmarked
from netclaw.adapters.driver import Attachment, Clicked, Place, Received, Thread

Json = Mapping[str, object]

THREADS = frozenset({10, 11, 12})
"""Kinds of channels that are threads."""
DIRECT = 1
"""The kind of channel that a direct message is."""
_WRITTEN = frozenset({0, 19, 20, 23})
"""Kinds of messages that somebody wrote. The others tell of pins, joins, new threads and so on."""
_COMPONENT = 3
_EPOCH_MS = 1_420_070_400_000
_ID = re.compile(r"\d{1,20}")
_NICKNAME = re.compile(r"<@!(\d{1,20})>")
_EMOJI = re.compile(r"<a?:(\w{1,64}):\d{1,20}>")


@dataclass(frozen=True, slots=True, kw_only=True)
class Where:
    """What a channel of Discord's is: a channel, a thread below one, or a person."""

    id: str
    parent_id: str = ""
    """Of a thread."""
    guild_id: str = ""
    """Empty: it is a direct conversation."""

    @property
    def is_direct(self) -> bool:
        """Whether it is a conversation with one person, which is one long session."""
        return not self.guild_id


def thread_at(where: Where, message_id: str) -> Thread:
    """The thread of a message.

    A thread that begins with a message has that message's id: the address is the same before and
    after the thread is made.
    """
    if where.is_direct:
        return Thread(
            channel_id=where.id,
            thread_id=where.id,
            place=Place.DIRECT,
            boundary=f"discord:@me/{where.id}",
        )
    channel_id = where.parent_id or where.id
    return Thread(
        channel_id=channel_id,
        thread_id=where.id if where.parent_id else message_id,
        place=Place.CHANNEL,
        boundary=f"discord:{where.guild_id}/{channel_id}",
    )


def is_one_place(thread: Thread) -> bool:
    """Whether posts go into the channel itself: a direct conversation, or no thread at all."""
    return thread.thread_id in ("", thread.channel_id)


def read_message(message: Json, where: Where, my_id: str) -> Received | None:
    """A message, live or out of a history."""
    message_id = id_of(message, "id")
    if not message_id or message.get("type") not in _WRITTEN:
        return None
    author = part(message, "author")
    sender_id = id_of(author, "id")
    is_own = sender_id == my_id
    shown = unmarked(shown_text(message)) if is_own else shown_text(message)
    mark = f"<@{my_id}>"
    thread = thread_at(where, message_id)
    return Received(
        event_id=f"{thread.channel_id}/{message_id}",
        thread=thread,
        sender_id=sender_id,
        text=shown,
        at_ms=at_ms(message_id),
        is_bot=is_own or author.get("bot") is True or bool(id_of(message, "webhook_id")),
        is_own=is_own,
        is_mention=_mentions(message, my_id),
        is_in_thread=bool(where.parent_id) and where.id != message_id,
        mention=mark if mark in shown else "",
        attachments=_attachments(message),
    )


def read_click(interaction: Json, where: Where) -> Clicked | None:
    """A press of a button."""
    if interaction.get("type") != _COMPONENT:
        return None
    message_id = id_of(part(interaction, "message"), "id")
    person = part(part(interaction, "member"), "user") or part(interaction, "user")
    custom_id = part(interaction, "data").get("custom_id")
    token = token_of(custom_id) if isinstance(custom_id, str) else ""
    if not token or not message_id:
        return None
    return Clicked(
        token=token,
        sender_id=id_of(person, "id"),
        post_id=message_id,
        thread=thread_at(where, message_id),
    )


def read_where(channel: Json, guild_id: str = "") -> Where | None:
    """What a channel is, as Discord shows it."""
    channel_id = id_of(channel, "id")
    if not channel_id:
        return None
    is_thread = channel.get("type") in THREADS
    return Where(
        id=channel_id,
        parent_id=id_of(channel, "parent_id") if is_thread else "",
        guild_id=id_of(channel, "guild_id") or guild_id,
    )


def at_ms(message_id: str) -> int:
    """When a message was written: its id tells."""
    return (int(message_id) >> 22) + _EPOCH_MS


def id_at(ms: int) -> int:
    """The smallest id of a time."""
    return max(ms - _EPOCH_MS, 0) << 22


def message_of(event_id: str) -> str:
    """The message in an event's id; empty if it holds none."""
    found = event_id.rpartition("/")[2]
    return found if _ID.fullmatch(found) else ""


def shown_text(message: Json) -> str:
    """What a message says.

    Other systems' alerts say it in embeds alone, and a forwarded message in what it quotes.
    """
    content = _plain(message.get("content"))
    if content:
        return content
    quoted = [part(item, "message") for item in parts(message, "message_snapshots")]
    found = [_plain(item.get("content")) for item in quoted]
    for embed in parts(message, "embeds"):
        found += [_plain(embed.get(name)) for name in ("title", "description")]
    return "\n".join(piece for piece in found if piece)


def _plain(value: object) -> str:
    if not isinstance(value, str):
        return ""
    return _EMOJI.sub(r":\1:", _NICKNAME.sub(r"<@\1>", value))


def _mentions(message: Json, user_id: str) -> bool:
    """Whether it addresses somebody: by name, or as an answer that notifies.

    Discord's own list: what merely looks like a mention, in code, is none.
    """
    return any(id_of(user, "id") == user_id for user in parts(message, "mentions"))


def _attachments(message: Json) -> tuple[Attachment, ...]:
    return tuple(
        Attachment(
            handle=url,
            name=name if isinstance(name := file.get("filename"), str) else id_of(file, "id"),
            media_type=kind.partition(";")[0] if isinstance(kind, str) else "",
            size_bytes=size if isinstance(size := file.get("size"), int) else 0,
        )
        for file in parts(message, "attachments")
        if isinstance(url := file.get("url"), str)
        for kind in (file.get("content_type"),)
    )


def id_of(holder: Json, name: str) -> str:
    """An id of Discord's; empty if there is none."""
    value = holder.get(name)
    return value if isinstance(value, str) and _ID.fullmatch(value) else ""


def part(holder: Json, name: str) -> Json:
    """An object in another one; empty if there is none."""
    value = holder.get(name)
    return value if isinstance(value, dict) else {}


def parts(holder: Json, name: str) -> list[Json]:
    """The objects of a list in an object."""
    value = holder.get(name)
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []
