"""Takes a home for one daemon: its lock, its run folder, its token; and leaves it tidy.

The lock decides who owns the home; a pid file or a socket that is left over means nothing and is
removed under the lock (decision 80). The run folder is repaired when it is ours and refused when
it is not: whoever can enter it can read the operator's token.
"""

from __future__ import annotations

import contextlib
import logging
import os
import stat
from pathlib import Path

from netclaw.config.home import Home, make_private_folder
from netclaw.core.errors import StorageReadOnlyError, UnauthenticatedError
from netclaw.store.lock import HomeLock

_log = logging.getLogger(__name__)

HOST_SOCKET = "host.sock"
PRIVATE_FOLDER = 0o700
PRIVATE_FILE = 0o600


class HomeGuard:
    """One daemon's hold on its home."""

    def __init__(self, home: Home, lock: HomeLock) -> None:
        self.home = home
        self.lock = lock

    @classmethod
    def take(cls, home: Home, inherited_lock: int | None) -> HomeGuard:
        """Lock a home and make its run folder safe.

        Raises `AlreadyRunningError`, `UnauthenticatedError` for a run folder that is not ours, or
        a `StorageError`.
        """
        make_private_folder(home.root)
        if inherited_lock is None:
            lock = HomeLock.acquire(home.lock)
        else:
            lock = HomeLock.adopt(home.lock, inherited_lock)
        try:
            _secure_run_folder(home.run_dir)
            _remove_stale(home.socket)
            _remove_stale(home.run_dir / HOST_SOCKET)
        except BaseException:
            lock.close()
            raise
        return cls(home, lock)

    @property
    def host_socket(self) -> Path:
        """Where session processes dial home."""
        return self.home.run_dir / HOST_SOCKET

    def write_token(self, token: str) -> None:
        """Publish the operator's token to whoever may read the run folder."""
        _write_private(self.home.operator_token, token)

    def write_pid(self) -> None:
        """Say which process runs; a hint for people and scripts, the lock is the truth."""
        _write_private(self.home.pid_file, f"{os.getpid()}\n")

    def leave(self) -> None:
        """Remove what only a running daemon needs; the lock is released last."""
        for path in (self.home.operator_token, self.home.pid_file, self.home.socket):
            with contextlib.suppress(OSError):
                path.unlink()
        self.lock.close()


def _secure_run_folder(folder: Path) -> None:
    try:
        folder.mkdir(mode=PRIVATE_FOLDER, exist_ok=True)
        status = folder.lstat()
    except FileExistsError:
        raise _unsafe(f"{folder} is a file where a folder belongs.") from None
    except OSError as error:
        raise StorageReadOnlyError(
            f"The folder {folder} cannot be made: {error.strerror}."
        ) from None
    if not stat.S_ISDIR(status.st_mode):
        raise _unsafe(f"{folder} is a link, so somebody else could read the operator's token.")
    if status.st_uid != os.geteuid():
        raise _unsafe(f"{folder} belongs to another user, who could read the operator's token.")
    if stat.S_IMODE(status.st_mode) != PRIVATE_FOLDER:
        _log.warning("%s was open to others; its permissions were repaired", folder)
        folder.chmod(PRIVATE_FOLDER)


def _unsafe(sentence: str) -> UnauthenticatedError:
    return UnauthenticatedError(
        sentence,
        fix="Remove it and start the daemon again, as the user who owns the home.",
    )


def _remove_stale(path: Path) -> None:
    """Remove what a dead daemon left; we hold the lock, so nobody listens there."""
    try:
        path.unlink(missing_ok=True)
    except IsADirectoryError:
        raise _unsafe(f"{path} is a folder where a socket belongs.") from None
    except OSError as error:
        raise StorageReadOnlyError(f"{path} cannot be removed: {error.strerror}.") from None


def _write_private(path: Path, text: str) -> None:
    """Replace a file in one step; nobody but its owner ever sees its content."""
    temporary = path.with_name(f"{path.name}.new")
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        with os.fdopen(os.open(temporary, flags, PRIVATE_FILE), "w", encoding="ascii") as file:
            os.fchmod(file.fileno(), PRIVATE_FILE)
            file.write(text)
        temporary.replace(path)
    except OSError as error:
        raise StorageReadOnlyError(f"{path} cannot be written: {error.strerror}.") from None
