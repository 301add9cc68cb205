"""The driver of Mattermost: what `netclaw.adapters.driver.Driver` asks for, in its terms."""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncIterator
from contextlib import aclosing
from pathlib import Path

from netclaw.adapters.driver import (
    Abilities,
    Account,
    Attachment,
    Button,
    ChannelConfig,
    Driver,
    Found,
    Health,
    Incoming,
    Post,
    Received,
    RefusedFailure,
    Thread,
    TransientFailure,
)
from netclaw.adapters.mattermost.buttons import Tokens
from netclaw.adapters.mattermost.callback import Callback
from netclaw.adapters.mattermost.client import Client, text
from netclaw.adapters.mattermost.connection import PING_S
from netclaw.adapters.mattermost.files import Files
from netclaw.adapters.mattermost.payloads import Self, read_post
from netclaw.adapters.mattermost.places import Lookups, Places
from netclaw.adapters.mattermost.posts import Posts, thread_posts
from netclaw.adapters.mattermost.settings import read_settings
from netclaw.adapters.mattermost.stream import Stream

TEXT_LIMIT = 4000
"""Servers that began before version 5 keep this limit; newer ones take four times as much."""
FILE_LIMIT = 50 * 1024 * 1024
"""What every server takes as it is installed."""


def create(config: ChannelConfig) -> Driver:
    """Make the driver; it connects when it is first used.

    Raises `FatalFailure` for a section that names no server, or an address that is none.
    """
    return MattermostDriver(config)


class MattermostDriver:
    """One bot account at one server."""

    def __init__(self, config: ChannelConfig, *, ping_s: float = PING_S) -> None:
        settings = read_settings(config)
        self.abilities = Abilities(
            text_limit=TEXT_LIMIT,
            has_buttons=bool(settings.action_url),
            has_edit=True,
            has_status=False,
            file_limit_bytes=FILE_LIMIT,
        )
        self._host = settings.host
        self._client = Client(settings)
        self._places = Places(self._client)
        self._lookups = Lookups(self._client, self._places)
        self._files = Files(self._client)
        tokens = Tokens(settings.token)
        self._posts = Posts(self._client, tokens)
        self._stream = Stream(self._client, self._places, self._ask_who_we_are, ping_s=ping_s)
        self._callback = Callback(settings, tokens, self._places, self._stream.put)
        self._me: Self | None = None

    # The connection -----------------------------------------------------------------------

    async def check(self) -> Account:
        """See `Driver`."""
        try:
            answer = await self._client.ask("GET", "/users/me")
        except RefusedFailure as failure:
            raise TransientFailure(failure.sentence) from None
        self._me = Self(user_id=text(answer, "id"), username=text(answer, "username"))
        return Account(user_id=self._me.user_id, name=self._me.username, scope=self._host)

    async def events(self) -> AsyncIterator[Incoming]:
        """See `Driver`."""
        await self._callback.open()
        async with aclosing(self._stream.events()) as events:
            async for event in events:
                yield event

    def health(self) -> Health:
        """See `Driver`."""
        return self._stream.health

    async def close(self) -> None:
        """See `Driver`."""
        await self._callback.close()
        await self._stream.close()
        await self._client.close()

    # Posts --------------------------------------------------------------------------------

    async def post(self, post: Post) -> str:
        """See `Driver`."""
        me = await self._self()
        return await self._posts.make(
            me.user_id, post.thread, post.key, post.text, buttons=post.buttons
        )

    async def find_post(self, thread: Thread, key: str) -> str | None:
        """See `Driver`."""
        me = await self._self()
        return await self._posts.find(me.user_id, thread, key)

    async def edit(
        self, thread: Thread, post_id: str, text: str, buttons: tuple[Button, ...]
    ) -> None:
        """See `Driver`."""
        await self._posts.change(thread, post_id, text, buttons)

    async def delete(self, thread: Thread, post_id: str) -> None:
        """See `Driver`."""
        del thread
        await self._posts.remove(post_id)

    async def set_status(self, thread: Thread, text: str) -> None:
        """See `Driver`: no sign of work is set here."""

    async def set_title(self, thread: Thread, title: str) -> None:
        """See `Driver`: Mattermost's threads have no names."""

    async def open_direct(self, user_id: str) -> str:
        """See `Driver`."""
        me = await self._self()
        return (await self._places.direct(me.user_id, user_id)).id

    async def begin_thread(self, channel_id: str, post: str, key: str) -> Thread:
        """See `Driver`."""
        me = await self._self()
        channel = await self._places.channel(channel_id)
        root = await self._posts.make(me.user_id, channel.thread(""), key, post)
        return channel.thread(root)

    async def find_thread(self, channel_id: str, key: str) -> Thread | None:
        """See `Driver`."""
        me = await self._self()
        channel = await self._places.channel(channel_id)
        found = await self._posts.find(me.user_id, channel.thread(""), key)
        return channel.thread(found) if found is not None else None

    async def backfill(self, thread: Thread, *, after: str, limit: int) -> tuple[Received, ...]:
        """See `Driver`."""
        me = await self._self()
        channel = await self._places.channel(thread.channel_id)
        found: deque[Received] = deque(maxlen=limit)
        async for post in thread_posts(self._client, thread, after=after):
            received = read_post(post, channel, me)
            if received is not None:
                found.append(received)
            if after and len(found) >= limit:
                break
        return tuple(found)

    # Files and names ----------------------------------------------------------------------

    async def download(self, attachment: Attachment, target: Path, limit_bytes: int) -> None:
        """See `Driver`."""
        await self._files.download(attachment, target, limit_bytes)

    async def upload(self, thread: Thread, path: Path, name: str, key: str) -> str:
        """See `Driver`: the bytes first, then the post that shows them."""
        me = await self._self()
        file_id = await self._files.send(thread, path, name, key)
        return await self._posts.make(me.user_id, thread, key, "", files=[file_id])

    async def find_users(self, text: str) -> tuple[Found, ...]:
        """See `Driver`."""
        return await self._lookups.users(text)

    async def find_places(self, text: str) -> tuple[Found, ...]:
        """See `Driver`."""
        return await self._lookups.places(text)

    # Who we are ---------------------------------------------------------------------------

    async def _ask_who_we_are(self) -> Self:
        """Asked at every connect: a token can be revoked while nothing is posted."""
        await self.check()
        return await self._self()

    async def _self(self) -> Self:
        if self._me is None:
            await self.check()
        if self._me is None or not self._me.user_id:
            raise TransientFailure("Mattermost does not say who we are.")
        return self._me
