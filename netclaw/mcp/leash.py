"""Becomes the program of a server, after asking the kernel to kill it with the host.

`python -I -m netclaw.mcp.leash HOST_PID PROGRAM [ARGUMENT...]`. The request survives the exec, so
not even a killed host leaves a server behind. Imports next to nothing: it runs for milliseconds.
"""

from __future__ import annotations

import os
import sys

from netclaw.linux.prctl import die_with_parent

CANNOT_START = 127


def main() -> int:
    """Does not return if all goes well."""
    host_pid, *command = sys.argv[1:]
    if not die_with_parent(int(host_pid)):
        return CANNOT_START
    try:
        os.execvp(command[0], command)  # noqa: S606 - the operator's program, with no shell
    except OSError:
        return CANNOT_START


if __name__ == "__main__":
    sys.exit(main())
