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
PATIENCE_S = 15.0


class Terminal:
    """`netclaw` with a terminal of 30 rows and 100 columns."""

    def __init__(self, words: Sequence[str]) -> None:
        self._master, slave = os.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 100, 0, 0))
        self._process = subprocess.Popen(
            [sys.executable, "-m", "netclaw.cli.main", *words],
            stdin=slave,
            stdout=slave,
            stderr=slave,
            start_new_session=True,
            env={**os.environ, "TERM": "xterm-256color"},
        )
        os.close(slave)
        self.shown = ""

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

    def type(self, text: str) -> None:
        """Type something."""
        os.write(self._master, text.encode())

    def interrupt(self) -> None:
        """Ctrl-C of a terminal in its ordinary mode."""
        self._process.send_signal(signal.SIGINT)

    def expect(self, text: str) -> None:
        """Read until a text was shown after the last one that was expected."""
        deadline = time.monotonic() + PATIENCE_S
        while text not in self.shown:
            assert time.monotonic() < deadline, f"{text!r} never came; shown: {self.shown[-2000:]}"
            assert self._read(), f"ended before {text!r}; shown: {self.shown[-2000:]}"
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
        self.shown += ESCAPES.sub("", data.decode("utf-8", "replace"))
        return bool(data)
