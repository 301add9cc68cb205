"""The log of an adapter process: JSON lines in a file of its own, without the channel's secrets."""

from __future__ import annotations

import logging
import sys
import threading
from pathlib import Path
from types import TracebackType

from netclaw.observe.logs import LEVELS, FactsFilter, JsonFormatter
from netclaw.observe.plain_file import MAX_BYTES, shorten_file
from netclaw.observe.redact import Redactor

_log = logging.getLogger("netclaw.adapters")
LEVEL = logging.WARNING
"""Until the daemon said how much is wanted."""


class AppendedLog(logging.StreamHandler):  # type: ignore[type-arg]
    """Writes to standard error, which is the log file, and keeps that from growing without end."""

    def __init__(self, path: Path) -> None:
        super().__init__(sys.stderr)
        self._path = path
        self._size = path.stat().st_size if path.exists() else 0

    def emit(self, record: logging.LogRecord) -> None:
        """Write one line; called with the handler's lock held."""
        super().emit(record)
        self._size += len(record.getMessage()) + 200
        if self._size > MAX_BYTES:
            # Opened for appending by the daemon: the next line goes behind what is kept.
            shorten_file(self._path, max_bytes=0)
            self._size = self._path.stat().st_size if self._path.exists() else 0


def set_up_log(path: Path, redact: Redactor) -> None:
    """Log to the file that is standard error; what escapes a thread or the program as well."""
    handler = AppendedLog(path)
    handler.setFormatter(JsonFormatter(redact))
    handler.addFilter(FactsFilter())
    root = logging.getLogger()
    root.addHandler(handler)
    root.setLevel(LEVEL)
    # Libraries of platforms are talkative, and what they say may hold anything.
    for name in ("aiohttp", "discord", "slack_bolt", "slack_sdk"):
        logging.getLogger(name).setLevel(logging.WARNING)
    logging.captureWarnings(True)
    sys.excepthook = _say_fault
    threading.excepthook = _say_thread_fault


def set_log_level(level: str) -> None:
    """Log so much from now on: a value of `Logging.LogLevel.Default`, in any letter case."""
    logging.getLogger().setLevel(LEVELS.get(level.casefold(), LEVEL))
    _log.info("the adapter logs by %s", level)


def _say_fault(
    kind: type[BaseException], fault: BaseException, trace: TracebackType | None
) -> None:
    _log.critical("the adapter failed", exc_info=(kind, fault, trace))


def _say_thread_fault(found: threading.ExceptHookArgs) -> None:
    if found.exc_value is not None:
        _log.error(
            "a thread failed", exc_info=(found.exc_type, found.exc_value, found.exc_traceback)
        )
