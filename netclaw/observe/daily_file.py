"""A log file per day, none larger than 10 MB: what a runaway loop writes cannot fill the disk."""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import IO

MAX_BYTES = 10 * 1000 * 1000
KEEP_DAYS = 30
_NAME = re.compile(r"daemon-(\d{4}-\d{2}-\d{2})(?:\.1)?\.log\Z")


def utc_now() -> datetime:
    """The present instant."""
    return datetime.now(UTC)


class DailyFileHandler(logging.Handler):
    """Writes `daemon-<date>.log` (UTC) in a folder.

    A file that reaches its limit becomes `daemon-<date>.1.log`, replacing the one before, so a
    day keeps its newest 10 to 20 MB. Files older than 30 days are removed. A log that cannot be
    written never disturbs what is being logged.
    """

    def __init__(
        self,
        folder: Path,
        *,
        max_bytes: int = MAX_BYTES,
        now: Callable[[], datetime] = utc_now,
    ) -> None:
        super().__init__()
        self._folder = folder
        self._max_bytes = max_bytes
        self._now = now
        self._day = ""
        self._size = 0
        self._file: IO[bytes] | None = None

    def emit(self, record: logging.LogRecord) -> None:
        """Write one line."""
        try:
            line = self.format(record).encode("utf-8", "replace") + b"\n"
            file = self._ready(len(line))
            file.write(line)
            file.flush()
            self._size += len(line)
        except OSError:
            self._drop_file()
        except Exception:  # noqa: BLE001 - the logging contract: report, never raise
            self.handleError(record)

    def close(self) -> None:
        """Close the file."""
        self.acquire()
        try:
            self._drop_file()
        finally:
            self.release()
        super().close()

    def _ready(self, length: int) -> IO[bytes]:
        day = self._now().strftime("%Y-%m-%d")
        if self._file is None or day != self._day:
            self._open(day)
        if self._size and self._size + length > self._max_bytes:
            path = self._path()
            path.replace(path.with_suffix(".1.log"))
            self._open(day)
        assert self._file is not None  # noqa: S101 - opened above, or OSError was raised
        return self._file

    def _path(self) -> Path:
        return self._folder / f"daemon-{self._day}.log"

    def _open(self, day: str) -> None:
        self._drop_file()
        if day != self._day:
            self._day = day
            self._remove_old()
        descriptor = os.open(
            self._path(), os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600
        )
        self._file = os.fdopen(descriptor, "ab")
        self._size = os.fstat(descriptor).st_size

    def _drop_file(self) -> None:
        if self._file is not None:
            with suppress(OSError):
                self._file.close()
            self._file = None

    def _remove_old(self) -> None:
        oldest = (self._now() - timedelta(days=KEEP_DAYS)).strftime("%Y-%m-%d")
        with suppress(OSError):
            for path in self._folder.iterdir():
                found = _NAME.match(path.name)
                if found and found[1] < oldest:
                    path.unlink(missing_ok=True)
