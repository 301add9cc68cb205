"""Where `netclawd` begins: imports the supervisor without looking for rubbish among its modules.

A collection at every few hundred new objects costs a seventh of the import and finds nothing; the
supervisor lets the collector work again once all that lives as long as the daemon exists.
"""

from __future__ import annotations

import gc
import sys


def main() -> int:
    """Run the supervisor in the foreground; returns its exit status."""
    gc.disable()
    from netclaw.supervisor.main import main as supervise

    return supervise()


if __name__ == "__main__":
    sys.exit(main())
