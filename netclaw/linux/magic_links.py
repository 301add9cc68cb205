"""Finds out whether a path passes a link of `/proc` that is another one for every process.

`/proc/self/cwd`, `/proc/1/root`, `/proc/self/fd/3` and their like lead somewhere else in the
process that will use a path than in the one that judges it.
"""

from __future__ import annotations

import ctypes
import errno
import os
import re
import struct

_OPENAT2 = 437
_AT_FDCWD = -100
_RESOLVE_NO_MAGICLINKS = 0x02
_LIBC = ctypes.CDLL(None, use_errno=True)
_LEXICAL = re.compile(r"/proc/[^/]+/(?:task/[^/]+/)?(?:cwd|root|exe|fd|map_files|ns)(?:/|$)")


def passes_magic_link(path: str) -> bool:
    """Whether the kernel would follow such a link, or turn in a circle, on the way to a path.

    Nothing is opened for reading. Where the kernel cannot be asked (before 5.6) the words decide.
    """
    how = struct.pack("=QQQ", os.O_PATH | os.O_CLOEXEC, 0, _RESOLVE_NO_MAGICLINKS)
    name = os.fsencode(path)
    fd = int(_LIBC.syscall(ctypes.c_long(_OPENAT2), _AT_FDCWD, name, how, len(how)))
    if fd >= 0:
        os.close(fd)
        return False
    code = ctypes.get_errno()
    return code == errno.ELOOP or (code == errno.ENOSYS and _LEXICAL.search(path) is not None)
