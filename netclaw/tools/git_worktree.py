"""Finds the Git folder that a linked worktree shares, so that Git can write to it (decision 45)."""

from __future__ import annotations

import os
from pathlib import Path

_MAX_BYTES = 4096


def common_directory(project: str) -> str | None:
    """The shared Git directory of a linked worktree, resolved; None for anything else.

    The link is believed only if the other side names this worktree too: a `.git` file is written
    by whoever made the folder, and must not be able to open an arbitrary place for writing. A link
    that changes while it is followed is none.
    """
    try:
        return _common_directory(project)
    except OSError:
        return None


def _common_directory(project: str) -> str | None:
    pointer = _line(Path(project, ".git"))
    if not pointer.startswith("gitdir: "):
        return None
    private = Path(os.path.realpath(Path(project, pointer.removeprefix("gitdir: "))))
    if private.parent.name != "worktrees":
        return None
    back = _line(private / "gitdir")
    if os.path.realpath(private / back) != os.path.join(os.path.realpath(project), ".git"):
        return None
    common = Path(os.path.realpath(private / _line(private / "commondir")))
    if common != private.parent.parent or not (common / "HEAD").is_file():
        return None
    return str(common)


def _line(path: Path) -> str:
    """First line of a small regular file; empty if it is none, or can be no path."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return ""
    try:
        data = os.read(fd, _MAX_BYTES)
    except OSError:
        return ""
    finally:
        os.close(fd)
    line = data.decode("utf-8", "replace").partition("\n")[0].strip()
    return "" if "\0" in line else line
