"""A host process that exchanges two names all the time, for tests of races."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

SWAPPER = Path(__file__).with_name("inside").joinpath("swapper.py").read_text()
LEAST = 25


@contextmanager
def swapping(first: Path, second: Path) -> Iterator[None]:
    """Swaps from before the body until after it."""
    argv = [sys.executable, "-I", "-S", "-c", SWAPPER, str(first), str(second)]
    pipe = subprocess.PIPE
    with subprocess.Popen(argv, stdin=pipe, stdout=pipe) as swapper:
        assert swapper.stdout is not None
        assert swapper.stdout.readline() == b"ready\n"
        try:
            yield
        finally:
            output, _ = swapper.communicate()
        assert int(output) > LEAST
