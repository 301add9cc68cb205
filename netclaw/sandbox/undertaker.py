"""Outlives a killed daemon by a moment and ends the sandboxes that nobody else can.

    python -I -m netclaw.sandbox.undertaker --fd N --home HOME

Holds the reading end of a pipe whose other end only the daemon has. When the pipe ends, however
the daemon died, its session processes and their tools die with it by themselves; what bubblewrap
was just giving birth to does not (see `leftovers`). It looks for such processes for a while, and
ends itself. A daemon that took over the home meanwhile is not disturbed: only what was born before
the pipe ended is looked at.
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
TICKS_PER_S = os.sysconf("SC_CLK_TCK")


def main(arguments: list[str]) -> int:
    """Wait for the end of the pipe, look, leave."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--fd", type=int, required=True)
    parser.add_argument("--home", required=True)
    options = parser.parse_args(arguments)
    # It is to outlive the daemon, so what ends the daemon's group must not end it.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    set_process_name("netclaw-undertk")
    while os.read(options.fd, 1):
        pass
    now_ticks = int(time.clock_gettime(time.CLOCK_BOOTTIME) * TICKS_PER_S)
    for _ in range(LOOKS):
        kill_leftovers(options.home, born_before=now_ticks + TICKS_PER_S // 10)
        time.sleep(PAUSE_S)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
