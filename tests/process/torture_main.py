"""The command behind `scripts/torture`."""

from __future__ import annotations

import argparse
import asyncio
import random
import sys
import time

from tests.process.torture import torture


def main() -> int:
    """Run the rounds asked for; a broken promise ends it with a traceback and its seed."""
    parser = argparse.ArgumentParser(prog="scripts/torture", description=__doc__)
    parser.add_argument("--seed", type=int, default=None, help="repeat this run")
    parser.add_argument("--kills", type=int, default=1000, help="processes killed per round")
    parser.add_argument("--sessions", type=int, default=12, help="sessions under fire")
    parser.add_argument("--rounds", type=int, default=1, help="rounds with following seeds")
    options = parser.parse_args()
    first = random.SystemRandom().randrange(2**32) if options.seed is None else options.seed
    for seed in range(first, first + options.rounds):
        print(f"seed {seed}: {options.kills} kills over {options.sessions} sessions", flush=True)
        began = time.monotonic()
        toll = asyncio.run(torture(seed=seed, kills=options.kills, sessions=options.sessions))
        print(
            f"  kept every promise: {dict(toll.kills)}, {toll.inputs} inputs, "
            f"{toll.unconfirmed} unconfirmed, {toll.released} held starts released, "
            f"{time.monotonic() - began:.0f} s",
            flush=True,
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
