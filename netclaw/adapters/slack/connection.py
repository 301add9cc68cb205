"""One event connection of Socket Mode, from its opening to its end.

Built on the part of Slack's library that is meant for it; its ready-made clients reconnect by
themselves from several places, for ever, and keep to themselves why a connection cannot be made.
Here a connection that ends stays ended and says so once: there is one place that reconnects.
"""

from __future__ import annotations

import asyncio
import json
from asyncio import Lock, Queue
from collections.abc import Awaitable, Callable
from contextlib import suppress
from enum import Enum

import aiohttp
from slack_sdk.socket_mode.async_client import AsyncBaseSocketModeClient
from slack_sdk.socket_mode.request import SocketModeRequest

from netclaw.adapters.driver import TransientFailure
from netclaw.adapters.slack.client import SlackClient, sdk_log
from netclaw.adapters.slack.failures import UNREACHABLE

PING_S = 10.0
"""How often the connection is tried; half as long without an answer is its end."""
HELLO_S = 15.0
CLOSE_S = 2.0


class End(Enum):
    """What a connection says about itself."""

    REFRESH = "Slack is about to close it"
    SWITCHED_OFF = "Socket Mode was switched off for the app"
    LOST = "it is closed"


Listener = Callable[[AsyncBaseSocketModeClient, SocketModeRequest], Awaitable[None]]
Tell = Callable[["Connection", End], None]


class Connection(AsyncBaseSocketModeClient):
    """A WebSocket; `tell` hears of its end, and before that of Slack's wish to renew it."""

    def __init__(
        self, client: SlackClient, *, listener: Listener, tell: Tell, ping_s: float = PING_S
    ) -> None:
        self._client = client
        self._tell = tell
        self._ping_s = ping_s
        self._socket: aiohttp.ClientWebSocketResponse | None = None
        self._reading: asyncio.Task[None] | None = None
        self._greeted = asyncio.Event()
        # What the base class expects to find.
        self.logger = sdk_log
        self.web_client = client.web
        self.app_token = client.app_token
        self.trace_enabled = False
        self.auto_reconnect_enabled = False
        self.closed = False
        self.connect_operation_lock = Lock()
        self.message_queue = Queue()
        self.message_listeners = []
        self.socket_mode_request_listeners = [listener]

    async def connect(self) -> None:
        """Open it and wait until Slack serves it; raises `FatalFailure` or `TransientFailure`."""
        address = await self._client.event_address()
        try:
            self._socket = await self._client.http.ws_connect(
                address, heartbeat=self._ping_s, proxy=self.web_client.proxy
            )
            self._reading = asyncio.create_task(self._read(self._socket), name="slack events")
            await self._wait_for_hello()
        except (aiohttp.ClientError, OSError, ValueError, TimeoutError):
            # A TimeoutError is an OSError too; spelled out because it is the hello's.
            raise TransientFailure("Slack's event connection cannot be made.") from None

    async def is_connected(self) -> bool:
        """Whether events can come."""
        return self._socket is not None and not self._socket.closed

    async def disconnect(self) -> None:
        """Close it in its own time; safe to repeat."""
        self.closed = True
        if self._reading is not None:
            self._reading.cancel()
            with suppress(asyncio.CancelledError):
                await self._reading
        if self._socket is not None:
            # A peer that is gone would be waited for.
            with suppress(TimeoutError):
                async with asyncio.timeout(CLOSE_S):
                    await self._socket.close()

    async def retire(self, after_s: float) -> None:
        """Let it bring what is on its way, until Slack closes it or this long."""
        if self._reading is not None:
            await asyncio.wait((self._reading,), timeout=after_s)
        await self.disconnect()

    async def send_message(self, message: str) -> None:
        """Send an acknowledgement; raises `TransientFailure` if the connection is gone."""
        if self._socket is None or self._socket.closed:
            raise TransientFailure(UNREACHABLE)
        try:
            await self._socket.send_str(message)
        except (aiohttp.ClientError, OSError):
            raise TransientFailure(UNREACHABLE) from None

    async def connect_to_new_endpoint(self, force: bool = False) -> None:
        """What the base class does when Slack wants the connection renewed."""
        del force
        self._tell(self, End.REFRESH)

    async def _wait_for_hello(self) -> None:
        greeted = asyncio.create_task(self._greeted.wait())
        reading = self._reading
        assert reading is not None  # noqa: S101 - made by the caller
        try:
            await asyncio.wait(
                (greeted, reading), timeout=HELLO_S, return_when=asyncio.FIRST_COMPLETED
            )
        finally:
            greeted.cancel()
        if not self._greeted.is_set():
            raise TimeoutError

    async def _read(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        try:
            async for frame in socket:
                if frame.type is aiohttp.WSMsgType.TEXT:
                    await self._take(frame.data)
        finally:
            self._tell(self, End.LOST)

    async def _take(self, raw: str) -> None:
        message = _parsed(raw)
        if message.get("type") == "hello":
            self._greeted.set()
        elif message.get("reason") == "link_disabled":
            self._tell(self, End.SWITCHED_OFF)
        else:
            await self.run_message_listeners(message, raw)


def _parsed(raw: str) -> dict[str, object]:
    """A frame's content; empty for what is no object."""
    try:
        found = json.loads(raw)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
