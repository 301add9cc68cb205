"""A process under SIGSTOP: sent at once, it stops when the kernel gets to it."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

PATIENCE_S = 15.0


def stop(pid: int) -> None:
    """Send SIGSTOP and return when no thread of the process can run any more."""
    os.kill(pid, signal.SIGSTOP)
    deadline = time.monotonic() + PATIENCE_S
    while not _is_stopped(pid):
        assert time.monotonic() < deadline, f"process {pid} does not stop"
        os.sched_yield()


def _is_stopped(pid: int) -> bool:
    tasks = Path(f"/proc/{pid}/task").iterdir()
    # The name, in parentheses, may hold anything; the state is the word behind it.
    states = [(task / "stat").read_text().rpartition(")")[2].split()[0] for task in tasks]
    return set(states) == {"T"}
