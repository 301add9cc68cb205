"""Reads the instructions that a project directory holds for agents, without leaving it.

What lies there was written by whoever made the project: links are followed only inside it, and
only a regular file is read, up to a bound.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Callable

from netclaw.core.context.layers import FILE_MAX_BYTES, PROJECT_FILES, ProjectInstructions
from netclaw.core.path_rules import is_below
from netclaw.tools import beneath
from netclaw.tools.places import Root

# Without waiting for a writer, should somebody have put a pipe there.
_FLAGS = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY
_OPEN = beneath.choose_open()


def read_instructions(
    project: Root, *, home: str, on_fault: Callable[[str, str], None]
) -> ProjectInstructions | None:
    """The first of the known files that is there, or None.

    `home` is the resolved netclaw home: nothing in it belongs to a project that lies elsewhere. A
    file that cannot be read is passed over; `on_fault(name, why)` is told of it, not of one that
    does not exist.
    """
    # A project may be one of the session's own folders, such as a Git worktree (S0 Storage).
    closed = None if is_below(project.real, home) else home
    try:
        root_fd = beneath.open_root(project.real)
    except OSError:
        return None
    try:
        for name in PROJECT_FILES:
            try:
                data = _read(root_fd, name, closed)
            except (FileNotFoundError, NotADirectoryError):
                continue
            except OSError as fault:
                on_fault(name, fault.strerror or "it is not usable")
            else:
                return ProjectInstructions(path=name, data=data)
        return None
    finally:
        os.close(root_fd)


def _read(root_fd: int, name: str, closed: str | None) -> bytes:
    fd = _OPEN(root_fd, name, _FLAGS, 0)
    with contextlib.ExitStack() as closing:
        closing.callback(os.close, fd)
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise OSError(0, "it is no regular file")
        if closed is not None and is_below(beneath.real_path(fd), closed):
            raise OSError(0, "it lies in the netclaw home")
        return read_bounded(fd, FILE_MAX_BYTES + 1)


def read_bounded(fd: int, limit: int) -> bytes:
    """The first `limit` bytes of an open file; raises `OSError`."""
    parts: list[bytes] = []
    while limit > 0 and (part := os.read(fd, limit)):
        parts.append(part)
        limit -= len(part)
    return b"".join(parts)
