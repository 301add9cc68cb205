"""Exchanges two names as fast as it can, until its standard input ends: a host process at a race.

Arguments: the two paths, and optionally how many microseconds the second may stay.
"""

from __future__ import annotations

import ctypes
import os
import select
import sys

LIBC = ctypes.CDLL(None, use_errno=True)
RENAME_EXCHANGE, AT_FDCWD = 2, -100


def main() -> None:
    """Swaps in bursts; says `ready` before the first and how often it swapped after the last."""
    first, second = (os.fsencode(path) for path in sys.argv[1:3])
    swaps = 0
    os.write(1, b"ready\n")
    while not select.select([0], [], [], 0)[0]:
        for _ in range(50):
            if LIBC.renameat2(AT_FDCWD, first, AT_FDCWD, second, RENAME_EXCHANGE) < 0:
                raise OSError(ctypes.get_errno(), "renameat2")
            swaps += 1
    os.write(1, b"%d\n" % swaps)


main()
