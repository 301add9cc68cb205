"""Makes, finds, changes and removes our messages."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping

from netclaw.adapters.driver import Button, DriverFailure, RefusedFailure, Thread
from netclaw.adapters.slack.blocks import key_of, markdown_blocks, metadata, plain_blocks
from netclaw.adapters.slack.client import Json, SlackClient, items, next_cursor, text
from netclaw.adapters.slack.payloads import Self, is_from, order_of
from netclaw.adapters.slack.text import to_fallback

PAGE = 200
RECENT = 200
"""How many of a channel's messages are looked through for one that begins a thread."""
KNOWN = 4096
"""Posts whose keys are kept in memory, for changing them."""
_NO_BLOCKS = ("invalid_blocks", "invalid_blocks_format")
_GONE = ("message_not_found", "channel_not_found", "thread_not_found")


class Posts:
    """Our messages in every thread."""

    def __init__(self, client: SlackClient) -> None:
        self._client = client
        self._keys: dict[tuple[str, str], str] = {}

    async def make(
        self, channel_id: str, root: str, key: str, shown: str, buttons: tuple[Button, ...] = ()
    ) -> tuple[str, str]:
        """Post below `root`, or to the channel if it is empty: the channel's id and the post's."""
        content: Json = {
            "channel": channel_id,
            "text": to_fallback(shown),
            "metadata": metadata(key),
            # A link that Slack fetches can carry out what a model was talked into putting there.
            "unfurl_links": False,
            "unfurl_media": False,
        }
        if root:
            content["thread_ts"] = root
        try:
            answer = await self._send("chat.postMessage", content, markdown_blocks(shown, buttons))
        except RefusedFailure as failure:
            if not _is_one_of(failure, _NO_BLOCKS):
                raise
            answer = await self._send("chat.postMessage", content, plain_blocks(shown, buttons))
        post_id, where = text(answer, "ts"), text(answer, "channel") or channel_id
        self._remember(where, post_id, key)
        return where, post_id

    async def find(self, thread: Thread, key: str, me: Self) -> str | None:
        """A message of ours by its key; of a thread without an id, one that begins a thread.

        Rows are counted, so every app of the workspace could put the next key on a message.
        """
        try:
            async for message in self._messages(thread):
                if key_of(message) == key and is_from(message, me):
                    found = text(message, "ts")
                    self._remember(thread.channel_id, found, key)
                    return found
        except RefusedFailure as failure:
            # Its first message was deleted. Whether a post is taken there is Slack's to say.
            if not _is_one_of(failure, ("thread_not_found",)):
                raise
        return None

    async def change(
        self, thread: Thread, post_id: str, shown: str, buttons: tuple[Button, ...]
    ) -> None:
        """Replace a message."""
        content: Json = {
            "channel": thread.channel_id,
            "ts": post_id,
            "text": to_fallback(shown),
        }
        key = self._keys.get((thread.channel_id, post_id))
        if key is not None:
            content["metadata"] = metadata(key)
        try:
            await self._send("chat.update", content, markdown_blocks(shown, buttons))
        except RefusedFailure as failure:
            if not _is_one_of(failure, _NO_BLOCKS):
                raise
            await self._send("chat.update", content, plain_blocks(shown, buttons))

    async def remove(self, thread: Thread, post_id: str) -> None:
        """Remove a message; one that is gone is fine."""
        try:
            await self._client.ask(
                self._client.web.chat_delete(channel=thread.channel_id, ts=post_id)
            )
        except RefusedFailure as failure:
            if not _is_one_of(failure, _GONE):
                raise
        self._keys.pop((thread.channel_id, post_id), None)

    async def _send(self, method: str, content: Json, blocks: list[Json]) -> Mapping[str, object]:
        return await self._client.ask(
            self._client.web.api_call(method, json=content | {"blocks": blocks})
        )

    async def _messages(self, thread: Thread) -> AsyncIterator[Json]:
        web = self._client.web
        if not thread.thread_id:
            answer = await self._client.ask(
                web.conversations_history(
                    channel=thread.channel_id, limit=RECENT, include_all_metadata=True
                )
            )
            for message in items(answer, "messages"):
                yield message
            return
        async for message in replies(self._client, thread, with_keys=True):
            yield message

    def _remember(self, channel_id: str, post_id: str, key: str) -> None:
        self._keys[channel_id, post_id] = key
        if len(self._keys) > KNOWN:
            del self._keys[next(iter(self._keys))]


async def replies(
    client: SlackClient, thread: Thread, *, after: str = "", with_keys: bool = False
) -> AsyncIterator[Json]:
    """A thread's messages, oldest first, behind a time stamp."""
    cursor = ""
    last = order_of(after)
    while True:
        answer = await client.ask(
            client.web.conversations_replies(
                channel=thread.channel_id,
                ts=thread.thread_id,
                oldest=after or None,
                inclusive=False,
                include_all_metadata=with_keys,
                limit=PAGE,
                cursor=cursor or None,
            )
        )
        for message in items(answer, "messages"):
            at = order_of(text(message, "ts"))
            if at > last:  # the thread's first message comes with every page
                last = at
                yield message
        cursor = next_cursor(answer)
        if not cursor:
            return


def _is_one_of(failure: DriverFailure, codes: tuple[str, ...]) -> bool:
    return any(f"({code})" in failure.sentence for code in codes)
