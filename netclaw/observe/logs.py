"""Sets up logging: JSON lines in the home, plain ones on a console, secrets in neither."""

from __future__ import annotations

import json
import logging
import sys
import traceback
from datetime import UTC, datetime
from pathlib import Path

from netclaw.observe.context import current_facts
from netclaw.observe.daily_file import DailyFileHandler
from netclaw.observe.redact import Redactor

LEVELS = {
    "trace": logging.DEBUG,
    "debug": logging.DEBUG,
    "information": logging.INFO,
    "warning": logging.WARNING,
    "error": logging.ERROR,
    "critical": logging.CRITICAL,
    "none": logging.CRITICAL + 10,
}
"""`Logging.LogLevel.Default` as Python's levels."""


class FactsFilter(logging.Filter):
    """Notes what a record is about while its task still runs."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Always admits."""
        if not hasattr(record, "facts"):
            record.facts = current_facts()
        return True


def _facts(record: logging.LogRecord) -> dict[str, str]:
    facts = getattr(record, "facts", None)
    return facts if isinstance(facts, dict) else {}


def _stack(record: logging.LogRecord) -> str:
    if record.exc_info and record.exc_info[0] is not None:
        return "".join(traceback.format_exception(*record.exc_info)).rstrip()
    return record.exc_text or record.stack_info or ""


class JsonFormatter(logging.Formatter):
    """One JSON object per line: at, level, logger, pid, facts, message, stack."""

    def __init__(self, redact: Redactor) -> None:
        super().__init__()
        self._redact = redact

    def format(self, record: logging.LogRecord) -> str:
        """The line, redacted piece by piece, so that JSON's escapes cannot hide a secret."""
        at = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        row: dict[str, str | int] = {
            "at": at.replace("+00:00", "Z"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "pid": record.process or 0,
            **{key: self._redact(value) for key, value in _facts(record).items()},
            "message": self._redact(record.getMessage()),
        }
        stack = _stack(record)
        if stack:
            row["stack"] = self._redact(stack)
        return json.dumps(row, ensure_ascii=False)


class PlainFormatter(logging.Formatter):
    """The same for people who watch a console."""

    def __init__(self, redact: Redactor) -> None:
        super().__init__()
        self._redact = redact

    def format(self, record: logging.LogRecord) -> str:
        """Time, level, what it is about, message."""
        at = datetime.fromtimestamp(record.created, UTC).strftime("%H:%M:%S.%f")[:-3]
        facts = " ".join(f"{key}={value}" for key, value in _facts(record).items())
        head = f"{at} {record.levelname.lower():<8} {record.name}"
        parts = [head, f"[{facts}]" if facts else "", record.getMessage()]
        line = " ".join(part for part in parts if part)
        stack = _stack(record)
        return self._redact(f"{line}\n{stack}" if stack else line)


class LogSetup:
    """Logging of one process; keep it, because a reload changes level and secrets."""

    def __init__(self, folder: Path, *, level: str, has_console: bool, redact: Redactor) -> None:
        """Install the handlers on the root logger; the folder must exist."""
        self._redact = redact
        self._handlers: list[logging.Handler] = [DailyFileHandler(folder)]
        self._handlers[0].setFormatter(JsonFormatter(redact))
        if has_console:
            console = logging.StreamHandler(sys.stderr)
            console.setFormatter(PlainFormatter(redact))
            self._handlers.append(console)
        root = logging.getLogger()
        for handler in self._handlers:
            handler.addFilter(FactsFilter())
            root.addHandler(handler)
        self.set_level(level)
        logging.captureWarnings(True)

    def set_level(self, level: str) -> None:
        """Change the level: a value of `Logging.LogLevel.Default`, in any letter case."""
        logging.getLogger().setLevel(LEVELS.get(level.casefold(), logging.WARNING))

    def replace_secrets(self, secrets: tuple[str, ...]) -> None:
        """Redact these values from now on."""
        self._redact.replace_secrets(secrets)

    def close(self) -> None:
        """Take the handlers off again."""
        root = logging.getLogger()
        for handler in self._handlers:
            root.removeHandler(handler)
            handler.close()
        logging.captureWarnings(False)
