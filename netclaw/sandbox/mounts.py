"""Builds a view from inside a fresh mount namespace, for the backend without bubblewrap.

Runs in the helper, as the fake root of a new user namespace. Detached copies of everything to be
shown again are taken first; then the whole tree becomes read-only and the hidden places are
covered; then the copies are attached. Nothing is unmounted, so nothing can be uncovered.
"""

from __future__ import annotations

import os

from netclaw.sandbox import kernel

Plan = list[tuple[str, str]]
"""(mount, path), outermost first; mounts are the names of `view.Mount`."""

DEVICES = ("null", "zero", "full", "random", "urandom", "tty")
_LINKS = {"fd": "/proc/self/fd", "stdin": "/proc/self/fd/0", "stdout": "/proc/self/fd/1"}
_LINKS |= {"stderr": "/proc/self/fd/2", "ptmx": "pts/ptmx"}
_BARE = kernel.MS_NO_SUID | kernel.MS_NO_DEV


def build(plan: Plan, temporary_bytes: int) -> None:
    """Makes the view in place. Raises `OSError` naming nothing; the helper says what failed."""
    bound = {path: kernel.clone_mount(path) for mount, path in plan if mount in {"READ", "WRITE"}}
    devices = {name: kernel.clone_mount(f"/dev/{name}") for name in DEVICES}
    everything = kernel.ATTR_READ_ONLY | kernel.ATTR_NO_SUID | kernel.ATTR_NO_DEV
    kernel.set_mount_attributes("/", everything, is_recursive=True)
    _make_devices(devices, temporary_bytes)
    flags = _BARE | kernel.MS_NO_EXEC | kernel.MS_READ_ONLY
    kernel.mount_file_system("proc", "/proc", flags, "")
    for mount, path in plan:
        _mount(mount, path, bound, temporary_bytes)
    for mount, path in plan:
        if mount in {"HIDE", "MASK"}:
            kernel.set_mount_attributes(path, kernel.ATTR_READ_ONLY, is_recursive=False)


def _mount(mount: str, path: str, bound: dict[str, int], temporary_bytes: int) -> None:
    if mount in {"HIDE", "MASK"}:
        _cover(path, "0755", 65536)
    elif mount == "TEMPORARY":
        _cover(path, "1777", temporary_bytes)
    elif mount == "MASK_FILE":
        kernel.attach_mount(kernel.clone_mount("/dev/null"), path)
    else:
        _attach(bound[path], path)
        if mount == "READ":
            kernel.set_mount_attributes(path, kernel.ATTR_READ_ONLY, is_recursive=True)


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
