"""Writes `logs/crash-*.log` when the process ends by its own fault, so doctor can point at it."""

from __future__ import annotations

import faulthandler
import os
import re
import sys
import threading
import time
import traceback
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import IO

from netclaw.observe.redact import Redactor

MAX_REPORT_CHARS = 200_000
KEEP_DAYS = 30
"""As long as the daily logs that belong to a report."""
_FATAL_NAME = re.compile(r"crash-fatal-(\d+)\.log\Z")


def report_name(now: datetime, pid: int) -> str:
    """The file name of a crash report."""
    return f"crash-{now.strftime('%Y%m%dT%H%M%SZ')}-{pid}.log"


def tidy_reports(folder: Path) -> None:
    """Remove reports older than 30 days, and the unused files of processes that were killed.

    A report that cannot be looked at or removed stays: this must not keep a daemon from starting.
    """
    oldest = time.time() - KEEP_DAYS * 86_400
    for path in folder.glob("crash-*.log"):
        with suppress(OSError):
            facts = path.stat()
            if facts.st_mtime < oldest or (not facts.st_size and _is_orphan(path)):
                path.unlink()


def _is_orphan(path: Path) -> bool:
    """Whether the process that waits to write its last words here is gone."""
    found = _FATAL_NAME.match(path.name)
    return found is not None and not Path(f"/proc/{found[1]}").exists()


class CrashReporter:
    """Reports uncaught exceptions of every thread, and fatal signals, into a folder."""

    def __init__(self, folder: Path, *, program: str, version: str, redact: Redactor) -> None:
        self._folder = folder
        self._program = program
        self._version = version
        self._redact = redact
        self._fatal: IO[bytes] | None = None
        self._fatal_path = folder / f"crash-fatal-{os.getpid()}.log"

    def install(self) -> None:
        """Take over the hooks of this process, once what earlier ones left is tidied up."""
        tidy_reports(self._folder)
        sys.excepthook = self._uncaught
        threading.excepthook = self._uncaught_in_thread
        # Fatal signals leave no time to open a file; an unused one is removed at the end.
        with suppress(OSError):
            descriptor = os.open(
                self._fatal_path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600
            )
            self._fatal = os.fdopen(descriptor, "ab")
            faulthandler.enable(self._fatal)

    def close(self) -> None:
        """Give the hooks back and remove the unused file."""
        sys.excepthook = sys.__excepthook__
        threading.excepthook = threading.__excepthook__
        if self._fatal is not None:
            faulthandler.disable()
            self._fatal.close()
            self._fatal = None
            with suppress(OSError):
                if self._fatal_path.stat().st_size == 0:
                    self._fatal_path.unlink()

    def report(self, error: BaseException, where: str) -> Path | None:
        """Write a report; None if it cannot be written."""
        now = datetime.now(UTC)
        path = self._folder / report_name(now, os.getpid())
        head = f"{self._program} {self._version}, {now.isoformat()}, {where}\n\n"
        text = head + "".join(traceback.format_exception(error))
        data = self._redact(text[:MAX_REPORT_CHARS]).encode("utf-8", "replace")
        try:
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
            with os.fdopen(descriptor, "ab") as file:
                file.write(data)
        except OSError:
            return None
        return path

    def _uncaught(
        self,
        kind: type[BaseException],
        error: BaseException,
        trace: TracebackType | None,
    ) -> None:
        if not issubclass(kind, KeyboardInterrupt | SystemExit):
            self._say(self.report(error, "main thread"))
        sys.__excepthook__(kind, error, trace)

    def _uncaught_in_thread(self, arguments: threading.ExceptHookArgs) -> None:
        if arguments.exc_value is not None and arguments.exc_type is not SystemExit:
            name = arguments.thread.name if arguments.thread else "unknown"
            self._say(self.report(arguments.exc_value, f"thread {name}"))
        threading.__excepthook__(arguments)

    def _say(self, path: Path | None) -> None:
        if path is not None:
            sys.stderr.write(f"{self._program} crashed; the report is {path}\n")
