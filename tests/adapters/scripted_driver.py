"""A driver in memory: what it is asked is kept, and it fails as it is told."""

from __future__ import annotations

import asyncio
from collections import defaultdict, deque
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

from netclaw.adapters.driver import (
    Abilities,
    Account,
    Attachment,
    Button,
    Found,
    Health,
    Incoming,
    Post,
    Received,
    RefusedFailure,
    Thread,
)

ABILITIES = Abilities(text_limit=100, has_buttons=True, has_edit=True, has_status=True)


class ScriptedDriver:
    """A platform that keeps posts by thread; implements `Driver`."""

    def __init__(self, abilities: Abilities = ABILITIES) -> None:
        self.abilities = abilities
        self.posts: list[Post] = []
        """As they are shown now."""
        self.ids: dict[str, str] = {}
        """Key to post id."""
        self.calls: list[str] = []
        self.refusals: deque[Exception] = deque()
        """Raised by the next posts instead of making them."""
        self.silent_failures: deque[Exception] = deque()
        """Raised by the next posts after making them."""
        self.edit_failures: deque[Exception] = deque()
        self.delete_failures: deque[Exception] = deque()
        self.signs: dict[str, list[str]] = defaultdict(list)
        self.gates: dict[str, asyncio.Event] = {}
        """Address to what its next post waits for."""
        self.stuck: asyncio.Event | None = None
        """What posts wait for after they are made."""
        self.failures_at: dict[int, Exception] = {}
        """Raised instead of making the post of this number, counted from one."""
        self.broken: dict[str, Exception] = {}
        """Address to what its posts always meet."""

    async def post(self, post: Post) -> str:
        """Make a message."""
        self.calls.append(f"post {post.key}")
        gate = self.gates.pop(post.thread.address, None)
        if gate is not None:
            await gate.wait()
        if post.thread.address in self.broken:
            raise self.broken[post.thread.address]
        failure = self.failures_at.pop(len(self.posts) + 1, None)
        if failure is not None:
            raise failure
        if self.refusals:
            raise self.refusals.popleft()
        if self.abilities.enforces_keys and post.key in self.ids:
            return self.ids[post.key]
        post_id = f"m{len(self.posts) + 1}"
        self.posts.append(post)
        self.ids[post.key] = post_id
        if self.stuck is not None:
            await self.stuck.wait()
        if self.silent_failures:
            raise self.silent_failures.popleft()
        return post_id

    async def find_post(self, thread: Thread, key: str) -> str | None:
        """A message by its key."""
        del thread
        self.calls.append(f"find {key}")
        return self.ids.get(key)

    async def edit(
        self, thread: Thread, post_id: str, text: str, buttons: tuple[Button, ...]
    ) -> None:
        """Replace a message."""
        del thread
        self.calls.append(f"edit {post_id}")
        if self.edit_failures:
            raise self.edit_failures.popleft()
        index = int(post_id[1:]) - 1
        if post_id not in self.ids.values():
            raise RefusedFailure("The message is gone.")
        self.posts[index] = replace(self.posts[index], text=text, buttons=buttons)

    async def delete(self, thread: Thread, post_id: str) -> None:
        """Remove a message."""
        del thread
        self.calls.append(f"delete {post_id}")
        if self.delete_failures:
            raise self.delete_failures.popleft()
        self.ids = {key: known for key, known in self.ids.items() if known != post_id}

    async def set_status(self, thread: Thread, text: str) -> None:
        """Keep a sign."""
        self.calls.append("sign")
        if self.refusals:
            raise self.refusals.popleft()
        self.signs[thread.address].append(text)

    def shown(self, address: str) -> list[str]:
        """The texts of a thread."""
        return [
            post.text
            for index, post in enumerate(self.posts, start=1)
            if post.thread.address == address and f"m{index}" in self.ids.values()
        ]

    def buttons(self, key: str) -> dict[str, Button]:
        """The buttons of a post as they are shown now, by label."""
        post = self.posts[int(self.ids[key][1:]) - 1]
        return {button.label: button for button in post.buttons}

    def health(self) -> Health:
        """Always there."""
        return Health.READY

    async def check(self) -> Account:
        """Not asked here."""
        raise NotImplementedError

    def events(self) -> AsyncIterator[Incoming]:
        """Not asked here."""
        raise NotImplementedError

    async def set_title(self, thread: Thread, title: str) -> None:
        """Not asked here."""
        raise NotImplementedError

    async def open_direct(self, user_id: str) -> str:
        """The conversation with a person."""
        return f"D-{user_id}"

    async def begin_thread(self, channel_id: str, post: str, key: str) -> Thread:
        """Post at the top of a place."""
        thread = Thread.at(f"{channel_id}/{key}")
        await self.post(Post(thread=thread, key=key, text=post))
        return thread

    async def find_thread(self, channel_id: str, key: str) -> Thread | None:
        """A thread by the key of its first post."""
        self.calls.append(f"find thread {key}")
        return Thread.at(f"{channel_id}/{key}") if key in self.ids else None

    async def backfill(self, thread: Thread, *, after: str, limit: int) -> tuple[Received, ...]:
        """Not asked here."""
        raise NotImplementedError

    async def download(self, attachment: Attachment, target: Path, limit_bytes: int) -> None:
        """Not asked here."""
        raise NotImplementedError

    async def upload(self, thread: Thread, path: Path, name: str, key: str) -> str:
        """Show a file's name and its bytes."""
        text = f"{name}: {await asyncio.to_thread(path.read_text)}"
        return await self.post(Post(thread=thread, key=key, text=text))

    async def find_users(self, text: str) -> tuple[Found, ...]:
        """Not asked here."""
        raise NotImplementedError

    async def find_places(self, text: str) -> tuple[Found, ...]:
        """Not asked here."""
        raise NotImplementedError

    async def close(self) -> None:
        """Nothing is open."""
