"""A `JournalStore` in memory, with the rules of the real one; the same contract suite runs on both.

Like the real one it commits what was asked for in one turn of the event loop together, tells the
listener first and then the authors. `reopen` stands for a restart of the daemon; `failure` makes
every write fail, as a full disk does.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from netclaw.core.errors import InternalError, NetclawError, NotFoundError, StorageError
from netclaw.core.ids import AppendId, SessionId
from netclaw.core.session import events as ev
from netclaw.core.session.admission import check_run
from netclaw.core.settings import DaemonSettings
from netclaw.core.signals.history import Head
from netclaw.ports.journal import (
    Admission,
    AdmitRequest,
    AppendRequest,
    Commit,
    CommitListener,
    EventDraft,
    JournalRow,
    LedgerEntry,
    NewSession,
    SessionRecord,
    StoredSnapshot,
)
from netclaw.ports.outbox import channels_of
from netclaw.ports.store_counts import StoreCounts
from netclaw.testing.memory_answers import MemoryAnswers
from netclaw.testing.memory_commit import MemoryCommitter
from netclaw.testing.memory_data import MemoryData
from netclaw.testing.memory_job_lists import MemoryJobLists
from netclaw.testing.memory_lives import MemoryLives
from netclaw.testing.memory_outbox_lists import MemoryOutboxLists
from netclaw.testing.memory_run_lists import MemoryRunLists
from netclaw.testing.memory_sends import MemorySendLists, MemorySends
from netclaw.testing.memory_session import MemorySession, draft_of
from netclaw.testing.memory_signal_lists import MemorySignalLists
from netclaw.testing.memory_upstream import MemoryUpstream

_SUPERVISOR_CAUSE = "supervisor"


class MemoryJournal(
    MemorySignalLists,
    MemoryUpstream,
    MemoryLives,
    MemoryAnswers,
    MemoryJobLists,
    MemoryRunLists,
    MemorySendLists,
    MemoryOutboxLists,
):
    """See the port for the contract of each method."""

    def __init__(
        self,
        limits: DaemonSettings | None = None,
        *,
        clock_ms: Callable[[], int] = lambda: time.time_ns() // 1_000_000,
        data: MemoryData | None = None,
    ) -> None:
        self._limits = limits or DaemonSettings()
        self._clock_ms = clock_ms
        self._data = data or MemoryData()
        self._committer = MemoryCommitter()

    @property
    def failure(self) -> StorageError | None:
        """Raised by every write while set."""
        return self._committer.failure

    @failure.setter
    def failure(self, failure: StorageError | None) -> None:
        self._committer.failure = failure

    @property
    def transactions(self) -> int:
        """Transactions committed so far."""
        return self._committer.transactions

    def reopen(self) -> MemoryJournal:
        """A journal over the same data, as after a restart; this one is closed."""
        self._committer.is_closed = True
        return MemoryJournal(self._limits, clock_ms=self._clock_ms, data=self._data)

    def set_listener(self, listener: CommitListener) -> None:
        """Name the one receiver of commits."""
        self._committer.listener = listener

    async def watch(self) -> None:
        """Raises once a test says that the store ended by itself."""
        await self._committer.has_failed.wait()
        raise InternalError("The store ended by itself.")

    def fail(self) -> None:
        """End the store by itself."""
        self._committer.has_failed.set()

    async def settle(self) -> None:
        """What can be read here was published in the same turn of the loop."""

    @property
    def _sends(self) -> MemorySends:
        return self._data.sends

    def _known(self, session_id: SessionId) -> MemorySession:
        session = self._data.sessions.get(session_id)
        if session is None:
            raise NotFoundError(f"There is no session {session_id}.")
        return session.copy()

    def _keep(
        self,
        session: MemorySession,
        rows: tuple[JournalRow, ...] = (),
        append_id: AppendId | None = None,
        replies: tuple[ev.OutboxRow, ...] = (),
    ) -> None:
        self._data.sessions[session.new.session_id] = session
        self._record_facts(session)
        if rows:
            self._sends.follow(session.new.session_id, rows)
            self._committer.publish(
                Commit(
                    session_id=session.new.session_id,
                    append_id=append_id,
                    rows=rows,
                    replies_to=channels_of(replies),
                )
            )

    def _keep_event(self, session: MemorySession, event: ev.SessionEvent, *, at: int) -> None:
        self._keep(session, session.write((draft_of(event),), at=at, cause=_SUPERVISOR_CAUSE))

    # Writes.

    async def create_session(self, new: NewSession) -> tuple[SessionRecord, bool]:
        """Create the session, or return the one that exists."""
        return await self._committer.write(lambda: self._create(new))

    def _create(self, new: NewSession) -> tuple[SessionRecord, bool]:
        known = self._data.sessions.get(new.session_id)
        if known is not None:
            return known.record(), False
        life, incarnation, version = self._data.graves.pop(new.session_id, (0, 0, 0))
        if version:
            former = Head(last=version)
            self._data.signals.heads[new.session_id] = former.of_next_life()
        session = MemorySession(
            new=new, life=life + 1, incarnation=incarnation, last_activity_at=new.at
        )
        created = ev.SessionCreated(
            session_id=new.session_id,
            kind=new.kind,
            channel=new.channel,
            audience=new.audience,
            life=session.life,
            parent=new.parent,
        )
        self._keep_event(session, created, at=new.at)
        return session.record(), True

    async def admit(self, request: AdmitRequest) -> Admission:
        """Commit InputAdmitted."""
        return await self._committer.write(lambda: self._admit(request))

    async def admit_many(
        self, requests: Sequence[AdmitRequest]
    ) -> tuple[Admission | NetclawError, ...]:
        """Commit several inputs together."""

        def work() -> tuple[Admission | NetclawError, ...]:
            return tuple(self._try_admit(request) for request in requests)

        return await self._committer.write(work)

    def _try_admit(self, request: AdmitRequest) -> Admission | NetclawError:
        try:
            return self._admit(request)
        except NetclawError as error:
            return error

    def _admit(self, request: AdmitRequest) -> Admission:
        session = self._known(request.session_id)
        if session.new.parent is not None and not session.has_admitted(request.source_message_id):
            runs = (run for run in self._all_runs() if run.child == request.session_id)
            check_run(is_over=any(run.ended_at is not None for run in runs))
        admission, rows = session.admit(request, self._limits, self._clock_ms())
        self._keep(session, rows)
        return admission

    async def append(self, request: AppendRequest) -> tuple[JournalRow, ...]:
        """Commit a session process's append."""
        return await self._committer.write(lambda: self._append(request))

    def _append(self, request: AppendRequest) -> tuple[JournalRow, ...]:
        session = self._known(request.session_id)
        rows, is_new = session.append(request)
        if is_new:
            self._keep(session, rows, request.append_id, request.outbox)
            self._data.outbox.enqueue(request.session_id, request.outbox)
        return rows

    async def append_own(
        self,
        session_id: SessionId,
        events: tuple[EventDraft, ...],
        *,
        at: int,
        raise_incarnation: bool = False,
        outbox: tuple[ev.OutboxRow, ...] = (),
    ) -> tuple[JournalRow, ...]:
        """Commit supervisor-authored events."""

        def work() -> tuple[JournalRow, ...]:
            session = self._known(session_id)
            session.incarnation += int(raise_incarnation)
            rows = session.write(events, at=at, cause=_SUPERVISOR_CAUSE)
            self._data.outbox.enqueue(session_id, outbox)
            self._keep(session, rows, replies=outbox)
            return rows

        return await self._committer.write(work)

    async def probe_write(self) -> None:
        """Prove that writing works."""
        await self._committer.write(lambda: None)

    # Reads.

    def _sessions(self) -> dict[SessionId, MemorySession]:
        self._committer.check_open()
        return self._data.sessions

    async def get_session(self, session_id: SessionId) -> SessionRecord | None:
        """The catalog row, or None."""
        session = self._sessions().get(session_id)
        return None if session is None else session.record()

    async def list_sessions(self, *, limit: int, after_id: str = "") -> tuple[SessionRecord, ...]:
        """Catalog rows in id order."""
        known = self._sessions()
        ids = sorted(session_id for session_id in known if session_id > after_id)
        return tuple(known[session_id].record() for session_id in ids[:limit])

    async def read_journal(
        self, session_id: SessionId, *, since: int, limit: int
    ) -> tuple[JournalRow, ...]:
        """Rows with a greater seq, oldest first."""
        session = self._sessions().get(session_id)
        rows = session.rows if session else ()
        return tuple(row for row in rows if row.seq > since)[:limit]

    async def read_state(
        self, session_id: SessionId
    ) -> tuple[StoredSnapshot | None, tuple[JournalRow, ...]]:
        """Newest snapshot and the rows after it."""
        session = self._sessions().get(session_id)
        return (None, ()) if session is None else session.state()

    async def ledger(self, session_id: SessionId, *, limit: int) -> tuple[LedgerEntry, ...]:
        """What became of the newest inputs."""
        session = self._sessions().get(session_id)
        newest = list(session.inputs.values())[-limit:] if session and limit > 0 else []
        outbox = self._data.outbox
        return tuple(item.to_entry(outbox.deliveries(session_id, item.input_id)) for item in newest)

    async def find_input(self, session_id: SessionId, source_message_id: str) -> Admission | None:
        """The admission of a message by its source id."""
        session = self._sessions().get(session_id)
        return None if session is None else session.find_input(source_message_id)

    async def thread_cursor(self, session_id: SessionId) -> str:
        """How far a session's thread was read."""
        session = self._sessions().get(session_id)
        return "" if session is None else session.thread_cursor

    async def runnable_sessions(self) -> tuple[SessionId, ...]:
        """Sessions with runnable work and no quarantine."""
        read = self._data.read_state
        return tuple(key for key, item in self._sessions().items() if item.has_work(read))

    async def has_runnable_work(self, session_id: SessionId) -> bool:
        """Whether one session has runnable work."""
        session = self._sessions().get(session_id)
        return session is not None and session.has_work(self._data.read_state)

    async def counts(self) -> StoreCounts:
        """Totals for status; nothing here has a size on disk."""
        self._sessions()
        return self._data.counts()

    async def check_integrity(self, *, is_full: bool) -> str | None:
        """Always sound."""
        del is_full
        self._sessions()
        return None

    async def close(self) -> None:
        """Commit what waits; an orderly stop cuts no start off."""
        if self._committer.is_closed:
            return
        self._committer.commit()
        self._committer.is_closed = True
        for session in self._data.sessions.values():
            session.is_start_open = False
