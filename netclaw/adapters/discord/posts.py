"""Makes, finds, changes and removes our messages."""

from __future__ import annotations

import time
from dataclasses import dataclass

from netclaw.adapters.discord.client import DiscordClient, Json, fields, text
from netclaw.adapters.discord.components import (
    TEXT_LIMIT,
    content,
    custom_ids,
    letters,
    mark,
    named,
    nonce_in,
    nonce_of,
)
from netclaw.adapters.discord.failures import (
    BAD_FORM,
    UNKNOWN_CHANNEL,
    UNKNOWN_MESSAGE,
    has_code,
)
from netclaw.adapters.discord.history import History
from netclaw.adapters.discord.payloads import id_at, id_of, is_one_place, part
from netclaw.adapters.discord.threads import Threads
from netclaw.adapters.driver import Button, RefusedFailure, Thread, TransientFailure

KNOWN = 4_096
"""Posts whose keys are kept in memory."""
SEARCHED = 500
"""Messages of a thread that are looked through for one of ours, from the newest back."""
SKEW_MS = 60_000
"""By how much Discord's clock may be behind ours."""


@dataclass(frozen=True, slots=True)
class _Attempt:
    """A post that may have been made."""

    shown: str
    since: int
    """The smallest id that it can have."""


class Posts:
    """Our messages in every thread.

    A repetition of a post within minutes is answered by Discord with the first one. Later it is
    known by its answer, by the gateway's echo, by its buttons, or by what it says, whichever is
    there.
    """

    def __init__(
        self, client: DiscordClient, threads: Threads, history: History, *, searched: int = SEARCHED
    ) -> None:
        self._client = client
        self._threads = threads
        self._history = history
        self._searched = searched
        self._ids: dict[str, str] = {}
        self._nonces: dict[str, str] = {}
        self._attempts: dict[str, _Attempt] = {}

    def note(self, message: Json) -> None:
        """Learn from a message of ours, as the gateway tells it."""
        nonce, post_id = nonce_in(message), id_of(message, "id")
        if nonce and post_id:
            self._remember(nonce, post_id)

    async def make(
        self, thread: Thread, key: str, shown: str, buttons: tuple[Button, ...] = ()
    ) -> str:
        """Post to a thread, or to the channel itself if it has no id: the post's id."""
        nonce = nonce_of(key)
        try:
            message = await self._create(thread, nonce, shown, buttons)
        except RefusedFailure as failure:
            if not buttons or not has_code(failure, BAD_FORM):
                raise
            return await self._make_plain(thread, nonce, shown, buttons)
        post_id = id_of(message, "id")
        wanted = list(custom_ids(content(shown, nonce, buttons)))
        if buttons and list(custom_ids(message)) != wanted:
            # That of an earlier attempt: nobody knows what its buttons carry.
            await self.change(thread, post_id, shown, buttons)
        return post_id

    async def begin(self, channel_id: str, key: str, shown: str) -> str:
        """Post to a channel what begins a thread; another process finds it by its key."""
        whole = f"{shown}{mark(nonce_of(key))}"
        fits = len(whole) <= TEXT_LIMIT
        return await self.make(Thread.at(channel_id), key, whole if fits else shown)

    async def find(self, thread: Thread, key: str, my_id: str) -> str | None:
        """A message of ours by its key; of a thread without an id, one in the channel itself."""
        nonce = nonce_of(key)
        known = self._ids.get(nonce)
        if known is not None:
            return known
        attempt = self._attempts.get(nonce)
        seen = 0
        async for message in self._history.newest(thread.thread_id or thread.channel_id):
            if self._is_it(message, nonce, attempt, my_id):
                post_id = id_of(message, "id")
                self._remember(nonce, post_id)
                return post_id
            seen += 1
            if seen >= self._searched:
                break
        return None

    async def change(
        self, thread: Thread, post_id: str, shown: str, buttons: tuple[Button, ...]
    ) -> None:
        """Replace a message."""
        await self._client.ask(
            "PATCH",
            "/channels/{channel_id}/messages/{message_id}",
            channel_id=_channel_of(thread, post_id),
            message_id=post_id,
            body=content(shown, self._nonces.get(post_id, ""), buttons),
        )

    async def remove(self, thread: Thread, post_id: str) -> None:
        """Remove a message; one that is gone is fine."""
        try:
            await self._client.ask(
                "DELETE",
                "/channels/{channel_id}/messages/{message_id}",
                channel_id=_channel_of(thread, post_id),
                message_id=post_id,
            )
        except RefusedFailure as failure:
            if not has_code(failure, UNKNOWN_MESSAGE, UNKNOWN_CHANNEL):
                raise

    async def _create(
        self, thread: Thread, nonce: str, shown: str, buttons: tuple[Button, ...]
    ) -> Json:
        async def work(channel_id: str) -> object:
            return await self._client.ask(
                "POST",
                "/channels/{channel_id}/messages",
                channel_id=channel_id,
                body=content(shown, nonce, buttons) | named(nonce),
            )

        since = id_at(time.time_ns() // 1_000_000 - SKEW_MS)
        try:
            message = fields(await self._threads.within(thread, work))
        except TransientFailure:
            self._attempts.setdefault(nonce, _Attempt(shown, since))
            _shorten(self._attempts)
            raise
        self._attempts.pop(nonce, None)
        post_id = id_of(message, "id")
        if not post_id:
            raise TransientFailure("Discord's answer makes no sense.")
        self._remember(nonce, post_id)
        return message

    async def _make_plain(
        self, thread: Thread, nonce: str, shown: str, buttons: tuple[Button, ...]
    ) -> str:
        """The same without buttons: people answer by a letter."""
        asked = letters(buttons)
        whole = f"{shown}\n{asked}"
        if len(whole) <= TEXT_LIMIT:
            return id_of(await self._create(thread, nonce, whole, ()), "id")
        message = await self._create(thread, nonce, shown, ())
        await self._create(thread, nonce_of(f"{nonce}.letters"), asked, ())
        return id_of(message, "id")

    def _is_it(self, message: Json, nonce: str, attempt: _Attempt | None, my_id: str) -> bool:
        post_id = id_of(message, "id")
        if id_of(part(message, "author"), "id") != my_id:
            return False
        shown = text(message, "content")
        named_by = self._nonces.get(post_id) or nonce_in(message)
        if named_by or shown.endswith(mark(nonce)):
            return named_by in ("", nonce)
        return attempt is not None and int(post_id) >= attempt.since and shown == attempt.shown

    def _remember(self, nonce: str, post_id: str) -> None:
        self._ids[nonce] = post_id
        self._nonces[post_id] = nonce
        _shorten(self._ids)
        _shorten(self._nonces)


def _channel_of(thread: Thread, post_id: str) -> str:
    """Where a message of a thread is: the one that it begins with is in the channel."""
    is_in_channel = is_one_place(thread) or post_id == thread.thread_id
    return thread.channel_id if is_in_channel else thread.thread_id


def _shorten(known: dict[str, str] | dict[str, _Attempt]) -> None:
    if len(known) > KNOWN:
        del known[next(iter(known))]
