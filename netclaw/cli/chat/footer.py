"""The last rows of a terminal, written over and over below everything that stays.

Only for a terminal that can move its cursor; elsewhere nothing of this is written.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(slots=True)
class Footer:
    """Rows that still grow, and a status line below them."""

    write: Callable[[str], None]
    """Takes text as it is."""
    columns: Callable[[], int]
    """How wide the terminal is now."""
    dim: Callable[[str], str]
    """Gives the status line less weight."""
    _rows: int = 0
    _shown: str = ""

    def above(self, line: str) -> None:
        """Write a line that stays, above the footer; the footer comes back with the next draw."""
        self.erase()
        self.write(line + "\n")

    def draw(self, rows: list[str], status: str) -> None:
        """Show these, each cut to the terminal so that none takes two rows of it."""
        from rich.cells import set_cell_size

        room = max(1, self.columns() - 1)
        *above, last = (set_cell_size(row, room).rstrip() for row in [*rows, status])
        text = "\n".join([*above, self.dim(last)])
        if text == self._shown:
            return
        self.erase()
        self.write(text)
        self._rows, self._shown = len(rows) + 1, text

    def erase(self) -> None:
        """Take the rows away and leave the cursor where they began."""
        if self._rows:
            up = f"\033[{self._rows - 1}A" if self._rows > 1 else ""
            self.write(f"\r{up}\033[J")
        self._rows, self._shown = 0, ""
