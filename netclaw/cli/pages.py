"""Reads a list of the daemon to its end, a page at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Protocol, TypeVar


class Positioned(Protocol):
    """A row that says where it stands in its list."""

    @property
    def position(self) -> int:
        """What the next page begins after."""


Row = TypeVar("Row", bound=Positioned)


def all_rows(page_after: Callable[[int], tuple[Iterable[Row], bool]]) -> list[Row]:
    """Every row; `page_after` gives those behind a position, and whether there are more."""
    rows: list[Row] = []
    while True:
        page, has_more = page_after(rows[-1].position if rows else 0)
        rows.extend(page)
        if not has_more:
            return rows
