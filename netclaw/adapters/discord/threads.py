"""Makes a message's thread when something is first said in it, and names threads."""

from __future__ import annotations

import contextlib
from collections.abc import Awaitable, Callable
from typing import TypeVar

from netclaw.adapters.discord.client import DiscordClient
from netclaw.adapters.discord.failures import THREAD_EXISTS, UNKNOWN_CHANNEL, has_code
from netclaw.adapters.discord.payloads import is_one_place
from netclaw.adapters.driver import DriverFailure, Place, Received, RefusedFailure, Thread

NAME = "netclaw"
"""Of a thread about which nothing is known."""
NAME_LIMIT = 100
FIRST_NAME_LIMIT = 60
KNOWN = 2_048

Answer = TypeVar("Answer")


class Threads:
    """The threads that netclaw writes in; each has the id of the message it begins with."""

    def __init__(self, client: DiscordClient) -> None:
        self._client = client
        self._names: dict[str, str] = {}
        """What a thread will be called, by the message that it will begin with."""
        self._titles: dict[str, str] = {}
        """What threads were called last by us: Discord takes two new names in ten minutes."""
        self._wanted: dict[str, str] = {}
        """Titles that came before their threads."""

    def note(self, received: Received) -> None:
        """A message may begin a thread."""
        thread = received.thread
        if thread.place is not Place.CHANNEL or received.is_bot:
            return
        if received.event_id == f"{thread.channel_id}/{thread.thread_id}":
            text = received.text.replace(received.mention, " ") if received.mention else ""
            _keep(self._names, thread.thread_id, name_of(text or received.text, FIRST_NAME_LIMIT))
        else:
            self._names.pop(thread.thread_id, None)

    async def within(self, thread: Thread, work: Callable[[str], Awaitable[Answer]]) -> Answer:
        """Do something in a thread, which is made if it is not there."""
        if is_one_place(thread):
            return await work(thread.channel_id)
        if thread.thread_id in self._names:
            await self.make(thread)
        try:
            return await work(thread.thread_id)
        except RefusedFailure as failure:
            if not has_code(failure, UNKNOWN_CHANNEL):
                raise
        await self.make(thread)
        return await work(thread.thread_id)

    async def show_work(self, thread: Thread) -> None:
        """Show that we are writing: in the channel as long as there is no thread."""
        if not is_one_place(thread) and thread.thread_id not in self._names:
            try:
                await self._type(thread.thread_id)
            except RefusedFailure as failure:
                if not has_code(failure, UNKNOWN_CHANNEL):
                    raise
            else:
                return
        await self._type(thread.channel_id)

    async def rename(self, thread: Thread, title: str) -> None:
        """Name a thread, now or when it is made.

        Whether it is there, Discord is asked: a message that comes again looks like one without.
        """
        name = name_of(title, NAME_LIMIT)
        if is_one_place(thread) or self._titles.get(thread.thread_id) == name:
            return
        before = self._titles.get(thread.thread_id)
        if await self._is_renamed(thread, name):
            return
        if self._titles.get(thread.thread_id) == before or not await self._is_renamed(thread, name):
            _keep(self._wanted, thread.thread_id, name)

    async def _is_renamed(self, thread: Thread, name: str) -> bool:
        """Give an existing thread a name; False if it is not there."""
        try:
            await self._client.ask(
                "PATCH", "/channels/{channel_id}", channel_id=thread.thread_id, body={"name": name}
            )
        except RefusedFailure as failure:
            if not has_code(failure, UNKNOWN_CHANNEL):
                raise
            return False
        _keep(self._titles, thread.thread_id, name)
        return True

    async def make(self, thread: Thread, title: str = "") -> None:
        """Make a message's thread; one that is there is fine."""
        if is_one_place(thread):
            return
        name = self._wanted.get(thread.thread_id) or (
            name_of(title, FIRST_NAME_LIMIT) if title else self._names.get(thread.thread_id, NAME)
        )
        is_named = True
        try:
            await self._client.ask(
                "POST",
                "/channels/{channel_id}/messages/{message_id}/threads",
                channel_id=thread.channel_id,
                message_id=thread.thread_id,
                body={"name": name},
            )
        except RefusedFailure as failure:
            if not has_code(failure, THREAD_EXISTS):
                raise
            is_named = False
        self._names.pop(thread.thread_id, None)
        if is_named:
            _keep(self._titles, thread.thread_id, name)
        wanted = self._wanted.pop(thread.thread_id, "")
        if wanted and not (is_named and wanted == name):
            # It came while the thread was being made, or somebody else had made it.
            with contextlib.suppress(DriverFailure):  # a name that nothing depends on
                await self._is_renamed(thread, wanted)

    async def _type(self, channel_id: str) -> None:
        await self._client.ask("POST", "/channels/{channel_id}/typing", channel_id=channel_id)


def name_of(text: str, limit: int) -> str:
    """A name that Discord takes: one line, not empty."""
    line = " ".join(text.split())
    if len(line) > limit:
        line = f"{line[: limit - 1].rstrip()}\u2026"
    return line or NAME


def _keep(known: dict[str, str], key: str, value: str) -> None:
    known.pop(key, None)
    known[key] = value
    if len(known) > KNOWN:
        del known[next(iter(known))]
