"""Rows that a command names by the beginning of their id."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from netclaw.cli.words import counted
from netclaw.core.errors import InvalidArgumentError, NotFoundError

SHOWN_IDS = 5

Row = TypeVar("Row")


def begins_so(
    rows: Sequence[Row],
    name: str,
    id_of: Callable[[Row], str],
    *,
    noun: str,
    kind: str,
    list_with: str,
) -> Row:
    """The row whose id is, or alone begins with, `name`.

    Raises `NotFoundError` if there is none and `InvalidArgumentError` if there are several; both
    name the way out.
    """
    found = [row for row in rows if id_of(row) == name] or [
        row for row in rows if name and id_of(row).startswith(name)
    ]
    if not found:
        raise NotFoundError(f"There is no {kind} {name!r}.", fix=f"`{list_with}` names them.")
    if len(found) > 1:
        ids = ", ".join(id_of(row) for row in found[:SHOWN_IDS])
        raise InvalidArgumentError(
            f"{counted(len(found), noun)} begin with {name!r}: {ids}.",
            fix=f"Give more of the {noun}'s id.",
        )
    return found[0]
