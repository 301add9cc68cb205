"""One connection to Discord's gateway, from its opening to its end.

Built on the part of Discord's library that speaks the protocol; its ready-made client reconnects
by itself for ever and keeps to itself why a connection cannot be made. Here a connection that ends
stays ended and says so once: there is one place that reconnects (`stream.py`).
"""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial

import aiohttp
from discord.errors import ConnectionClosed
from discord.gateway import DiscordWebSocket, ReconnectWebSocket
from yarl import URL

from netclaw.adapters.discord.client import DiscordClient, Json, Library
from netclaw.adapters.discord.failures import closed
from netclaw.adapters.discord.payloads import id_of, part
from netclaw.adapters.driver import TransientFailure

SILENCE_S = 60.0
"""Discord answers a sign of life every 41 seconds; after so long without a word it is gone."""
READY_S = 30.0
CLOSE_S = 2.0
ENDED, RESUMABLE = 1000, 4000
EVENTS = (
    *("MESSAGE_CREATE", "INTERACTION_CREATE", "GUILD_CREATE"),
    *("CHANNEL_CREATE", "THREAD_CREATE", "THREAD_UPDATE", "THREAD_LIST_SYNC"),
)

Take = Callable[[str, Json], None]


@dataclass(frozen=True, slots=True)
class Session:
    """What it takes to go on where a connection ended."""

    id: str
    sequence: int
    gateway: URL


class Lost(Exception):
    """The connection ended, as connections do."""


class Void(Lost):
    """The same, and there is nothing to go on with."""


class Connection:
    """A WebSocket; `take` hears of its events as they come, by name and content."""

    def __init__(self, client: DiscordClient, take: Take, silence_s: float) -> None:
        self._client = client
        self._take = take
        self._silence_s = silence_s
        self._socket: DiscordWebSocket | None = None
        self._is_ready = False
        self.my_id = ""
        """Who Discord greeted us as; empty when a session goes on."""

    @property
    def session(self) -> Session | None:
        """What to go on with; None if it was not greeted."""
        socket = self._socket
        if socket is None or not socket.session_id or socket.sequence is None:
            return None
        return Session(socket.session_id, socket.sequence, socket.gateway)

    async def open(self, session: Session | None) -> None:
        """Connect and wait until events can come; raises `Lost` or a `DriverFailure`."""
        library = await self._client.library()
        try:
            async with asyncio.timeout(READY_S):
                await self._greet(library, session)
        except TimeoutError:
            raise TransientFailure("Discord's gateway is not ready in time.") from None
        finally:
            self._socket = library.state.socket
            library.state.socket = None

    async def serve(self) -> None:
        """Take events until the end; raises `Lost` or a `DriverFailure`."""
        while True:
            await self._poll(self._opened())

    async def close(self, code: int = RESUMABLE) -> None:
        """Close it in its own time; safe to repeat. After `ENDED` nothing can go on."""
        if self._socket is not None:
            # A peer that is gone would be waited for.
            with suppress(TimeoutError, aiohttp.ClientError, OSError):
                async with asyncio.timeout(CLOSE_S):
                    await self._socket.close(code=code)

    async def _greet(self, library: Library, session: Session | None) -> None:
        library.state.parsers = {name: partial(self._take, name) for name in EVENTS} | {
            "READY": self._be_ready,
            "RESUMED": self._be_ready,
        }
        given = URL(self._client.gateway_url) if self._client.gateway_url else None
        with _endings():
            if session is None:
                socket = await DiscordWebSocket.from_client(library, initial=True, gateway=given)
            else:
                socket = await DiscordWebSocket.from_client(
                    library,
                    gateway=session.gateway,
                    session=session.id,
                    sequence=session.sequence,
                    resume=True,
                )
        while not self._is_ready:
            await self._poll(socket)

    async def _poll(self, socket: DiscordWebSocket) -> None:
        with _endings():
            async with asyncio.timeout(self._silence_s):
                await socket.poll_event()

    def _opened(self) -> DiscordWebSocket:
        if self._socket is None:
            raise TypeError("open it first")
        return self._socket

    def _be_ready(self, data: Json) -> None:
        self._is_ready = True
        self.my_id = id_of(part(data, "user"), "id")


_LOSSES = (
    *(aiohttp.ClientError, OSError),
    # Frames that make no sense: the library cannot go on behind one.
    *(AttributeError, KeyError, RuntimeError, TypeError, ValueError, zlib.error),
)


@contextmanager
def _endings() -> Iterator[None]:
    """Makes what the library raises at the end of a connection ours."""
    try:
        yield
    except ReconnectWebSocket as wish:
        raise (Lost if wish.resume else Void) from None
    except ConnectionClosed as end:
        raise closed(end.code) from None
    except _LOSSES:
        raise Lost from None
