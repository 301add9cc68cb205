"""A watcher's mark on one target: what it has seen, was told of, and what there is.

Always `seen <= notified <= material`. A notice is open while `notified > seen`; its mark is frozen
until it is consumed (seed "Meldingen: één, niet veel").
"""

from __future__ import annotations

from dataclasses import dataclass

from netclaw.core.ids import SessionId


@dataclass(frozen=True, slots=True, kw_only=True)
class Cursor:
    """One watcher and one target; the numbers are sequences of the signal log."""

    watcher: SessionId
    target: SessionId
    seen: int = 0
    notified: int = 0
    material: int = 0

    @property
    def is_open(self) -> bool:
        """Whether the watcher has a notice to consume."""
        return self.notified > self.seen


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """An open notice: its line depends on `target` and `since` alone, so it never changes."""

    target: SessionId
    since: int
    mark: int


@dataclass(frozen=True, slots=True, kw_only=True)
class NoticeChange:
    """What a watcher's own process must know: `notice` is open now, or None is."""

    watcher: SessionId
    target: SessionId
    notice: Notice | None
    reopened: int = 0
    """How often this notice was rendered in a turn that failed before it came to anything."""
