"""Starts the process that cleans up if this daemon is killed (see `netclaw.sandbox.undertaker`)."""

from __future__ import annotations

import os

from netclaw.linux.pidfd import WatchedProcess
from netclaw.supervisor.spawn.exec_start import INHERITED_FD, start_python
from netclaw.supervisor.spawn.local_spawner import LocalSpawner


def start_undertaker(home: str, spawner: LocalSpawner) -> int:
    """Start it; returns the descriptor that says, as long as it is open, that we live.

    The descriptor is not inherited by anything and closes with this process, or at its exec.
    """
    read_end, write_end = os.pipe()
    try:
        pid = start_python(
            ["-m", "netclaw.sandbox.undertaker", "--fd", str(INHERITED_FD), "--home", home],
            inherited_fd=read_end,
        )
    finally:
        os.close(read_end)
    spawner.recognise(WatchedProcess(pid))
    return write_end
