"""The host between a real driver and parts that note what they are asked."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path

import pytest

from netclaw.adapters.driver import (
    ChannelConfig,
    Clicked,
    FatalFailure,
    Incoming,
    Received,
    Thread,
)
from netclaw.adapters.driver import TransientFailure as Transient
from netclaw.adapters.exits import AdapterExit
from netclaw.adapters.gateway_link import GatewayLink
from netclaw.adapters.host import Host, News
from netclaw.adapters.parts import HostContext, Parts
from netclaw.adapters.reports import Reports
from netclaw.wire.v1.gateway_pb2 import ChannelNews
from tests.adapters.loop.driver import create
from tests.adapters.loop.server import LoopServer
from tests.adapters.scripted import ScriptedDriver, ScriptedLink, context_of


class Silent:
    """A part that does nothing."""

    async def run(self) -> None:
        """Wait for the end."""
        await asyncio.Event().wait()

    def look(self) -> None:
        """Nothing is looked at."""

    async def settle(self) -> None:
        """Nothing is under way."""

    async def click(self, clicked: Clicked) -> None:
        """No button is ours."""

    async def take_letter(self, received: Received) -> bool:
        """No message answers a prompt."""
        del received
        return False

    def phase(self, news: ChannelNews) -> None:
        """Nothing is shown."""


class Noting(Silent):
    """Notes in order what the host asks; an ingress that can be told to wait or to fail."""

    def __init__(self) -> None:
        self.notes: list[str] = []
        self.texts: list[str] = []
        self.is_new = asyncio.Condition()
        self.may_go_on: dict[str, asyncio.Event] = {}
        self.may_settle: asyncio.Event | None = None

    async def note(self, what: str) -> None:
        """Remember it."""
        async with self.is_new:
            self.notes.append(what)
            self.is_new.notify_all()

    async def until(self, *what: str) -> None:
        """Wait until all of this was noted; bounded."""
        async with asyncio.timeout(10), self.is_new:
            await self.is_new.wait_for(lambda: set(what) <= set(self.notes))

    async def take(self, incoming: Incoming) -> None:
        """Deal with a message as its text says."""
        assert isinstance(incoming.event, Received)
        text = incoming.event.text
        await self.note(f"begin {text}")
        if text in self.may_go_on:
            await self.may_go_on[text].wait()
        if text == "fail":
            raise Transient("The file cannot be fetched.")
        if text == "crash":
            raise ZeroDivisionError
        await incoming.acknowledge()
        await self.note(f"end {text}")

    async def click(self, clicked: Clicked) -> None:
        """Note a button."""
        await self.note(f"click {clicked.token}")

    async def settle(self) -> None:
        """Note the end of the outbox."""
        if self.may_settle is not None:
            await self.may_settle.wait()
        await self.note("settled")

    def look(self) -> None:
        """Note that something is due."""
        self.notes.append("look")

    def phase(self, news: ChannelNews) -> None:
        """Note the phase of a session."""
        self.notes.append(f"{news.session_id} {news.phase}")


class Stage:
    """One host at work."""

    def __init__(self, server: LoopServer) -> None:
        self.server = server
        self.parts = Noting()
        self.news: News = asyncio.Queue()
        config = ChannelConfig(
            name="loop",
            secrets={"bot_token": server.token},
            options={"server_url": server.url},
        )
        self.failures: list[str] = []
        self.context = HostContext(
            config=config,
            driver=create(config),
            link=GatewayLink("/nowhere", "none"),
            adapter_start="start",
            staging=Path(tempfile.gettempdir()),
            report_failure=self.failures.append,
        )
        self.reports = Reports(self.context.counters)
        parts = Parts(
            ingress=self.parts, outbound=self.parts, prompts=Silent(), progress=self.parts
        )
        self.host = Host(self.context, parts, self.reports)
        self.running = asyncio.create_task(self.host.run(self.news))

    async def say(self, text: str, thread: str = "") -> str:
        """A person writes; the thread's id."""
        return (await self.server.say(text, thread=thread)).thread

    async def end(self) -> None:
        """Whatever the test left."""
        self.running.cancel()
        with suppress(asyncio.CancelledError, FatalFailure):
            await self.running
        await self.context.link.close()  # type: ignore[attr-defined]


@pytest.fixture
async def stage() -> AsyncIterator[Stage]:
    """A host that is connected or will be."""
    async with LoopServer() as server:
        made = Stage(server)
        yield made
        await made.end()


@pytest.mark.requirement("channel_host.order")
async def test_one_thread_keeps_its_order_and_holds_no_other_up(stage: Stage) -> None:
    stage.parts.may_go_on["slow"] = asyncio.Event()
    thread = await stage.say("slow")
    await stage.parts.until("begin slow")
    await stage.say("behind", thread)
    await stage.say("elsewhere")
    await stage.parts.until("end elsewhere")
    assert "begin behind" not in stage.parts.notes
    stage.parts.may_go_on["slow"].set()
    await stage.parts.until("end behind")
    notes = stage.parts.notes
    assert notes.index("end slow") < notes.index("begin behind")


