"""Makes, finds, changes and removes our posts."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator, Mapping, Sequence

from netclaw.adapters.driver import Button, RefusedFailure, Thread
from netclaw.adapters.mattermost.buttons import Tokens, attachments
from netclaw.adapters.mattermost.client import Client, Json, number, piece, text
from netclaw.adapters.mattermost.failures import GoneFailure
from netclaw.adapters.mattermost.payloads import (
    KEY,
    key_of,
    order_of,
    order_of_post,
    posts_of,
)
from netclaw.adapters.mattermost.text import to_mattermost

PAGE = 200
RECENT = 200
"""How many of a channel's posts are looked through for one that begins a thread."""
ALONE = {"skipFetchThreads": "true"}
"""Else the whole thread comes with every reply."""
KNOWN = 4096
"""Posts whose keys are kept in memory, for changing them."""


class Posts:
    """Our posts in every thread."""

    def __init__(self, client: Client, tokens: Tokens) -> None:
        self._client = client
        self._settings = client.settings
        self._tokens = tokens
        self._keys: dict[str, str] = {}

    async def make(
        self,
        me: str,
        thread: Thread,
        key: str,
        shown: str,
        *,
        buttons: tuple[Button, ...] = (),
        files: Sequence[str] = (),
    ) -> str:
        """Post below the thread's root, or to the channel if it has none; the post's id.

        The server knows a repeated post by its `pending_post_id` only for half a minute and on one
        of its machines, so that who repeats one looks for its key first.
        """
        self._tokens.offer(thread, buttons)
        answer = await self._client.ask(
            "POST",
            "/posts",
            content={
                "channel_id": thread.channel_id,
                "root_id": thread.thread_id,
                "message": to_mattermost(shown),
                "props": self._props(thread, key, buttons),
                "file_ids": list(files),
                "pending_post_id": _pending(me, thread, key),
            },
        )
        post_id = text(answer, "id")
        self._remember(post_id, key)
        self._tokens.bind(post_id, buttons)
        return post_id

    async def find(self, me: str, thread: Thread, key: str) -> str | None:
        """A post of ours by its key; of a thread without an id, one that begins a thread."""
        try:
            async for post in self._posts(thread):
                # Whoever may post may put our key into theirs.
                if key_of(post) == key and text(post, "user_id") == me:
                    self._remember(text(post, "id"), key)
                    return text(post, "id")
        except GoneFailure:
            # Its root was deleted. Whether a post is taken there is Mattermost's to say.
            return None
        return None

    async def change(
        self, thread: Thread, post_id: str, shown: str, buttons: tuple[Button, ...]
    ) -> None:
        """Replace a post. Its properties are replaced as a whole, or buttons would stay."""
        key = self._keys.get(post_id)
        if key is None:
            key = key_of(await self._client.ask("GET", f"/posts/{piece(post_id)}"))
            self._remember(post_id, key)
        self._tokens.offer(thread, buttons)
        await self._client.ask(
            "PUT",
            f"/posts/{piece(post_id)}/patch",
            content={
                "message": to_mattermost(shown),
                "props": self._props(thread, key, buttons),
            },
        )
        self._tokens.bind(post_id, buttons)

    async def remove(self, post_id: str) -> None:
        """Remove a post; one that is gone is fine."""
        try:
            await self._client.ask("DELETE", f"/posts/{piece(post_id)}")
        except RefusedFailure:
            # Of one that is gone Mattermost says that it may not be deleted.
            if not await self._is_gone(post_id):
                raise
        self._tokens.forget(post_id)
        self._keys.pop(post_id, None)

    async def _is_gone(self, post_id: str) -> bool:
        try:
            await self._client.ask("GET", f"/posts/{piece(post_id)}")
        except GoneFailure:
            return True
        return False

    def _props(self, thread: Thread, key: str, buttons: tuple[Button, ...]) -> Json:
        # A change would take the server's own mark away, and other machines would answer us.
        made: Json = {KEY: key, "from_bot": "true"}
        shown = attachments(buttons, thread, self._settings.action_url, self._settings.token)
        return made | {"attachments": shown} if shown else made

    async def _posts(self, thread: Thread) -> AsyncIterator[Mapping[str, object]]:
        if thread.thread_id:
            async for post in thread_posts(self._client, thread):
                yield post
            return
        answer = await self._client.ask(
            "GET",
            f"/channels/{piece(thread.channel_id)}/posts",
            query={"per_page": str(RECENT), "page": "0"} | ALONE,
        )
        for post in reversed(posts_of(answer)):
            if not text(post, "root_id"):
                yield post

    def _remember(self, post_id: str, key: str) -> None:
        self._keys[post_id] = key
        if len(self._keys) > KNOWN:
            del self._keys[next(iter(self._keys))]


async def thread_posts(
    client: Client, thread: Thread, *, after: str = ""
) -> AsyncIterator[Mapping[str, object]]:
    """A thread's posts, oldest first, behind an event id."""
    last = order_of(after)
    while True:
        query = {"perPage": str(PAGE), "direction": "down"}
        if last > (0, ""):
            query |= {"fromCreateAt": str(last[0]), "fromPost": last[1]}
        answer = await client.ask("GET", f"/posts/{piece(thread.thread_id)}/thread", query=query)
        before = last
        for post in posts_of(answer):
            if order_of_post(post) > last:  # the root comes with every page
                last = order_of_post(post)
                yield post
        if answer.get("has_next") is not True or last == before:
            return


async def posts_since(client: Client, channel_id: str, since: int) -> list[Mapping[str, object]]:
    """A channel's posts that were made since a time, each once.

    Page by page, the newest first: asked by the time alone, the server gives a thousand at most,
    and does not say which.
    """
    found: dict[str, Mapping[str, object]] = {}
    page = 0
    while True:
        query = {"per_page": str(PAGE), "page": str(page)} | ALONE
        answer = await client.ask("GET", f"/channels/{piece(channel_id)}/posts", query=query)
        # The posts that began their threads come along, out of the order.
        listed, order = posts_of(answer), answer.get("order")
        ids = set(map(str, order)) if isinstance(order, list) else set()
        times = [number(post, "create_at") for post in listed if text(post, "id") in ids]
        found |= {text(post, "id"): post for post in listed if number(post, "create_at") >= since}
        if not times or min(times) < since:
            return list(found.values())
        page += 1


def _pending(me: str, thread: Thread, key: str) -> str:
    """The same for the same post, and never another's: the server knows it across accounts."""
    words = "\n".join((me, thread.address, key))
    return f"{me}:{hashlib.sha256(words.encode('utf-8', 'replace')).hexdigest()[:32]}"
