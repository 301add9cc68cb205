"""Ends, after a daemon was killed, the sandboxes that nobody else can (see `leftovers`).

    python -I -m netclaw.sandbox.undertaker --home HOME --died SECONDS

Started by the shell that waits for the daemon's end (`netclaw.supervisor.undertaker`). Session
processes and their tools die with the daemon by themselves; what bubblewrap was just giving birth
to does not. It looks for such processes for a while, and ends itself. A daemon that took over the
home meanwhile is not disturbed: only what was born by the time of the death is looked at.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import time

from netclaw.linux.prctl import set_process_name
from netclaw.sandbox.leftovers import kill_leftovers

LOOKS = 20
PAUSE_S = 0.1
"""Sessions learn of the daemon's death within milliseconds, and their tools by them."""
GRACE_S = 0.1
"""Beyond the death itself: what a dying session had still begun."""
TICKS_PER_S = os.sysconf("SC_CLK_TCK")


def main(arguments: list[str]) -> int:
    """Look for a while, leave."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--home", required=True)
    parser.add_argument("--died", type=float, required=True, help="seconds since boot")
    options = parser.parse_args(arguments)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    set_process_name("netclaw-undertk")
    born_before = int((options.died + GRACE_S) * TICKS_PER_S)
    for _ in range(LOOKS):
        kill_leftovers(options.home, born_before=born_before)
        time.sleep(PAUSE_S)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
