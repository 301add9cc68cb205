"""Finds people and channels by name."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable

from slack_sdk.web.async_slack_response import AsyncSlackResponse

from netclaw.adapters.driver import Found
from netclaw.adapters.slack.client import Json, SlackClient, items, next_cursor, text

MOST = 10
KEPT_S = 300.0
_KEPT = 64
_PAGE = 200

Page = Callable[[str | None], Awaitable[AsyncSlackResponse]]
Hits = tuple[Found, ...]


class Lookups:
    """At most ten hits, the exact ones first; an answer is good for five minutes.

    Answers are kept, not the directory: that of a large workspace would outgrow the process.
    """

    def __init__(
        self, client: SlackClient, *, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self._client = client
        self._monotonic = monotonic
        self._known: dict[tuple[str, str], tuple[float, Hits]] = {}

    async def users(self, wanted: str) -> Hits:
        """People who are there, by any of their names or their id."""
        web = self._client.web
        return await self._find(
            "members",
            wanted.removeprefix("@"),
            lambda cursor: web.users_list(limit=_PAGE, cursor=cursor),
        )

    async def places(self, wanted: str) -> Hits:
        """Channels that the app can see, by name or id."""
        web = self._client.web
        return await self._find(
            "channels",
            wanted.removeprefix("#"),
            lambda cursor: web.conversations_list(
                types="public_channel,private_channel",
                exclude_archived=True,
                limit=_PAGE,
                cursor=cursor,
            ),
        )

    async def _find(self, kind: str, wanted: str, page: Page) -> Hits:
        wanted = wanted.strip().casefold()
        if not wanted:
            return ()
        known = self._known.get((kind, wanted))
        if known is not None and self._monotonic() - known[0] < KEPT_S:
            return known[1]
        exact: list[Found] = []
        partial: list[Found] = []
        async for item in self._all(kind, page):
            names = [name.casefold() for name in _names(item)]
            if wanted in names:
                exact.append(_found(item))
            elif len(partial) < MOST and any(wanted in name for name in names):
                partial.append(_found(item))
        hits = (*exact, *partial)[:MOST]
        self._keep(kind, wanted, hits)
        return hits

    async def _all(self, kind: str, page: Page) -> AsyncIterator[Json]:
        cursor = ""
        while True:
            answer = await self._client.ask(page(cursor or None), is_optional=True)
            for item in items(answer, kind):
                if item.get("deleted") is not True and text(item, "id"):
                    yield item
            cursor = next_cursor(answer)
            if not cursor:
                return

    def _keep(self, kind: str, wanted: str, hits: Hits) -> None:
        self._known.pop((kind, wanted), None)
        self._known[kind, wanted] = (self._monotonic(), hits)
        if len(self._known) > _KEPT:
            del self._known[next(iter(self._known))]


def _names(item: Json) -> Iterable[str]:
    profile = item.get("profile")
    shown = profile if isinstance(profile, dict) else {}
    found = (
        text(item, "id"),
        text(item, "name"),
        text(item, "real_name"),
        text(shown, "display_name"),
        text(shown, "real_name"),
    )
    return (name for name in found if name)


def _found(item: Json) -> Found:
    profile = item.get("profile")
    shown = text(profile, "display_name") if isinstance(profile, dict) else ""
    name = shown or text(item, "real_name") or text(item, "name")
    return Found(id=text(item, "id"), name=name)
