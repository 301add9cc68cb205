"""A daemon's process, which may outlive the event loop in which it was started."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
from contextlib import suppress
from pathlib import Path


class DaemonProcess:
    """Started at once, in a session of its own; what it says goes to `errors`."""

    def __init__(self, *command: str, environment: dict[str, str], errors: Path) -> None:
        with errors.open("ab") as stream:
            self._popen = subprocess.Popen(
                command,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=stream,
                stderr=stream,
                start_new_session=True,
            )

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._popen.pid

    @property
    def returncode(self) -> int | None:
        """Its exit status, negative for a signal; None while it lives."""
        return self._popen.poll()

    def send_signal(self, number: signal.Signals) -> None:
        """Nothing happens if it has ended."""
        self._popen.send_signal(number)

    def kill(self) -> None:
        """SIGKILL."""
        self._popen.kill()

    async def wait(self) -> int:
        """Its exit status once it has ended."""
        loop = asyncio.get_running_loop()
        while (status := self.returncode) is None:
            ended = asyncio.Event()
            with suppress(ProcessLookupError):
                watched = os.pidfd_open(self.pid)
                loop.add_reader(watched, ended.set)
                try:
                    await ended.wait()
                finally:
                    loop.remove_reader(watched)
                    os.close(watched)
        return status

    def end(self) -> None:
        """Kill it, without a loop."""
        self.kill()
        self._popen.wait()
