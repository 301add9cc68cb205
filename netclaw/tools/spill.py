"""Stores the full redacted text of a long result in the session, named only by its call id.

Files are private (0600), written whole and renamed into place, and read back only through
`tool_output_read`; the model never learns the path (glossary "spill").
"""

from __future__ import annotations

import os
import re
import secrets
from pathlib import Path

from netclaw.core.settings import SessionStorage
from netclaw.tools.faults import ToolFault

_CALL_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
_PIECE_CHARS = 65_536
MAX_SPILL_BYTES = 16 * 1024 * 1024
"""A file larger than any spill of ours is not read back."""


def is_spill_name(call_id: str) -> bool:
    """Whether an id can name a spill; anything that looks like a path cannot."""
    return _CALL_ID.fullmatch(call_id) is not None


def write_spill(storage: SessionStorage, call_id: str, *texts: str) -> int:
    """Stores texts as one and returns the size in bytes. Raises `OSError` if they cannot be."""
    folder = Path(storage.spills)
    folder.mkdir(mode=0o700, exist_ok=True)
    temporary = folder / f".{call_id}.{secrets.token_hex(4)}"
    fd = os.open(
        temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600
    )
    try:
        with open(fd, "wb") as file:
            for text in texts:
                starts = range(0, len(text), _PIECE_CHARS)
                pieces = (text[at : at + _PIECE_CHARS] for at in starts)
                file.writelines(piece.encode("utf-8", "replace") for piece in pieces)
            size = file.tell()
        os.replace(temporary, folder / f"{call_id}.txt")
    except OSError:
        temporary.unlink(missing_ok=True)
        raise
    return size


def read_spill(storage: SessionStorage, call_id: str) -> str:
    """The whole stored text. Raises `ToolFault`."""
    if not is_spill_name(call_id):
        raise ToolFault.invalid(
            "`call_id` is the id that the shortened result named; it is not a path."
        )
    path = f"{storage.spills}/{call_id}.txt"
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError:
        raise ToolFault.missing(f'No stored result has the call id "{call_id}".') from None
    with open(fd, "rb") as file:
        data = file.read(MAX_SPILL_BYTES + 1)
    try:
        return data[:MAX_SPILL_BYTES].decode("utf-8")
    except UnicodeDecodeError:
        raise ToolFault.failed("The stored result is damaged and cannot be read.") from None
