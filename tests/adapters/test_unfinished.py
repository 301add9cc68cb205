"""What a start of an adapter finds of the one before."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from netclaw.adapters.driver import Post, Thread
from netclaw.adapters.live_edit import LiveEdits, key_of
from netclaw.adapters.outbound import Deliveries
from netclaw.adapters.prompts import ConsentPrompts
from netclaw.adapters.unfinished import LINES, LeftLive, Unfinished
from netclaw.wire.v1.gateway_pb2 import (
    ChannelNews,
    ConfirmOutboxRequest,
    ConfirmOutboxResponse,
    PendingApproval,
)
from tests.adapters import prompt_bench
from tests.adapters.scripted import ScriptedDriver, ScriptedLink, context_of, quiet, until

pytestmark = pytest.mark.unit

LIVE = LeftLive(session_id="C1/1", turn_id="t1", address="C1/1")


@pytest.mark.requirement("channel_sends.dead-buttons")
@pytest.mark.requirement("channel_sends.orphan")
def test_what_has_no_end_is_found_again(tmp_path: Path) -> None:
    path = tmp_path / "adapter-slack.shown"
    before = Unfinished(path)
    for number in range(3):
        before.keep_prompt(f"p.{number}", PendingApproval(call_id=f"c{number}"))
    before.keep_live("e.1", LIVE)
    before.keep_live("e.2", LIVE)
    before.drop("p.1")
    before.drop("e.2")
    with path.open("a") as file:
        file.write('{"key": "p.9", "prom')  # cut off by a death

    after = Unfinished(path)
    assert after.lives() == (LIVE,)
    assert [left.call_id for left in after.take_left({"p.2"})] == ["c0"]
    assert after.take_left(()) == ()
    assert path.stat().st_mode & 0o777 == 0o600
    assert len(path.read_text().splitlines()) == 3


def test_the_file_stays_small(tmp_path: Path) -> None:
    path = tmp_path / "adapter-slack.shown"
    kept = Unfinished(path)
    kept.keep_live("e.0", LIVE)
    for number in range(LINES):
        kept.keep_live(f"e.{number + 1}", LIVE)
        kept.drop(f"e.{number + 1}")
    assert len(path.read_text().splitlines()) <= LINES + 1
    assert Unfinished(path).lives() == (LIVE,)


def prompts_of(bench: prompt_bench.Bench, path: Path) -> prompt_bench.Bench:
    """The prompts of another start, of the same platform and daemon."""
    context = replace(bench.parts._context, unfinished=Unfinished(path), adapter_start="s2")
    after = prompt_bench.Bench(bench.driver, bench.link, now_ms=500)
    after.parts = ConsentPrompts(context, first_delay_s=0.001)
    return after


@pytest.mark.requirement("channel_sends.dead-buttons")
async def test_buttons_of_what_was_answered_meanwhile_become_the_result(tmp_path: Path) -> None:
    path = tmp_path / "shown"
    bench = prompts_of(prompt_bench.Bench(), path)
    async with prompt_bench.running(bench):
        await bench.ask(prompt_bench.request_of(), prompt_bench.request_of("c2", position=2))
        assert bench.driver.buttons(prompt_bench.KEY)
    await bench.end(outcome="refused")
    assert bench.driver.buttons(prompt_bench.KEY)

    async with prompt_bench.running(prompts_of(bench, path)):
        await until(lambda: not bench.driver.buttons(prompt_bench.KEY))
        await quiet()
        assert bench.driver.posts[0].text.endswith("**Refused**.")
        assert bench.driver.buttons("p.64.2"), "this one is open"
    assert [left.call_id for left in Unfinished(path).take_left(())] == ["c2"]


class Lives:
    """A start that finds a message of the one before."""

    def __init__(self, path: Path, state: str) -> None:
        self.driver, self.link = ScriptedDriver(), ScriptedLink()
        self.link.reply_states["t1"] = state
        unfinished = Unfinished(path)
        self.key = key_of("t1", Thread.at("C1/1"))
        unfinished.keep_live(self.key, LIVE)
        context = replace(context_of(self.driver, self.link), unfinished=unfinished)
        self.parts = LiveEdits(context, follows=False)

    async def begin(self) -> None:
        """It is shown, and the start looks at it."""
        await self.driver.post(Post(thread=Thread.at("C1/1"), key=self.key, text="half a"))
        self.parts.resume()
        await quiet()


@pytest.mark.requirement("channel_sends.orphan")
async def test_a_message_that_no_reply_replaces_is_taken_away(tmp_path: Path) -> None:
    lives = Lives(tmp_path / "shown", "running")
    await lives.begin()
    assert lives.driver.shown("C1/1") == ["half a"]
    lives.link.reply_states["t1"] = "none"
    lives.parts.phase(ChannelNews(kind="phase", session_id="C1/1", phase="ready"))
    await until(lambda: lives.driver.shown("C1/1") == [])
    assert Unfinished(tmp_path / "shown").lives() == ()
    await lives.parts.close()


@pytest.mark.requirement("channel_sends.orphan")
async def test_a_message_whose_reply_comes_is_left_to_it(tmp_path: Path) -> None:
    lives = Lives(tmp_path / "shown", "waiting")
    await lives.begin()
    thread = Thread.at("C1/1")
    assert await lives.parts.take_over("t1", thread) == "m1"
    lives.link.reply_states["t1"] = "none"
    lives.parts.closed("t1", thread)
    await quiet()
    assert lives.driver.shown("C1/1") == ["half a"]
    assert Unfinished(tmp_path / "shown").lives() == ()
    await lives.parts.close()


class Killed(ScriptedLink):
    """A daemon that keeps what an adapter says and sees it die before the answer."""

    async def confirm_outbox(self, request: ConfirmOutboxRequest) -> ConfirmOutboxResponse:
        """Keep it, and answer nobody."""
        await super().confirm_outbox(request)
        await asyncio.Event().wait()
        raise AssertionError


@pytest.mark.requirement("channel_sends.orphan")
async def test_a_reply_stays_although_its_adapter_died_when_the_daemon_had_heard_of_it(
    tmp_path: Path,
) -> None:
    lives = Lives(tmp_path / "shown", "waiting")
    link = Killed()
    link.reply_states["t1"] = "waiting"
    link.reply("C1/1", "the whole reply")
    context = replace(lives.parts._context, link=link)
    live = LiveEdits(context, follows=False)
    await lives.driver.post(Post(thread=Thread.at("C1/1"), key=lives.key, text="half a"))
    live.resume()
    delivering = asyncio.create_task(Deliveries(context, live=live).run())
    await until(lambda: bool(link.confirmed))
    delivering.cancel()
    await live.close()

    after = Lives(tmp_path / "after", "none")
    after.driver = lives.driver
    parts = LiveEdits(
        replace(context, link=after.link, unfinished=Unfinished(tmp_path / "shown")), follows=False
    )
    parts.resume()
    await until(lambda: not parts._tasks)
    assert lives.driver.shown("C1/1") == ["the whole reply"]
