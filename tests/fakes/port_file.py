"""How tests and benchmarks learn where a server that they started listens."""

from __future__ import annotations

import time
from pathlib import Path


def await_port(port_file: Path, timeout_s: float = 30.0) -> int:
    """The port in `port_file` once it is there. Blocking; raises TimeoutError."""
    deadline = time.monotonic() + timeout_s
    while not port_file.exists():
        if time.monotonic() > deadline:
            raise TimeoutError(f"{port_file} did not appear within {timeout_s} s")
        time.sleep(0.01)
    return int(port_file.read_text())
