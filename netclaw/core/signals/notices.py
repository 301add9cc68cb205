"""What a watcher's model is told of its open notices at the start of a turn (decision 59)."""

from __future__ import annotations

from collections.abc import Iterable

from netclaw.core.ids import SessionId
from netclaw.core.signals.cursors import Notice

MAX_LINES = 50
"""Notices of one turn, the oldest mark first; the others wait for the next one."""


def line(target: SessionId, since: int) -> str:
    """The line of one notice: of the target and the version seen alone, so it stays the same."""
    return (
        f'Session "{target}" changed (other actor). Reconcile before acting: '
        f'session_status sessionKey "{target}" changesSince {since}.'
    )


def due(notices: Iterable[Notice], limit: int = MAX_LINES) -> tuple[Notice, ...]:
    """The notices that the next turn tells of."""
    return tuple(sorted(notices, key=lambda notice: (notice.mark, notice.target))[:limit])
