"""What the fake Mattermost holds: people, channels, posts, files, as clients are shown them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

Json = dict[str, Any]


def an_id(name: str) -> str:
    """An id as Mattermost makes them: 26 letters and digits."""
    return name.ljust(26, "0")


TEAM = an_id("team")
BOT = an_id("netclawbot")
ANN = an_id("ann")
BEN = an_id("ben")
CHANNEL = an_id("room")
DIRECT = an_id("direct")
START_MS = 1_700_000_000_000


class Refusal(Exception):
    """An answer that is no success."""

    def __init__(self, status: int, code: str) -> None:
        super().__init__(code)
        self.status = status
        self.body: Json = {"id": code, "message": "Something in words.", "status_code": status}


@dataclass(kw_only=True)
class Store:
    """One server's content."""

    people: dict[str, Json] = field(default_factory=dict)
    channels: dict[str, Json] = field(default_factory=dict)
    posts: dict[str, Json] = field(default_factory=dict)
    files: dict[str, tuple[Json, bytes]] = field(default_factory=dict)
    pending: dict[str, str] = field(default_factory=dict)
    """Posts by the id that whoever made them gave."""
    made: int = 0

    def __post_init__(self) -> None:
        for user, name, first in (
            (BOT, "netclaw", ""),
            (ANN, "ann", "Ann"),
            (BEN, "ben", "Ben"),
        ):
            self.people[user] = {
                "id": user,
                "username": name,
                "first_name": first,
                "is_bot": user == BOT,
                "delete_at": 0,
            }
        self.add_channel(CHANNEL, "O", "room", TEAM)
        self.add_channel(DIRECT, "D", f"{ANN}__{BOT}", "")

    def add_channel(self, channel: str, kind: str, name: str, team: str) -> None:
        """A place."""
        self.channels[channel] = {
            "id": channel,
            "type": kind,
            "name": name,
            "display_name": name,
            "team_id": team,
            "last_post_at": 0,
            "delete_at": 0,
        }

    def next_id(self, kind: str) -> str:
        """An id that is new; ids are in the order in which they were made."""
        self.made += 1
        return f"{kind}{self.made:06d}".ljust(26, "x")

    def now_ms(self) -> int:
        """The server's clock, which goes on with every post."""
        return START_MS + self.made

    def add_post(
        self,
        channel: str,
        user: str,
        message: str,
        *,
        root: str = "",
        props: Json | None = None,
        file_ids: list[str] | None = None,
        kind: str = "",
    ) -> Json:
        """A post; refused where Mattermost would refuse it."""
        if channel not in self.channels:
            raise Refusal(403, "api.context.permissions.app_error")
        if root and (root not in self.posts or self.posts[root]["delete_at"]):
            raise Refusal(400, "api.post.create_post.root_id.app_error")
        post_id = self.next_id("post")
        ids = file_ids or []
        post: Json = {
            "id": post_id,
            "create_at": self.now_ms(),
            "update_at": self.now_ms(),
            "delete_at": 0,
            "channel_id": channel,
            "root_id": root,
            "user_id": user,
            "message": message,
            "type": kind,
            "props": props or {},
            "file_ids": ids,
            "original_id": "",
            "metadata": {"files": [self.files[item][0] for item in ids]} if ids else {},
        }
        self.posts[post_id] = post
        self.channels[channel]["last_post_at"] = post["create_at"]
        return post

    def add_file(self, name: str, content: bytes, media_type: str = "text/plain") -> str:
        """A file's bytes; its id."""
        file_id = self.next_id("file")
        info = {
            "id": file_id,
            "name": name,
            "mime_type": media_type,
            "size": len(content),
            "delete_at": 0,
        }
        self.files[file_id] = (info, content)
        return file_id

    def require(self, post_id: str) -> Json:
        """A post that is there."""
        post = self.posts.get(post_id)
        if post is None or post["delete_at"]:
            raise Refusal(404, "app.post.get.app_error")
        return post

    def thread(self, root: str) -> list[Json]:
        """The posts of a thread, oldest first."""
        self.require(root)
        found = [p for p in self.posts.values() if root in (p["id"], p["root_id"])]
        return sorted((p for p in found if not p["delete_at"]), key=order)


def order(post: Json) -> tuple[int, str]:
    """Of posts in a thread."""
    return post["create_at"], post["id"]


def shown(post: Json) -> Json:
    """A post as clients see it: what a button is bound to stays with the server."""
    props = dict(post["props"])
    if "attachments" in props:
        props["attachments"] = [
            part
            | {
                "actions": [
                    {name: value for name, value in action.items() if name != "integration"}
                    for action in part.get("actions", [])
                ]
            }
            for part in props["attachments"]
        ]
    return {**post, "props": props}


def listed(posts: list[Json]) -> Json:
    """A list of posts as Mattermost answers: newest first, and by id."""
    newest_first = sorted(posts, key=order, reverse=True)
    return {
        "order": [post["id"] for post in newest_first],
        "posts": {post["id"]: shown(post) for post in newest_first},
    }
