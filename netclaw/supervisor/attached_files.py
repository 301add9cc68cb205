"""Opens a session's copy of an attached file for the adapter that sends it.

The path came from a session's process. It must lie in that session's folder of attached files, is
opened step by step from the envelope and follows no link; the bytes come from the descriptor. What
was swapped in the same place has another digest, which the adapter compares.
"""

from __future__ import annotations

import asyncio
import os
import stat
from collections.abc import AsyncIterator
from pathlib import Path

from netclaw.core.authz.profiles import MAX_ATTACHMENT_BYTES
from netclaw.core.errors import NotFoundError
from netclaw.core.settings import SessionStorage

PIECE_BYTES = 1024 * 1024
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_PARTS = 4
"""Of a path below its envelope: artifacts, attached, the turn, the name."""


async def read_attached(storage: SessionStorage, path: str) -> AsyncIterator[bytes]:
    """The pieces of a file; raises `NotFoundError` for one that is not there as a file."""
    try:
        fd = await asyncio.to_thread(_open, storage, path)
    except OSError:
        raise NotFoundError("The file is no longer there.") from None
    try:
        place = 0
        while piece := await asyncio.to_thread(os.pread, fd, PIECE_BYTES, place):
            place += len(piece)
            if place > MAX_ATTACHMENT_BYTES:
                raise NotFoundError("The file is larger than any that was attached.")
            yield piece
    finally:
        os.close(fd)


def _open(storage: SessionStorage, path: str) -> int:
    """The home may have been moved since: only the end of the path counts."""
    *_, area, folder, turn, name = ["", "", "", *path.split("/")][-_PARTS:]
    if area != Path(storage.artifacts).name or folder != "attached":
        raise FileNotFoundError(path)
    if not {turn, name}.isdisjoint({"", ".", ".."}):
        raise FileNotFoundError(path)
    here = os.open(os.path.realpath(storage.root), _FOLDER)
    try:
        for step in (area, folder, turn):
            inner = os.open(step, _FOLDER, dir_fd=here)
            os.close(here)
            here = inner
        fd = os.open(name, _FILE, dir_fd=here)
    finally:
        os.close(here)
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise FileNotFoundError(path)
    return fd
