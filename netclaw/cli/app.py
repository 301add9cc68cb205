"""What every command is given: environment, home, and where its words go."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from netclaw.cli.streams import write_error, write_out

if TYPE_CHECKING:
    from netclaw.config.home import Home

JsonValue = dict[str, "JsonValue"] | list["JsonValue"] | str | int | float | bool | None
JsonRow = dict[str, JsonValue]

GAP = "  "
_STYLES = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "cyan": "36"}


def compact(row: Mapping[str, JsonValue]) -> JsonRow:
    """The row without its nulls: an absent value is left out."""
    return {key: value for key, value in row.items() if value is not None}


@dataclass
class App:
    """One run of the command line."""

    environ: Mapping[str, str] = field(default_factory=lambda: os.environ)
    is_json: bool = False
    command: str = ""
    """The words of the command, for errors: `sessions show`."""

    @property
    def home(self) -> Home:
        """The home of this run."""
        from netclaw.config.home import find_home

        return find_home(self.environ)

    def emit(self, value: JsonValue) -> None:
        """Write one JSON value on standard output."""
        text = json.dumps(value, ensure_ascii=False, separators=(", ", ": "))
        write_out(text + "\n")

    def say(self, line: str = "") -> None:
        """Write a line for a person on standard output."""
        write_out(line + "\n")

    def note(self, line: str) -> None:
        """Write a line beside the result: progress and remarks go to standard error."""
        write_error(line + "\n")

    def has_colours(self, stream: int = 1) -> bool:
        """Whether file descriptor `stream` is a terminal that wants colours."""
        return (
            os.isatty(stream)
            and not self.environ.get("NO_COLOR")
            and self.environ.get("TERM") != "dumb"
        )

    def style(self, text: str, *names: str) -> str:
        """The text in colour on a terminal, as it is elsewhere."""
        if not self.has_colours():
            return text
        return f"\033[{';'.join(_STYLES[name] for name in names)}m{text}\033[0m"

    def table(
        self,
        header: Iterable[str],
        rows: Iterable[Iterable[str]],
        *,
        expendable: Iterable[str] = (),
    ) -> None:
        """Write aligned columns; the last one is not padded.

        On a terminal too narrow for all, `expendable` columns are left out, the first named first.
        """
        head = [name.upper() for name in header]
        lines = [[printable(cell) for cell in row] for row in rows]
        widths = [max(map(len, column)) for column in zip(head, *lines, strict=True)]
        kept = list(range(len(head)))
        for name in expendable:
            if sum(widths[at] + len(GAP) for at in kept) - len(GAP) <= self.columns():
                break
            kept.remove(head.index(name.upper()))
        self.say(self.style(_columns(head, widths, kept), "bold"))
        for row in lines:
            self.say(_columns(row, widths, kept))

    def columns(self) -> int:
        """The width to write in: that of the terminal, elsewhere without a limit."""
        return shutil.get_terminal_size().columns if os.isatty(1) else sys.maxsize


def _columns(cells: list[str], widths: list[int], kept: list[int]) -> str:
    return GAP.join(cells[at].ljust(widths[at]) for at in kept).rstrip()


def printable(text: str, *, keep_lines: bool = False) -> str:
    """Text from elsewhere without what could steer a terminal."""
    if text.isprintable():
        return text
    kept = "\n\t" if keep_lines else ""
    return "".join(char if char.isprintable() or char in kept else "\ufffd" for char in text)
