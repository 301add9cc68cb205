"""Reads Mattermost's posts, channels and events as ours; what is none of them is None."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass

from netclaw.adapters.driver import Attachment, Place, Received, Thread
from netclaw.adapters.mattermost.client import number, part, text
from netclaw.adapters.mattermost.text import mention_in

Json = Mapping[str, object]

KEY = "netclaw_key"
"""The property of a post that names it for ever; people do not see it."""
_EVENT = re.compile(r"(\d{1,16})\.([A-Za-z0-9]{1,64})")
_TYPES = frozenset({"", "me", "slack_attachment"})
"""Posts that somebody wrote. The others tell of joins, headers, calls and the like."""
_MACHINES = ("from_bot", "from_webhook", "from_plugin", "from_oauth_app")
_DIRECT = "D"
_NO_TEAM = "direct"


@dataclass(frozen=True, slots=True, kw_only=True)
class Self:
    """Who we are at Mattermost."""

    user_id: str
    username: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Channel:
    """A conversation of many threads."""

    id: str
    kind: str
    """O, P, D and G: open, private, direct and of a group."""
    team_id: str = ""
    """Empty for direct and group conversations, which are the whole server's."""
    name: str = ""
    title: str = ""
    last_post_at: int = 0

    def thread(self, root: str) -> Thread:
        """A thread by the post it began with."""
        return Thread(
            channel_id=self.id,
            thread_id=root,
            place=Place.DIRECT if self.kind == _DIRECT else Place.CHANNEL,
            boundary=f"mattermost:{self.team_id or _NO_TEAM}/{self.id}",
        )


def read_channel(found: Json) -> Channel:
    """A channel as the server describes it."""
    return Channel(
        id=text(found, "id"),
        kind=text(found, "type"),
        team_id=text(found, "team_id"),
        name=text(found, "name"),
        title=text(found, "display_name"),
        last_post_at=number(found, "last_post_at"),
    )


def read_posted(data: Json) -> tuple[Json, Channel | None]:
    """The post that a `posted` event tells of, and its channel as far as the event says."""
    try:
        post = json.loads(text(data, "post"))
    except (ValueError, RecursionError):
        return {}, None
    if not isinstance(post, dict):
        return {}, None
    kind, team_id = text(data, "channel_type"), data.get("team_id")
    if not kind or not isinstance(team_id, str):
        return post, None
    return post, Channel(id=text(post, "channel_id"), kind=kind, team_id=team_id)


def read_post(post: Json, channel: Channel, me: Self) -> Received | None:
    """A message, live or out of a thread's history."""
    post_id, at = text(post, "id"), number(post, "create_at")
    is_ours_to_read = text(post, "type") in _TYPES and text(post, "channel_id") == channel.id
    # A post that was edited keeps its id; the copy of what it was before names the original.
    is_over = number(post, "delete_at") > 0 or bool(text(post, "original_id"))
    if not _EVENT.fullmatch(f"{at}.{post_id}") or not is_ours_to_read or is_over or at <= 0:
        return None
    sender_id = text(post, "user_id")
    shown = _shown(post)
    mention = mention_in(text(post, "message"), me.username)
    is_own = sender_id == me.user_id
    return Received(
        event_id=event_id(at, post_id),
        thread=channel.thread(text(post, "root_id") or post_id),
        sender_id=sender_id,
        text=shown,
        at_ms=at,
        is_bot=is_own or _is_machines(post),
        is_own=is_own,
        is_mention=bool(mention),
        is_in_thread=bool(text(post, "root_id")),
        mention=mention,
        attachments=_attachments(post),
    )


def event_id(at_ms: int, post_id: str) -> str:
    """Names a post, and says where in its thread it stands: posts are ordered by both."""
    return f"{at_ms}.{post_id}"


def order_of(event: str) -> tuple[int, str]:
    """The place of a post in its thread; before all of them for what names none."""
    found = _EVENT.fullmatch(event)
    return (int(found[1]), found[2]) if found else (0, "")


def order_of_post(post: Json) -> tuple[int, str]:
    """The same of a post itself."""
    return number(post, "create_at"), text(post, "id")


def key_of(post: Json) -> str:
    """The key that a post was made with; empty if it has none."""
    return text(part(post, "props"), KEY)


def posts_of(answer: Json) -> list[Json]:
    """The posts of a list, oldest first, each once."""
    found = part(answer, "posts")
    return sorted((post for post in found.values() if isinstance(post, dict)), key=order_of_post)


def _is_machines(post: Json) -> bool:
    """Whether no person wrote it; a webhook's post bears the name of whoever made the webhook."""
    props = part(post, "props")
    return any(props.get(name) in ("true", True) for name in _MACHINES)


def _shown(post: Json) -> str:
    """What a post says; other systems' alerts say it in attachments alone."""
    message = text(post, "message")
    found = part(post, "props").get("attachments")
    if message or not isinstance(found, list):
        return message
    pieces = [text(item, "fallback") or text(item, "text") for item in found if _is_part(item)]
    return "\n".join(said for said in pieces if said)


def _attachments(post: Json) -> tuple[Attachment, ...]:
    files = part(post, "metadata").get("files")
    if not isinstance(files, list):
        return ()
    return tuple(
        Attachment(
            handle=text(file, "id"),
            name=text(file, "name") or text(file, "id"),
            media_type=text(file, "mime_type").partition(";")[0].strip(),
            size_bytes=number(file, "size"),
        )
        for file in files
        if _is_part(file) and text(file, "id") and number(file, "delete_at") == 0
    )


def _is_part(value: object) -> bool:
    return isinstance(value, dict)
