"""One event connection, from its opening to its end, and what the next one needs to go on.

The server numbers the events of a connection and keeps the newest ones for some minutes after its
loss: who comes back with the connection's id and the next number gets what was missed. Where the
server does not know the connection any more, it says hello with another id.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum

import aiohttp

from netclaw.adapters.driver import TransientFailure
from netclaw.adapters.mattermost.client import Client, number, part, text

PING_S = 30.0
"""How often the connection is tried; half as long without an answer is its end."""
LARGEST = 16 * 1024 * 1024
"""One event. A post may carry megabytes that nobody sees, and show another one in it."""
READY_S = 20.0
CLOSE_S = 2.0
_CHALLENGE, _PING = 1, 2

Json = Mapping[str, object]


class End(Enum):
    """Why a connection is of no use any more."""

    LOST = "it is closed"
    GAP = "an event is missing"
    UNKNOWN = "the server did not know the one before it"
    REFUSED = "the server does not take the token on it"


class Order(Enum):
    """Where an event stands among those of its connection."""

    NEXT = "the one that was expected"
    KNOWN = "one that came already, or late"
    AHEAD = "one before it is missing"


@dataclass(slots=True)
class Resume:
    """What lasts from one connection to the next."""

    connection_id: str = ""
    expected: int = 0
    """The number of the next event."""
    newest_at_ms: int = 0
    """By the server's clock; 0 before the first connection."""
    behind_since_ms: int | None = None
    """Events from here on were missed for good; their posts have to be asked for."""

    @property
    def query(self) -> dict[str, str]:
        """What a connection is opened with."""
        if not self.connection_id:
            return {}
        return {"connection_id": self.connection_id, "sequence_number": str(self.expected)}

    def begin_anew(self) -> None:
        """Have no connection to go on with: the server has passed over something, or brings again
        what cannot be taken. What it would have brought is asked for."""
        self.connection_id, self.expected = "", 0
        self.fall_behind(self.newest_at_ms)

    def greet(self, connection_id: str) -> None:
        """The server begins a connection."""
        self.fall_behind(self.newest_at_ms)
        self.connection_id, self.expected = connection_id, 1

    def fall_behind(self, at_ms: int) -> None:
        """Posts from this time on may have been missed; 0 is no time, or all that was ever said
        would be."""
        if at_ms <= 0:
            return
        known = self.behind_since_ms
        self.behind_since_ms = at_ms if known is None else min(known, at_ms)

    def take(self, number: int) -> Order:
        """An event has this number."""
        if number > self.expected:
            return Order.AHEAD
        if number < self.expected:
            return Order.KNOWN
        self.expected += 1
        return Order.NEXT


class Connection:
    """A WebSocket. `take` gets its events in order, `tell` once why it ended by itself."""

    def __init__(
        self,
        client: Client,
        resume: Resume,
        *,
        take: Callable[[str, Json], None],
        tell: Callable[[Connection, End], None],
        ping_s: float,
    ) -> None:
        self._client = client
        self._resume = resume
        self._take = take
        self._tell = tell
        self._ping_s = ping_s
        self._socket: aiohttp.ClientWebSocketResponse | None = None
        self._reading: asyncio.Task[None] | None = None
        self._asking: asyncio.Task[None] | None = None
        self._answered = asyncio.Event()
        self._server_ms = 0

    async def connect(self) -> int:
        """Open it and wait until the server answers on it; the server's time, 0 if it says none.

        Raises `TransientFailure`: what is wrong with a token is asked elsewhere.
        """
        try:
            self._socket = await self._client.http.ws_connect(
                self._client.socket_url,
                params=self._resume.query,
                heartbeat=self._ping_s,
                max_msg_size=LARGEST,
            )
            reading = asyncio.create_task(self._read(self._socket), name="events")
            self._reading = reading
            # Where the header with the token did not come through, this is what counts; elsewhere
            # the server passes over it.
            await self._say(
                _CHALLENGE, "authentication_challenge", {"token": self._client.settings.token}
            )
            await self._say(_PING, "ping", {})
            await self._until_answered(reading)
        except (aiohttp.ClientError, OSError, ValueError, TimeoutError):
            # A TimeoutError is an OSError too; spelled out because it is the answer's.
            raise TransientFailure("Mattermost's event connection cannot be made.") from None
        self._asking = asyncio.create_task(self._ask_again(), name="event pings")
        return self._server_ms

    @property
    def is_open(self) -> bool:
        """Whether events can come."""
        return self._socket is not None and not self._socket.closed

    async def close(self) -> None:
        """End it in its own time; safe to repeat."""
        for task in (self._asking, self._reading):
            if task is not None:
                task.cancel()
                with suppress(asyncio.CancelledError):
                    await task
        if self._socket is not None:
            # A peer that is gone would be waited for.
            with suppress(TimeoutError):
                async with asyncio.timeout(CLOSE_S):
                    await self._socket.close()

    async def _ask_again(self) -> None:
        """Ask from time to time: of a token that was revoked the server says nothing by itself, and
        keeps the connection, on which no event comes any more."""
        with suppress(aiohttp.ClientError, OSError):
            while self.is_open:
                await asyncio.sleep(self._ping_s)
                await self._say(_PING, "ping", {})

    async def _say(self, number: int, action: str, data: dict[str, object]) -> None:
        if self._socket is not None:
            await self._socket.send_json({"seq": number, "action": action, "data": data})

    async def _until_answered(self, reading: asyncio.Task[None]) -> None:
        answered = asyncio.create_task(self._answered.wait())
        try:
            await asyncio.wait(
                (answered, reading), timeout=READY_S, return_when=asyncio.FIRST_COMPLETED
            )
        finally:
            answered.cancel()
        if not self._answered.is_set():
            raise TimeoutError

    async def _read(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        end = End.LOST
        try:
            async for frame in socket:
                if frame.type is not aiohttp.WSMsgType.TEXT:
                    continue
                found = self._read_frame(_parsed(frame.data))
                if found is not None:
                    end = found
                    break
            if socket.close_code == aiohttp.WSCloseCode.MESSAGE_TOO_BIG:
                # It would come again with every connection, and nothing behind it.
                end = End.GAP
        finally:
            if end is End.GAP:
                self._resume.begin_anew()
            self._tell(self, end)

    def _read_frame(self, frame: Json) -> End | None:
        """Deal with one frame; the end of the connection if it is that."""
        if "seq_reply" in frame:
            return self._read_answer(frame)
        event = text(frame, "event")
        if not event:
            return None
        if event == "hello":
            return self._read_hello(part(frame, "data"))
        if "seq" in frame and self._resume.take(number(frame, "seq")) is Order.AHEAD:
            return End.GAP
        self._take(event, part(frame, "data"))
        return None

    def _read_answer(self, frame: Json) -> End | None:
        if number(frame, "seq_reply") != _PING:
            return None
        if text(frame, "status") != "OK":
            return End.REFUSED
        self._server_ms = number(part(frame, "data"), "server_time")
        self._answered.set()
        return None

    def _read_hello(self, data: Json) -> End | None:
        connection_id = text(data, "connection_id")
        if connection_id == self._resume.connection_id and connection_id:
            return None
        self._resume.greet(connection_id)
        # Too late for those who rely on it already: they come back, and ask for what was missed.
        is_late = self._answered.is_set() and self._resume.behind_since_ms is not None
        return End.UNKNOWN if is_late else None


def _parsed(raw: str) -> Json:
    """A frame's content; empty for what is no object."""
    try:
        found = json.loads(raw)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
