"""Reads the agent definitions of a home; they are looked at anew for every turn."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from netclaw.core.agents import MAX_BYTES, AgentBook, book_of
from netclaw.tools.project_files import read_bounded

MAX_FILES = 200
"""More files than this are not looked at."""

_OPEN = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK


def agents_dir(home: str) -> Path:
    """Where the operator's definitions lie."""
    return Path(home) / "agents"


def read_agents(home: str) -> AgentBook:
    """All definitions of a home, the alphabetically first file of a name. Never raises."""
    return book_of(_files(agents_dir(home)))


def _files(folder: Path) -> Iterator[tuple[str, bytes]]:
    try:
        names = sorted(name for name in os.listdir(folder) if name.endswith(".md"))
    except OSError:
        return
    for name in names[:MAX_FILES]:
        try:
            yield name, _read(folder / name)
        except OSError:
            yield name, b""


def _read(path: Path) -> bytes:
    """What is in a regular file, at most one byte more than a definition may have; else nothing."""
    descriptor = os.open(path, _OPEN)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return b""
        return read_bounded(descriptor, MAX_BYTES + 1)
    finally:
        os.close(descriptor)
