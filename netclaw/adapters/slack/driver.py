"""The driver of Slack: what `netclaw.adapters.driver.Driver` asks for, in Slack's terms."""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncIterator
from pathlib import Path

from netclaw.adapters.driver import (
    Abilities,
    Account,
    Attachment,
    Button,
    ChannelConfig,
    Driver,
    FatalFailure,
    Found,
    Health,
    Incoming,
    Post,
    Received,
    RefusedFailure,
    Thread,
    TransientFailure,
)
from netclaw.adapters.slack.client import SlackClient, text
from netclaw.adapters.slack.connection import PING_S
from netclaw.adapters.slack.failures import TokenKind
from netclaw.adapters.slack.files import FILE_LIMIT, Files
from netclaw.adapters.slack.lookups import Lookups
from netclaw.adapters.slack.payloads import Self, read_message, thread_at, ts_of
from netclaw.adapters.slack.posts import Posts, replies
from netclaw.adapters.slack.stream import Stream
from netclaw.adapters.slack.text import TEXT_LIMIT

STATUS_REFRESH_S = 60.0
"""Slack clears a status after two minutes, and whenever something is posted in the thread."""


def create(config: ChannelConfig) -> Driver:
    """Make the driver; it connects when it is first used."""
    return SlackDriver(config)


class SlackDriver:
    """One app in one workspace."""

    abilities = Abilities(
        text_limit=TEXT_LIMIT,
        has_buttons=True,
        has_edit=True,
        has_status=True,
        status_refresh_s=STATUS_REFRESH_S,
        file_limit_bytes=FILE_LIMIT,
    )

    def __init__(self, config: ChannelConfig, *, ping_s: float = PING_S) -> None:
        self._client = SlackClient(config)
        self._posts = Posts(self._client)
        self._files = Files(self._client)
        self._lookups = Lookups(self._client)
        self._stream = Stream(self._client, self._ask_who_we_are, ping_s=ping_s)
        self._me: Self | None = None

    # The connection -----------------------------------------------------------------------

    async def check(self) -> Account:
        """See `Driver`."""
        self._client.require_tokens()
        try:
            answer = await self._client.ask(self._client.web.auth_test())
        except RefusedFailure as failure:
            raise TransientFailure(failure.sentence) from None
        if not text(answer, "bot_id"):
            raise FatalFailure("Slack's bot token is a person's.", fix=TokenKind.BOT.fix)
        self._me = Self(
            user_id=text(answer, "user_id"),
            bot_id=text(answer, "bot_id"),
            team_id=text(answer, "team_id") or text(answer, "enterprise_id"),
        )
        return Account(
            user_id=self._me.user_id, name=text(answer, "user"), scope=text(answer, "team")
        )

    async def check_rest(self) -> None:
        """See `Thorough`: the app token, which `check` shows to nobody."""
        await self._client.event_address()

    def events(self) -> AsyncIterator[Incoming]:
        """See `Driver`."""
        return self._stream.events()

    def health(self) -> Health:
        """See `Driver`."""
        return self._stream.health

    async def close(self) -> None:
        """See `Driver`."""
        await self._stream.close()
        await self._client.close()

    # Posts --------------------------------------------------------------------------------

    async def post(self, post: Post) -> str:
        """See `Driver`."""
        thread = post.thread
        _, post_id = await self._posts.make(
            thread.channel_id, thread.thread_id, post.key, post.text, post.buttons
        )
        return post_id

    async def find_post(self, thread: Thread, key: str) -> str | None:
        """See `Driver`; a thread without an id stands for the channel itself."""
        return await self._posts.find(thread, key, await self._self())

    async def edit(
        self, thread: Thread, post_id: str, text: str, buttons: tuple[Button, ...]
    ) -> None:
        """See `Driver`."""
        await self._posts.change(thread, post_id, text, buttons)

    async def delete(self, thread: Thread, post_id: str) -> None:
        """See `Driver`."""
        await self._posts.remove(thread, post_id)

    async def set_status(self, thread: Thread, text: str) -> None:
        """See `Driver`."""
        await self._client.ask(
            self._client.web.assistant_threads_setStatus(
                channel_id=thread.channel_id, thread_ts=thread.thread_id, status=text
            ),
            is_optional=True,
        )

    async def set_title(self, thread: Thread, title: str) -> None:
        """See `Driver`: Slack's threads have no names."""

    async def open_direct(self, user_id: str) -> str:
        """See `Driver`."""
        answer = await self._client.ask(
            self._client.web.conversations_open(users=user_id), is_optional=True
        )
        channel = answer.get("channel")
        return text(channel, "id") if isinstance(channel, dict) else ""

    async def begin_thread(self, channel_id: str, post: str, key: str) -> Thread:
        """See `Driver`; a person's id opens the conversation with that person."""
        me = await self._self()
        where, post_id = await self._posts.make(await self._place(channel_id), "", key, post)
        return thread_at(where, post_id, me)

    async def find_thread(self, channel_id: str, key: str) -> Thread | None:
        """See `Driver`."""
        me = await self._self()
        place = await self._place(channel_id)
        found = await self._posts.find(Thread.at(place), key, me)
        return thread_at(place, found, me) if found is not None else None

    async def backfill(self, thread: Thread, *, after: str, limit: int) -> tuple[Received, ...]:
        """See `Driver`."""
        me = await self._self()
        found: deque[Received] = deque(maxlen=limit)
        behind = ts_of(after)
        async for message in replies(self._client, thread, after=behind):
            received = read_message(message, thread.channel_id, me)
            if received is not None:
                found.append(received)
            if behind and len(found) >= limit:
                break
        return tuple(found)

    # Files and names ----------------------------------------------------------------------

    async def download(self, attachment: Attachment, target: Path, limit_bytes: int) -> None:
        """See `Driver`."""
        await self._files.download(attachment, target, limit_bytes)

    async def upload(self, thread: Thread, path: Path, name: str, key: str) -> str:
        """See `Driver`."""
        return await self._files.upload(thread, path, name, key)

    async def find_users(self, text: str) -> tuple[Found, ...]:
        """See `Driver`."""
        return await self._lookups.users(text)

    async def find_places(self, text: str) -> tuple[Found, ...]:
        """See `Driver`."""
        return await self._lookups.places(text)

    # Who we are ---------------------------------------------------------------------------

    async def _ask_who_we_are(self) -> Self:
        """Asked at every connect: a bot token can be revoked while the app token is good."""
        await self.check()
        return await self._self()

    async def _self(self) -> Self:
        if self._me is None:
            await self.check()
        if self._me is None:
            raise TransientFailure("Slack does not say who we are.")
        return self._me

    async def _place(self, channel_id: str) -> str:
        is_person = channel_id.startswith(("U", "W"))
        return await self.open_direct(channel_id) if is_person else channel_id
