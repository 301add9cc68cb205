"""Reads messages of a channel, page by page."""

from __future__ import annotations

from collections.abc import AsyncIterator

from netclaw.adapters.discord.client import DiscordClient, Json, fields, items
from netclaw.adapters.discord.failures import UNKNOWN_CHANNEL, UNKNOWN_MESSAGE, has_code
from netclaw.adapters.discord.payloads import id_of
from netclaw.adapters.driver import RefusedFailure

PAGE = 100


class History:
    """What was written; a thread that was never made holds nothing."""

    def __init__(self, client: DiscordClient, *, page: int = PAGE) -> None:
        self._client = client
        self._page = page

    async def newest(self, channel_id: str) -> AsyncIterator[Json]:
        """Backwards from now."""
        before = ""
        while True:
            query: dict[str, str | int] = {"limit": self._page}
            if before:
                query["before"] = before
            page = await self._messages(channel_id, query)
            for message in sorted(page, key=_number, reverse=True):
                yield message
            if not page:
                return
            before = str(min(map(_number, page)))

    async def after(self, channel_id: str, message_id: str) -> AsyncIterator[Json]:
        """Forwards from behind a message."""
        after = message_id
        while True:
            page = await self._messages(channel_id, {"limit": self._page, "after": after})
            for message in sorted(page, key=_number):
                yield message
            if not page:
                return
            after = str(max(map(_number, page)))

    async def one(self, channel_id: str, message_id: str) -> Json:
        """A message; empty if it is gone."""
        try:
            answer = await self._client.ask(
                "GET",
                "/channels/{channel_id}/messages/{message_id}",
                channel_id=channel_id,
                message_id=message_id,
            )
        except RefusedFailure as failure:
            if not has_code(failure, UNKNOWN_CHANNEL, UNKNOWN_MESSAGE):
                raise
            return {}
        return fields(answer)

    async def _messages(self, channel_id: str, query: dict[str, str | int]) -> list[Json]:
        try:
            answer = await self._client.ask(
                "GET", "/channels/{channel_id}/messages", channel_id=channel_id, query=query
            )
        except RefusedFailure as failure:
            if not has_code(failure, UNKNOWN_CHANNEL):
                raise
            return []
        return [message for message in items(answer) if id_of(message, "id")]


def _number(message: Json) -> int:
    return int(id_of(message, "id"))
