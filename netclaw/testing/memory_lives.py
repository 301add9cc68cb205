"""Starts, crashes and ends of lives in the in-memory journal; see the port for each contract."""

from __future__ import annotations

from netclaw.core.ids import AppendId, SessionId
from netclaw.core.session import events as ev
from netclaw.ports.crashes import CrashOutcome, CrashReport
from netclaw.ports.journal import JournalRow, SessionRecord, StartPoint
from netclaw.testing.memory_commit import MemoryCommitter
from netclaw.testing.memory_crash import record_crash
from netclaw.testing.memory_data import MemoryData
from netclaw.testing.memory_session import MemorySession


class MemoryLives:
    """Mixed into `MemoryJournal`."""

    _committer: MemoryCommitter
    _data: MemoryData

    def _known(self, session_id: SessionId) -> MemorySession:
        raise NotImplementedError

    def _keep(
        self,
        session: MemorySession,
        rows: tuple[JournalRow, ...] = (),
        append_id: AppendId | None = None,
        replies: tuple[ev.OutboxRow, ...] = (),
    ) -> None:
        raise NotImplementedError

    def _keep_event(self, session: MemorySession, event: ev.SessionEvent, *, at: int) -> None:
        raise NotImplementedError

    def _tell_signals(self) -> None:
        raise NotImplementedError

    async def begin_incarnation(self, session_id: SessionId, *, at: int) -> StartPoint:
        """Raise the incarnation and read snapshot and tail, as one job."""
        del at

        def work() -> StartPoint:
            session = self._known(session_id)
            session.incarnation += 1
            session.is_start_open = True
            self._keep(session)
            snapshot, tail = session.state()
            return StartPoint(
                record=session.record(),
                incarnation=session.incarnation,
                snapshot=snapshot,
                tail=tail,
                notices=self._data.signals.open_notices(session_id),
            )

        return await self._committer.write(work)

    async def finish_start(self, session_id: SessionId) -> None:
        """The started process is ready."""

        def work() -> None:
            session = self._known(session_id)
            session.is_start_open = False
            session.starts_held = 0
            self._keep(session)

        await self._committer.write(work)

    async def record_crash(self, session_id: SessionId, report: CrashReport) -> CrashOutcome:
        """Commit a CrashRecorded and what follows from it."""

        def work() -> CrashOutcome:
            session = self._known(session_id)
            outcome, rows, replies = record_crash(session, report)
            self._data.outbox.enqueue(session_id, replies)
            self._keep(session, rows, replies=replies)
            return outcome

        return await self._committer.write(work)

    async def set_quarantined(self, session_id: SessionId, *, is_quarantined: bool) -> None:
        """Quarantine a session or lift it."""

        def work() -> None:
            session = self._known(session_id)
            session.is_quarantined = is_quarantined
            if not is_quarantined:
                session.crash_times = ()
                session.starts_held = 0
            self._keep(session)

        await self._committer.write(work)

    async def reset_session(self, session_id: SessionId, *, at: int) -> SessionRecord:
        """Commit ev.SessionReset."""

        def work() -> SessionRecord:
            session = self._known(session_id)
            session.incarnation += 1
            session.is_start_open = False
            event = ev.SessionReset(reason=ev.ResetReason.OPERATOR, life=session.life + 1)
            self._keep_event(session, event, at=at)
            return session.record()

        return await self._committer.write(work)

    async def delete_session(self, session_id: SessionId) -> None:
        """Remove every row of a session."""

        def work() -> None:
            session = self._known(session_id)
            del self._data.sessions[session_id]
            if session.new.kind is not ev.SessionKind.CHILD:  # whose key is never used again
                version = self._data.signals.head(session_id).former_version
                self._data.graves[session_id] = (session.life, session.incarnation, version)
            self._data.outbox.forget(session_id)
            self._data.sends.bury(session_id)
            is_child = session.new.kind is ev.SessionKind.CHILD
            self._data.signals.bury(session_id, is_child=is_child)
            self._tell_signals()

        await self._committer.write(work)

    async def held_starts(self) -> tuple[tuple[SessionId, int], ...]:
        """Count the starts that the last death cut off."""

        def work() -> tuple[tuple[SessionId, int], ...]:
            held = []
            for session_id, known in list(self._data.sessions.items()):
                session = known.copy()
                session.starts_held = session.starts_held + 1 if session.is_start_open else 0
                if session.is_start_open:
                    held.append((session_id, session.starts_held))
                session.is_start_open = False
                self._keep(session)
            return tuple(held)

        return await self._committer.write(work)
