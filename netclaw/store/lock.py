"""Decides who owns a netclaw home: one advisory lock, held by an open descriptor.

The lock decides, nothing else: a process id in the file is a hint for people, and a stale file
means nothing (decision 80, S0 "One daemon per home"). The file is never removed, because a second
opener could then hold a lock on a name that is gone. Should somebody else remove it, the folder it
lies in still tells: it is locked too, where the file system can do that.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
from pathlib import Path
from types import TracebackType

from netclaw.core.errors import AlreadyRunningError, InvalidArgumentError
from netclaw.store import failures

LOCK_NAME = "netclaw.lock"


class HomeLock:
    """An exclusive hold on a home, released by `close` or by the end of the process.

    Tools and sessions never inherit the descriptor; only `prepare_for_exec` lets the restarted
    program of the same process take it over.
    """

    def __init__(self, path: Path, descriptor: int, folder: int | None) -> None:
        self._path = path
        self._descriptor = descriptor
        self._folder = folder

    @classmethod
    def acquire(cls, path: Path) -> HomeLock:
        """Take the lock at once.

        Raises `AlreadyRunningError` when another process holds it, and a `StorageError` when the
        file cannot be made.
        """
        while True:
            try:
                descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            except OSError as error:
                raise failures.from_os(error) from error
            try:
                _lock(path, descriptor)
                is_current = _is_same_file(path, descriptor)
                folder = _lock_folder(path, descriptor) if is_current else None
            except BaseException:
                os.close(descriptor)
                raise
            if is_current:
                _note_owner(descriptor)
                return cls(path, descriptor, folder)
            os.close(descriptor)

    @classmethod
    def adopt(cls, path: Path, descriptor: int) -> HomeLock:
        """Take over the lock that the same process held before an exec (decision 80).

        Raises `InvalidArgumentError` when the descriptor is not this lock file, and
        `AlreadyRunningError` when it does not hold the lock and another process does.
        """
        try:
            is_lock = _is_same_file(path, descriptor)
        except OSError:
            is_lock = False
        if not is_lock:
            raise InvalidArgumentError("The inherited descriptor is not the lock of this home.")
        os.set_inheritable(descriptor, False)
        _lock(path, descriptor)
        folder = _lock_folder(path, descriptor)
        _note_owner(descriptor)
        return cls(path, descriptor, folder)

    @property
    def descriptor(self) -> int:
        """The descriptor to name to the next program."""
        return self._descriptor

    def prepare_for_exec(self) -> int:
        """Let the descriptor survive an exec of this process, and return it."""
        os.set_inheritable(self._descriptor, True)
        return self._descriptor

    def close(self) -> None:
        """Release the lock; harmless when repeated."""
        if self._folder is not None:
            os.close(self._folder)
            self._folder = None
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def __enter__(self) -> HomeLock:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def _lock(path: Path, descriptor: int) -> None:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise AlreadyRunningError(_sentence(path, descriptor)) from None
    except OSError as error:
        raise failures.from_os(error) from error


def _lock_folder(path: Path, descriptor: int) -> int | None:
    """Lock the folder as well; None where that cannot be done, the file's lock is held anyway.

    Raises `AlreadyRunningError` when another process holds it: its lock file was removed.
    """
    try:
        folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(folder)
        raise AlreadyRunningError(_sentence(path, descriptor)) from None
    except OSError:
        os.close(folder)
        return None
    return folder


def _sentence(path: Path, descriptor: int) -> str:
    owner = os.pread(descriptor, 32, 0).decode("ascii", "replace").strip()
    who = f"process {owner}" if owner.isdigit() else "another process"
    return f"The netclaw home {path.parent} is in use by {who}."


def _is_same_file(path: Path, descriptor: int) -> bool:
    try:
        named = path.stat()
    except FileNotFoundError:
        return False
    held = os.fstat(descriptor)
    return (named.st_dev, named.st_ino) == (held.st_dev, held.st_ino)


def _note_owner(descriptor: int) -> None:
    # Only a hint: on a full disk the lock is just as good without it.
    with contextlib.suppress(OSError):
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"{os.getpid()}\n".encode("ascii"), 0)
