"""Runs one channel: the driver's connection on one side, the daemon's news on the other.

What is decided about a message or a reply is decided in the parts; here is only what keeps them
going: order within a thread, the reconnect, the drain, and which end of the process means what.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine

from netclaw.adapters.driver import (
    Clicked,
    DriverFailure,
    Health,
    Incoming,
    Received,
    TransientFailure,
)
from netclaw.adapters.exits import AdapterExit
from netclaw.adapters.lanes import Lanes
from netclaw.adapters.log import set_log_level
from netclaw.adapters.lookups import PLACES, USERS, Lookups
from netclaw.adapters.parts import HostContext, Parts
from netclaw.adapters.reconnects import Reconnects
from netclaw.adapters.reports import Reports
from netclaw.adapters.titles import Titles
from netclaw.core.errors import NetclawError
from netclaw.wire.v1.gateway_pb2 import ChannelNews

_log = logging.getLogger(__name__)

HEALTH_EVERY_S = 0.5
"""How soon a change of the connection is seen."""
FOR_INGRESS = 0.25
"""Part of the time of a drain that is left to what came in, if deliveries use up the rest: not
every platform brings a message again."""
News = asyncio.Queue[ChannelNews | None]
LOST = "The connection to the platform ended."


class Host:
    """One channel at work."""

    def __init__(self, context: HostContext, parts: Parts, reports: Reports) -> None:
        self._context = context
        self._parts = parts
        self._reports = reports
        self._lanes = Lanes()
        self._titles = Titles(context)
        self._lookups = Lookups(context.driver, reports.say_answer)
        self._reconnects = Reconnects()
        self._drain_budget_s: float | None = None
        self._drain_wished = asyncio.Event()
        self._is_closing = False
        """Events are left to the next start; the connection stays for acknowledgements."""

    async def run(self, news: News) -> AdapterExit:
        """Serve until drained, or until it cannot go on.

        Raises `FatalFailure` or `TransientFailure` for what ended it.
        """
        wished = self._start(self._until_drain(), "drain")
        tasks = [
            wished,
            self._start(self._serve_events(), "events"),
            self._start(self._watch_health(), "health"),
            self._start(self._read(news), "news"),
            self._start(self._parts.outbound.run(), "outbound"),
            self._start(self._parts.prompts.run(), "prompts"),
            self._start(self._parts.progress.run(), "progress"),
        ]
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in tasks:
                if task.done():
                    task.result()  # raises what ended it
            if wished.done():
                await self._drain()
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await self._lanes.close()
            await self._titles.close()
            await self._lookups.close()
            await self._context.driver.close()
        return AdapterExit.STOPPED

    def drain(self, *, budget_s: float, notice: str) -> None:
        """Take nothing new, finish what is claimed, end; at the latest when the budget is used."""
        self._context.gate.notice = notice
        self._drain_budget_s = budget_s
        self._drain_wished.set()

    async def _until_drain(self) -> None:
        await self._drain_wished.wait()

    # The platform ---------------------------------------------------------------------------

    async def _serve_events(self) -> None:
        """Connect, and connect again: the one place that does."""
        while True:
            self._reconnects.begin()
            delay_s = self._reconnects.delay_s(await self._until_lost())
            self._context.counters.reconnects += 1
            _log.warning("%s Again in %.1f s.", LOST, delay_s)
            await asyncio.sleep(delay_s)

    async def _until_lost(self) -> float | None:
        """Deal with the events of one connection; what the platform asks to wait afterwards."""
        try:
            async for incoming in self._context.driver.events():
                if not self._is_closing:
                    await self._take(incoming)
        except TransientFailure as failure:
            self._context.report_failure(failure.sentence)
            _log.warning("the connection was lost: %s", failure.sentence)
            return failure.retry_after_s
        self._context.report_failure(LOST)
        return None

    async def _take(self, incoming: Incoming) -> None:
        event = incoming.event
        if isinstance(event, Received):
            await self._lanes.put(event.thread.address, lambda: self._ingest(incoming))
            return
        # A platform waits seconds for this. A press that it did not hear of is one all the same.
        try:
            await incoming.acknowledge()
        except DriverFailure as failure:
            _log.info("a press was not acknowledged: %s", failure.sentence)
        await self._lanes.put(f"click {event.post_id}", lambda: self._click(event))

    async def _ingest(self, incoming: Incoming) -> None:
        try:
            await self._parts.ingress.take(incoming)
        except (DriverFailure, NetclawError) as error:
            # Not acknowledged: it comes again, if the platform can do that.
            self._failed("a message was not taken", error)

    async def _click(self, event: Clicked) -> None:
        try:
            await self._parts.prompts.click(event)
        except (DriverFailure, NetclawError) as error:
            self._failed("a button was not answered", error)

    async def _watch_health(self) -> None:
        """The driver's connection as the daemon is told of it."""
        while True:
            if not self._drain_wished.is_set():
                self._reports.say_state(_STATE_OF[self._context.driver.health()])
            await asyncio.sleep(HEALTH_EVERY_S)

    # The daemon -----------------------------------------------------------------------------

    async def _read(self, news: News) -> None:
        """What there is to do; None is the end of the daemon."""
        while (item := await news.get()) is not None:
            match item.kind:
                case "outbox":
                    self._parts.outbound.look()
                case "approvals":
                    self._parts.prompts.look()
                case "phase":
                    self._parts.progress.phase(item)
                case "title":
                    self._titles.look(item.session_id)
                case _ if item.kind in (USERS, PLACES):
                    self._lookups.ask(item)
                case "log_level":
                    set_log_level(item.log_level)
                case "drain":
                    self.drain(budget_s=item.budget_ms / 1000, notice=item.notice)
                case _:
                    _log.info("news of kind %s is not known here", item.kind)

    async def _drain(self) -> None:
        self._reports.say_state("stopping")
        budget_s = self._drain_budget_s or 0.0
        end_at = asyncio.get_running_loop().time() + budget_s
        try:
            async with asyncio.timeout_at(end_at - budget_s * FOR_INGRESS):
                await self._parts.outbound.settle()
        except TimeoutError:
            _log.warning("not everything was delivered within its time")
        self._is_closing = True
        try:
            async with asyncio.timeout_at(end_at):
                await self._lanes.settle()
        except TimeoutError:
            _log.warning("not everything that came was taken within its time")

    def _failed(self, what: str, error: DriverFailure | NetclawError) -> None:
        _log.warning("%s: %s", what, error.sentence)
        self._context.report_failure(error.sentence)

    def _start(self, work: Coroutine[None, None, None], name: str) -> asyncio.Task[None]:
        return asyncio.create_task(work, name=name)


_STATE_OF = {
    Health.DISCONNECTED: "disconnected",
    Health.CONNECTING: "connecting",
    Health.READY: "ready",
    Health.DISCONNECTING: "disconnected",
}
