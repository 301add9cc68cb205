"""The part of the store that sessions are watched, looked back on and given goals by."""

from __future__ import annotations

import logging

from netclaw.core.errors import DrainingError, NetclawError
from netclaw.core.ids import SessionId
from netclaw.core.session import goals
from netclaw.core.session.goal_events import GoalStatus
from netclaw.core.session.goals import Goal, GoalChange
from netclaw.core.signals import cursors, custody
from netclaw.core.signals.cursors import Cursor, NoticeChange
from netclaw.core.signals.custody import Watch
from netclaw.core.signals.events import Actor, Signal, SignalEvent
from netclaw.ports.signals import (
    CHANGES_LIMIT,
    GoalOutcome,
    PruneOutcome,
    SignalLimits,
    SignalListener,
    StateChanges,
)
from netclaw.store import signal_history, signal_log, signal_pruning, watch_table
from netclaw.store.connection import Database
from netclaw.store.journal import publish_events
from netclaw.store.readers import ReaderPool
from netclaw.store.scope import WriteScope
from netclaw.store.signal_book import SignalBook, SignalHealth
from netclaw.store.writer import GroupWriter
from netclaw.wire.journal_codec import encode_event

logger = logging.getLogger(__name__)

NOTHING = StateChanges(state_version=0)


class Signals:
    """See the port `SignalStore` for the contract of each method."""

    _writer: GroupWriter
    _readers: ReaderPool
    _signal_health: SignalHealth

    def set_signal_listener(self, listener: SignalListener) -> None:
        """Name the one receiver of signals."""
        self._writer.set_signal_listener(listener)

    @property
    def signals_problem(self) -> str:
        """Why the log takes no events at present; empty if it does."""
        return self._signal_health.problem

    async def record_signal(self, signal: Signal) -> SignalEvent:
        """Record one change that is no journal event."""
        return await self._writer.submit(lambda scope: _record(scope, signal))

    async def watch_session(self, watcher: SessionId, target: SessionId, *, at: int) -> bool:
        """Watch from the target's head on."""
        return await self._writer.submit(lambda scope: _watch(scope, watcher, target, at=at))

    async def unwatch_session(self, watcher: SessionId, target: SessionId) -> bool:
        """End a watch."""
        return await self._writer.submit(lambda scope: _unwatch(scope, watcher, target))

    async def cursors(self, session_id: SessionId | None = None) -> tuple[Cursor, ...]:
        """Every cursor, or those of a session."""

        def read(db: Database) -> tuple[Cursor, ...]:
            return tuple(watch.cursor for watch in watch_table.concerning(db, session_id))

        return await self._readers.read(read)

    async def changes_since(
        self, target: SessionId, since: int, *, limit: int = CHANGES_LIMIT
    ) -> StateChanges:
        """What changed in a session after a version."""
        try:
            return await self._readers.read(
                lambda db: signal_history.of_session(db, target, since, limit)
            )
        except DrainingError:
            raise
        except NetclawError as error:
            logger.warning("the signal log cannot be read: %s", error.code)
            return NOTHING

    async def all_changes_since(self, since: int, *, limit: int = CHANGES_LIMIT) -> StateChanges:
        """What changed in any session after a version."""
        try:
            return await self._readers.read(lambda db: signal_history.of_all(db, since, limit))
        except DrainingError:
            raise
        except NetclawError as error:
            logger.warning("the signal log cannot be read: %s", error.code)
            return NOTHING

    async def set_goal(
        self, session_id: SessionId, change: GoalChange, *, actor: Actor, at: int
    ) -> GoalOutcome:
        """Set a session's goal."""
        return await self._writer.submit(
            lambda scope: _set_goal(scope, session_id, change, actor, at=at)
        )

    async def sweep_cursors(self, *, at: int) -> tuple[NoticeChange, ...]:
        """Open every cursor with something to tell up to the last of it.

        This, and no column that `runnable_sessions` looks at, is what makes an open notice of a
        top-level watcher due after a restart: the supervisor wakes it by an input, which is work.
        """
        return await self._writer.submit(lambda scope: _sweep(scope, at=at))

    async def prune_signals(self, limits: SignalLimits, *, at: int) -> PruneOutcome:
        """Remove what is too old, then what is too much, then forgotten cursors."""
        return await self._writer.submit(lambda scope: signal_pruning.prune(scope, limits, at=at))


def _record(scope: WriteScope, signal: Signal) -> SignalEvent:
    book = SignalBook()
    event = signal_log.record(scope, book, signal)
    signal_log.accept(scope, book)
    return event


def _watch(scope: WriteScope, watcher: SessionId, target: SessionId, *, at: int) -> bool:
    for session_id in (watcher, target):
        scope.session(session_id)
    if not cursors.can_watch(watcher, target):
        return False
    before = watch_table.find(scope.db, watcher, target)
    row = None if before is None else before.cursor
    head = signal_log.head(scope.db, target).last
    after = custody.moved(before, cursors.watch(row, watcher, target, head))
    watch_table.save(scope.db, [after], at=at)
    return True


def _unwatch(scope: WriteScope, watcher: SessionId, target: SessionId) -> bool:
    known = watch_table.find(scope.db, watcher, target)
    if known is None:
        return False
    watch_table.remove(scope.db, scope.book, [known])
    return True


def _set_goal(
    scope: WriteScope, session_id: SessionId, change: GoalChange, actor: Actor, *, at: int
) -> GoalOutcome:
    row = scope.session(session_id)
    before = Goal(text=row.goal, status=GoalStatus(row.goal_status)) if row.goal else Goal()
    event = goals.decide(before, change, actor)
    if event is None:
        return GoalOutcome(goal=before, is_changed=False)
    publish_events(scope, row, (encode_event(event),), at=at)
    return GoalOutcome(goal=goals.of_event(event), is_changed=True)


def _sweep(scope: WriteScope, *, at: int) -> tuple[NoticeChange, ...]:
    found = watch_table.all_open(scope.db)
    swept: list[Watch] = []
    for before in found:
        after = custody.moved(before, cursors.sweep(before.cursor))
        if after != before:
            scope.book.tell(custody.change(before, after))
        swept.append(after)
    watch_table.save(scope.db, swept, at=at)
    return tuple(custody.told(watch) for watch in swept)