@pytest.mark.requirement("channel_host.order")
async def test_what_was_not_taken_comes_again_and_disturbs_nothing(stage: Stage) -> None:
    await stage.say("fail")
    await stage.say("crash")
    await stage.say("fine")
    await stage.parts.until("end fine", "begin fail", "begin crash")
    assert stage.failures == ["The file cannot be fetched."]
    async with asyncio.timeout(10):
        while stage.server.waiting > 2:
            await asyncio.sleep(0.01)
        await stage.server.drop()
        while stage.parts.notes.count("begin fail") < 2:
            await asyncio.sleep(0.01)
    assert stage.context.counters.reconnects == 1


async def test_news_reach_the_part_they_are_for(stage: Stage) -> None:
    stage.news.put_nowait(ChannelNews(kind="outbox"))
    stage.news.put_nowait(ChannelNews(kind="phase", session_id="room/1", phase="processing"))
    stage.news.put_nowait(ChannelNews(kind="something of a later version"))
    await stage.say("hello")
    await stage.parts.until("end hello", "look", "room/1 processing")


class Pressed(ScriptedDriver):
    """A platform with one press, whose acknowledgement does not reach it."""

    connects = 0

    async def events(self) -> AsyncIterator[Incoming]:
        """One press and no more."""
        self.connects += 1
        press = Clicked(token="t1", sender_id="U1", post_id="m1", thread=Thread.at("C1/1"))
        yield Incoming(event=press, acknowledge=self._acknowledge)
        await asyncio.Event().wait()

    async def _acknowledge(self) -> None:
        raise Transient("The platform cannot be reached.")


@pytest.mark.requirement("channel_host.order")
async def test_a_press_counts_although_its_acknowledgement_was_lost() -> None:
    driver, parts, news = Pressed(), Noting(), News()
    context = context_of(driver, ScriptedLink())
    host = Host(
        context,
        Parts(ingress=parts, outbound=parts, prompts=parts, progress=parts),
        Reports(context.counters),
    )
    running = asyncio.create_task(host.run(news))
    await parts.until("click t1")
    news.put_nowait(None)
    assert await asyncio.wait_for(running, 10) is AdapterExit.STOPPED
    assert (driver.connects, context.counters.reconnects) == (1, 0)


@pytest.mark.requirement("channel_host.drain")
async def test_a_drain_settles_the_outbox_then_ends(stage: Stage) -> None:
    stage.parts.may_go_on["last"] = asyncio.Event()
    await stage.say("last")
    await stage.parts.until("begin last")
    stage.news.put_nowait(ChannelNews(kind="drain", budget_ms=10_000, notice="We are stopping."))
    await stage.parts.until("settled")
    assert stage.context.gate.notice == "We are stopping."
    assert not stage.running.done()
    assert stage.reports.state == "stopping"
    stage.parts.may_go_on["last"].set()
    assert await asyncio.wait_for(stage.running, 10) is AdapterExit.STOPPED
    assert stage.server.waiting == 0


@pytest.mark.requirement("channel_host.drain")
async def test_a_drain_ends_when_its_budget_is_used(stage: Stage) -> None:
    stage.parts.may_go_on["never"] = asyncio.Event()
    await stage.say("never")
    await stage.parts.until("begin never")
    stage.news.put_nowait(ChannelNews(kind="drain", budget_ms=50, notice="We are stopping."))
    assert await asyncio.wait_for(stage.running, 10) is AdapterExit.STOPPED
    assert stage.server.waiting == 1


@pytest.mark.requirement("channel_host.drain")
async def test_what_came_is_taken_although_deliveries_never_end(stage: Stage) -> None:
    stage.parts.may_settle = asyncio.Event()
    stage.parts.may_go_on["last"] = asyncio.Event()
    await stage.say("last")
    await stage.parts.until("begin last")
    stage.news.put_nowait(ChannelNews(kind="drain", budget_ms=800, notice="We are stopping."))
    async with asyncio.timeout(10):
        while not stage.host._is_closing:
            await asyncio.sleep(0.01)
    stage.parts.may_go_on["last"].set()
    assert await asyncio.wait_for(stage.running, 10) is AdapterExit.STOPPED
    assert stage.server.waiting == 0


async def test_the_end_of_the_daemon_is_the_end(stage: Stage) -> None:
    stage.news.put_nowait(None)
    assert await asyncio.wait_for(stage.running, 10) is AdapterExit.STOPPED


@pytest.mark.requirement("channel_host.fatal")
async def test_a_token_that_is_revoked_ends_it(stage: Stage) -> None:
    await stage.say("hello")
    await stage.parts.until("end hello")
    await stage.server.revoke()
    with pytest.raises(FatalFailure, match="refuses the token"):
        await asyncio.wait_for(stage.running, 10)
