"""Values of parameters that several commands share."""

from __future__ import annotations

import click


class Count(click.ParamType[int]):
    """A whole number up to a limit that nobody meets, and that help therefore leaves out."""

    name = "n"

    def __init__(self, highest: int, *, lowest: int = 0) -> None:
        self._range = click.IntRange(lowest, highest)

    def convert(self, value: int, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """The number. Fails as click does, naming the limits."""
        number: int = self._range.convert(value, param, ctx)
        return number


SEQ = Count(2**63 - 1)
"""A position in a journal; SQLite and the protocol hold no larger one."""
ROWS = Count(2**32 - 1)
"""A number of rows, 0 for all; the protocol holds no larger one."""
