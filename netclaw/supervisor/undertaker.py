"""Leaves somebody behind to clean up if this daemon is killed (see `netclaw.sandbox.undertaker`).

A shell that waits for the end of a pipe costs a fifth of a megabyte, an interpreter seven; so the
shell waits and becomes the interpreter when there is something to do.
"""

from __future__ import annotations

import os
import sys

from netclaw.linux.pidfd import WatchedProcess
from netclaw.supervisor.spawn.exec_start import INHERITED_FD, child_environment
from netclaw.supervisor.spawn.local_spawner import LocalSpawner

SHELL = "/bin/sh"
WAIT = f"""
trap '' INT TERM HUP
while read -r line <&{INHERITED_FD}; do :; done
exec {INHERITED_FD}<&-
read -r died rest < /proc/uptime
exec "$1" -I -m netclaw.sandbox.undertaker --home "$2" --died "$died"
"""
"""Ignores what ends the daemon's group, waits for the pipe to end, says when that was."""


def start_undertaker(home: str, spawner: LocalSpawner) -> int:
    """Start it; returns the descriptor that says, as long as it is open, that we live.

    The descriptor is not inherited by anything and closes with this process, or at its exec.
    """
    read_end, write_end = os.pipe()
    try:
        pid = os.posix_spawn(
            SHELL,
            [SHELL, "-c", WAIT, "netclaw-undertaker", sys.executable, home],
            child_environment(),
            file_actions=[
                (os.POSIX_SPAWN_OPEN, 0, "/dev/null", os.O_RDONLY, 0),
                (os.POSIX_SPAWN_DUP2, 2, 1),
                (os.POSIX_SPAWN_DUP2, read_end, INHERITED_FD),
            ],
            setsid=True,
        )
    finally:
        os.close(read_end)
    spawner.recognise(WatchedProcess(pid))
    return write_end
