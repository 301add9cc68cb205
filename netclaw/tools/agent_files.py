"""Reads the agent definitions of a home; they are looked at anew for every turn."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from netclaw.core.agents import MAX_BYTES, AgentBook, book_of
from netclaw.tools.project_files import read_bounded

MAX_FILES = 200
"""More files than this are not looked at."""

_OPEN = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK


def agents_dir(home: str) -> Path:
    """Where the operator's definitions lie."""
    return Path(home) / "agents"


@dataclass(frozen=True, slots=True, kw_only=True)
class FolderLook:
    """How the folder looked at one moment; equal looks mean equal definitions."""

    files: tuple[tuple[str, int, int, int], ...] = ()
    """Name, inode, size and time of the last change of each file."""

    @property
    def size_bytes(self) -> int:
        """What reading it takes."""
        return sum(min(size, MAX_BYTES) for _, _, size, _ in self.files)


def look(home: str) -> FolderLook:
    """How the folder looks now, without opening a file. Never raises."""
    found = []
    folder = agents_dir(home)
    for name in _names(folder):
        try:
            status = os.stat(folder / name)
        except OSError:
            continue
        found.append((name, status.st_ino, status.st_size, status.st_mtime_ns))
    return FolderLook(files=tuple(found))


def read_agents(home: str) -> AgentBook:
    """All definitions of a home, the alphabetically first file of a name. Never raises."""
    return book_of(_files(agents_dir(home)))


def _files(folder: Path) -> Iterator[tuple[str, bytes]]:
    for name in _names(folder):
        try:
            yield name, _read(folder / name)
        except OSError:
            yield name, b""


def _names(folder: Path) -> list[str]:
    try:
        names = sorted(name for name in os.listdir(folder) if name.endswith(".md"))
    except OSError:
        return []
    return names[:MAX_FILES]


def _read(path: Path) -> bytes:
    """What is in a regular file, at most one byte more than a definition may have; else nothing."""
    descriptor = os.open(path, _OPEN)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return b""
        return read_bounded(descriptor, MAX_BYTES + 1)
    finally:
        os.close(descriptor)
