"""Starts a session process by exec: `python -I -m netclaw.session_proc --bootstrap-fd N`.

One JSON object, a `Bootstrap`, waits in the inherited pipe; it is read and the pipe closed before
anything else, so the token is in no argument, environment or descriptor.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import traceback
from typing import NoReturn

from netclaw.core.exit_codes import ExitCode
from netclaw.ports.spawner import Bootstrap


def read_bootstrap(descriptor: int) -> Bootstrap:
    """Read the pipe to its end and close it; raises ValueError or TypeError for a wrong object."""
    with os.fdopen(descriptor, "rb") as pipe:
        return Bootstrap(**json.loads(pipe.read()))


def main() -> NoReturn:
    """Read the bootstrap, be the session, leave without teardown."""
    parser = argparse.ArgumentParser(prog="netclaw.session_proc")
    parser.add_argument("--bootstrap-fd", type=int, required=True)
    status = int(ExitCode.INTERNAL)
    try:
        bootstrap = read_bootstrap(parser.parse_args().bootstrap_fd)
        from netclaw.session_proc.main import run_session

        status = run_session(bootstrap)
    except Exception:  # noqa: BLE001 - the last frame of a process: report, then end it
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(status)


if __name__ == "__main__":
    main()
