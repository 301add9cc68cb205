"""Puts a checked upload where the tools of its session see it: `workspace/inbox`.

The workspace belongs to the session, whose tools may have put anything there. Every step is taken
from a descriptor and follows no link, and a file appears under its name whole or not at all.
"""

from __future__ import annotations

import contextlib
import errno
import filecmp
import os
import secrets
import shutil
from pathlib import Path

from netclaw.core.errors import DeniedByPolicyError, TooLargeError
from netclaw.core.settings import SessionStorage
from netclaw.core.text import storable

FOLDER = "inbox"
NAME_BYTES = 120
FILES_OF_ONE_NAME = 1000
NO_FILE_NAME = "file"
COPY = ".copy"
"""Ends the name of a copy under way; `uploads` removes what a killed daemon left of them."""
_FOLDER_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_UNWELCOME = frozenset('/\\:*?"<>|`$&;')
"""What shells and other systems read as more than a letter of a name."""


def safe_name(name: str) -> str:
    """A file name that says what it said and does nothing else: one component, printable, short.

    Its extension survives. It begins with no dot and no dash, which would hide it or make an
    option of it.
    """
    last = storable(name).replace("\\", "/").rpartition("/")[2]
    text = "".join(char if char.isprintable() and char not in _UNWELCOME else "_" for char in last)
    stem, dot, extension = text.strip(" .").lstrip("-").rpartition(".")
    if not dot:
        stem, extension = extension, ""
    extension = _cut(extension.strip(), 20)
    room = NAME_BYTES - len(extension.encode()) - 1
    stem = _cut(stem.strip(" .").lstrip("-"), room).rstrip(" .") or NO_FILE_NAME
    return f"{stem}.{extension}" if extension else stem


def _cut(text: str, size: int) -> str:
    return text.encode()[:size].decode("utf-8", "ignore")


def put_into_inbox(storage: SessionStorage, upload: Path, name: str) -> str:
    """Copy an upload; answers the path of the copy.

    A file that is there already, by name and content, is that copy: a message that is taken twice
    leaves one. Raises `DeniedByPolicyError` when something that is no folder is in the way,
    `TooLargeError` for too many files of one name, and `OSError`.
    """
    Path(storage.workspace).mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        folder = _open_folder(storage.workspace)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENOTDIR):
            raise DeniedByPolicyError("Something stands where the inbox should be.") from None
        raise
    copy = upload.with_name(f"{upload.name}-{secrets.token_hex(4)}{COPY}")
    try:
        shutil.copyfile(upload, copy)
        copy.chmod(0o600)
        return f"{storage.workspace}/{FOLDER}/{_link(copy, folder, safe_name(name))}"
    finally:
        os.close(folder)
        copy.unlink(missing_ok=True)


def _open_folder(workspace: str) -> int:
    outer = os.open(workspace, _FOLDER_FLAGS)
    try:
        with contextlib.suppress(FileExistsError):
            os.mkdir(FOLDER, mode=0o700, dir_fd=outer)
        return os.open(FOLDER, _FOLDER_FLAGS, dir_fd=outer)
    finally:
        os.close(outer)


def _link(copy: Path, folder: int, name: str) -> str:
    """Give the copy the first free name; the name under which it is there."""
    stem, dot, extension = name.rpartition(".")
    if not dot:
        stem, extension = name, ""
    for number in range(1, FILES_OF_ONE_NAME + 1):
        candidate = name if number == 1 else f"{stem} ({number}){dot}{extension}"
        try:
            os.link(copy, candidate, dst_dir_fd=folder, follow_symlinks=False)
        except FileExistsError:
            if not _is_same(copy, folder, candidate):
                continue
        return candidate
    raise TooLargeError(f"The inbox holds {FILES_OF_ONE_NAME} files called {name!r}.")


def _is_same(copy: Path, folder: int, name: str) -> bool:
    try:
        fd = os.open(
            name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder
        )
    except OSError:
        return False
    try:
        # By its number: the name may be another file by now.
        return filecmp.cmp(copy, f"/proc/self/fd/{fd}", shallow=False)
    finally:
        os.close(fd)
