"""The channel's events: envelopes through Slack's Bolt, over one connection after another."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial

from slack_bolt.adapter.socket_mode.async_internals import (
    run_async_bolt_app,
    send_async_response,
)
from slack_bolt.app.async_app import AsyncApp
from slack_bolt.middleware.async_middleware import AsyncMiddleware
from slack_bolt.request.async_request import AsyncBoltRequest
from slack_bolt.response import BoltResponse
from slack_sdk.socket_mode.async_client import AsyncBaseSocketModeClient
from slack_sdk.socket_mode.request import SocketModeRequest

from netclaw.adapters.driver import (
    Clicked,
    FatalFailure,
    Health,
    Incoming,
    Received,
    TransientFailure,
)
from netclaw.adapters.slack.client import SlackClient, sdk_log
from netclaw.adapters.slack.connection import PING_S, Connection, End
from netclaw.adapters.slack.payloads import Self, read_body

_log = logging.getLogger(__name__)

RETIRE_S = 10.0
"""What Slack leaves between the wish to renew a connection and its end."""

RENEWALS = 3
RENEWALS_IN_S = 60.0
"""More than so many are no renewals: several processes push each other out of their places."""

WhoAmI = Callable[[], Awaitable[Self]]
Ended = tuple[Connection, End]
Found = asyncio.Queue[Incoming | Ended]


class Stream:
    """Gives events, and knows how the connection is."""

    def __init__(self, client: SlackClient, who_am_i: WhoAmI, *, ping_s: float = PING_S) -> None:
        self._client = client
        self._who_am_i = who_am_i
        self._ping_s = ping_s
        self._lines: set[_Line] = set()

    @property
    def health(self) -> Health:
        """The newest connection's, or that there is none."""
        states = {line.health for line in self._lines}
        order = (Health.READY, Health.CONNECTING, Health.DISCONNECTING)
        return next((state for state in order if state in states), Health.DISCONNECTED)

    async def events(self) -> AsyncIterator[Incoming]:
        """See `Driver.events`; renewals that Slack asks for happen inside."""
        line = _Line(self._client, ping_s=self._ping_s)
        self._lines.add(line)
        try:
            line.open_door(await self._who_am_i())
            await line.connect()
            while True:
                yield await line.next()
        finally:
            # Of this call alone: it may have been called anew meanwhile.
            await line.close()
            self._lines.discard(line)

    async def close(self) -> None:
        """End every connection; safe to repeat."""
        for line in tuple(self._lines):
            await line.close()
            self._lines.discard(line)


class _Line:
    """The connections of one call of `events`: mostly one, two while it is renewed."""

    def __init__(self, client: SlackClient, *, ping_s: float) -> None:
        self._client = client
        self._ping_s = ping_s
        self._found: Found = asyncio.Queue()
        self._door: _Door | None = None
        self._current: Connection | None = None
        self._connections: set[Connection] = set()
        self._retiring: set[asyncio.Task[None]] = set()
        self._renewed_at: deque[float] = deque(maxlen=RENEWALS)
        self.health = Health.CONNECTING

    def open_door(self, me: Self) -> None:
        """From now on it is known whose messages are ours."""
        self._door = _Door(self._client, me, self._found)

    async def connect(self) -> None:
        """Make the connection that counts."""
        if self._door is None:
            raise TypeError("open_door first")
        connection = Connection(
            self._client,
            listener=self._door.handle,
            tell=lambda whose, end: self._found.put_nowait((whose, end)),
            ping_s=self._ping_s,
        )
        self._connections.add(connection)
        await connection.connect()
        self._current = connection
        self.health = Health.READY

    async def next(self) -> Incoming:
        """The next event; raises what ends the connection for good."""
        while True:
            item = await self._found.get()
            if isinstance(item, Incoming):
                return item
            if item[0] is self._current:
                await self._renew(*item)

    async def close(self) -> None:
        """End what there is; safe to repeat."""
        self.health = Health.DISCONNECTING
        for task in self._retiring:
            task.cancel()
        for connection in tuple(self._connections):
            await connection.disconnect()
            self._connections.discard(connection)
        self.health = Health.DISCONNECTED

    async def _renew(self, old: Connection, end: End) -> None:
        if end is End.SWITCHED_OFF:
            raise FatalFailure(
                "Socket Mode is switched off for the Slack app.",
                fix="Switch it on at Slack, then run `netclaw daemon restart`.",
            )
        if end is End.LOST:
            raise TransientFailure("Slack's event connection was lost.")
        self._require_patience()
        _log.info("the event connection is renewed")
        # The new one first: nothing is missed, and what the old one brought can be acknowledged.
        await self.connect()
        task = asyncio.create_task(self._retire(old), name="slack events, the old connection")
        self._retiring.add(task)
        task.add_done_callback(self._retiring.discard)

    def _require_patience(self) -> None:
        """Leave it to the host, which waits longer every time, if there are too many renewals."""
        now = time.monotonic()
        if len(self._renewed_at) == RENEWALS and now - self._renewed_at[0] < RENEWALS_IN_S:
            raise TransientFailure("Slack renews the event connection too often.")
        self._renewed_at.append(now)

    async def _retire(self, connection: Connection) -> None:
        await connection.retire(RETIRE_S)
        self._connections.discard(connection)


class _Event(BoltResponse):
    """The acknowledgement that an event will get, with the event."""

    def __init__(self, event: Received | Clicked) -> None:
        super().__init__(status=200, body="")
        self.event = event


class _Read(AsyncMiddleware):
    """Turns what Bolt dispatches into events.

    Stands before Bolt's authorization, which asks Slack who we are and acknowledges what it cannot
    authorize; and answers by itself, because Bolt acknowledges to its listeners' events at once.
    """

    def __init__(self, me: Self) -> None:
        self._me = me

    async def async_process(
        self,
        *,
        req: AsyncBoltRequest,
        resp: BoltResponse,
        next: Callable[[], Awaitable[BoltResponse]],  # noqa: A002 - Bolt's name
    ) -> BoltResponse:
        """See `AsyncMiddleware`."""
        del resp, next
        event = read_body(req.body, self._me)
        return _Event(event) if event is not None else BoltResponse(status=200, body="")


class _Door:
    """Takes envelopes in; what is no event of ours is acknowledged at once."""

    def __init__(self, client: SlackClient, me: Self, found: Found) -> None:
        self._found = found
        self._app = AsyncApp(
            # Bolt gives the logger of this name the level of its own: it must be none of ours.
            name=sdk_log.name,
            client=client.web,
            logger=sdk_log,
            before_authorize=_Read(me),
            request_verification_enabled=False,
            ssl_check_enabled=False,
        )

    async def handle(
        self, connection: AsyncBaseSocketModeClient, request: SocketModeRequest
    ) -> None:
        """One envelope; its acknowledgement goes back over the connection it came by."""
        try:
            answer = await run_async_bolt_app(self._app, request)
        except Exception:  # noqa: BLE001 - one envelope's fault must not reach another's
            _log.exception("an envelope could not be read")
            return
        acknowledge = partial(send_async_response, connection, request, answer, time.time())
        if isinstance(answer, _Event):
            self._found.put_nowait(Incoming(event=answer.event, acknowledge=acknowledge))
        else:
            await acknowledge()
