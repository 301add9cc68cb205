"""Channels, and the people and channels that names stand for."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Mapping

from netclaw.adapters.driver import Found, RefusedFailure
from netclaw.adapters.mattermost.client import Client, Json, number, piece, text
from netclaw.adapters.mattermost.payloads import Channel, read_channel

KNOWN = 4096
MOST = 10
KEPT_S = 300.0
_KEPT = 64
_SEARCHED = 100
_ID = re.compile(r"[a-z0-9]{26}")
_NAMED = ("O", "P")

Hits = tuple[Found, ...]


class Places:
    """Channels by id: what kind they are and whose, which never changes."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._known: dict[str, Channel] = {}

    def learn(self, channel: Channel) -> None:
        """Know a channel without asking."""
        self._known[channel.id] = channel
        if len(self._known) > KNOWN:
            del self._known[next(iter(self._known))]

    async def channel(self, channel_id: str) -> Channel:
        """A channel; raises what the client does."""
        known = self._known.get(channel_id)
        if known is None:
            answer = await self._client.ask("GET", f"/channels/{piece(channel_id)}")
            known = read_channel(answer)
            if known.id != channel_id:
                raise RefusedFailure("Mattermost knows no such channel.")
            self.learn(known)
        return known

    async def direct(self, me: str, user_id: str) -> Channel:
        """The conversation with a person."""
        answer = await self._client.ask("POST", "/channels/direct", content=[me, user_id])
        channel = read_channel(answer)
        self.learn(channel)
        return channel

    async def all(self) -> list[Channel]:
        """Every channel of every team that we are a member of."""
        found = await self._client.ask_all("GET", "/users/me/channels")
        return [read_channel(item) for item in found if number(item, "delete_at") == 0]


class Lookups:
    """At most ten hits, the exact ones first; an answer is good for five minutes."""

    def __init__(
        self,
        client: Client,
        places: Places,
        *,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._client = client
        self._places = places
        self._monotonic = monotonic
        self._known: dict[tuple[str, str], tuple[float, Hits]] = {}

    async def users(self, wanted: str) -> Hits:
        """People who are there, by any of their names or their id."""
        wanted = wanted.strip().removeprefix("@").casefold()
        known = self._kept("users", wanted)
        if known is not None:
            return known
        people = await self._people(wanted)
        return self._keep(
            "users", wanted, _best(wanted, ((_person(one), _names(one)) for one in people))
        )

    async def places(self, wanted: str) -> Hits:
        """Channels that we are a member of, by name or id."""
        wanted = wanted.strip().removeprefix("~").removeprefix("#").casefold()
        known = self._kept("places", wanted)
        if known is not None:
            return known
        named = [one for one in await self._places.all() if one.kind in _NAMED]
        found = (
            (Found(id=one.id, name=one.title or one.name), (one.id, one.name, one.title))
            for one in named
        )
        return self._keep("places", wanted, _best(wanted, found))

    async def _people(self, wanted: str) -> list[Json]:
        if _ID.fullmatch(wanted):
            try:
                return [await self._client.ask("GET", f"/users/{piece(wanted)}")]
            except RefusedFailure:
                return []
        found = await self._client.ask_all(
            "POST", "/users/search", content={"term": wanted, "limit": _SEARCHED}
        )
        return [one for one in found if number(one, "delete_at") == 0]

    def _kept(self, kind: str, wanted: str) -> Hits | None:
        if not wanted:
            return ()
        known = self._known.get((kind, wanted))
        is_good = known is not None and self._monotonic() - known[0] < KEPT_S
        return known[1] if known is not None and is_good else None

    def _keep(self, kind: str, wanted: str, hits: Hits) -> Hits:
        self._known.pop((kind, wanted), None)
        self._known[kind, wanted] = (self._monotonic(), hits)
        if len(self._known) > _KEPT:
            del self._known[next(iter(self._known))]
        return hits


def _best(wanted: str, found: Iterable[tuple[Found, Iterable[str]]]) -> Hits:
    exact: list[Found] = []
    partial: list[Found] = []
    for hit, names in found:
        shown = [name.casefold() for name in names if name]
        if wanted in shown:
            exact.append(hit)
        elif any(wanted in name for name in shown):
            partial.append(hit)
    return (*exact, *partial)[:MOST]


def _names(person: Mapping[str, object]) -> tuple[str, ...]:
    first, last = text(person, "first_name"), text(person, "last_name")
    whole = f"{first} {last}".strip()
    return (text(person, "id"), text(person, "username"), text(person, "nickname"), whole)


def _person(person: Mapping[str, object]) -> Found:
    _, username, nickname, whole = _names(person)
    return Found(id=text(person, "id"), name=nickname or whole or username)
