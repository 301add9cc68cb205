"""What a log line is about, carried along with the running task."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_facts: ContextVar[dict[str, str] | None] = ContextVar("netclaw_log_facts", default=None)


@contextmanager
def about(**facts: str) -> Iterator[None]:
    """Add facts (`session=...`, `turn=...`) to every log line written inside, tasks included."""
    token = _facts.set((_facts.get() or {}) | facts)
    try:
        yield
    finally:
        _facts.reset(token)


def current_facts() -> dict[str, str]:
    """The facts of the running task."""
    return _facts.get() or {}
