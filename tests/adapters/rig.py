"""A platform on loopback, as the contract plays it, and how a driver is read."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from enum import Enum
from typing import Protocol

from netclaw.adapters.driver import (
    Clicked,
    Driver,
    FatalFailure,
    Health,
    Incoming,
    Received,
    Thread,
    TransientFailure,
)

PATIENCE_S = 10.0
"""What an event may take on a loaded machine."""


class Fault(Enum):
    """What the platform does to the next post or edit."""

    RATE_LIMITED = "refuses with a time to wait (0.2 s), once"
    ACCEPTED_THEN_FAILS = "makes the post and answers as if it had failed"
    FAILS = "makes nothing and fails once"


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """A post of ours as people see it."""

    id: str
    text: str
    tokens: tuple[str, ...] = ()
    """Of its buttons."""


class Rig(Protocol):
    """A platform on loopback, as the contract plays it."""

    channel_id: str
    """A channel in which the account may post."""
    user_id: str
    """A person."""
    secret: str
    """The token; must never be in a failure's sentence."""

    def make(self) -> Driver:
        """A fresh driver with the right token."""

    def make_wrong(self) -> Driver:
        """The same with a token that the platform does not know."""

    def make_unreachable(self) -> Driver:
        """The same with the address of nobody."""

    async def say(
        self,
        text: str,
        *,
        thread_id: str = "",
        is_mention: bool = False,
        is_direct: bool = False,
        file: bytes | None = None,
    ) -> str:
        """The person writes, below a thread or beginning one; returns the message's thread id."""

    async def say_again(self) -> None:
        """The platform delivers the newest message once more."""

    async def press(self, thread: Thread, post_id: str, token: str) -> None:
        """The person presses a button."""

    async def drop(self) -> None:
        """Cut the event connection."""

    async def revoke(self) -> None:
        """The token is good no more; the event connection is cut."""

    def fail_next(self, fault: Fault) -> None:
        """Let the next call that posts or edits meet a fault."""

    async def remove(self, thread: Thread, post_id: str) -> None:
        """Somebody deletes a message of ours."""

    def shown(self, thread: Thread) -> tuple[Shown, ...]:
        """Our posts in a thread, oldest first."""

    def signs(self, thread: Thread) -> tuple[str, ...]:
        """Signs of work that were set in a thread, in order; an empty one cleared them."""


class Inbox:
    """Reads a driver's events as the host does: over and over, until it is closed."""

    def __init__(self, driver: Driver) -> None:
        self._driver = driver
        self._found: asyncio.Queue[Incoming] = asyncio.Queue()
        self.failure: asyncio.Future[FatalFailure] = asyncio.get_running_loop().create_future()
        self._reading = asyncio.create_task(self._read())

    async def next(self) -> Incoming:
        """The next event; bounded."""
        async with asyncio.timeout(PATIENCE_S):
            return await self._found.get()

    async def message(self) -> Received:
        """The next event, which is a message; acknowledged."""
        incoming = await self.next()
        await incoming.acknowledge()
        assert isinstance(incoming.event, Received)
        return incoming.event

    async def click(self) -> Clicked:
        """The next event but for messages of our own, which is a click; acknowledged."""
        incoming = await self.next()
        while isinstance(incoming.event, Received) and incoming.event.is_own:
            incoming = await self.next()
        await incoming.acknowledge()
        assert isinstance(incoming.event, Clicked)
        return incoming.event

    async def until_health(self, health: Health) -> None:
        """Wait for a state of the connection; bounded."""
        async with asyncio.timeout(PATIENCE_S):
            while self._driver.health() is not health:
                await asyncio.sleep(0.01)

    async def close(self) -> None:
        """Stop reading."""
        self._reading.cancel()
        with suppress(asyncio.CancelledError):
            await self._reading

    async def _read(self) -> None:
        while True:
            try:
                async for incoming in self._driver.events():
                    self._found.put_nowait(incoming)
            except TransientFailure as failure:
                await asyncio.sleep(min(failure.retry_after_s or 0.05, 0.2))
            except FatalFailure as failure:
                self.failure.set_result(failure)
                return
            await asyncio.sleep(0.01)


@asynccontextmanager
async def open_driver(driver: Driver) -> AsyncIterator[Driver]:
    """A driver that is closed afterwards."""
    try:
        yield driver
    finally:
        await driver.close()


@asynccontextmanager
async def open_inbox(driver: Driver) -> AsyncIterator[Inbox]:
    """A connected driver's events."""
    inbox = Inbox(driver)
    try:
        await inbox.until_health(Health.READY)
        yield inbox
    finally:
        await inbox.close()


async def thread_of(rig: Rig, inbox: Inbox) -> Thread:
    """A thread that a person began."""
    await rig.say("hello there", is_mention=True)
    return (await inbox.message()).thread
