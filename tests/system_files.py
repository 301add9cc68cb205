"""Keeps tests away from files of the system: as root a mistake in one would really change them.

What this process does is refused before it happens, by an audit hook; what a daemon or a command
that a test started did is found at the end, by what the folders of the system hold.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

SYSTEM = ("/bin", "/boot", "/etc", "/lib", "/lib64", "/opt", "/sbin", "/usr", "/var/spool")
WATCHED = (*(Path("/", name) for name in ("", "etc", "etc/cron.d", "usr/bin", "usr/local/bin")),)
"""Folders whose direct entries have to be the same at the end."""
_LEFT_OUT = frozenset({"/etc/mtab", "/etc/resolv.conf", "/etc/ld.so.cache"})
"""What the host's own programs change while tests run."""

_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND

tried: list[str] = []
"""What tests tried to change in this process, oldest first."""


class SystemFileError(PermissionError):
    """A test was about to change a file of the system."""


def _places(event: str, args: tuple[object, ...]) -> Iterator[tuple[object, object]]:
    """Each path that an event would change, with the descriptor of the folder it begins in."""
    match event, args:
        case "open", (path, _, int(flags)) if flags & _WRITING:
            yield path, -1
        case ("os.mkdir" | "os.chmod", (path, _, folder)):
            yield path, folder
        case ("os.remove" | "os.rmdir", (path, folder)):
            yield path, folder
        case ("os.chown", (path, _, _, folder)):
            yield path, folder
        case ("os.rename", (source, target, source_folder, target_folder)):
            yield source, source_folder
            yield target, target_folder
        case ("os.link" | "os.symlink", (_, target, *folders)):
            yield target, folders[-1]
        case ("os.truncate", (path, _)):
            yield path, -1


def _full(path: object, folder: object) -> str:
    """The folder of a path resolved, its name as it is; empty for what is no path."""
    if isinstance(path, bytes):
        path = os.fsdecode(path)
    if not isinstance(path, str):
        return ""
    if not path.startswith("/"):
        has_folder = isinstance(folder, int) and folder >= 0
        start = Path(f"/proc/self/fd/{folder}").readlink() if has_folder else Path.cwd()
        path = f"{start}/{path}"
    above, _, name = path.rstrip("/").rpartition("/")
    return f"{os.path.realpath(above or '/').rstrip('/')}/{name}"


def is_of_the_system(path: str) -> bool:
    """Whether a full path is one that no test may change; the interpreter's own may lie there."""
    own = (sys.prefix, sys.base_prefix, str(Path(__file__).parents[1]))
    if any(path.startswith(f"{folder}/") for folder in own if folder not in {"/usr", "/"}):
        return False
    return any(path == folder or path.startswith(f"{folder}/") for folder in SYSTEM)


def refuse(event: str, args: tuple[object, ...]) -> None:
    """The audit hook. Raises `SystemFileError`."""
    if event not in _EVENTS:
        return
    for path, folder in _places(event, args):
        try:
            full = _full(path, folder)
        except OSError:
            continue  # a folder that is gone: the call fails by itself
        if is_of_the_system(full) and "/__pycache__" not in full:
            tried.append(f"{event} {full}")
            raise SystemFileError(f"a test was about to change {full}")


_EVENTS = frozenset(
    f"os.{name}"
    for name in ("mkdir", "chmod", "remove", "rmdir", "chown", "rename", "link", "symlink")
) | {"open", "os.truncate"}


def state_of_the_system() -> dict[str, tuple[int, int, int]]:
    """Size, inode and time of change of each watched entry."""
    found = {}
    for folder in WATCHED:
        try:
            entries = list(os.scandir(folder))
        except OSError:
            continue
        for entry in entries:
            if entry.path not in _LEFT_OUT and not entry.is_dir(follow_symlinks=False):
                status = entry.stat(follow_symlinks=False)
                found[entry.path] = (status.st_size, status.st_ino, status.st_mtime_ns)
    return found


class SystemFiles:
    """The pytest plugin: one of each process that runs tests."""

    def __init__(self) -> None:
        self._before = state_of_the_system()
        sys.addaudithook(refuse)

    @pytest.fixture(autouse=True)
    def _no_system_file(self) -> Iterator[None]:
        """A test that tried fails, also if what it tried swallowed the error."""
        known = len(tried)
        yield
        assert tried[known:] == []

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """The run fails if a file of the system is another one, or is new or gone."""
        now = state_of_the_system()
        changed = sorted(
            path for path in {*now, *self._before} if now.get(path) != self._before.get(path)
        )
        if changed:
            session.exitstatus = pytest.ExitCode.INTERNAL_ERROR  # no test that can be repeated
            sys.stderr.write(f"\nfiles of the system were changed while tests ran: {changed}\n")
