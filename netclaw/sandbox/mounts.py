"""Builds a view from inside a fresh mount namespace, for the backend without bubblewrap.

Runs in the helper, as the fake root of a new user namespace. Detached copies of everything to be
shown again are taken first; then the whole tree becomes read-only and the hidden places are
covered; then the copies are attached. Nothing is unmounted, so nothing can be uncovered.

The plan was made a moment ago and other programs go on. What was to be covered and is gone needs
no cover; a root that is gone ends it all.
"""

from __future__ import annotations

import errno
import os

from netclaw.sandbox import kernel

Plan = list[tuple[str, str]]
"""(mount, path), outermost first; mounts are the names of `view.Mount`."""

DEVICES = ("null", "zero", "full", "random", "urandom", "tty")
_LINKS = {"fd": "/proc/self/fd", "stdin": "/proc/self/fd/0", "stdout": "/proc/self/fd/1"}
_LINKS |= {"stderr": "/proc/self/fd/2", "ptmx": "pts/ptmx"}
_ROOTS = frozenset({"READ", "WRITE"})
_SHOWN = _ROOTS | {"READ_IF_THERE"}
_BARE = kernel.MS_NO_SUID | kernel.MS_NO_DEV


def build(plan: Plan, temporary_bytes: int) -> None:
    """Makes the view in place. Raises `OSError` naming at most a root that is gone."""
    copies = {path: _copy(mount, path) for mount, path in plan if mount in _SHOWN}
    bound = {path: fd for path, fd in copies.items() if fd is not None}
    devices = {name: kernel.clone_mount(f"/dev/{name}") for name in DEVICES}
    everything = kernel.ATTR_READ_ONLY | kernel.ATTR_NO_SUID | kernel.ATTR_NO_DEV
    kernel.set_mount_attributes("/", everything, is_recursive=True)
    _make_devices(devices, temporary_bytes)
    flags = _BARE | kernel.MS_NO_EXEC | kernel.MS_READ_ONLY
    kernel.mount_file_system("proc", "/proc", flags, "")
    made = [
        (mount, path)
        for mount, path in plan
        if (path in bound or mount not in _SHOWN) and _is_made(mount, path, bound, temporary_bytes)
    ]
    for mount, path in made:
        if mount in {"HIDE", "MASK"}:
            kernel.set_mount_attributes(path, kernel.ATTR_READ_ONLY, is_recursive=False)


def _copy(mount: str, path: str) -> int | None:
    try:
        return kernel.clone_mount(path)
    except OSError:
        if os.path.lexists(path):
            raise
        if mount in _ROOTS:
            raise FileNotFoundError(errno.ENOENT, f"{path} is gone") from None
        return None


def _is_made(mount: str, path: str, bound: dict[str, int], temporary_bytes: int) -> bool:
    """Makes one mount; False if its place is gone and that does no harm.

    A place that is there and cannot be covered is a fault, whatever the reason.
    """
    try:
        _mount(mount, path, bound, temporary_bytes)
    except OSError:
        if mount in _ROOTS or os.path.lexists(path):
            raise
        return False
    return True


def _mount(mount: str, path: str, bound: dict[str, int], temporary_bytes: int) -> None:
    if mount in {"HIDE", "MASK"}:
        _cover(path, "0755", 65536)
    elif mount == "TEMPORARY":
        _cover(path, "1777", temporary_bytes)
    elif mount == "MASK_FILE":
        kernel.attach_mount(kernel.clone_mount("/dev/null"), path)
    else:
        _attach(bound[path], path)
        # A root may hold device nodes and set-user-id programs: those of an unpacked system.
        attributes = kernel.ATTR_NO_SUID | kernel.ATTR_NO_DEV
        if mount != "WRITE":
            attributes |= kernel.ATTR_READ_ONLY
        kernel.set_mount_attributes(path, attributes, is_recursive=True)


def _cover(path: str, mode: str, size: int) -> None:
    _make_folder(path)
    kernel.mount_file_system("tmpfs", path, _BARE, f"mode={mode},size={size}")


def _attach(fd: int, path: str) -> None:
    """Attaches a folder or a file, making its place where a covered folder lost it."""
    if os.path.isdir(f"/proc/self/fd/{fd}"):
        _make_folder(path)
    elif not os.path.exists(path):
        _make_folder(os.path.dirname(path))
        os.close(os.open(path, os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC, 0o444))
    kernel.attach_mount(fd, path)
    os.close(fd)


def _make_folder(path: str) -> None:
    if not os.path.isdir(path):
        os.makedirs(path, 0o755)


def _make_devices(devices: dict[str, int], temporary_bytes: int) -> None:
    kernel.mount_file_system("tmpfs", "/dev", kernel.MS_NO_SUID, "mode=0755,size=65536")
    for name, fd in devices.items():
        _attach(fd, f"/dev/{name}")
    for name, target in _LINKS.items():
        os.symlink(target, f"/dev/{name}")
    _cover("/dev/shm", "1777", temporary_bytes)  # noqa: S108
    os.mkdir("/dev/pts")
    options = "newinstance,ptmxmode=0666,mode=0620"
    kernel.mount_file_system("devpts", "/dev/pts", kernel.MS_NO_SUID | kernel.MS_NO_EXEC, options)
    kernel.set_mount_attributes("/dev", kernel.ATTR_READ_ONLY, is_recursive=False)
