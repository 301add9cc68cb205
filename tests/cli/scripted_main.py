"""A program in the place of `netclawd`; the variable SCRIPTED says how it behaves."""

from __future__ import annotations

import fcntl
import os
import signal
import sys
import threading

from netclaw.config.home import find_home
from netclaw.wire.v1.admin_pb2 import StatusResponse
from tests.cli.scripted_daemon import ScriptedDaemon


def main() -> None:
    """Behave as a daemon until SIGTERM."""
    way = os.environ.get("SCRIPTED", "")
    home = find_home(os.environ)
    if way == "refuse":
        sys.stderr.write(
            "some library said something\n"
            "[FAIL] netclawd: Another schema.\n  fix: Use the newer one.\n  code: schema_newer\n"
        )
        sys.exit(1)
    if way == "die":
        sys.exit(3)
    lock = os.open(home.lock, os.O_RDWR | os.O_CREAT, 0o600)
    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: None if way == "ignore-term" else stop.set())
    if way == "deaf":
        stop.wait()
        return
    daemon = ScriptedDaemon(home, status=StatusResponse(pid=os.getpid()))
    with daemon:
        stop.wait()


if __name__ == "__main__":
    main()
