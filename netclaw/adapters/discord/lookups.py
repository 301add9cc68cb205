"""Finds people and channels by name."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Iterable

from netclaw.adapters.discord.client import DiscordClient, Json, items, text
from netclaw.adapters.discord.payloads import id_of, part
from netclaw.adapters.discord.places import Places
from netclaw.adapters.driver import Found

MOST = 10
KEPT_S = 300.0
_KEPT = 64
_SERVERS = 10
"""Servers that are asked for people, of which Discord shows no whole list."""

Hits = tuple[Found, ...]


class Lookups:
    """At most ten hits, the exact ones first; an answer is good for five minutes."""

    def __init__(
        self,
        client: DiscordClient,
        places: Places,
        *,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._client = client
        self._places = places
        self._monotonic = monotonic
        self._known: dict[tuple[str, str], tuple[float, Hits]] = {}

    async def users(self, wanted: str) -> Hits:
        """Members of netclaw's servers whose name or nickname begins so."""
        return await self._once("users", wanted.lstrip("@"), self._search_users)

    async def places(self, wanted: str) -> Hits:
        """Channels of netclaw's servers, by name or id."""
        return await self._once("places", wanted.lstrip("#"), self._search_places)

    async def _once(self, kind: str, wanted: str, search: Callable[[str], Awaitable[Hits]]) -> Hits:
        wanted = wanted.strip().casefold()
        if not wanted:
            return ()
        known = self._known.get((kind, wanted))
        if known is not None and self._monotonic() - known[0] < KEPT_S:
            return known[1]
        hits = await search(wanted)
        self._known.pop((kind, wanted), None)
        self._known[kind, wanted] = (self._monotonic(), hits)
        if len(self._known) > _KEPT:
            del self._known[next(iter(self._known))]
        return hits

    async def _search_users(self, wanted: str) -> Hits:
        found: list[Json] = []
        for server in (await self._places.servers())[:_SERVERS]:
            answer = await self._client.ask(
                "GET",
                "/guilds/{guild_id}/members/search",
                guild_id=server.id,
                query={"query": wanted, "limit": MOST},
            )
            found += items(answer)
        return _best(wanted, ((_names(member), _person(member)) for member in found))

    async def _search_places(self, wanted: str) -> Hits:
        found: list[Json] = []
        for server in await self._places.servers():
            found += await self._places.channels(server.id)
        return _best(
            wanted,
            (
                ((text(item, "name"), text(item, "id")), Found(id=id_, name=text(item, "name")))
                for item in found
                if (id_ := id_of(item, "id"))
            ),
        )


def _best(wanted: str, candidates: Iterable[tuple[tuple[str, ...], Found]]) -> Hits:
    exact: dict[str, Found] = {}
    partial: dict[str, Found] = {}
    for names, found in candidates:
        folded = [name.casefold() for name in names if name]
        if wanted in folded:
            exact[found.id] = found
        elif any(wanted in name for name in folded):
            partial[found.id] = found
    return tuple((exact | {id_: hit for id_, hit in partial.items() if id_ not in exact}).values())[
        :MOST
    ]


def _names(member: Json) -> tuple[str, ...]:
    user = dict(part(member, "user"))
    return (
        text(member, "nick"),
        text(user, "global_name"),
        text(user, "username"),
        text(user, "id"),
    )


def _person(member: Json) -> Found:
    shown = next((name for name in _names(member) if name), "")
    return Found(id=id_of(part(member, "user"), "id"), name=shown)
