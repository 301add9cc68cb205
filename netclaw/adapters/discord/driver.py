"""The driver of Discord: what `netclaw.adapters.driver.Driver` asks for, in Discord's terms."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

from netclaw.adapters.discord.client import DiscordClient, Json, fields, text
from netclaw.adapters.discord.components import TEXT_LIMIT
from netclaw.adapters.discord.failures import INTENT_FIX, NO_CONTENT_INTENT
from netclaw.adapters.discord.files import FILE_LIMIT, Files
from netclaw.adapters.discord.gateway import SILENCE_S
from netclaw.adapters.discord.history import History
from netclaw.adapters.discord.lookups import Lookups
from netclaw.adapters.discord.payloads import (
    Where,
    id_of,
    is_one_place,
    message_of,
    read_message,
    thread_at,
)
from netclaw.adapters.discord.places import Places
from netclaw.adapters.discord.posts import Posts
from netclaw.adapters.discord.stream import Stream
from netclaw.adapters.discord.threads import Threads
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

STATUS_REFRESH_S = 8.0
"""Discord shows for ten seconds that somebody is typing, or until they post."""
_SEES_CONTENT = (1 << 18) | (1 << 19)
"""Flags of an application with the Message Content intent, in many or in few servers."""


def create(config: ChannelConfig) -> Driver:
    """Make the driver; it connects when it is first used."""
    return DiscordDriver(config)


class DiscordDriver:
    """One application's bot, in every server that it was invited to."""

    abilities = Abilities(
        text_limit=TEXT_LIMIT,
        has_buttons=True,
        has_edit=True,
        has_status=True,
        has_titles=True,
        status_refresh_s=STATUS_REFRESH_S,
        # Discord refuses a second post of one key, for minutes: later ones are looked up.
        enforces_keys=False,
        file_limit_bytes=FILE_LIMIT,
    )

    def __init__(self, config: ChannelConfig, *, silence_s: float = SILENCE_S) -> None:
        self._client = DiscordClient(config)
        self._places = Places(self._client)
        self._threads = Threads(self._client)
        self._history = History(self._client)
        self._posts = Posts(self._client, self._threads, self._history)
        self._files = Files(self._client, self._threads, self._posts.note)
        self._lookups = Lookups(self._client, self._places)
        self._stream = Stream(self._client, self._places, self._note, silence_s=silence_s)
        self._my_id = ""

    # The connection -----------------------------------------------------------------------

    async def check(self) -> Account:
        """See `Driver`; also whether the application may read what people write."""
        try:
            me = fields(await self._client.ask("GET", "/users/@me"))
            application = fields(await self._client.ask("GET", "/applications/@me"))
            servers = await self._places.servers()
        except RefusedFailure as failure:
            raise TransientFailure(failure.sentence) from None
        flags = application.get("flags")
        if isinstance(flags, int) and not flags & _SEES_CONTENT:
            raise FatalFailure(NO_CONTENT_INTENT, fix=INTENT_FIX)
        self._my_id = id_of(me, "id")
        if not self._my_id:
            raise TransientFailure("Discord does not say who we are.")
        scope = servers[0].name if len(servers) == 1 else f"{len(servers)} servers"
        return Account(user_id=self._my_id, name=text(me, "username"), scope=scope)

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
        return await self._posts.make(post.thread, post.key, post.text, post.buttons)

    async def find_post(self, thread: Thread, key: str) -> str | None:
        """See `Driver`; a thread without an id stands for the channel itself."""
        return await self._posts.find(thread, key, await self._me())

    async def edit(
        self, thread: Thread, post_id: str, text: str, buttons: tuple[Button, ...]
    ) -> None:
        """See `Driver`."""
        await self._posts.change(thread, post_id, text, buttons)

    async def delete(self, thread: Thread, post_id: str) -> None:
        """See `Driver`."""
        await self._posts.remove(thread, post_id)

    async def set_status(self, thread: Thread, text: str) -> None:
        """See `Driver`: Discord shows typing without words, and clears it by itself."""
        if text:
            await self._threads.show_work(thread)

    async def set_title(self, thread: Thread, title: str) -> None:
        """See `Driver`; a direct conversation has no name."""
        await self._threads.rename(thread, title)

    async def open_direct(self, user_id: str) -> str:
        """See `Driver`."""
        answer = await self._client.ask(
            "POST", "/users/@me/channels", body={"recipient_id": user_id}
        )
        return id_of(fields(answer), "id")

    async def begin_thread(self, channel_id: str, post: str, key: str) -> Thread:
        """See `Driver`; the post in the channel and its thread have one id."""
        where = await self._places.ask(channel_id)
        thread = thread_at(where, await self._posts.begin(channel_id, key, post))
        await self._threads.make(thread, post)
        return thread

    async def find_thread(self, channel_id: str, key: str) -> Thread | None:
        """See `Driver`; a thread that was not made with its post is made with the first reply."""
        where = await self._places.ask(channel_id)
        found = await self._posts.find(Thread.at(channel_id), key, await self._me())
        return thread_at(where, found) if found is not None else None

    async def backfill(self, thread: Thread, *, after: str, limit: int) -> tuple[Received, ...]:
        """See `Driver`; without `after` the newest ones, from what the thread began with."""
        where = await self._where(thread)
        me = await self._me()
        last = message_of(after)
        messages = self._history.after(where.id, last) if last else self._history.newest(where.id)
        found: list[Received] = []
        async for message in messages:
            received = read_message(message, where, me)
            if received is not None:
                found.append(received)
            if len(found) >= limit:
                break
        if last:
            return tuple(found)
        has_room = len(found) < limit
        beginning = await self._beginning(thread, where, me) if has_room else ()
        return (*beginning, *reversed(found))

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

    # What is known ------------------------------------------------------------------------

    def _note(self, received: Received, message: Json) -> None:
        self._threads.note(received)
        if received.is_own:
            self._posts.note(message)

    async def _me(self) -> str:
        if not self._my_id:
            await self.check()
        return self._my_id

    async def _where(self, thread: Thread) -> Where:
        if is_one_place(thread):
            return await self._places.of(thread.channel_id)
        guild_id = thread.boundary.partition(":")[2].partition("/")[0]
        if not guild_id:
            guild_id = (await self._places.of(thread.channel_id)).guild_id
        return Where(id=thread.thread_id, parent_id=thread.channel_id, guild_id=guild_id)

    async def _beginning(self, thread: Thread, where: Where, me: str) -> tuple[Received, ...]:
        """What a thread began with, which its own history does not hold."""
        if is_one_place(thread):
            return ()
        message = await self._history.one(thread.channel_id, thread.thread_id)
        above = Where(id=thread.channel_id, guild_id=where.guild_id)
        received = read_message(message, above, me)
        return () if received is None else (received,)
