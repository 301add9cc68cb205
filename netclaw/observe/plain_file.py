"""Keeps the file that another program writes its words into from growing without end."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

MAX_BYTES = 10 * 1000 * 1000
KEPT_BYTES = 64 * 1024
"""What was said last is what explains an end."""


def shorten_file(path: Path, *, max_bytes: int = MAX_BYTES) -> None:
    """Cut a file over `max_bytes` down to its newest 64 KiB, from the begin of a line on.

    For a time when nobody writes it. A file that is not there or cannot be changed stays as it is.
    """
    with suppress(OSError), path.open("r+b") as file:
        size = os.fstat(file.fileno()).st_size
        if size <= max_bytes:
            return
        file.seek(-min(size, KEPT_BYTES), os.SEEK_END)
        tail = file.read()
        tail = tail[tail.find(b"\n") + 1 :]
        file.seek(0)
        file.write(tail)
        file.truncate()
