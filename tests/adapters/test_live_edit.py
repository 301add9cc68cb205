"""One message that shows a reply while it is made."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest

from netclaw.adapters.configured import enabled_channels
from netclaw.adapters.driver import ChannelConfig, RefusedFailure, Thread, TransientFailure
from netclaw.adapters.live_edit import CURSOR, CUT, LiveEdits, is_wanted, key_of
from netclaw.config.schema.root import Config
from netclaw.wire.v1.common_pb2 import Output
from netclaw.wire.v1.gateway_pb2 import ChannelNews
from tests.adapters.scripted import (
    ABILITIES,
    ScriptedDriver,
    ScriptedLink,
    context_of,
    quiet,
    until,
)

pytestmark = pytest.mark.unit

HERE = "C1/1"
THREAD = Thread.at(HERE)


class Bench:
    """The live messages of one start."""

    def __init__(self, driver: ScriptedDriver | None = None) -> None:
        self.driver = driver or ScriptedDriver(replace(ABILITIES, text_limit=150))
        self.link = ScriptedLink()
        self.link.reply_states["t1"] = "running"
        self.parts = LiveEdits(context_of(self.driver, self.link), every_s=0.001, look_s=0.001)

    async def begin(self, *addresses: str, turn: str = "t1") -> None:
        """A turn that answers there."""
        self.parts.phase(
            ChannelNews(
                kind="phase",
                session_id=HERE,
                phase="processing",
                turn_id=turn,
                addresses=addresses,
            )
        )
        await quiet()

    async def write(self, text: str, *, round_: int = 0) -> None:
        """The model says something."""
        await self.link.say(HERE, Output(type="text_delta", turn_id="t1", text=text, round=round_))
        await quiet()

    async def finish(self, *, reply: str = "none") -> None:
        """The turn is over; where its reply stands."""
        self.link.reply_states["t1"] = reply
        await self.link.say(HERE, Output(type="turn_completed", turn_id="t1", seq=7))
        await quiet()

    async def until_idle(self) -> None:
        """Wait until no turn is followed; bounded."""
        await until(lambda: not self.parts._tasks)

    async def until_looked(self, times: int) -> None:
        """Wait until it was asked so often what becomes of a turn; bounded."""
        seen = self.link.looked
        await until(lambda: self.link.looked >= seen + times)

    async def until_shown(self, *texts: str) -> None:
        """Wait for what a reader of the thread sees; bounded."""
        async with asyncio.timeout(15):
            while self.driver.shown(HERE) != list(texts):
                await asyncio.sleep(0.002)


@asynccontextmanager
async def running(bench: Bench) -> AsyncIterator[Bench]:
    """Live messages that are followed until the block ends."""
    try:
        yield bench
    finally:
        await bench.parts.close()


@pytest.mark.requirement("channels.live-edit")
@pytest.mark.parametrize(("value", "wanted"), [("", False), ("false", False), ("True", True)])
def test_it_is_off_until_it_is_asked_for(value: str, wanted: bool) -> None:
    assert is_wanted(ChannelConfig(name="slack", options={"live_edit": value})) is wanted
    assert not is_wanted(ChannelConfig(name="slack"))


@pytest.mark.requirement("channels.live-edit")
def test_the_configuration_switches_it_on_by_channel() -> None:
    config = Config.model_validate(
        {"Slack": {"Enabled": True, "LiveEdit": True}, "Discord": {"Enabled": True}}
    )
    wanted = {name: is_wanted(one) for name, one in enabled_channels(config).items()}
    assert wanted == {"slack": True, "discord": False}


@pytest.mark.requirement("channels.live-edit")
async def test_one_message_grows_with_a_cursor_and_is_handed_to_the_reply() -> None:
    async with running(Bench()) as bench:
        await bench.begin(HERE)
        await bench.write("Let me ")
        await bench.until_shown(f"Let me{CURSOR}")
        await bench.write("look.")
        await bench.until_shown(f"Let me look.{CURSOR}")
        await bench.write("It is 4.", round_=1)
        await bench.until_shown(f"It is 4.{CURSOR}")
        await bench.finish(reply="waiting")
        assert await bench.parts.take_over("t1", THREAD) == "m1"
        assert await bench.parts.take_over("t1", THREAD) == "m1", "as often as it is asked"
        bench.parts.closed("t1", THREAD)
        await bench.write("late")
        assert len(bench.driver.posts) == 1


@pytest.mark.requirement("channels.live-edit")
async def test_a_turn_that_answers_elsewhere_is_not_shown() -> None:
    async with running(Bench()) as bench:
        await bench.begin()
        await bench.write("secret")
        assert bench.driver.posts == []


@pytest.mark.requirement("channels.live-edit")
async def test_a_text_that_outgrows_one_post_shows_its_first_part() -> None:
    async with running(Bench()) as bench:
        await bench.begin(HERE)
        await bench.write("a" * 100 + "\n")
        await bench.write("b" * 70)
        await bench.until_shown("a" * 100 + CURSOR)


@pytest.mark.requirement("channels.live-edit")
async def test_what_was_shown_of_a_reply_that_does_not_come_is_taken_away() -> None:
    async with running(Bench()) as bench:
        await bench.begin(HERE)
        await bench.write("half a")
        await bench.until_shown(f"half a{CURSOR}")
        await bench.finish()
        await bench.until_shown()


@pytest.mark.requirement("channels.live-edit")
async def test_a_reply_that_waits_long_keeps_its_message() -> None:
    async with running(Bench()) as bench:
        await bench.begin(HERE)
        await bench.write("half a")
        await bench.finish(reply="waiting")
        await bench.until_looked(5)
        assert bench.driver.shown(HERE) == [f"half a{CURSOR}"]


@pytest.mark.requirement("channels.live-edit")
async def test_what_could_not_be_taken_away_yet_is_taken_away_later() -> None:
    async with running(Bench()) as bench:
        bench.driver.delete_failures += [TransientFailure("The platform failed.")] * 3
        await bench.begin(HERE)
        await bench.write("half a")
        await bench.until_shown(f"half a{CURSOR}")
        await bench.finish()
        await bench.until_shown()


@pytest.mark.requirement("channels.live-edit")
@pytest.mark.parametrize("after", ["ready", "processing"])
async def test_a_turn_whose_end_was_not_heard_is_followed_no_more(after: str) -> None:
    async with running(Bench()) as bench:
        await bench.begin(HERE)
        await bench.write("half a")
        await bench.until_shown(f"half a{CURSOR}")
        bench.link.reply_states["t1"] = "none"
        news = ChannelNews(kind="phase", session_id=HERE, phase=after)
        news.turn_id = "t2" if after == "processing" else ""
        bench.parts.phase(news)
        await bench.until_shown()
        await bench.until_idle()


@pytest.mark.requirement("channels.live-edit")
async def test_a_reply_that_is_delivered_before_its_turn_was_read_ends_the_reading() -> None:
    async with running(Bench()) as bench:
        await bench.begin(HERE)
        assert await bench.parts.take_over("t1", THREAD) == ""
        bench.parts.closed("t1", THREAD)
        await bench.until_idle()


@pytest.mark.requirement("channels.live-edit")
async def test_a_platform_that_is_asked_too_often_is_left_alone_for_so_long() -> None:
    async with running(Bench()) as bench:
        await bench.begin(HERE)
        await bench.write("one")
        await bench.until_shown(f"one{CURSOR}")
        limited = TransientFailure("Too often.", retry_after_s=30.0)
        bench.driver.edit_failures.append(limited)
        await bench.write(" two")
        await until(lambda: not bench.driver.edit_failures)
        calls = len(bench.driver.calls)
        await bench.write(" three")
        await asyncio.sleep(0.02)
        assert len(bench.driver.calls) == calls


@pytest.mark.requirement("channels.live-edit")
async def test_a_message_that_cannot_be_deleted_says_that_it_is_unfinished() -> None:
    async with running(Bench()) as bench:
        bench.driver.delete_failures.append(RefusedFailure("You may not delete this."))
        await bench.begin(HERE)
        await bench.write("half a")
        await bench.until_shown(f"half a{CURSOR}")
        await bench.finish()
        await bench.until_shown(CUT)


@pytest.mark.requirement("channels.live-edit")
async def test_no_change_overtakes_the_reply() -> None:
    async with running(Bench()) as bench:
        await bench.begin(HERE)
        gate = bench.driver.gates[HERE] = asyncio.Event()
        await bench.write("first")
        await until(lambda: bench.driver.calls == [f"post {key_of('t1', THREAD)}"])
        taking = asyncio.create_task(bench.parts.take_over("t1", THREAD))
        await bench.write(" second")
        assert not taking.done(), "the post is on its way"
        gate.set()
        assert await taking == "m1"
        await quiet()
        assert bench.driver.shown(HERE) == [f"first{CURSOR}"]


@pytest.mark.requirement("channels.live-edit")
async def test_another_start_finds_the_message_by_its_key() -> None:
    first = Bench()
    async with running(first):
        await first.begin(HERE)
        await first.write("half a")
        await first.until_shown(f"half a{CURSOR}")
    second = Bench(first.driver)
    assert await second.parts.take_over("t1", THREAD) == "m1"
    assert await second.parts.take_over("t2", THREAD) == ""


@pytest.mark.requirement("channels.live-edit")
async def test_a_post_that_seemed_to_fail_is_not_made_twice() -> None:
    async with running(Bench()) as bench:
        bench.driver.silent_failures.append(TransientFailure("The platform failed."))
        await bench.begin(HERE)
        await bench.write("first")
        await bench.write(" second")
        await bench.until_shown(f"first{CURSOR}")
        assert await bench.parts.take_over("t1", THREAD) == "m1"
        assert len(bench.driver.posts) == 1


@pytest.mark.requirement("channels.live-edit")
async def test_a_gap_in_the_text_is_not_shown() -> None:
    async with running(Bench()) as bench:
        await bench.begin(HERE)
        await bench.write("one ")
        await bench.link.say(HERE, Output(type="resync", seq=3))
        await bench.write("three")
        await bench.until_shown(f"one{CURSOR}")
        await bench.write("anew", round_=1)
        await bench.until_shown(f"anew{CURSOR}")


@pytest.mark.requirement("channels.live-edit")
async def test_a_turn_that_answers_in_two_threads_has_a_message_in_each() -> None:
    other = "C1/2"
    async with running(Bench()) as bench:
        await bench.begin(HERE, other)
        await bench.write("first")
        await bench.until_shown(f"first{CURSOR}")
        await until(lambda: bench.driver.shown(other) == [f"first{CURSOR}"])
        here = await bench.parts.take_over("t1", THREAD)
        bench.parts.closed("t1", THREAD)
        there = await bench.parts.take_over("t1", Thread.at(other))
        assert {here, there} == {"m1", "m2"}
