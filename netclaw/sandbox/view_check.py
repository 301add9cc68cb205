"""Compares a finished view with its plan, before the command in it may run.

Backends mount by name. A name that leads elsewhere for a moment lets them bind what nobody judged,
or cover the wrong place. Once the mounts are made, nothing outside changes where they are, so that
one look is enough: every planned place is a mount, and every root is what it was (ADR 0010).
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable

from netclaw.sandbox.errors import StartError
from netclaw.sandbox.identity import identity_of
from netclaw.sandbox.process_tree import children
from netclaw.sandbox.view import COVERS, Mount, Step

_ESCAPED = re.compile(rb"\\([0-7]{3})")
_MAY_BE_GONE = COVERS | {Mount.READ_IF_THERE}


def check_view(root_pid: int, steps: Iterable[Step]) -> None:
    """Looks at the view of a tree whose command still waits at its gate; about 0.3 ms.

    Raises `StartError` that names a place which is not as it was planned.
    """
    waiting = [*children(root_pid), root_pid][0]
    try:
        mounted = _mount_points(waiting)
        for step in steps:
            _check_step(step, os.fsencode(step.path) in mounted, f"/proc/{waiting}/root")
    except PermissionError:
        raise StartError("The view of the command could not be looked at.") from None


def _check_step(step: Step, is_mounted: bool, under: str) -> None:
    if is_mounted and step.identity is None:
        return
    try:
        found = identity_of(step.path, under=under)
    except FileNotFoundError:
        if step.mount in _MAY_BE_GONE:
            return
        found = None
    except NotADirectoryError:
        found = None
    if not is_mounted or found != step.identity:
        message = f"The place {step.path} was changed while the sandbox was being set up."
        raise StartError(message)


def _mount_points(pid: int) -> frozenset[bytes]:
    with open(f"/proc/{pid}/mountinfo", "rb") as table:
        fields = [line.split(b" ", 5)[4] for line in table]
    return frozenset(
        _ESCAPED.sub(lambda found: bytes([int(found[1], 8)]), field) for field in fields
    )
