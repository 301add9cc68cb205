"""A watcher's mark on one target: what it has seen, was told of, and what there is.

Always `seen <= notified <= material`. A notice is open while `notified > seen`; its mark is frozen
until it is consumed (seed "Meldingen: één, niet veel"). Nothing here writes: each step answers the
row as it is afterwards, and the very same row where nothing is to be done.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from netclaw.core.ids import SessionId
from netclaw.core.signals.events import Actor, ActorType, SignalEvent


@dataclass(frozen=True, slots=True, kw_only=True)
class Cursor:
    """One watcher and one target; the numbers are sequences of the signal log.

    A row that breaks the order of its numbers is a programming error (`ValueError`).
    """

    watcher: SessionId
    target: SessionId
    seen: int = 0
    notified: int = 0
    material: int = 0

    def __post_init__(self) -> None:
        if not 0 <= self.seen <= self.notified <= self.material:
            raise ValueError(f"cursor out of order: {self.seen}, {self.notified}, {self.material}")

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


def seed_at_spawn(watcher: SessionId, target: SessionId, sequence: int) -> Cursor:
    """The parent's row after `child_spawned`, whatever it was before: a notice of it is dropped."""
    return Cursor(
        watcher=watcher, target=target, seen=sequence, notified=sequence, material=sequence
    )


def can_watch(watcher: SessionId, target: SessionId) -> bool:
    """Nobody watches itself. Every session id is a qualified watcher (decision 60)."""
    return watcher != target


def watch(existing: Cursor | None, watcher: SessionId, target: SessionId, head: int) -> Cursor:
    """The row of an explicit watch: one that exists stays, a new one begins at the target's head.

    What happened before is never told of. `head` is 0 of a target without recorded changes.
    """
    return existing if existing is not None else seed_at_spawn(watcher, target, head)


def watchers_to_tell(
    parent: SessionId | None, holders: Iterable[SessionId], actor: Actor
) -> tuple[SessionId, ...]:
    """Whom a material event concerns: the spawn parent and all cursor holders, without its cause.

    Each once, the parent first (self-suppression, seed "Zelfonderdrukking").
    """
    told = dict.fromkeys((parent, *holders) if parent is not None else holders)
    return tuple(watcher for watcher in told if not is_own(watcher, actor))


def is_own(watcher: SessionId, actor: Actor) -> bool:
    """Whether the watcher caused the event itself."""
    return actor.type is ActorType.AGENT and actor.id == watcher


def note_material(cursor: Cursor | None, watcher: SessionId, event: SignalEvent) -> Cursor:
    """A material event of the target: opens a notice at its mark, or moves `material` alone.

    A watcher without a row (its parent after a reset) begins at zero. An event that the row knows
    already (a repeated dedupe key), that is log-only, or that is the watcher's own moves nothing.
    """
    row = cursor or Cursor(watcher=watcher, target=event.signal.target)
    if (
        not event.signal.kind.is_material
        or is_own(watcher, event.signal.actor)
        or event.sequence <= row.material
    ):
        return row
    notified = row.notified if row.is_open else event.sequence
    return replace(row, notified=notified, material=event.sequence)


def acknowledge(cursor: Cursor, mark: int) -> Cursor:
    """A turn began that tells of the notice with this mark: it is consumed.

    What came while it was open opens exactly one more, from the mark on. A mark that was consumed
    already changes nothing; one that the row never told of is bounded by what it did tell of.
    """
    seen = min(mark, cursor.notified)
    if seen <= cursor.seen:
        return cursor
    return replace(cursor, seen=seen, notified=cursor.material)


def reopen(cursor: Cursor, *, since: int, mark: int) -> Cursor:
    """The turn that consumed `mark` came to nothing: one notice is open with its former line.

    It takes up a follow-up that opened meanwhile. Nothing if the row moved on since (a later turn
    consumed more, or it was made anew).
    """
    if cursor.seen != mark or since >= mark:
        return cursor
    return replace(cursor, seen=since)


def sweep(cursor: Cursor) -> Cursor:
    """At boot: everything there is to tell becomes one notice (decision 91), so no follow-up."""
    if cursor.material == cursor.notified:
        return cursor
    return replace(cursor, notified=cursor.material)


def notice_of(cursor: Cursor) -> Notice | None:
    """The open notice of a row, if it has one."""
    if not cursor.is_open:
        return None
    return Notice(target=cursor.target, since=cursor.seen, mark=cursor.notified)
