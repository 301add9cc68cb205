"""Runs programs of this checkout as an ordinary user, who may not even see root's home.

Everything keeps its path: in a mount namespace of its own, what only root may pass through is
covered by an open folder in which the needed parts are bound again.
"""

from __future__ import annotations

import os
import shlex
import stat
import sys
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
UID = 65534
"""Whoever that is on this machine: it owns nothing."""


def as_ordinary_user(argv: list[str], folder: Path) -> list[str]:
    """The command that runs `argv` without any privilege; `argv` itself if we have none.

    `folder` becomes that user's. It gets a writable `build` folder in place of this checkout's.
    """
    if os.geteuid() != 0:
        return argv
    for path in (folder, *folder.rglob("*")):
        os.chown(path, UID, UID, follow_symlinks=False)
    drop = ["setpriv", f"--reuid={UID}", f"--regid={UID}", "--clear-groups", "--inh-caps=-all"]
    lines = [*_open_the_way(folder), f'exec {shlex.join([*drop, "--bounding-set=-all"])} "$@"']
    script = "\n".join(["set -e", *lines])
    return ["unshare", "-m", "--propagation", "private", "sh", "-c", script, "sh", *argv]


def _open_the_way(folder: Path) -> list[str]:
    """Shell lines that make interpreter and checkout reachable."""
    python = Path(sys.executable)
    needed = {REPOSITORY, Path(sys.prefix), Path(sys.base_prefix), python.parent}
    closed: dict[Path, list[Path]] = {}
    for path in sorted(needed):
        barrier = _barrier(path)
        if barrier is not None and not any(path.is_relative_to(p) for p in closed.get(barrier, ())):
            closed.setdefault(barrier, []).append(path)
    lines = []
    for number, (barrier, paths) in enumerate(closed.items()):
        stash = folder / f"way-{number}"
        for index, path in enumerate(paths):
            lines += [f"mkdir -p {stash}/{index}", f"mount --bind {path} {stash}/{index}"]
        lines.append(f"mount -t tmpfs -o mode=0755 way {barrier}")
        for index, path in enumerate(paths):
            lines += [f"mkdir -p {path}", f"mount --bind {stash}/{index} {path}"]
    build = REPOSITORY / "build"
    build.mkdir(exist_ok=True)
    own = f"mount -t tmpfs -o mode=0700,uid={UID},gid={UID}"
    # Where folders that no temporary place hides are made: there if the checkout is temporary.
    return [*lines, f"{own} build {build}", f"[ ! -d /srv ] || {own} visible /srv"]


def _barrier(path: Path) -> Path | None:
    """The outermost folder on the way to a place that others may not pass."""
    for folder in reversed(path.parents):
        if not folder.stat().st_mode & stat.S_IXOTH:
            return folder
    return None
