"""A program at a pseudo terminal: what a person types, and what is shown."""

from __future__ import annotations

import fcntl
import os
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Sequence
from types import TracebackType
from typing import Self

ESCAPES = re.compile(r"\x1b(?:\[[0-9;?]*[ -/]*[@-~]|\][^\x07]*\x07|[@-Z\\-_])")
ASKS_FOR_CURSOR = b"\x1b[6n"
PATIENCE_S = 30.0


class Terminal:
    """`netclaw` with a terminal of 30 rows and so many columns; `raw` is all that was written."""

    def __init__(self, words: Sequence[str], *, columns: int = 100, **environment: str) -> None:
        self._master, slave = os.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 30, columns, 0, 0))
        self._process = subprocess.Popen(
            [sys.executable, "-m", "netclaw.cli.main", *words],
            stdin=slave,
            stdout=slave,
            stderr=slave,
            start_new_session=True,
            env={**_surroundings(), "TERM": "xterm-256color", **environment},
        )
        os.close(slave)
        self.shown = ""
        self.raw = ""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._process.kill()
        self._process.wait()
        os.close(self._master)

    def type(self, text: str | bytes) -> None:
        """Type something; bytes are what a terminal of another encoding sends."""
        os.write(self._master, text if isinstance(text, bytes) else text.encode())

    def interrupt(self) -> None:
        """Ctrl-C of a terminal in its ordinary mode."""
        self._process.send_signal(signal.SIGINT)

    def expect(self, text: str) -> None:
        """Read until a text was shown after the last one that was expected."""
        deadline = time.monotonic() + PATIENCE_S
        while text not in self.shown:
            shown = self.shown[-2000:]
            assert time.monotonic() < deadline, f"{text!r} never came; shown: {shown!r}"
            assert self._read(), f"ended before {text!r}; shown: {shown!r}"
        self.shown = self.shown.partition(text)[2]

    def ended(self) -> int:
        """Read to the end; returns the exit code."""
        while self._read():
            pass
        return self._process.wait(timeout=PATIENCE_S)

    def _read(self) -> bool:
        ready, _, _ = select.select([self._master], [], [], PATIENCE_S)
        if not ready:
            return False
        try:
            data = os.read(self._master, 65_536)
        except OSError:  # the other end is closed
            return False
        if ASKS_FOR_CURSOR in data:
            os.write(self._master, b"\x1b[1;1R")  # as a real terminal answers
        text = data.decode("utf-8", "replace")
        self.raw += text
        self.shown += ESCAPES.sub("", text)
        return bool(data)


MOVES = re.compile(r"\x1b\[(\d*)([A-Za-z])|(\r)|(\n)|([^\x1b])")


def visible(raw: str) -> list[str]:
    """What stands on a terminal after this was written: rows without trailing blanks.

    Knows what `netclaw` writes outside its prompt: colours, up, erase below, return and newline.
    """
    rows, row, column = [""], 0, 0
    for count, move, home, newline, char in MOVES.findall(raw):
        if char:
            line = rows[row].ljust(column)
            rows[row] = line[:column] + char + line[column + 1 :]
            column += 1
        elif home:
            column = 0
        elif newline:
            row, column = row + 1, 0
            rows += [""] * (row + 1 - len(rows))
        elif move == "A":
            row = max(0, row - int(count or 1))
        elif move == "J":
            rows[row] = rows[row][:column]
            del rows[row + 1 :]
        else:
            assert move == "m", f"an escape that is not expected here: {count}{move}"
    return [line.rstrip() for line in rows]


def _surroundings() -> dict[str, str]:
    """The environment without another terminal's size: this one has its own."""
    return {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES")}
