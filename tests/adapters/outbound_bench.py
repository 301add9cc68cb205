"""Deliveries at work between a scripted platform and a scripted daemon."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from netclaw.adapters.driver import (
    DriverFailure,
    Thread,
)
from netclaw.adapters.outbound import Deliveries
from netclaw.core.errors import (
    NetclawError,
)
from tests.adapters.scripted import (
    ScriptedDriver,
    ScriptedLink,
    context_of,
    quiet,
)

HERE = "C1/1"
THERE = "C2/2"


class Live:
    """Posts that showed replies while they were made."""

    def __init__(self, **posts: str) -> None:
        self.posts = posts
        self.ended: list[str] = []

    async def take_over(self, turn_id: str, thread: Thread) -> str:
        """The post of a turn."""
        assert thread.address == HERE
        return self.posts.get(turn_id, "")

    def replaced(self, turn_id: str, thread: Thread) -> None:
        """The post is the reply."""
        assert (turn_id in self.posts, thread.address) == (True, HERE)

    def closed(self, turn_id: str, thread: Thread) -> None:
        """Its reply is over."""
        assert thread.address == HERE
        self.ended.append(turn_id)


class Bench:
    """Deliveries at work between a scripted platform and a scripted daemon."""

    def __init__(
        self,
        driver: ScriptedDriver | None = None,
        link: ScriptedLink | None = None,
        *,
        start: str = "s1",
        live: Live | None = None,
    ) -> None:
        self.driver = driver or ScriptedDriver()
        self.link = link or ScriptedLink()
        self.told: list[str] = []
        self.slept: list[float] = []
        self.context = context_of(self.driver, self.link, start=start, told=self.told)
        self.parts = Deliveries(self.context, live=live, sleep=self.sleep, chance=random.Random(7))

    @property
    def counters(self) -> dict[str, int]:
        """What was counted."""
        counted = self.context.counters
        return {
            "delivered": counted.delivered,
            "retried": counted.retried,
            "given_up": counted.given_up,
        }

    async def sleep(self, seconds: float) -> None:
        """Wait no time at all; the platform's holds are over."""
        self.slept.append(seconds)
        self.parts._free_at.clear()
        await asyncio.sleep(0)

    async def pass_time(self, seconds: float) -> None:
        """Let the daemon's clock go on, and the adapter look."""
        self.link.now_ms += round(seconds * 1000)
        self.parts._free_at.clear()
        self.parts.look()
        await quiet()


@asynccontextmanager
async def running(bench: Bench) -> AsyncIterator[Bench]:
    """Deliveries that run until the block ends."""
    task = asyncio.create_task(bench.parts.run())
    try:
        await quiet()
        yield bench
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError, NetclawError, DriverFailure):
            await task
