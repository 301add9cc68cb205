"""Knows what Discord's channels are: messages name a channel and not whether it is a thread."""

from __future__ import annotations

from netclaw.adapters.discord.client import DiscordClient, Json, fields, items
from netclaw.adapters.discord.failures import NO_ACCESS, UNKNOWN_CHANNEL, has_code
from netclaw.adapters.discord.payloads import Where, id_of, parts, read_where
from netclaw.adapters.driver import Found, RefusedFailure

KNOWN = 16_384
"""Channels and threads that are remembered; of others Discord is asked. What they are is fixed."""
SERVERS = 200
_PLACES = frozenset({0, 5})
"""Kinds of channels in which threads can be begun: text and announcements."""


class Places:
    """Channels by id."""

    def __init__(self, client: DiscordClient) -> None:
        self._client = client
        self._known: dict[str, Where] = {}

    def learn(self, event: str, data: Json) -> None:
        """What the gateway tells by itself."""
        if event == "GUILD_CREATE":
            for name in ("channels", "threads"):
                for channel in parts(data, name):
                    self._keep(read_where(channel, id_of(data, "id")))
        elif event == "THREAD_LIST_SYNC":
            for channel in parts(data, "threads"):
                self._keep(read_where(channel, id_of(data, "guild_id")))
        else:
            self._keep(read_where(data))

    async def of(self, channel_id: str, *, guild_id: str = "") -> Where:
        """What a channel is; one that Discord does not show is taken for a plain one."""
        known = self._known.get(channel_id)
        if known is not None:
            return known
        try:
            return await self.ask(channel_id)
        except RefusedFailure:
            return Where(id=channel_id, guild_id=guild_id)

    async def ask(self, channel_id: str) -> Where:
        """The same from Discord alone; raises `RefusedFailure` if there is no such channel."""
        answer = await self._client.ask("GET", "/channels/{channel_id}", channel_id=channel_id)
        found = read_where(fields(answer))
        if found is None:
            raise RefusedFailure(f"There is no such Discord channel ({UNKNOWN_CHANNEL}).")
        self._keep(found)
        return found

    async def servers(self) -> tuple[Found, ...]:
        """The servers that netclaw was invited to."""
        answer = await self._client.ask("GET", "/users/@me/guilds", query={"limit": SERVERS})
        return tuple(
            Found(id=id_of(server, "id"), name=str(server.get("name", "")))
            for server in items(answer)
            if id_of(server, "id")
        )

    async def channels(self, guild_id: str) -> list[Json]:
        """A server's channels in which threads can be begun."""
        try:
            answer = await self._client.ask("GET", "/guilds/{guild_id}/channels", guild_id=guild_id)
        except RefusedFailure as failure:
            if not has_code(failure, NO_ACCESS):
                raise
            return []
        return [channel for channel in items(answer) if channel.get("type") in _PLACES]

    def _keep(self, where: Where | None) -> None:
        if where is None:
            return
        self._known.pop(where.id, None)
        self._known[where.id] = where
        if len(self._known) > KNOWN:
            del self._known[next(iter(self._known))]
