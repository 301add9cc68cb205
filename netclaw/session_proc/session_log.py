"""The session log: one file, one writer thread, never in the way of a turn.

Lines are collected on the event loop and written by a thread that exists only once there is
something to write. A write that fails is counted and tried no further: the log is an account of
the session, not its memory, so it can never fail a turn.
"""

from __future__ import annotations

import logging
import os
import queue
import threading
from collections.abc import Callable
from pathlib import Path

from netclaw.session_proc.envelope import ensure_private_folder
from netclaw.session_proc.log_lines import Redact, note_line

MAX_WAITING_LINES = 10_000
"""Lines kept for a disk that does not answer; more are dropped and counted."""

_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW


class SessionLog:
    """Appends lines to one file, which it makes with its folder when there is something to say."""

    def __init__(self, path: str) -> None:
        self._path = Path(path)
        self._jobs: queue.Queue[Callable[[], str] | None] = queue.Queue(MAX_WAITING_LINES)
        self._thread: threading.Thread | None = None
        self.dropped = 0
        """Lines lost to a full queue or a failing disk."""

    def write(self, render: Callable[[], str]) -> None:
        """Queue lines; `render` runs in the writer thread, where hashing long texts is harmless."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="session-log", daemon=True)
            self._thread.start()
        try:
            self._jobs.put_nowait(render)
        except queue.Full:
            self.dropped += 1

    def close(self, patience_s: float) -> None:
        """Write what waits, for at most this long."""
        if self._thread is None:
            return
        try:
            self._jobs.put(None, timeout=patience_s)
        except queue.Full:
            return
        self._thread.join(patience_s)
        self._thread = None

    def _run(self) -> None:
        descriptor = -1
        while (job := self._jobs.get()) is not None:
            try:
                lines = job()
                if not lines:
                    continue
                if descriptor < 0:
                    ensure_private_folder(self._path.parent)
                    descriptor = os.open(self._path, _FLAGS, 0o600)
                os.write(descriptor, lines.encode("utf-8", "replace"))
            except Exception:  # noqa: BLE001 - whatever fails here, the session must go on
                self.dropped += 1
        if descriptor >= 0:
            os.close(descriptor)


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
