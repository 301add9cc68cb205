"""The repository's own files: what is tracked, plus what is new and not ignored."""

from __future__ import annotations

import functools
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


@functools.cache
def _listed() -> tuple[str, ...]:
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, check=True)
    names = done.stdout.decode().split("\0")
    return tuple(sorted(name for name in names if name and (ROOT / name).is_file()))


def files(*, under: str = "", suffix: str = "") -> list[str]:
    """Paths relative to the root, below the folder `under` and ending in `suffix`."""
    prefix = f"{under}/" if under else ""
    return [name for name in _listed() if name.startswith(prefix) and name.endswith(suffix)]
