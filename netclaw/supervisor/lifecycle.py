"""Ends the daemon's work in order and within its budgets (decisions 9, 12, 80)."""

from __future__ import annotations

import asyncio
import logging

from netclaw.core.session.after_drain import AfterDrain
from netclaw.core.session.phase import Phase
from netclaw.supervisor.adapters import Adapters
from netclaw.supervisor.attach import Attachments
from netclaw.supervisor.awareness import Awareness
from netclaw.supervisor.gateway_api import Gateway
from netclaw.supervisor.keeper import Keeper
from netclaw.supervisor.live_session import EndReason
from netclaw.supervisor.manifest import write_manifest
from netclaw.supervisor.router import Router
from netclaw.supervisor.server import Servers
from netclaw.supervisor.services import Services
from netclaw.supervisor.slot import Slot
from netclaw.wire.v1.session_host_pb2 import HostCommand

_log = logging.getLogger(__name__)

CALL_GRACE_S = 1.0
"""What calls that are under way get once nothing new is taken."""
ADAPTERS_S = 5.0
"""What adapters get to deliver what they claimed, at most."""
STOP_NOTICE = "netclaw is stopping. Your message is kept and will run after the next start."
RESTART_NOTICE = "netclaw is restarting. Your message is kept and will run in a moment."


class Drain:
    """One graceful stop or restart."""

    def __init__(
        self,
        services: Services,
        router: Router,
        keeper: Keeper,
        gateway: Gateway,
        attachments: Attachments,
        awareness: Awareness,
        servers: Servers,
        adapters: Adapters,
        *,
        extra_s: float = 0.0,
    ) -> None:
        self._services = services
        self._router = router
        self._keeper = keeper
        self._gateway = gateway
        self._attachments = attachments
        self._awareness = awareness
        self._servers = servers
        self._adapters = adapters
        self._extra_s = extra_s
        """What the budget is longer, for child runs at work."""
        self._hurry = asyncio.Event()

    def hurry(self) -> None:
        """Wait for nobody any more: kill what still runs."""
        self._hurry.set()

    async def run(self, *, is_restart: bool) -> None:
        """Drain sessions, close the sockets, end every child process.

        Inputs that arrive meanwhile are admitted and run after the next start. The caller closes
        the store afterwards.
        """
        self._keeper.is_draining = True
        self._awareness.stop()
        self._gateway.stop_notice = RESTART_NOTICE if is_restart else STOP_NOTICE
        await self._servers.say_draining()
        slots = list(self._router.slots)
        write_manifest(
            self._services.home / "run", (slot.session_id for slot in slots if _is_active(slot))
        )
        _log.info("draining %d sessions", sum(1 for slot in slots if slot.live is not None))
        await self._drain_sessions(slots, is_restart=is_restart)
        await self._drain_adapters()
        self._attachments.close()
        self._awareness.end_tails()
        await self._servers.stop_public(CALL_GRACE_S)
        await self._end_keepers()
        await self._servers.stop_host()
        await self._services.spawner.close()

    async def _drain_sessions(self, slots: list[Slot], *, is_restart: bool) -> None:
        command = HostCommand(
            kind="drain",
            is_restart=is_restart,
            then=AfterDrain.DAEMON_RESTART if is_restart else AfterDrain.DAEMON_STOP,
            budget_s=self._services.settings.current.daemon.drain_s + self._extra_s,
            actor="daemon",
        )
        draining = [
            self._services.tasks.start(
                self._router.drain(slot, command, EndReason.DAEMON_STOP),
                name=f"drain of {slot.session_id}",
            )
            for slot in slots
            # A child run is told by its parent, whose record says what became of it.
            if slot.live is not None and not slot.is_child
        ]
        if not draining:
            return
        hurried = asyncio.ensure_future(self._hurry.wait())
        everything = asyncio.ensure_future(asyncio.wait(draining))
        try:
            await asyncio.wait({hurried, everything}, return_when=asyncio.FIRST_COMPLETED)
            if self._hurry.is_set():
                for slot in slots:
                    if slot.live is not None and slot.live.process is not None:
                        slot.live.process.kill()
            await everything
        finally:
            hurried.cancel()

    async def _drain_adapters(self) -> None:
        """Last of all, because the last words of the sessions are theirs to deliver."""
        daemon = self._services.settings.current.daemon
        budget_s = min(ADAPTERS_S, (daemon.shutdown_s - daemon.drain_s) / 2)
        ending = self._services.tasks.start(
            self._adapters.drain(budget_s=budget_s, notice=self._gateway.stop_notice),
            name="drain of the adapters",
        )
        hurried = asyncio.ensure_future(self._hurry.wait())
        try:
            await asyncio.wait({hurried, ending}, return_when=asyncio.FIRST_COMPLETED)
            if self._hurry.is_set():
                self._adapters.kill()
            await ending
        finally:
            hurried.cancel()

    async def _end_keepers(self) -> None:
        """Cancel what only waits; a keeper that buries a process is waited for."""
        for slot in list(self._router.slots):
            await self._router.dismiss(slot)


def _is_active(slot: Slot) -> bool:
    live = slot.live
    return (
        live is not None
        and not slot.is_child
        and live.phase in (Phase.PROCESSING, Phase.COMPACTING)
    )
