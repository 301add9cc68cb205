"""Who answers for a notice while a turn tells of it: the watcher's row until the turn is worth it.

A notice is consumed by the start of a turn. If that turn comes to nothing before its first round,
nobody acted on the line, so the notice opens again as it was (reference section 8, 8, 11 and 12).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from netclaw.core.ids import TurnId
from netclaw.core.signals.cursors import (
    Cursor,
    Notice,
    NoticeChange,
    acknowledge,
    notice_of,
    reopen,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Watch:
    """A cursor with what giving a notice back needs."""

    cursor: Cursor
    told_turn: TurnId | None = None
    """The turn that tells of the last notice consumed, while it can still come to nothing."""
    told_since: int = 0
    """What had been seen before that notice."""
    reopened: int = 0
    """How often in a row such a turn came to nothing."""

    @property
    def failures(self) -> int:
        """Of the open notice itself; one that opened while another was told has none."""
        return self.reopened if self.told_turn is None else 0


def moved(before: Watch | None, cursor: Cursor) -> Watch:
    """The row of a cursor that an event moved."""
    return Watch(cursor=cursor) if before is None else replace(before, cursor=cursor)


def tell(watch: Watch, mark: int, turn: TurnId) -> Watch:
    """A turn that renders the notice with this mark began; the same row if it was consumed."""
    after = acknowledge(watch.cursor, mark)
    if after is watch.cursor:
        return watch
    return replace(watch, cursor=after, told_turn=turn, told_since=watch.cursor.seen)


def settle(watch: Watch) -> Watch:
    """The turn came to something: what it told of is told for good."""
    return replace(watch, told_turn=None, told_since=0, reopened=0)


def give_back(watch: Watch) -> Watch:
    """The turn came to nothing: the notice is open again, with its former line."""
    after = reopen(watch.cursor, since=watch.told_since, mark=watch.cursor.seen)
    return Watch(cursor=after, reopened=watch.reopened + 1)


def change(before: Watch | None, after: Watch) -> NoticeChange | None:
    """What the watcher must be told after its row was written; None if its notice is the same."""
    was = None if before is None else notice_of(before.cursor)
    return None if notice_of(after.cursor) == was else told(after)


def told(watch: Watch) -> NoticeChange:
    """What the watcher is told of a row as it is."""
    cursor = watch.cursor
    return NoticeChange(
        watcher=cursor.watcher,
        target=cursor.target,
        notice=notice_of(cursor),
        reopened=watch.failures,
    )


def closed(watch: Watch) -> NoticeChange:
    """What the watcher is told when its row goes."""
    cursor = watch.cursor
    return NoticeChange(watcher=cursor.watcher, target=cursor.target, notice=None)


def notices(watches: tuple[Watch, ...]) -> tuple[Notice, ...]:
    """The open notices of rows, oldest mark first."""
    found = [notice for watch in watches if (notice := notice_of(watch.cursor)) is not None]
    return tuple(sorted(found, key=lambda notice: (notice.mark, notice.target)))
