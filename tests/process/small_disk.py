"""A disk of a few megabytes that a test can fill and free again."""

from __future__ import annotations

import contextlib
import subprocess
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def small_disk(folder: Path, *, megabytes: int) -> Iterator[None]:
    """Mount a tmpfs of that size over an empty folder; needs root, as the CI run has."""
    subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m,mode=0700", "tmpfs", str(folder)],
        check=True,
    )
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)
        with contextlib.suppress(OSError):
            folder.rmdir()


def fill(folder: Path) -> Path:
    """Write until the disk is full; returns the file to delete."""
    ballast = folder / "ballast"
    piece = b"x" * 65536
    with ballast.open("wb", buffering=0) as file, contextlib.suppress(OSError):
        while file.write(piece):
            pass
    return ballast
