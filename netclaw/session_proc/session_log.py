"""The session log: one file, one writer thread, never in the way of a turn.

Lines are collected on the event loop and written by a thread that exists only once there is
something to write. What a failing write loses is counted and not tried again: the log is an
account of the session, not its memory, so it can never fail a turn. The next write that succeeds
says how much is missing in front of it.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path

from netclaw.session_proc.envelope import ensure_private_folder
from netclaw.session_proc.log_lines import Redact, note_line

MAX_WAITING = 10_000
"""Entries kept for a disk that does not answer; more are dropped and counted."""
GATHER_S = 0.02
"""How long the writer waits for more before it writes."""

Render = Callable[[], str]
"""Makes the lines of one entry."""

_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW


class SessionLog:
    """Appends lines to one file, which it makes with its folder when there is something to say."""

    def __init__(self, path: str) -> None:
        self._path = Path(path)
        self._waiting: deque[Render] = deque()
        self._has_some = threading.Event()
        self._is_closing = threading.Event()
        self._thread: threading.Thread | None = None
        self._descriptor = -1
        self.dropped = 0
        """Entries lost to a disk that does not answer or refuses."""
        self._told = 0
        """How many of them the file admits to."""

    def write(self, render: Render) -> None:
        """Queue lines; `render` runs in the writer thread, where hashing long texts is harmless."""
        if len(self._waiting) >= MAX_WAITING:
            self.dropped += 1
            return
        self._waiting.append(render)
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="session-log", daemon=True)
            self._thread.start()
        if not self._has_some.is_set():
            self._has_some.set()

    def close(self, patience_s: float) -> None:
        """Write what waits, for at most this long."""
        if self._thread is not None:
            self._is_closing.set()
            self._has_some.set()
            self._thread.join(patience_s)
            self._thread = None

    def _run(self) -> None:
        while not self._is_closing.is_set():
            self._has_some.wait()
            # What belongs to one moment is written at once: a thread that woke for every line
            # would take the interpreter away from the turn each time.
            self._is_closing.wait(GATHER_S)
            self._has_some.clear()
            self._write_waiting()
        # What came between the last look and the wish to close.
        self._write_waiting()
        if self._descriptor >= 0:
            os.close(self._descriptor)

    def _write_waiting(self) -> None:
        lost = self.dropped
        lines = [lost_line(lost - self._told)] if lost > self._told else []
        while self._waiting:
            render = self._waiting.popleft()
            try:
                lines.append(render())
            except Exception:  # noqa: BLE001 - whatever fails here, the session must go on
                self.dropped += 1
        text = "".join(lines)
        if not text:
            return
        try:
            if self._descriptor < 0:
                ensure_private_folder(self._path.parent)
                self._descriptor = os.open(self._path, _FLAGS, 0o600)
            write_whole(self._descriptor, text.encode("utf-8", "replace"))
        except OSError:
            self.dropped += len(lines) - (lost > self._told)
        else:
            self._told = lost


def lost_line(count: int) -> str:
    """Says in the log that so many of its entries are missing at this place."""
    return note_line(
        time.time_ns() // 1_000_000, "warning", f"{count} entries of this log were lost"
    )


def write_whole(descriptor: int, data: bytes) -> None:
    """Write all of `data`; raises `OSError`."""
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


class SessionLogHandler(logging.Handler):
    """Sends this process's own warnings and errors into the session log, redacted."""

    def __init__(self, log: SessionLog, redact: Redact) -> None:
        super().__init__(logging.WARNING)
        self._log = log
        self._redact = redact

    def emit(self, record: logging.LogRecord) -> None:
        """Queue one record."""
        text = self.format(record)
        at_ms, level = int(record.created * 1000), record.levelname
        self._log.write(lambda: note_line(at_ms, level, self._redact(text)))
