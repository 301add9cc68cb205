"""The signal log in memory: events, state versions and watchers, by the rules of the core."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable
from dataclasses import dataclass, field, replace

from netclaw.core.ids import SessionId, TurnId
from netclaw.core.session.events import NoticeMark
from netclaw.core.signals import cursors, custody, retention
from netclaw.core.signals.cursors import Notice, NoticeChange
from netclaw.core.signals.custody import Watch
from netclaw.core.signals.events import Signal, SignalEvent
from netclaw.core.signals.history import Head, page
from netclaw.core.signals.retention import KeptEvent
from netclaw.ports.signals import PruneOutcome, SignalLimits, SignalsCommitted, StateChanges

Pair = tuple[SessionId, SessionId]
"""A watcher and its target."""


@dataclass(slots=True)
class MemorySignals:
    """All that is durable of the log, and what the running transaction has to tell of it."""

    events: list[SignalEvent] = field(default_factory=list)
    newest: int = 0
    heads: dict[SessionId, Head] = field(default_factory=dict)
    watches: dict[Pair, Watch] = field(default_factory=dict)
    touched: dict[Pair, int] = field(default_factory=dict)
    """When anything last happened to a watch."""
    told_events: list[SignalEvent] = field(default_factory=list)
    told_notices: list[NoticeChange] = field(default_factory=list)

    def take(self) -> SignalsCommitted | None:
        """What there is to tell since the last time, if anything."""
        if not self.told_events and not self.told_notices:
            return None
        committed = SignalsCommitted(
            events=tuple(self.told_events), notices=tuple(self.told_notices)
        )
        self.told_events, self.told_notices = [], []
        return committed

    # Recording.

    def record(self, signal: Signal, parent: SessionId | None, now: int) -> SignalEvent:
        """Record one change and move the cursors it concerns; a known one answers the first."""
        for event in self.events:
            if signal.dedupe_key is not None and event.signal.dedupe_key == signal.dedupe_key:
                return event
        self.newest += 1
        event = SignalEvent(sequence=self.newest, signal=signal)
        self.events.append(event)
        self.told_events.append(event)
        self.heads[signal.target] = replace(self.head(signal.target), last=event.sequence)
        if signal.kind.is_material:
            for watcher in cursors.watchers_to_tell(
                parent, self.holders(signal.target), signal.actor
            ):
                before = self.watches.get((watcher, signal.target))
                row = None if before is None else before.cursor
                after = cursors.note_material(row, watcher, event)
                if after != row:
                    self._keep(before, custody.moved(before, after), now)
        return event

    def seed(self, watcher: SessionId, event: SignalEvent, now: int) -> None:
        """The parent of a child run watches it from its first event on."""
        target = event.signal.target
        seeded = Watch(cursor=cursors.seed_at_spawn(watcher, target, event.sequence))
        self._keep(self.watches.get((watcher, target)), seeded, now)

    def holders(self, target: SessionId) -> list[SessionId]:
        """Who watches a session."""
        return sorted(watcher for watcher, known in self.watches if known == target)

    # Notices.

    def tell(self, watcher: SessionId, marks: Iterable[NoticeMark], turn: TurnId, now: int) -> None:
        """A turn that renders these began."""
        for mark in marks:
            before = self.watches.get((watcher, mark.target))
            after = None if before is None else custody.tell(before, mark.mark, turn)
            if after is not None and after is not before:
                self._keep(before, after, now)

    def close(
        self, watcher: SessionId, turn: TurnId, close: Callable[[Watch], Watch], now: int
    ) -> None:
        """That turn came to something, or to nothing."""
        for pair, watch in sorted(self.watches.items()):
            if pair[0] == watcher and watch.told_turn == turn:
                self._keep(watch, close(watch), now)

    def sweep(self, sessions: Container[SessionId], now: int) -> tuple[NoticeChange, ...]:
        """Open every cursor of sessions that exist up to the last there is to tell."""
        found = []
        for pair, before in sorted(self.watches.items()):
            if before.cursor.is_open and pair[0] in sessions:
                after = custody.moved(before, cursors.sweep(before.cursor))
                self._keep(before, after, now)
                found.append(custody.told(after))
        return tuple(found)

    def open_notices(self, watcher: SessionId) -> tuple[Notice, ...]:
        """What a session is not told of yet."""
        return custody.notices(
            tuple(watch for pair, watch in self.watches.items() if pair[0] == watcher)
        )

    # Watches.

    def watch(self, watcher: SessionId, target: SessionId, at: int) -> None:
        """Watch from the target's head on."""
        before = self.watches.get((watcher, target))
        row = None if before is None else before.cursor
        after = cursors.watch(row, watcher, target, self.head(target).last)
        self._keep(before, custody.moved(before, after), at)

    def forget(self, is_meant: Callable[[SessionId, SessionId], bool]) -> int:
        """Remove the watches of these watchers and targets; answers how many there were."""
        meant = sorted(pair for pair in self.watches if is_meant(*pair))
        for pair in meant:
            watch = self.watches.pop(pair)
            del self.touched[pair]
            if watch.cursor.is_open:
                self.told_notices.append(custody.closed(watch))
        return len(meant)

    def _keep(self, before: Watch | None, after: Watch, now: int) -> None:
        pair = (after.cursor.watcher, after.cursor.target)
        self.watches[pair] = after
        self.touched[pair] = now
        change = custody.change(before, after)
        if change is not None:
            self.told_notices.append(change)

    # Ends.

    def head(self, session_id: SessionId) -> Head:
        """A session's version, and what of its history is gone."""
        return self.heads.get(session_id, Head())

    def bury(self, session_id: SessionId, *, is_child: bool) -> None:
        """Remove what concerns a deleted session; of a child run, only what it watches."""
        self.forget(lambda watcher, _target: watcher == session_id)
        if is_child:
            return

        def is_gone(key: SessionId) -> bool:
            return key == session_id or key.startswith(f"{session_id}/sub/")

        self.forget(lambda _watcher, target: target == session_id)
        self.forget(lambda _watcher, target: is_gone(target))
        self.events = [event for event in self.events if not is_gone(event.signal.target)]
        self.heads = {key: head for key, head in self.heads.items() if not is_gone(key)}

    def prune(self, limits: SignalLimits, at: int) -> PruneOutcome:
        """Remove what is too old, then what is too much, then forgotten cursors."""
        before = retention.too_old_before(at, limits.retention_days)
        log = [
            KeptEvent(
                sequence=event.sequence,
                target=event.signal.target,
                occurred_at=event.signal.occurred_at,
            )
            for event in self.events
        ]
        gone = retention.doomed(log, before=before, row_cap=limits.row_cap)
        for target, last in retention.stamps(gone).items():
            self.heads[target] = self.head(target).without(last)
        sequences = {event.sequence for event in gone}
        self.events = [event for event in self.events if event.sequence not in sequences]
        forgotten = {pair for pair, at in self.touched.items() if at < before}
        cursors_gone = self.forget(lambda watcher, target: (watcher, target) in forgotten)
        return PruneOutcome(events=len(gone), cursors=cursors_gone)

    # Reads.

    def changes(self, target: SessionId, since: int, limit: int) -> StateChanges:
        """What changed in a session after a version."""
        kept = [event for event in self.events if event.signal.target == target]
        return _changes(kept, self.head(target), since, limit)

    def all_changes(self, since: int, limit: int) -> StateChanges:
        """What changed in any session after a version."""
        gone = max((head.gone for head in self.heads.values()), default=0)
        return _changes(self.events, Head(last=self.newest, gone=gone), since, limit)


def _changes(kept: list[SignalEvent], head: Head, since: int, limit: int) -> StateChanges:
    shown, is_truncated = page([event for event in kept if event.sequence > since], limit)
    return StateChanges(
        state_version=head.last,
        events=shown,
        is_truncated=is_truncated,
        earliest_available=head.earliest_available(kept[0].sequence if kept else None),
        has_history_gap=head.has_gap_after(since),
    )
