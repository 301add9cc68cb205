"""Says what a place is, so that its name can be held against it later.

Between the plan of a view and the view itself the commands of other calls go on. One that may
write beside a root can put a link in the root's place, and whoever goes by the name then shows
what the link leads to. So a plan keeps what each root *is* (ADR 0010).
"""

from __future__ import annotations

import os
import stat

Identity = tuple[int, int]
"""Device and number of a file or folder."""


def identity_of(path: str, *, under: str = "/") -> Identity:
    """What an absolute path names below `under`, reached without following any link.

    Raises `OSError` if nothing is there, `NotADirectoryError` if a link stands on the way or at
    the end, or if the path takes a detour.
    """
    if os.path.normpath(path) != path:
        raise NotADirectoryError(f"{path} takes a detour")
    fd = os.open(under, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for name in filter(None, path.split("/")):
            inner = os.open(name, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=fd)
            os.close(fd)
            fd = inner
        found = os.fstat(fd)
    finally:
        os.close(fd)
    if stat.S_ISLNK(found.st_mode):
        raise NotADirectoryError(f"{path} is a link")
    return found.st_dev, found.st_ino
