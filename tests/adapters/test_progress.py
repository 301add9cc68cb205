"""Signs of work in threads: set, renewed, cleared, and never of what answers elsewhere."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import replace

import pytest

from netclaw.adapters.driver import Abilities, TransientFailure
from netclaw.adapters.progress import AT_WORK, Signs
from netclaw.wire.v1.gateway_pb2 import ChannelNews
from tests.adapters.scripted import ABILITIES, ScriptedDriver, ScriptedLink, context_of, quiet

pytestmark = pytest.mark.unit

HERE = "C1/1"


class Bench:
    """The signs of one start."""

    def __init__(self, abilities: Abilities = ABILITIES, *, check_s: float = 300.0) -> None:
        self.driver = ScriptedDriver(abilities)
        self.link = ScriptedLink()
        self.parts = Signs(context_of(self.driver, self.link), check_s=check_s)

    async def begin(self, *addresses: str) -> None:
        """A turn that answers there."""
        self.parts.phase(
            ChannelNews(
                kind="phase",
                session_id=HERE,
                phase="processing",
                turn_id="t1",
                addresses=addresses,
            )
        )
        await quiet()

    async def end(self) -> None:
        """The turn is over."""
        self.parts.phase(ChannelNews(kind="phase", session_id=HERE, phase="ready"))
        await quiet()

    @property
    def signs(self) -> list[str]:
        """What was set in the thread."""
        return self.driver.signs[HERE]


@asynccontextmanager
async def running(bench: Bench) -> AsyncIterator[Bench]:
    """Signs that run until the block ends."""
    task = asyncio.create_task(bench.parts.run())
    try:
        yield bench
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def at_least(bench: Bench, count: int) -> None:
    """Wait for so many signs; bounded."""
    async with asyncio.timeout(15):
        while len(bench.signs) < count:
            await asyncio.sleep(0.005)


@pytest.mark.requirement("channels.progress")
async def test_a_sign_is_set_while_a_turn_is_at_work() -> None:
    async with running(Bench()) as bench:
        await bench.begin(HERE)
        assert bench.signs == [AT_WORK]
        await bench.begin(HERE)
        await bench.end()
        assert bench.signs[-1] == ""
        count = len(bench.signs)
        await bench.end()
        assert len(bench.signs) == count
        await bench.begin(HERE)
        assert bench.signs[count:] == [AT_WORK]


@pytest.mark.requirement("channels.progress")
async def test_a_turn_that_answers_elsewhere_shows_nothing() -> None:
    async with running(Bench()) as bench:
        await bench.begin()
        await bench.end()
        assert bench.driver.calls == []


@pytest.mark.requirement("channels.progress")
async def test_a_platform_without_signs_is_asked_for_none() -> None:
    async with running(Bench(replace(ABILITIES, has_status=False))) as bench:
        await bench.begin(HERE)
        assert bench.driver.calls == []


@pytest.mark.requirement("channels.progress")
async def test_a_sign_that_lapses_is_renewed() -> None:
    async with running(Bench(replace(ABILITIES, status_refresh_s=0.01))) as bench:
        await bench.begin(HERE)
        await at_least(bench, 4)
        await bench.end()
        assert bench.signs[-1] == ""
        assert set(bench.signs[:-1]) == {AT_WORK}


@pytest.mark.requirement("channels.progress")
async def test_a_sign_that_a_post_took_away_is_set_again() -> None:
    async with running(Bench()) as bench:
        await bench.begin(HERE)
        bench.parts.renew(HERE)
        bench.parts.renew("C1/elsewhere")
        await quiet()
        assert bench.signs == [AT_WORK, AT_WORK]


@pytest.mark.requirement("channels.progress")
async def test_a_sign_that_could_not_be_set_or_cleared_disturbs_nothing() -> None:
    async with running(Bench()) as bench:
        bench.driver.refusals.extend(TransientFailure("The platform failed.") for _ in range(2))
        await bench.begin(HERE)
        await bench.end()
        await bench.begin(HERE)
        assert bench.signs == [AT_WORK]


@pytest.mark.requirement("channels.progress")
@pytest.mark.parametrize("is_deleted", [True, False])
async def test_a_sign_whose_end_was_not_told_is_cleared(is_deleted: bool) -> None:
    async with running(Bench(check_s=0.02)) as bench:
        await bench.begin(HERE)
        await at_least(bench, 3)
        assert set(bench.signs) == {AT_WORK}, "its session is at work"
        bench.link.phases[HERE] = "ready"
        if is_deleted:
            await bench.link.delete(HERE)
        async with asyncio.timeout(15):
            while bench.signs[-1] != "":
                await asyncio.sleep(0.005)
