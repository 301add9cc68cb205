"""State awareness as the supervisor keeps it up: who is told of what the signal log records.

A change of a notice goes to the watcher's process before any row of the same transaction, then a
wake is seen to, and whoever follows the log sees the events (ADR 0045).
"""

from __future__ import annotations

import asyncio
import contextlib
import logging

from netclaw.core.errors import NetclawError
from netclaw.core.signals.cursors import NoticeChange
from netclaw.ports.signals import SignalLimits, SignalsCommitted
from netclaw.supervisor.router import Router
from netclaw.supervisor.services import Services
from netclaw.supervisor.signal_tails import SignalTails
from netclaw.supervisor.wakes import Wakes

_log = logging.getLogger(__name__)


class Awareness:
    """Hands on what was recorded, and keeps the log within its limits."""

    def __init__(self, services: Services, router: Router) -> None:
        self._services = services
        self._router = router
        self._is_changed = asyncio.Event()
        self.wakes = Wakes(services, router)
        self.tails = SignalTails()
        services.settings.when_changed(self._settings_changed)

    def on_signals(self, committed: SignalsCommitted) -> None:
        """Receive what one transaction recorded (the store's listener of signals)."""
        for change in committed.notices:
            try:
                self._tell(change)
            except Exception:  # noqa: BLE001 - one session's fault must not reach another
                _log.exception("a notice of session %s was not handed on", change.watcher)
                self._router.cut_off(change.watcher)
        self.tails.publish(committed.events)

    def _tell(self, change: NoticeChange) -> None:
        slot = self._router.find(change.watcher)
        if slot is not None and slot.live is not None:
            slot.live.notice(change)
        self.wakes.on_notice(change)

    async def sweep(self) -> None:
        """At boot, before any session runs: open what there is to tell, as one notice each.

        A log that cannot be written keeps nobody from starting.
        """
        try:
            found = await self._services.store.sweep_cursors(at=self._services.now_ms())
        except NetclawError as error:
            _log.warning("the open notices were not looked through: %s", error.sentence)
            return
        self.wakes.expect(found)

    async def keep_pruned(self) -> None:
        """Remove what is too old or too much, now and every `Signals.PruneIntervalSeconds`."""
        while True:
            try:
                await self._prune()
            except NetclawError as error:
                _log.warning("the signal log is pruned later: %s", error.sentence)
            await self._until_next()

    async def _prune(self) -> None:
        settings = self._services.settings.current.signals
        limits = SignalLimits(retention_days=settings.retention_days, row_cap=settings.row_cap)
        removed = await self._services.store.prune_signals(limits, at=self._services.now_ms())
        if removed.events or removed.cursors:
            _log.info(
                "pruned the signal log: %d events and %d watches",
                removed.events,
                removed.cursors,
            )

    async def _until_next(self) -> None:
        """Wait for the next pruning, however the interval is changed meanwhile."""
        loop = asyncio.get_running_loop()
        began = loop.time()
        while (left_s := began + self._interval_s - loop.time()) > 0:
            self._is_changed.clear()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(left_s):
                    await self._is_changed.wait()

    @property
    def _interval_s(self) -> float:
        return self._services.settings.current.signals.prune_interval_s

    def _settings_changed(self) -> None:
        self._is_changed.set()
        self.wakes.settings_changed()

    def stop(self) -> None:
        """The daemon ends: wake nobody any more."""
        self.wakes.stop()

    def end_tails(self) -> None:
        """Sessions are at rest: end the streams of those who follow the log, new ones included.

        Not before: whoever follows would connect again and again as long as a drain takes.
        """
        self.tails.close()
