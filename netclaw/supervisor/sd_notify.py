"""Tells a service manager how the daemon is doing (sd_notify(3)); silent where there is none."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket

NOTIFY_SOCKET = "NOTIFY_SOCKET"
WATCHDOG_USEC = "WATCHDOG_USEC"
WATCHDOG_PID = "WATCHDOG_PID"


class ServiceManager:
    """The manager named by this environment, if any."""

    def __init__(self, environ: dict[str, str] | None = None) -> None:
        environ = dict(os.environ) if environ is None else environ
        self._address = environ.get(NOTIFY_SOCKET, "")
        self._watchdog_s = self._interval(environ)

    @staticmethod
    def _interval(environ: dict[str, str]) -> float:
        named = environ.get(WATCHDOG_USEC, "")
        if not named.isdigit() or environ.get(WATCHDOG_PID, str(os.getpid())) != str(os.getpid()):
            return 0.0
        return int(named) / 2_000_000

    def tell(self, *states: str) -> None:
        """Send state lines such as `READY=1`; a manager that is gone is no fault."""
        if not self._address:
            return
        address = "\0" + self._address[1:] if self._address.startswith("@") else self._address
        with (
            contextlib.suppress(OSError),
            socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as channel,
        ):
            channel.sendto("\n".join(states).encode(), address)

    async def keep_watchdog_quiet(self) -> None:
        """Send WATCHDOG=1 at half the interval the manager asked for, for ever."""
        while self._watchdog_s > 0:
            self.tell("WATCHDOG=1")
            await asyncio.sleep(self._watchdog_s)
