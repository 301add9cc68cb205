"""Shows in a thread that its session is at work: set, renewed and cleared."""

from __future__ import annotations

import asyncio
import logging

from netclaw.adapters.bounded import bounded
from netclaw.adapters.driver import DriverFailure, Thread
from netclaw.adapters.live_edit import LiveEdits
from netclaw.adapters.parts import HostContext
from netclaw.core.errors import NetclawError, NotFoundError
from netclaw.core.session.phase import Phase
from netclaw.wire.v1.gateway_pb2 import ChannelNews, GetSessionRequest

_log = logging.getLogger(__name__)

AT_WORK = "is thinking..."
CHECK_S = 300.0
"""A sign that nobody cleared for so long is held against what its session does."""
_AT_REST = frozenset(("", Phase.READY.value, "passive", "quarantined"))
"""Phases of a session that nothing is made in; none at all is that of one that is gone."""


class _Sign:
    """What one thread should show."""

    def __init__(self, address: str, session_id: str) -> None:
        self.thread = Thread.at(address)
        self.session_id = session_id
        self.is_wanted = True
        self.is_changed = asyncio.Event()

    def want(self, *, wanted: bool) -> None:
        """From now on show it, or nothing."""
        self.is_wanted = wanted
        self.is_changed.set()


class Signs:
    """The signs of one channel; implements `parts.Progress`."""

    def __init__(
        self, context: HostContext, *, live: LiveEdits | None = None, check_s: float = CHECK_S
    ) -> None:
        self._context = context
        self._driver = context.driver
        self._live = live
        self._check_s = check_s
        self._signs: dict[str, _Sign] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    async def run(self) -> None:
        """Wait for the end; signs lapse with this process or with the next post."""
        if self._live is not None:
            self._live.resume()
        try:
            await asyncio.Event().wait()
        finally:
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)
            if self._live is not None:
                await self._live.close()

    def phase(self, news: ChannelNews) -> None:
        """See `parts.Progress`; a turn that answers elsewhere shows nothing here."""
        if self._live is not None:
            self._live.phase(news)
        if not self._driver.abilities.has_status:
            return
        if news.phase == Phase.PROCESSING.value:
            for address in news.addresses:
                self._set(address, news.session_id)
            return
        for sign in self._signs.values():
            if sign.session_id == news.session_id:
                sign.want(wanted=False)

    def renew(self, address: str) -> None:
        """A post of ours may have taken the sign away."""
        sign = self._signs.get(address)
        if sign is not None:
            sign.is_changed.set()

    def _set(self, address: str, session_id: str) -> None:
        sign = self._signs.get(address)
        if sign is not None:
            sign.session_id = session_id
            sign.want(wanted=True)
            return
        sign = self._signs[address] = _Sign(address, session_id)
        task = asyncio.create_task(self._keep(address, sign), name=f"sign {address}")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _keep(self, address: str, sign: _Sign) -> None:
        """Show what is wanted, in order, until nothing is."""
        now = asyncio.get_running_loop().time
        checked_at = now()
        try:
            while sign.is_wanted or sign.is_changed.is_set():
                sign.is_changed.clear()
                await self._show(sign, AT_WORK if sign.is_wanted else "")
                if not sign.is_wanted:
                    continue
                await self._until_due(sign)
                if now() - checked_at >= self._check_s:
                    checked_at = now()
                    await self._check(sign)
        finally:
            del self._signs[address]

    async def _show(self, sign: _Sign, text: str) -> None:
        try:
            await bounded(self._driver.set_status(sign.thread, text))
        except DriverFailure as failure:
            _log.info("a sign of work was not shown: %s", failure.sentence)

    async def _until_due(self, sign: _Sign) -> None:
        """Wait until it has to be shown differently or anew."""
        refresh_s = self._driver.abilities.status_refresh_s or self._check_s
        try:
            async with asyncio.timeout(refresh_s):
                await sign.is_changed.wait()
        except TimeoutError:
            return

    async def _check(self, sign: _Sign) -> None:
        """Clear what nobody clears: of a session that is gone, or whose end was not told."""
        try:
            session = await self._context.link.get_session(
                GetSessionRequest(session_id=sign.session_id)
            )
        except NotFoundError:
            phase = ""
        except NetclawError as error:
            _log.info("a sign of work was not checked: %s", error.sentence)
            return
        else:
            phase = session.row.phase
        if phase in _AT_REST and not sign.is_changed.is_set():
            sign.want(wanted=False)
