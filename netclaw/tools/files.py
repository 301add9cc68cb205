"""What the file tools do to the file system, each as one blocking function for a thread.

Everything happens through descriptors beneath the judged root (`beneath`), and every fault of the
operating system becomes a sentence for the model here.
"""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import stat
from collections.abc import Iterator
from dataclasses import dataclass

from netclaw.core.tool_call import FileOperation
from netclaw.tools import beneath
from netclaw.tools.faults import ToolFault
from netclaw.tools.places import Root, ensure_own
from netclaw.tools.reach import Located, Reach

MAX_FILE_BYTES = 16 * 1024 * 1024
"""Larger files are not read whole or written by these tools."""

_FOLDER = os.O_RDONLY | os.O_DIRECTORY
_FILE = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY
_OPEN = beneath.choose_open()


@dataclass(frozen=True, slots=True, kw_only=True)
class Content:
    """The bytes of a regular file and how it may be replaced."""

    data: bytes
    mode: int
    owner: tuple[int, int]


@contextlib.contextmanager
def spoken(located: Located) -> Iterator[None]:
    """Turns faults of the operating system into sentences about the path."""
    try:
        yield
    except beneath.LeadsOutError:
        raise ToolFault.denied(
            f"{located.path} leads out of its folder through a link, or is one."
        ) from None
    except FileNotFoundError:
        raise ToolFault.missing(f"{located.path} does not exist.") from None
    except NotADirectoryError:
        raise ToolFault.missing(f"{located.path} does not exist: a part is no folder.") from None
    except IsADirectoryError:
        raise ToolFault.invalid(f"{located.path} is a folder.") from None
    except PermissionError:
        raise ToolFault.denied(f"{located.path} may not be opened by this user.") from None
    except OSError as fault:
        if fault.errno in {errno.ENOSPC, errno.EDQUOT}:
            raise ToolFault.failed("The disk has no room; nothing was changed.") from None
        if fault.errno in {errno.ENAMETOOLONG, errno.EINVAL}:
            raise ToolFault.invalid("The path is too long or not a usable name.") from None
        reason = os.strerror(fault.errno or errno.EIO)
        raise ToolFault.failed(f"{located.path} could not be used ({reason}).") from None


@contextlib.contextmanager
def opened(reach: Reach, located: Located, flags: int) -> Iterator[int]:
    """A descriptor beneath the root, judged again by where it really is."""
    with _beneath(located.root, located.relative, flags) as fd:
        reach.judge_real(located, beneath.real_path(fd))
        yield fd


@contextlib.contextmanager
def _beneath(root: Root, relative: str, flags: int) -> Iterator[int]:
    """A descriptor beneath the root that nobody has judged yet."""
    root_fd = beneath.open_root(root.real)
    try:
        fd = _OPEN(root_fd, relative, flags, 0)
        try:
            yield fd
        finally:
            os.close(fd)
    finally:
        os.close(root_fd)


@contextlib.contextmanager
def opened_folder(reach: Reach, located: Located) -> Iterator[int]:
    """A readable descriptor of a folder. Raises `ToolFault`."""
    with spoken(located), opened(reach, located, _FOLDER) as fd:
        yield fd


@contextlib.contextmanager
def opened_file(reach: Reach, located: Located) -> Iterator[int]:
    """A readable descriptor of a regular file; never waits on a pipe or device."""
    with spoken(located), opened(reach, located, _FILE) as fd:
        kind = os.fstat(fd).st_mode
        if stat.S_ISDIR(kind):
            raise ToolFault.invalid(f"{located.path} is a folder; file_list shows it.")
        if not stat.S_ISREG(kind):
            raise ToolFault.invalid(f"{located.path} is not a regular file.")
        yield fd


def read_content(reach: Reach, located: Located) -> Content:
    """A whole file, at most `MAX_FILE_BYTES`. Raises `ToolFault`."""
    with opened_file(reach, located) as fd:
        status = os.fstat(fd)
        if status.st_size > MAX_FILE_BYTES:
            raise ToolFault.invalid(
                f"{located.path} has {status.st_size} bytes; at most {MAX_FILE_BYTES} are handled."
            )
        with open(os.dup(fd), "rb") as file:
            data = file.read(MAX_FILE_BYTES + 1)
        return Content(
            data=data, mode=stat.S_IMODE(status.st_mode), owner=(status.st_uid, status.st_gid)
        )


