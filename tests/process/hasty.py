"""The command line with less patience: what it does after a wait, without most of the wait.

    python -m tests.process.hasty chat -p ...

How long it really waits is what `tests/cli` tests; here it is a program of its own beside a daemon.
"""

from __future__ import annotations

from netclaw.cli import client
from netclaw.cli.chat import feed, lookout
from netclaw.cli.main import main

client.PATIENCE_S = 0.5
feed.RECONNECT_DELAYS_S = (0.1, 0.2, 0.5, 1.0)
lookout.LOOK_EVERY_S = 0.5

if __name__ == "__main__":
    main()
