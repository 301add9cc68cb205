"""Landlock rules of a command: read what is listed, write the roots, nothing else.

Landlock cannot take a place out of an allowed folder and does not cover Unix sockets. So the
system folders are listed one by one, a profile whose protected places lie inside one of them is
refused, and the seccomp filter of this backend has no AF_UNIX. Nor does it cover changes of mode,
owner and times: the filter takes those too, so that some programs (package managers, `git config`)
do not work in this weakest of backends. Signals and abstract sockets are
scoped by Landlock itself, which needs version 6 (Linux 6.12); with less the backend refuses.
"""

from __future__ import annotations

import errno
import os
import stat
import struct
from collections.abc import Iterable
from contextlib import suppress

from netclaw.core.path_rules import is_below, is_below_any, may_be_writable, protected_paths
from netclaw.ports.shell_runner import SandboxProfile
from netclaw.sandbox import kernel
from netclaw.sandbox.errors import ViewError
from netclaw.sandbox.identity import Identity, identity_of
from netclaw.sandbox.private_places import find_private_places

NEEDED_VERSION = 6

READ_FOLDERS = (
    *("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc", "/opt", "/nix"),
    "/proc",  # Landlock keeps other processes' secrets closed: it denies to trace them
)
DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty")

_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
_TRUNCATE, _IOCTL_DEVICE = 1 << 14, 1 << 15
_ALL_FILE_SYSTEM = (1 << 16) - 1
_FILE_ONLY = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | _IOCTL_DEVICE
_BIND_TCP, _CONNECT_TCP = 1, 2
_SCOPE_ABSTRACT_SOCKETS, _SCOPE_SIGNALS = 1, 2


def check_version() -> None:
    """Raises `ViewError` where Landlock is missing or too old to hold a command."""
    try:
        version = kernel.landlock_version()
    except OSError:
        raise ViewError("This kernel has no Landlock.") from None
    if version < NEEDED_VERSION:
        message = f"Landlock is version {version} here; version {NEEDED_VERSION} is needed."
        raise ViewError(message)


Place = tuple[str, Identity | None]
"""A path and, for what the profile names, what was there when it was judged."""


def plan_rules(
    profile: SandboxProfile, user_home: str, daemons: Iterable[str] = ()
) -> tuple[tuple[Place, ...], tuple[Place, ...]]:
    """Readable and writable places. Raises `ViewError` where a protected place would be seen.

    `daemons` are homes in which netclaw daemons listen.
    """
    home = os.path.realpath(profile.home)
    private = find_private_places(
        profile, daemons=daemons, is_seen=lambda path: is_below_any(path, READ_FOLDERS)
    )
    protected = (home, *protected_paths(home), *profile.masked, *private.default_homes)
    readable: list[Place] = [(path, None) for path in READ_FOLDERS]
    shown = [
        path
        for path in private.of_named(profile.shown, home)
        if not any(
            is_below(place, path) for place in (*protected, *private.files, *private.folders)
        )
    ]
    for path in (*profile.readable, *private.opened, *shown):
        with suppress(OSError):  # neither there nor a link: left out
            readable.append((path, identity_of(path)))
    writable: list[Place] = []
    named = private.of_named(profile.named, home)
    for path in filter(None, (*profile.writable, *named, profile.tmp)):
        identity = _identity(path)
        if is_below_any(path, profile.masked):
            message = f"The folder {path} lies in a protected place."
            raise ViewError(message)
        if may_be_writable(path, user_home=user_home, protected=protected):
            writable.append((path, identity))
    for path in private.opened:
        if is_below_any(path, (place for place, _ in writable)):
            message = f"Landlock cannot keep {path} from being written in a writable folder."
            raise ViewError(message)
    shown = [os.path.realpath(path) for path, _ in (*readable, *writable)]
    # A root that is itself such a folder was bound on purpose.
    hidden = [*protected, *private.files, *(path for path in private.folders if path not in shown)]
    for path in hidden:
        if is_below_any(path, shown):
            message = f"Landlock cannot hide {path} inside a folder that the command may read."
            raise ViewError(message)
    return tuple(readable), tuple(writable)


def _identity(path: str) -> Identity:
    try:
        found = identity_of(path)
    except OSError:
        found = None
    if found is None or not os.path.isdir(path):
        message = f"The folder {path} is not what it was judged to be."
        raise ViewError(message)
    return found


def restrict(readable: list[Place], writable: list[Place], *, has_network: bool) -> None:
    """Puts this process under the rules, for ever. Raises `OSError`.

    Readable places that do not exist on this host are left out: they stay unreachable. A writable
    one that is gone since it was judged is a fault, and so is a place that is another one now.
    """
    network = 0 if has_network else _BIND_TCP | _CONNECT_TCP
    scopes = _SCOPE_ABSTRACT_SOCKETS | _SCOPE_SIGNALS
    rules = kernel.landlock_create(struct.pack("=QQQ", _ALL_FILE_SYSTEM, network, scopes))
    read = _EXECUTE | _READ_FILE | _READ_DIR
    for place in readable:
        _allow(rules, read, place)
    for place in writable:
        if not _allow(rules, _ALL_FILE_SYSTEM & ~_IOCTL_DEVICE, place):
            raise FileNotFoundError(errno.ENOENT, f"{place[0]} is gone")
    for device in DEVICES:
        _allow(rules, _READ_FILE | _WRITE_FILE | _IOCTL_DEVICE, (device, None))
    kernel.landlock_restrict(rules)
    os.close(rules)


def _allow(rules: int, access: int, place: Place) -> bool:
    """False if there is no such place. Raises `OSError` if another has taken its name."""
    path, judged = place
    try:
        fd = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        found = os.fstat(fd)
        if judged is not None and judged != (found.st_dev, found.st_ino):
            raise FileNotFoundError(errno.ENOENT, f"{path} was changed")
        if not stat.S_ISDIR(found.st_mode):
            access &= _FILE_ONLY
        kernel.landlock_allow_beneath(rules, access, fd)
    finally:
        os.close(fd)
    return True
