"""Knows the process trees of one session's tools, so that none outlives the session (decision 82).

A tool waits until its tree is acknowledged, and a tree is acknowledged only once a pidfd holds
it; so whatever a dead session leaves behind can be killed without hitting a reused pid.
"""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path

from netclaw.linux.pidfd import WatchedProcess

_log = logging.getLogger(__name__)

START_TICKS_FIELD = 19
"""Place of the start time in /proc/<pid>/stat after the command name."""


def start_ticks_of(pid: int) -> int | None:
    """Start time of a process in clock ticks since boot, None if there is none."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return int(stat.rpartition(b")")[2].split()[START_TICKS_FIELD])


class ToolTrees:
    """The open trees of one process of a session."""

    def __init__(self) -> None:
        self._open: dict[int, WatchedProcess] = {}

    def opened(self, pid: int, start_ticks: int) -> bool:
        """Hold a tree by pidfd; False if that process is gone already (nothing to kill)."""
        self._drop_dead()
        try:
            process = WatchedProcess(pid)
        except ProcessLookupError:
            return False
        # Looked at after the pidfd was opened: if the number was reused before, it shows here.
        if start_ticks_of(pid) != start_ticks:
            process.forget()
            return False
        self._open[pid] = process
        return True

    def closed(self, pid: int) -> None:
        """The session says the tree is gone; one that is not stays ours to kill."""
        self._drop_dead()
        process = self._open.get(pid)
        if process is not None:
            _log.debug("tool process %d is said to be gone, its pidfd is still silent", pid)

    def _drop_dead(self) -> None:
        self._open = {pid: process for pid, process in self._open.items() if process.is_alive}

    async def kill_all(self, patience_s: float) -> bool:
        """Kill every tree and wait for its pidfd; False if one was not gone in time."""
        processes = [process for process in self._open.values() if process.is_alive]
        self._open.clear()
        for process in processes:
            process.kill()
        try:
            async with asyncio.timeout(patience_s):
                for process in processes:
                    await process.wait()
        except TimeoutError:
            left = [process.pid for process in processes if process.is_alive]
            _log.error("tool processes %s do not die", left)
            return False
        return True
