"""Reads Slack's messages and button presses as ours; what is neither is None."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from netclaw.adapters.driver import Attachment, Clicked, Place, Received, Thread
from netclaw.adapters.slack.blocks import token_of
from netclaw.adapters.slack.text import from_slack, mentions

Json = Mapping[str, object]

_TS = re.compile(r"(\d{1,12})\.(\d{1,6})")
_SUBTYPES = frozenset({"", "bot_message", "file_share", "me_message", "thread_broadcast"})
"""Messages that somebody wrote. The others tell of edits, deletions, joins, topics and the like."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Self:
    """Who we are at Slack."""

    user_id: str
    bot_id: str
    team_id: str


def read_body(body: Json, me: Self) -> Received | Clicked | None:
    """What an envelope brings."""
    if body.get("type") == "block_actions":
        return _clicked(body, me)
    event = body.get("event")
    if not isinstance(event, dict) or event.get("type") not in ("message", "app_mention"):
        return None
    return read_message(event, _text(event, "channel"), me)


def read_message(event: Json, channel_id: str, me: Self) -> Received | None:
    """A message, live or out of a thread's history.

    Slack tells of a mention twice, as `message` and as `app_mention`: both have one id.
    """
    at = _text(event, "ts")
    if not channel_id or not _TS.fullmatch(at) or event.get("hidden") is True:
        return None
    if _text(event, "subtype") not in _SUBTYPES:
        return None
    root = _text(event, "thread_ts") or at
    raw = _raw_text(event)
    user_id, bot_id = _text(event, "user"), _text(event, "bot_id")
    is_own = is_from(event, me)
    is_mention = event.get("type") == "app_mention" or mentions(raw, me.user_id)
    return Received(
        event_id=event_id(channel_id, at),
        thread=thread_at(channel_id, root, me),
        sender_id=user_id or bot_id,
        text=from_slack(raw),
        at_ms=_at_ms(at),
        is_bot=is_own or bool(bot_id) or _text(event, "subtype") == "bot_message",
        is_own=is_own,
        is_mention=is_mention,
        is_file_share=_text(event, "subtype") == "file_share",
        is_in_thread=root != at,
        mention=f"<@{me.user_id}>" if mentions(raw, me.user_id) else "",
        attachments=_attachments(event),
    )


def is_from(message: Json, me: Self) -> bool:
    """Whether we wrote a message."""
    bot_id = _text(message, "bot_id")
    return _text(message, "user") == me.user_id or bool(bot_id and bot_id == me.bot_id)


def thread_at(channel_id: str, root: str, me: Self) -> Thread:
    """A thread by the message it began with."""
    return Thread(
        channel_id=channel_id,
        thread_id=root,
        place=Place.DIRECT if channel_id.startswith("D") else Place.CHANNEL,
        boundary=f"slack:{me.team_id}/{channel_id}",
    )


def event_id(channel_id: str, at: str) -> str:
    """Names a message: Slack's own envelopes and events have new ids at every delivery."""
    return f"{channel_id}/{at}"


def ts_of(event: str) -> str:
    """The time stamp in a message's id; empty if it holds none."""
    at = event.rpartition("/")[2]
    return at if _TS.fullmatch(at) else ""


def order_of(at: str) -> tuple[int, int]:
    """Time stamps in order."""
    found = _TS.fullmatch(at)
    return (int(found[1]), int(found[2].ljust(6, "0"))) if found else (0, 0)


def _clicked(body: Json, me: Self) -> Clicked | None:
    message, channel, user = (_part(body, name) for name in ("message", "channel", "user"))
    actions = body.get("actions")
    first = actions[0] if isinstance(actions, list) and actions else None
    token = token_of(first) if isinstance(first, dict) else ""
    at, channel_id = _text(message, "ts"), _text(channel, "id")
    if not token or not channel_id or not _TS.fullmatch(at):
        return None
    return Clicked(
        token=token,
        sender_id=_text(user, "id"),
        post_id=at,
        thread=thread_at(channel_id, _text(message, "thread_ts") or at, me),
    )


def _raw_text(event: Json) -> str:
    """What a message says; other systems' alerts say it in attachments alone."""
    text = _text(event, "text")
    legacy = event.get("attachments")
    if text or not isinstance(legacy, list):
        return text
    found = [_text(item, "fallback") or _text(item, "text") for item in legacy if _is_part(item)]
    return "\n".join(piece for piece in found if piece)


def _attachments(event: Json) -> tuple[Attachment, ...]:
    files = event.get("files")
    if not isinstance(files, list):
        return ()
    return tuple(
        Attachment(
            handle=_text(file, "id"),
            name=_text(file, "name") or _text(file, "title") or _text(file, "id"),
            media_type=_text(file, "mimetype"),
            size_bytes=_number(file, "size"),
        )
        for file in files
        if _is_part(file) and _text(file, "id") and _text(file, "mode") != "tombstone"
    )


def _at_ms(at: str) -> int:
    seconds, micros = order_of(at)
    return seconds * 1000 + micros // 1000


def _text(holder: Json, name: str) -> str:
    value = holder.get(name)
    return value if isinstance(value, str) else ""


def _number(holder: Json, name: str) -> int:
    value = holder.get(name)
    return value if isinstance(value, int) else 0


def _part(holder: Json, name: str) -> Json:
    value = holder.get(name)
    return value if isinstance(value, dict) else {}


def _is_part(value: object) -> bool:
    return isinstance(value, dict)
