"""Reads identity files and project instructions before each turn and keeps what was rendered.

They are a few small files (decision 21).
"""

from __future__ import annotations

import errno
import logging
import os
import stat

from netclaw.core.authority import Audience
from netclaw.core.context.layers import (
    FILE_MAX_BYTES,
    ProjectInstructions,
    identity_dir,
    identity_files,
    render_system_prompt,
)
from netclaw.core.ids import SessionId
from netclaw.core.settings import SessionStorage
from netclaw.tools.places import Root
from netclaw.tools.project_files import read_bounded, read_instructions

_log = logging.getLogger(__name__)

# Without waiting for a writer, should somebody have put a pipe there.
_OPEN = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK

PromptSources = tuple[Audience, dict[str, bytes], ProjectInstructions | None]
"""Whom the prompt is for, and what was read for it."""


class SystemPrompt:
    """The system prompt of one session."""

    def __init__(self, storage: SessionStorage, session_id: SessionId = SessionId("")) -> None:
        self._storage = storage
        self._session_id = session_id
        self._sources: PromptSources | None = None
        self._rendered = ""
        self._faults: dict[str, str] = {}

    def render(self, sources: PromptSources) -> str:
        """The prompt made of these; rendered again only if bytes changed."""
        if sources != self._sources:
            audience, identity, project = self._sources = sources
            self._rendered = render_system_prompt(
                identity,
                self._storage,
                audience=audience,
                session_id=self._session_id,
                project=project,
            )
        return self._rendered

    def read(self, audience: Audience, project: Root | None) -> PromptSources:
        """Read the files; Public sees nothing of `project`, the usable project directory.

        May run in any thread: a project may lie on a file system that does not answer.
        """
        folder = identity_dir(self._storage.home)
        names = identity_files(audience)
        identity = {name: self._read_file(name, f"{folder}/{name}") for name in names}
        if audience is Audience.PUBLIC or project is None:
            return audience, identity, None
        home = os.path.realpath(self._storage.home)
        instructions = read_instructions(
            project,
            home=home,
            on_fault=lambda name, why: self._note_fault(f"project file {name}", why),
        )
        return audience, identity, instructions

    def _read_file(self, name: str, path: str) -> bytes:
        """The file, at most one byte more than is shown; empty if it cannot be read."""
        what = f"identity file {name}"
        try:
            data = _read_regular(path)
        except FileNotFoundError:
            data = b""
        except OSError as error:
            self._note_fault(what, error.strerror or "unknown error")
            return b""
        self._faults.pop(what, None)
        return data

    def _note_fault(self, what: str, why: str) -> None:
        """Say it once, not before every turn."""
        if self._faults.get(what) != why:
            self._faults[what] = why
            _log.warning("%s cannot be read: %s", what, why)


def _read_regular(path: str) -> bytes:
    """What is shown of a regular file and one byte more; raises `OSError`, also for others."""
    descriptor = os.open(path, _OPEN)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, "it is no regular file")
        return read_bounded(descriptor, FILE_MAX_BYTES + 1)
    finally:
        os.close(descriptor)