def write_content(reach: Reach, located: Located, data: bytes, before: Content | None) -> None:
    """Replaces or makes a file in one step: readers see the old or the new one. Raises `ToolFault`.

    Missing folders above it are made. A link at the path itself is refused, not followed and not
    replaced. A replaced file keeps its mode; what is new gets that of its root's umask, not of
    this process's, which is private.
    """
    if located.relative == ".":
        raise ToolFault.invalid(f"{located.path} is a folder.")
    above, _, name = located.relative.rpartition("/")
    with spoken(located):
        ensure_own(located.root)
        _make_folders(reach, located, above)
        with _beneath(located.root, above or ".", _FOLDER) as folder_fd:
            _judge_child(reach, located, folder_fd, name)
            _refuse_odd_target(folder_fd, name, located)
            _replace(folder_fd, name, data, before, located.root.umask)


def _make_folders(reach: Reach, located: Located, above: str) -> None:
    made = "."
    for name in filter(None, above.split("/")):
        parent, made = made, (name if made == "." else f"{made}/{name}")
        try:
            with _beneath(located.root, made, os.O_PATH):
                continue
        except FileNotFoundError:
            with (
                _beneath(located.root, parent, _FOLDER) as fd,
                contextlib.suppress(FileExistsError),
            ):
                _judge_child(reach, located, fd, name)
                os.mkdir(name, dir_fd=fd)
                _open_up_folder(fd, name, located.root.umask)


def _judge_child(reach: Reach, located: Located, folder_fd: int, name: str) -> None:
    """Judges what is about to be made or replaced, by where its folder really is."""
    reach.judge_real(located, f"{beneath.real_path(folder_fd).rstrip('/')}/{name}")


def _refuse_odd_target(folder_fd: int, name: str, located: Located) -> None:
    try:
        kind = os.stat(name, dir_fd=folder_fd, follow_symlinks=False).st_mode
    except FileNotFoundError:
        return
    if stat.S_ISLNK(kind):
        raise ToolFault.correction(f"{located.path} is a link; write to the file it points to.")
    if stat.S_ISDIR(kind):
        raise ToolFault.invalid(f"{located.path} is a folder.")
    if not stat.S_ISREG(kind):
        raise ToolFault.invalid(f"{located.path} is not a regular file.")


def _replace(folder_fd: int, name: str, data: bytes, before: Content | None, umask: int) -> None:
    temporary = f".{name[:40]}.{secrets.token_hex(4)}.tmp"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    fd = os.open(temporary, flags, 0o666 if before is None else 0o600, dir_fd=folder_fd)
    try:
        with open(fd, "wb") as file:
            file.write(data)
            file.flush()
            if before is not None:
                _keep_ownership(file.fileno(), before)
            elif not _has_default_acl(folder_fd):
                os.fchmod(file.fileno(), 0o666 & ~umask)
            os.fdatasync(file.fileno())
        os.rename(temporary, name, src_dir_fd=folder_fd, dst_dir_fd=folder_fd)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary, dir_fd=folder_fd)
        raise


def _open_up_folder(parent_fd: int, name: str, umask: int) -> None:
    """Gives a folder made just now its mode; a group it inherits goes on being inherited."""
    if _has_default_acl(parent_fd):
        return
    fd = os.open(name, _FOLDER | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=parent_fd)
    try:
        inherited = os.fstat(fd).st_mode & stat.S_ISGID
        os.fchmod(fd, inherited | (0o777 & ~umask))
    finally:
        os.close(fd)


def _has_default_acl(folder_fd: int) -> bool:
    """Whether the folder itself decides about the modes in it; no umask counts there."""
    try:
        return bool(os.getxattr(folder_fd, "system.posix_acl_default"))
    except OSError:
        return False


def _keep_ownership(fd: int, before: Content) -> None:
    if (os.geteuid(), os.getegid()) != before.owner:
        with contextlib.suppress(OSError):
            os.fchown(fd, *before.owner)
    os.fchmod(fd, before.mode & 0o777)


def locate(reach: Reach, text: str, operation: FileOperation) -> Located:
    """Judges a path argument that must be there. Raises `ToolFault`."""
    if not text:
        raise ToolFault.invalid("`path` is empty.")
    return reach.locate(text, operation)
