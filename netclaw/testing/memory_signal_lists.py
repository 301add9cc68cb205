"""The part of the in-memory journal about signals; see `SignalStore` for each contract."""

from __future__ import annotations

from collections.abc import Callable

from netclaw.core.ids import AppendId, SessionId
from netclaw.core.session import goals
from netclaw.core.session.goals import GoalChange
from netclaw.core.signals import cursors
from netclaw.core.signals.cursors import Cursor, NoticeChange
from netclaw.core.signals.events import Actor, Signal, SignalEvent
from netclaw.ports.journal import JournalRow
from netclaw.ports.signals import (
    CHANGES_LIMIT,
    GoalOutcome,
    PruneOutcome,
    SignalLimits,
    SignalListener,
    StateChanges,
)
from netclaw.testing.memory_commit import MemoryCommitter
from netclaw.testing.memory_data import MemoryData
from netclaw.testing.memory_facts import Place
from netclaw.testing.memory_session import MemorySession, draft_of


class MemorySignalLists:
    """Mixed into `MemoryJournal`."""

    _committer: MemoryCommitter
    _data: MemoryData
    _clock_ms: Callable[[], int]

    def _known(self, session_id: SessionId) -> MemorySession:
        raise NotImplementedError

    def _keep(
        self,
        session: MemorySession,
        rows: tuple[JournalRow, ...] = (),
        append_id: AppendId | None = None,
    ) -> None:
        raise NotImplementedError

    # Within a write.

    def _record_facts(self, session: MemorySession) -> None:
        """What the rows of a write that succeeded mean to the log."""
        facts, session.facts = session.facts, ()
        place = self._place()
        for fact in facts:
            fact(place)
        self._tell_signals()

    def _spawned(self, parent: SessionId, signal: Signal) -> None:
        log = self._data.signals
        before = log.newest
        event = log.record(signal, parent, self._clock_ms())
        if log.newest > before:
            log.seed(parent, event, self._clock_ms())
        self._tell_signals()

    def _tell_signals(self) -> None:
        committed = self._data.signals.take()
        if committed is None:
            return
        for event in committed.events:
            session = self._data.sessions.get(event.signal.target)
            if session is not None:
                session.state_version = event.sequence
        self._committer.publish_signals(committed)

    def _place(self) -> Place:
        return Place(
            log=self._data.signals,
            parent_of=self._parent_of,
            is_orphan=self._is_orphan,
            now=self._clock_ms(),
        )

    def _parent_of(self, session_id: SessionId) -> SessionId | None:
        session = self._data.sessions.get(session_id)
        parent = None if session is None else session.new.parent
        return parent if parent in self._data.sessions else None

    def _is_orphan(self, session_id: SessionId) -> bool:
        session = self._data.sessions.get(session_id)
        has_parent = session is not None and session.new.parent is not None
        return has_parent and self._parent_of(session_id) is None

    # The port.

    def set_signal_listener(self, listener: SignalListener) -> None:
        """Name the one receiver of signals."""
        self._committer.signal_listener = listener

    @property
    def signals_problem(self) -> str:
        """Nothing fails here."""
        return ""

    async def record_signal(self, signal: Signal) -> SignalEvent:
        """Record one change that is no journal event."""

        def work() -> SignalEvent:
            parent = self._parent_of(signal.target)
            event = self._data.signals.record(signal, parent, self._clock_ms())
            self._tell_signals()
            return event

        return await self._committer.write(work)

    async def watch_session(self, watcher: SessionId, target: SessionId, *, at: int) -> bool:
        """Watch from the target's head on."""

        def work() -> bool:
            for session_id in (watcher, target):
                self._known(session_id)
            if not cursors.can_watch(watcher, target):
                return False
            self._data.signals.watch(watcher, target, at)
            self._tell_signals()
            return True

        return await self._committer.write(work)

    async def unwatch_session(self, watcher: SessionId, target: SessionId) -> bool:
        """End a watch."""

        def work() -> bool:
            gone = self._data.signals.forget(lambda *pair: pair == (watcher, target))
            self._tell_signals()
            return gone > 0

        return await self._committer.write(work)

    async def cursors(self, session_id: SessionId | None = None) -> tuple[Cursor, ...]:
        """Every cursor, or those of a session."""
        self._committer.check_open()
        watches = sorted(self._data.signals.watches.items())
        return tuple(
            watch.cursor for pair, watch in watches if session_id is None or session_id in pair
        )

    async def changes_since(
        self, target: SessionId, since: int, *, limit: int = CHANGES_LIMIT
    ) -> StateChanges:
        """What changed in a session after a version."""
        self._committer.check_open()
        return self._data.signals.changes(target, since, limit)

    async def all_changes_since(self, since: int, *, limit: int = CHANGES_LIMIT) -> StateChanges:
        """What changed in any session after a version."""
        self._committer.check_open()
        return self._data.signals.all_changes(since, limit)

    async def set_goal(
        self, session_id: SessionId, change: GoalChange, *, actor: Actor, at: int
    ) -> GoalOutcome:
        """Set a session's goal."""

        def work() -> GoalOutcome:
            session = self._known(session_id)
            event = goals.decide(session.goal, change, actor)
            if event is None:
                return GoalOutcome(goal=session.goal, is_changed=False)
            rows = session.write((draft_of(event),), at=at, cause="supervisor")
            self._keep(session, rows)
            return GoalOutcome(goal=session.goal, is_changed=True)

        return await self._committer.write(work)

    async def sweep_cursors(self, *, at: int) -> tuple[NoticeChange, ...]:
        """Open every cursor with something to tell up to the last of it."""

        def work() -> tuple[NoticeChange, ...]:
            found = self._data.signals.sweep(self._data.sessions, at)
            self._tell_signals()
            return found

        return await self._committer.write(work)

    async def prune_signals(self, limits: SignalLimits, *, at: int) -> PruneOutcome:
        """Remove what is too old, then what is too much, then forgotten cursors."""

        def work() -> PruneOutcome:
            outcome = self._data.signals.prune(limits, at)
            self._tell_signals()
            return outcome

        return await self._committer.write(work)
