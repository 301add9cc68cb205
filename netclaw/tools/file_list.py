"""`file_list`: what a folder holds, bounded and in a stable order."""

from __future__ import annotations

import asyncio
import os
import stat
from collections.abc import Iterator

from netclaw.core.tool_call import FileActivity, FileOperation
from netclaw.tools.beneath import real_path
from netclaw.tools.files import opened_folder
from netclaw.tools.reach import Located, Reach, reach_for
from netclaw.tools.schema import Arguments, Field, Kind
from netclaw.tools.tool import EVERYONE, Outcome, Scope

MAX_ENTRIES = 500
MAX_DEPTH = 8
_READ_AT_MOST = 20_000
"""Entries of one folder that are looked at; more are only said to exist."""


class FileList:
    """Never follows a link and opens every folder beneath its root by descriptor."""

    name = "file_list"
    description = "Lists a folder: name, kind and size of each entry, hidden ones included."
    audiences = EVERYONE
    fields: tuple[Field, ...] = (
        Field(
            name="path",
            kind=Kind.STRING,
            description="The folder; the project directory, else the session's, if absent.",
        ),
        Field(
            name="depth",
            kind=Kind.INTEGER,
            description="How many levels to show, 1 if absent.",
            minimum=1,
            maximum=MAX_DEPTH,
        ),
    )

    async def run(self, arguments: Arguments, scope: Scope) -> Outcome:
        """See `Tool`."""
        reach = await asyncio.to_thread(reach_for, scope)
        located = await asyncio.to_thread(reach.locate, arguments.text("path"), FileOperation.READ)
        depth = arguments.whole("depth", 1)
        text = await asyncio.to_thread(_list, reach, located, depth)
        activity = FileActivity(path=located.path, operation=FileOperation.READ, is_folder=True)
        return Outcome(text=text, activity=(activity,))


def _list(reach: Reach, located: Located, depth: int) -> str:
    with opened_folder(reach, located) as fd:
        lines: list[str] = []
        is_cut = False
        for line in _entries(reach, fd, "", depth):
            if len(lines) == MAX_ENTRIES:
                is_cut = True
                break
            lines.append(line)
    if not lines:
        return f"{located.path} is empty."
    head = f"{located.path}:"
    tail = [f"[Only the first {MAX_ENTRIES} entries are shown.]"] if is_cut else []
    return "\n".join([head, *lines, *tail])


def _entries(reach: Reach, folder_fd: int, prefix: str, depth: int) -> Iterator[str]:
    if not reach.is_readable(real_path(folder_fd)):
        return
    for name in _names(folder_fd):
        try:
            status = os.stat(name, dir_fd=folder_fd, follow_symlinks=False)
        except OSError:
            continue  # gone meanwhile
        shown = f"{prefix}{printable(name)}"
        if not stat.S_ISDIR(status.st_mode):
            yield f"{shown}  {_kind(status, folder_fd, name)}"
            continue
        yield f"{shown}/"
        if depth > 1:
            yield from _inside(reach, folder_fd, name, f"{shown}/", depth - 1)


def _inside(reach: Reach, folder_fd: int, name: str, prefix: str, depth: int) -> Iterator[str]:
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        fd = os.open(name, flags, dir_fd=folder_fd)
    except OSError:
        yield f"{prefix}  (cannot be opened)"
        return
    try:
        yield from _entries(reach, fd, prefix, depth)
    finally:
        os.close(fd)


def _names(folder_fd: int) -> list[str]:
    names = []
    with os.scandir(folder_fd) as entries:
        for entry in entries:
            names.append(entry.name)
            if len(names) == _READ_AT_MOST:
                break
    return sorted(names)


def _kind(status: os.stat_result, folder_fd: int, name: str) -> str:
    if stat.S_ISREG(status.st_mode):
        return f"{status.st_size} bytes"
    if stat.S_ISLNK(status.st_mode):
        try:
            return f"link to {printable(os.readlink(name, dir_fd=folder_fd))}"
        except OSError:
            return "link"
    return "special file"


def printable(name: str) -> str:
    """A file name as one line of text: control characters and broken bytes are shown escaped."""
    if name.isprintable():
        return name
    return name.encode("unicode_escape", "backslashreplace").decode("ascii")
