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

from netclaw.core.path_rules import is_below_any, may_be_writable, protected_paths
from netclaw.ports.shell_runner import SandboxProfile
from netclaw.sandbox import kernel
from netclaw.sandbox.errors import ViewError
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


def plan_rules(
    profile: SandboxProfile, user_home: str, daemons: Iterable[str] = ()
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Readable and writable places. Raises `ViewError` where a protected place would be seen.

    `daemons` are homes in which netclaw daemons listen.
    """
    home = os.path.realpath(profile.home)
    private = find_private_places(
        profile, daemons=daemons, is_seen=lambda path: is_below_any(path, READ_FOLDERS)
    )
    protected = (home, *protected_paths(home), *profile.masked, *private.default_homes)
    readable = [*READ_FOLDERS, *profile.readable]
    writable = []
    for path in filter(None, (*profile.writable, profile.tmp)):
        if os.path.realpath(path) != path or not os.path.isdir(path):
            message = f"The folder {path} is not what it was judged to be."
            raise ViewError(message)
        if is_below_any(path, profile.masked):
            message = f"The folder {path} lies in a protected place."
            raise ViewError(message)
        if may_be_writable(path, user_home=user_home, protected=protected):
            writable.append(path)
    shown = [os.path.realpath(path) for path in (*readable, *writable)]
    # A root that is itself such a folder was bound on purpose.
    hidden = [*protected, *private.files, *(path for path in private.folders if path not in shown)]
    for path in hidden:
        if is_below_any(path, shown):
            message = f"Landlock cannot hide {path} inside a folder that the command may read."
            raise ViewError(message)
    return tuple(readable), tuple(writable)


def restrict(readable: list[str], writable: list[str], *, has_network: bool) -> None:
    """Puts this process under the rules, for ever. Raises `OSError`.

    Readable places that do not exist on this host are left out: they stay unreachable. A writable
    one that is gone since it was judged is a fault.
    """
    network = 0 if has_network else _BIND_TCP | _CONNECT_TCP
    scopes = _SCOPE_ABSTRACT_SOCKETS | _SCOPE_SIGNALS
    rules = kernel.landlock_create(struct.pack("=QQQ", _ALL_FILE_SYSTEM, network, scopes))
    read = _EXECUTE | _READ_FILE | _READ_DIR
    for path in readable:
        _allow(rules, read, path)
    for path in writable:
        if not _allow(rules, _ALL_FILE_SYSTEM & ~_IOCTL_DEVICE, path):
            raise FileNotFoundError(errno.ENOENT, f"{path} is gone")
    for device in DEVICES:
        _allow(rules, _READ_FILE | _WRITE_FILE | _IOCTL_DEVICE, device)
    kernel.landlock_restrict(rules)
    os.close(rules)


def _allow(rules: int, access: int, path: str) -> bool:
    """False if there is no such place."""
    try:
        fd = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        if not stat.S_ISDIR(os.fstat(fd).st_mode):
            access &= _FILE_ONLY
        kernel.landlock_allow_beneath(rules, access, fd)
    finally:
        os.close(fd)
    return True
