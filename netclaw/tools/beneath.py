"""Opens files beneath a judged root by descriptor, so that a swapped link loses (decision 88).

`openat2` with RESOLVE_BENEATH and RESOLVE_NO_MAGICLINKS lets the kernel refuse every way out of
the root at the moment of opening. Where the call is missing, a walk opens one component after the
other with O_NOFOLLOW and refuses links altogether. After an open, `real_path` says where the
descriptor really is.
"""

from __future__ import annotations

import ctypes
import errno
import os
import stat
import struct
from collections.abc import Callable

OPENAT2 = 437
_RESOLVE_NO_MAGICLINKS, _RESOLVE_BENEATH = 0x02, 0x08
_RACES_AT_MOST = 64

_LIBC = ctypes.CDLL(None, use_errno=True)

OpenBeneath = Callable[[int, str, int, int], int]
"""(root descriptor, relative path, flags, mode) to a descriptor; raises `OSError`."""


class LeadsOutError(OSError):
    """The path leaves its root, or a link stands where none may."""


def open_with_openat2(root_fd: int, relative: str, flags: int, mode: int) -> int:
    """One `openat2`; tried again while the kernel says that a rename raced with it."""
    how = struct.pack("=QQQ", flags | os.O_CLOEXEC, mode, _RESOLVE_BENEATH | _RESOLVE_NO_MAGICLINKS)
    path = os.fsencode(relative)
    for _ in range(_RACES_AT_MOST):
        fd = int(_LIBC.syscall(ctypes.c_long(OPENAT2), root_fd, path, how, len(how)))
        if fd >= 0:
            return fd
        code = ctypes.get_errno()
        if code not in {errno.EAGAIN, errno.EINTR}:
            break
    else:
        code = errno.EAGAIN
    raise _classified(code)


def open_by_walk(root_fd: int, relative: str, flags: int, mode: int) -> int:
    """The same without `openat2`: every component by itself, no links at all."""
    names = [name for name in relative.split("/") if name not in {"", "."}]
    if ".." in names:
        raise _classified(errno.EXDEV)
    folder = os.open(".", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=root_fd)
    try:
        for name in names[:-1]:
            inner = _step_into(folder, name)
            os.close(folder)
            folder = inner
        last = names[-1] if names else "."
        return os.open(last, flags | os.O_NOFOLLOW | os.O_CLOEXEC, mode, dir_fd=folder)
    except OSError as fault:
        raise _classified(fault.errno or errno.EIO) from None
    finally:
        os.close(folder)


def _step_into(folder: int, name: str) -> int:
    fd = os.open(name, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
    kind = os.fstat(fd).st_mode
    if stat.S_ISDIR(kind):
        return fd
    os.close(fd)
    raise _classified(errno.ELOOP if stat.S_ISLNK(kind) else errno.ENOTDIR)


def _classified(code: int) -> OSError:
    if code in {errno.EXDEV, errno.ELOOP}:
        return LeadsOutError(code, os.strerror(code))
    return OSError(code, os.strerror(code))  # becomes FileNotFoundError and its kin by itself


def _has_openat2() -> bool:
    root_fd = os.open("/", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.close(open_with_openat2(root_fd, ".", os.O_PATH | os.O_DIRECTORY, 0))
    except OSError:
        return False
    finally:
        os.close(root_fd)
    return True


def choose_open() -> OpenBeneath:
    """The best way this kernel offers, found out by using it."""
    return open_with_openat2 if _has_openat2() else open_by_walk


def open_root(real: str) -> int:
    """A descriptor of a root folder; it must still be the folder that was judged."""
    fd = os.open(real, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC)
    kind = os.fstat(fd).st_mode
    if stat.S_ISDIR(kind) and real_path(fd) == real:
        return fd
    os.close(fd)
    is_folder_or_link = stat.S_ISDIR(kind) or stat.S_ISLNK(kind)
    raise _classified(errno.EXDEV if is_folder_or_link else errno.ENOTDIR)


def real_path(fd: int) -> str:
    """Where a descriptor is now, as the kernel sees it."""
    return os.readlink(f"/proc/self/fd/{fd}")
