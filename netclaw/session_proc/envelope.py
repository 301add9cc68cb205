"""Makes the folders of a session when they are needed, and trusts none that another may own.

The envelope lies inside the netclaw home, which is 0700. The managed temporary folder lies in a
place that everybody can write, so it is checked at every use (decision 20): each component is
opened without following links and must belong to this user alone.
"""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path

from netclaw.core.settings import SessionStorage

PRIVATE = 0o700
TEMP_COMPONENTS = 3
"""`netclaw-<uid>`, the session's key and the run's letter: what lies below the shared folder."""
_OPEN_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class UnsafeFolderError(Exception):
    """A folder cannot be used; the sentence is fit to show."""

    def __init__(self, sentence: str) -> None:
        super().__init__(sentence)
        self.sentence = sentence


def ensure_private_folder(path: Path) -> None:
    """Make a folder and its missing parents, all of them 0700; an existing one is left alone."""
    if path.is_dir():
        return
    ensure_private_folder(path.parent)
    path.mkdir(mode=PRIVATE, exist_ok=True)


def prepare_for_tools(storage: SessionStorage) -> None:
    """Make sure that the working directory exists and the temporary folder is ours.

    Raises `UnsafeFolderError`.
    """
    try:
        ensure_private_folder(Path(storage.workspace))
    except OSError as error:
        raise UnsafeFolderError(
            f"The session's folder cannot be made ({os.strerror(error.errno or 0)})."
        ) from error
    ensure_temporary_folder(Path(storage.tmp))


def ensure_temporary_folder(path: Path) -> None:
    """Make the managed temporary folder, or check that the existing one belongs to this user.

    Raises `UnsafeFolderError` when a component is a link, is no folder or belongs to another.
    """
    shared = path.parents[TEMP_COMPONENTS - 1]
    folder = os.open(shared, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for name in path.parts[-TEMP_COMPONENTS:]:
            inner = _enter(folder, name)
            os.close(folder)
            folder = inner
    except OSError as error:
        raise UnsafeFolderError(
            "The session's temporary folder is not safe to use: a part of it is a link or cannot "
            f"be opened ({os.strerror(error.errno or 0)})."
        ) from error
    finally:
        os.close(folder)


def _enter(parent: int, name: str) -> int:
    """Open a folder beneath `parent`, making it if it is missing; it must be this user's alone."""
    with suppress(FileExistsError):
        os.mkdir(name, PRIVATE, dir_fd=parent)
    opened = os.open(name, _OPEN_FOLDER, dir_fd=parent)
    status = os.fstat(opened)
    if status.st_uid != os.geteuid():
        os.close(opened)
        raise UnsafeFolderError(
            "The session's temporary folder is not safe to use: another user owns a part of it."
        )
    if stat.S_IMODE(status.st_mode) & 0o077:
        os.fchmod(opened, PRIVATE)
    return opened
