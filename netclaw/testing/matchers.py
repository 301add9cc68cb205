"""Partial matchers: a story says what matters about an event or effect and no more."""

from __future__ import annotations

from dataclasses import fields
from typing import Any


class Like:
    """Equal to any value of a dataclass whose named fields are equal; see `like`."""

    def __init__(self, kind: type, wanted: dict[str, object]) -> None:
        known = {field.name for field in fields(kind)}
        unknown = sorted(set(wanted) - known)
        if unknown:
            message = f"{kind.__name__} has no field {', '.join(unknown)}"
            raise TypeError(message)
        self._kind = kind
        self._wanted = wanted

    def __eq__(self, other: object) -> bool:
        return type(other) is self._kind and all(
            getattr(other, name) == value for name, value in self._wanted.items()
        )

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={value!r}" for name, value in self._wanted.items())
        return f"{self._kind.__name__}({shown}{', ' if shown else ''}...)"


class Containing:
    """Equal to any text that holds all the given pieces."""

    def __init__(self, *pieces: str) -> None:
        self._pieces = pieces

    def __eq__(self, other: object) -> bool:
        return isinstance(other, str) and all(piece in other for piece in self._pieces)

    def __repr__(self) -> str:
        return f"...{'...'.join(self._pieces)}..."


def like(kind: type, /, **wanted: object) -> Any:
    """A value of this dataclass with these field values, whatever its others are.

    `decision.events == (like(TurnStarted, input_ids=("i1",)),)`. Raises `TypeError` for a field
    that the class does not have, so a renamed field cannot make a test vacuous.
    """
    return Like(kind, wanted)


def containing(*pieces: str) -> Any:
    """A text that holds all these pieces."""
    return Containing(*pieces)
