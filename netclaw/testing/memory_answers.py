"""The consent part of the in-memory journal; see the port for the contract of each method."""

from __future__ import annotations

from netclaw.core.ids import AppendId, SessionId
from netclaw.core.session.events import SessionKind
from netclaw.ports.answers import AnswerAdmission, AnswerRequest, PendingConsent
from netclaw.ports.journal import JournalRow
from netclaw.testing.memory_commit import MemoryCommitter
from netclaw.testing.memory_data import MemoryData
from netclaw.testing.memory_session import MemorySession


class MemoryAnswers:
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
    ) -> None:
        raise NotImplementedError

    async def answer(self, request: AnswerRequest) -> AnswerAdmission:
        """Commit AnswerAdmitted, judged against the open request."""

        def work() -> AnswerAdmission:
            session = self._known(request.session_id)
            admission, rows = session.answer(request)
            self._keep(session, rows)
            return admission

        return await self._committer.write(work)

    async def pending_consents(self, *, limit: int, after: int = 0) -> tuple[PendingConsent, ...]:
        """Open requests of every session by age."""
        self._committer.check_open()
        found = [
            PendingConsent(
                position=item.position,
                session_id=session.new.session_id,
                channel=session.new.channel,
                seq=item.seq,
                turn_id=item.turn_id,
                run_id=item.run_id,
                asked_at=item.asked_at,
                request=item.request,
            )
            for session in self._data.sessions.values()
            for item in session.consents.open
            # What a child run asks is listed with its parent.
            if item.position > after and session.new.kind is not SessionKind.CHILD
        ]
        return tuple(sorted(found, key=lambda item: item.position)[:limit])
