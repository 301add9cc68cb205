"""Reads the identity files of the home before each turn and keeps what was rendered (decision 21).

They are a few small files of the operator. A turn keeps the prompt it began with, so that its
model calls agree with each other and share a provider's cache.
"""

from __future__ import annotations

import errno
import logging
import os
import stat

from netclaw.core.context.layers import (
    IDENTITY_FILES,
    IDENTITY_MAX_BYTES,
    identity_dir,
    render_system_prompt,
)
from netclaw.core.ids import TurnId
from netclaw.core.settings import SessionStorage

_log = logging.getLogger(__name__)

# Without waiting for a writer, should somebody have put a pipe there.
_OPEN = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK


class SystemPrompt:
    """The system prompt of one session."""

    def __init__(self, storage: SessionStorage) -> None:
        self._storage = storage
        self._turn_id: TurnId | None = None
        self._identity: dict[str, bytes] | None = None
        self._rendered = ""
        self._faults: dict[str, str] = {}

    def for_turn(self, turn_id: TurnId) -> str:
        """The prompt of this turn: read at its first call, rendered again only if bytes changed."""
        if turn_id != self._turn_id:
            self._turn_id = turn_id
            identity = self._read()
            if identity != self._identity:
                self._identity = identity
                self._rendered = render_system_prompt(identity, self._storage)
        return self._rendered

    def _read(self) -> dict[str, bytes]:
        folder = identity_dir(self._storage.home)
        return {name: self._read_file(name, f"{folder}/{name}") for name in IDENTITY_FILES}

    def _read_file(self, name: str, path: str) -> bytes:
        """The file, at most one byte more than is shown; empty if it cannot be read."""
        try:
            data = read_bounded(path, IDENTITY_MAX_BYTES + 1)
        except FileNotFoundError:
            data = b""
        except OSError as error:
            self._note_fault(name, error.strerror or "unknown error")
            return b""
        self._faults.pop(name, None)
        return data

    def _note_fault(self, name: str, why: str) -> None:
        """Say it once, not before every turn."""
        if self._faults.get(name) != why:
            self._faults[name] = why
            _log.warning("identity file %s cannot be read: %s", name, why)


def read_bounded(path: str, limit: int) -> bytes:
    """The first `limit` bytes of a regular file; raises `OSError`, also for anything else."""
    descriptor = os.open(path, _OPEN)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, "it is no regular file")
        parts: list[bytes] = []
        while limit > 0 and (part := os.read(descriptor, limit)):
            parts.append(part)
            limit -= len(part)
        return b"".join(parts)
    finally:
        os.close(descriptor)
