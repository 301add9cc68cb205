"""Parts of a test's world that can tell what they saw when a test hangs; see `tests.hangs`."""

from __future__ import annotations

import weakref
from collections import deque
from contextlib import suppress
from pathlib import Path
from typing import Protocol

TAIL_CHARACTERS = 6_000


class Witness(Protocol):
    """Somebody who can be asked."""

    def tell(self) -> str:
        """What it saw, in a few lines."""


_witnesses: deque[weakref.ref[Witness]] = deque(maxlen=6)
"""The newest; those of tests before may not have been collected yet."""


def witness(one: Witness) -> None:
    """Ask this one when something hangs while it exists."""
    _witnesses.append(weakref.ref(one))


def testimony() -> str:
    """What everybody tells, the newest first."""
    found = (reference() for reference in reversed(_witnesses))
    return "\n".join(_told(one) for one in found if one is not None)


def tail_of(path: Path) -> str:
    """The end of a file, if it is there."""
    with suppress(OSError):
        return path.read_text(errors="replace")[-TAIL_CHARACTERS:]
    return ""


def _told(one: Witness) -> str:
    try:
        return f"{type(one).__name__} saw:\n{one.tell()}"
    except Exception as fault:  # noqa: BLE001 - a report of a hang is no place to fail
        return f"{type(one).__name__} cannot tell: {fault!r}"
