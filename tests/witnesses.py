"""Parts of a test's world that can tell what they saw when a test hangs; see `tests.hangs`."""

from __future__ import annotations

import weakref
from contextlib import suppress
from pathlib import Path
from typing import Protocol

TAIL_CHARACTERS = 6_000


class Witness(Protocol):
    """Somebody who can be asked."""

    def tell(self) -> str:
        """What it saw, in a few lines."""


_witnesses: weakref.WeakSet[Witness] = weakref.WeakSet()


def witness(one: Witness) -> None:
    """Ask this one when something hangs while it exists."""
    _witnesses.add(one)


def testimony() -> str:
    """What everybody tells."""
    return "\n".join(map(_told, list(_witnesses)))


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
