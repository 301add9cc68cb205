"""Who holds a home, as the kernel knows it: the one fact that tells a silent daemon from none."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from netclaw.core.errors import DaemonDownError

if TYPE_CHECKING:
    from netclaw.config.home import Home


class UnreachableDaemonError(DaemonDownError):
    """A daemon holds the home, but cannot be asked."""

    default_fix = "Wait a moment if it is just starting; otherwise run `netclaw daemon restart`."


def lock_owner(home: Home) -> int | None:
    """The process that holds the home's lock, None if there is none.

    Asked of the kernel's lock table, because taking the lock to try it could make a daemon that
    is just starting believe it came second.
    """
    try:
        facts = home.lock.stat()
        table = Path("/proc/locks").read_text("ascii")
    except OSError:
        return None
    device = f"{os.major(facts.st_dev):02x}:{os.minor(facts.st_dev):02x}:{facts.st_ino}"
    for line in table.splitlines():
        fields = line.split()
        if "FLOCK" in fields and device in fields and "->" not in fields:
            pid = fields[fields.index(device) - 1]
            return int(pid) if pid.isdigit() and int(pid) > 0 else None
    return None


def absence(home: Home) -> DaemonDownError:
    """Why no daemon can be asked: none runs, or the one that does has lost its way in."""
    owner = lock_owner(home)
    if owner is None:
        return DaemonDownError("No daemon runs for this home.")
    if not home.socket.exists():
        what = f", but its socket {home.socket} is not there"
    elif not home.operator_token.exists():
        what = f", but the operator's token {home.operator_token} is not there"
    else:
        what = " but does not answer"
    return UnreachableDaemonError(f"Process {owner} holds this home{what}.")
