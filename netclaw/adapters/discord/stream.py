"""The channel's events, over one connection after another."""

from __future__ import annotations

import asyncio
import logging
import random
import time
from collections import deque
from collections.abc import AsyncIterator, Callable

from netclaw.adapters.discord.client import DiscordClient, Json
from netclaw.adapters.discord.gateway import (
    ENDED,
    RESUMABLE,
    SILENCE_S,
    Connection,
    Lost,
    Session,
    Void,
)
from netclaw.adapters.discord.payloads import id_of, read_click, read_message
from netclaw.adapters.discord.places import Places
from netclaw.adapters.driver import (
    Clicked,
    DriverFailure,
    Health,
    Incoming,
    Received,
    TransientFailure,
)

_log = logging.getLogger(__name__)

RESUMES = 5
RESUMES_IN_S = 60.0
"""More than so many are no passing fault: the host waits longer every time."""
DEFERRED = 6
"""Tells Discord that the answer to a press will be a change of the message."""

Note = Callable[[Received, Json], None]


class Stream:
    """Gives events, and knows how the connection is."""

    def __init__(
        self,
        client: DiscordClient,
        places: Places,
        note: Note,
        *,
        silence_s: float = SILENCE_S,
        uniform: Callable[[float, float], float] = random.uniform,
    ) -> None:
        """`note` hears of messages before anybody else does."""
        self._client = client
        self._places = places
        self._note = note
        self._silence_s = silence_s
        self._uniform = uniform
        self._my_id = ""
        self._session: Session | None = None
        self._came: deque[tuple[str, Json]] = deque()
        """Events in their order; kept when a connection ends, for none comes twice."""
        self._news = asyncio.Event()
        self._serving: asyncio.Task[None] | None = None
        self._deferring: set[asyncio.Task[None]] = set()
        self._last_word = RESUMABLE
        self._resumed_at: deque[float] = deque(maxlen=RESUMES)
        self.health = Health.DISCONNECTED

    async def events(self) -> AsyncIterator[Incoming]:
        """See `Driver.events`; lost connections are resumed inside as long as Discord can."""
        await self._stop()
        serving = self._serving = asyncio.create_task(self._serve(), name="discord events")
        serving.add_done_callback(lambda _: self._news.set())
        try:
            while True:
                self._news.clear()
                while self._came:
                    incoming = await self._read(*self._came[0])
                    self._came.popleft()
                    if incoming is not None:
                        yield incoming
                if serving.done():
                    serving.result()  # raises what ended it
                    return
                if not self._came:
                    await self._news.wait()
        finally:
            if self._serving is serving:  # or it was called anew meanwhile
                await self._stop()

    async def close(self) -> None:
        """End the connection for good; safe to repeat."""
        await self._stop(ENDED)
        self._session = None
        for task in tuple(self._deferring):
            task.cancel()
        await asyncio.gather(*self._deferring, return_exceptions=True)

    # Connections --------------------------------------------------------------------------

    async def _serve(self) -> None:
        """Connect and go on where it ended; raises what needs a new beginning."""
        self.health = Health.CONNECTING
        try:
            while True:
                await self._serve_one(Connection(self._client, self._take, self._silence_s))
                self._require_patience()
                _log.info("the event connection is resumed")
        except Void:
            self._session = None
            # Discord wants a pause before it is greeted anew; the host reads threads again then.
            raise TransientFailure(
                "Discord does not go on with the event connection.",
                retry_after_s=self._uniform(1.0, 5.0),
            ) from None
        finally:
            self.health = Health.DISCONNECTED

    async def _serve_one(self, connection: Connection) -> None:
        """Serve one connection until it is lost; raises `Void` or a `DriverFailure`."""
        try:
            await self._open(connection)
            await connection.serve()
        except Void:
            raise
        except Lost:
            return
        finally:
            self._session = connection.session or self._session
            self.health = Health.CONNECTING
            await connection.close(self._last_word)

    async def _open(self, connection: Connection) -> None:
        try:
            await connection.open(self._session)
        except Void:
            raise
        except Lost:
            raise TransientFailure("Discord's event connection cannot be made.") from None
        self._my_id = connection.my_id or self._my_id
        self.health = Health.READY

    def _require_patience(self) -> None:
        now = time.monotonic()
        if len(self._resumed_at) == RESUMES and now - self._resumed_at[0] < RESUMES_IN_S:
            raise TransientFailure("Discord ends the event connection too often.")
        self._resumed_at.append(now)

    async def _stop(self, code: int = RESUMABLE) -> None:
        serving, self._serving = self._serving, None
        if serving is not None:
            self._last_word = code
            serving.cancel()
            await asyncio.gather(serving, return_exceptions=True)
            self._last_word = RESUMABLE

    # Events -------------------------------------------------------------------------------

    def _take(self, event: str, data: Json) -> None:
        """One event, as it comes: nothing waits here."""
        if event == "INTERACTION_CREATE":
            # Discord gives three seconds, whatever else is going on.
            task = asyncio.create_task(self._defer(data), name="discord press")
            self._deferring.add(task)
            task.add_done_callback(self._deferring.discard)
        elif event != "MESSAGE_CREATE":
            self._places.learn(event, data)
            return
        self._came.append((event, data))
        self._news.set()

    async def _defer(self, interaction: Json) -> None:
        token = interaction.get("token")
        try:
            await self._client.ask(
                "POST",
                "/interactions/{webhook_id}/{webhook_token}/callback",
                webhook_id=id_of(interaction, "id"),
                webhook_token=token if isinstance(token, str) else "",
                body={"type": DEFERRED},
            )
        except DriverFailure as failure:
            _log.info("a press was not acknowledged: %s", failure.sentence)

    async def _read(self, event: str, data: Json) -> Incoming | None:
        channel_id = id_of(data, "channel_id")
        if not channel_id:
            return None
        where = await self._places.of(channel_id, guild_id=id_of(data, "guild_id"))
        found: Received | Clicked | None
        if event == "INTERACTION_CREATE":
            found = read_click(data, where)
        else:
            found = read_message(data, where, self._my_id)
            if found is not None:
                self._note(found, data)
        return None if found is None else Incoming(event=found, acknowledge=_nothing)


async def _nothing() -> None:
    """Discord waits for no acknowledgement of messages, and that of a press is given."""
