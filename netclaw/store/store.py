"""The database behind `JournalStore`: writes through one thread, reads through a small pool."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable, Sequence
from enum import StrEnum
from pathlib import Path
from typing import TypeVar

import apsw

from netclaw.core.errors import DrainingError, NetclawError, StorageError
from netclaw.core.ids import SessionId
from netclaw.core.session.events import OutboxRow
from netclaw.core.settings import DaemonSettings, StorageSettings
from netclaw.ports.crashes import CrashOutcome, CrashReport
from netclaw.ports.journal import (
    Admission,
    AdmitRequest,
    AppendRequest,
    CommitListener,
    EventDraft,
    JournalRow,
    LedgerEntry,
    NewSession,
    SessionRecord,
    StartPoint,
    StoredSnapshot,
)
from netclaw.ports.store_counts import StoreCounts
from netclaw.store import health, inputs, journal, sessions, supervision
from netclaw.store.child_lists import ChildLists
from netclaw.store.connection import Database, ForkGuard, open_writer
from netclaw.store.consents import ConsentAnswers
from netclaw.store.deletion import Deletions
from netclaw.store.job_lists import JobLists
from netclaw.store.lock import HomeLock
from netclaw.store.migrations import migrate, refuse_foreign_file
from netclaw.store.outbox_book import OutboxBook
from netclaw.store.readers import ReaderPool
from netclaw.store.scope import SessionCache, SpaceGauge, Work, WriteScope
from netclaw.store.session_sends import SessionSends
from netclaw.store.signal_book import SignalHealth
from netclaw.store.signals import Signals
from netclaw.store.threads import Threads
from netclaw.store.upstream_links import UpstreamLinks
from netclaw.store.writer import GroupWriter

logger = logging.getLogger(__name__)

T = TypeVar("T")


class Soundness(StrEnum):
    """What is known of the file since this store was opened."""

    TRUSTED = "trusted"
    """The last use ended cleanly, so nothing was checked."""
    CHECKING = "checking"
    SOUND = "sound"
    DAMAGED = "damaged"


def wall_clock_ms() -> int:
    """The time as epoch milliseconds."""
    return time.time_ns() // 1_000_000


class SqliteJournalStore(
    ConsentAnswers,
    JobLists,
    ChildLists,
    Signals,
    UpstreamLinks,
    SessionSends,
    OutboxBook,
    Threads,
):
    """One database file; see the port for the contract of each method.

    Made by `open` on the event loop that will use it. After an unclean stop a quick check runs in
    the background (decision 81): `soundness` says how it went.
    """

    def __init__(
        self,
        path: Path,
        settings: StorageSettings,
        limits: DaemonSettings,
        loop: asyncio.AbstractEventLoop,
        clock_ms: Callable[[], int],
    ) -> None:
        self._path = path
        self._limits = limits
        self._clock_ms = clock_ms
        self._guard = ForkGuard()
        self._gauge = SpaceGauge(path, settings.free_space_floor_bytes)
        self._readers = ReaderPool(path, self._guard, loop)
        self._writer = GroupWriter(
            loop=loop,
            guard=self._guard,
            open_database=self._open_database,
            make_scope=self._make_scope,
            deadline_s=settings.write_deadline_s,
        )
        self._check = health.IntegrityCheck(path, self._guard)
        self._lock: HomeLock | None = None
        self._was_clean = True
        self._quick_check: asyncio.Task[None] | None = None
        self._signal_health = SignalHealth()
        self._deletions = Deletions(self._writer, self._readers)
        self.soundness = Soundness.TRUSTED
        self.damage = ""
        """What the check found; empty unless `soundness` is DAMAGED."""

    @classmethod
    async def open(
        cls,
        path: Path,
        settings: StorageSettings,
        daemon_settings: DaemonSettings,
        loop: asyncio.AbstractEventLoop | None = None,
        *,
        clock_ms: Callable[[], int] = wall_clock_ms,
    ) -> SqliteJournalStore:
        """Open or create the database; the caller holds the home's lock.

        Raises a `StorageError`; a file that is damaged, foreign or of a newer schema is left as
        it is.
        """
        loop = loop or asyncio.get_running_loop()
        store = cls(path, settings, daemon_settings, loop, clock_ms)
        await store._writer.start()
        store._deletions.begin()
        if not store._was_clean:
            store._quick_check = loop.create_task(store._check_quickly())
        return store

    @classmethod
    async def open_offline(
        cls,
        lock_path: Path,
        path: Path,
        settings: StorageSettings,
        daemon_settings: DaemonSettings,
    ) -> SqliteJournalStore:
        """Open for a command that runs without a daemon, taking the home's lock first.

        Raises `AlreadyRunningError` while a daemon runs (decision 81). `close` releases the lock.
        """
        lock = HomeLock.acquire(lock_path)
        try:
            store = await cls.open(path, settings, daemon_settings)
        except BaseException:
            lock.close()
            raise
        store._lock = lock
        return store

    @property
    def was_clean(self) -> bool:
        """Whether the previous use of the file ended with `close`."""
        return self._was_clean

    @property
    def transactions(self) -> int:
        """Write transactions committed since the store was opened."""
        return self._writer.transactions

    def set_listener(self, listener: CommitListener) -> None:
        """Name the one receiver of commits; set before the first write."""
        self._writer.set_listener(listener)

    async def watch(self) -> None:
        """Return once closed; raises `InternalError` when the writer ended by itself."""
        await self._writer.watch()

    async def settle(self) -> None:
        """Return once everything that a read can see was named to the listener."""
        # Answered in order, after what was committed before it, even if it is refused itself.
        with contextlib.suppress(StorageError):
            await self._writer.submit(lambda _scope: None)

    # Writes.

    async def create_session(self, new: NewSession) -> tuple[SessionRecord, bool]:
        """Create the session, or return the one that exists."""
        return await self._writer.submit(lambda scope: sessions.create(scope, new))

    async def admit(self, request: AdmitRequest) -> Admission:
        """Commit InputAdmitted."""
        return await self._writer.submit(lambda scope: inputs.admit(scope, request))

    async def admit_many(
        self, requests: Sequence[AdmitRequest]
    ) -> tuple[Admission | NetclawError, ...]:
        """Commit several inputs in one transaction."""
        return await self._writer.submit(lambda scope: inputs.admit_many(scope, requests))

    async def append(self, request: AppendRequest) -> tuple[JournalRow, ...]:
        """Commit a session process's append."""
        return await self._writer.submit(lambda scope: journal.append(scope, request))

    async def append_own(
        self,
        session_id: SessionId,
        events: tuple[EventDraft, ...],
        *,
        at: int,
        raise_incarnation: bool = False,
        outbox: tuple[OutboxRow, ...] = (),
    ) -> tuple[JournalRow, ...]:
        """Commit supervisor-authored events."""
        return await self._writer.submit(
            lambda scope: journal.append_own(
                scope,
                session_id,
                events,
                at=at,
                raise_incarnation=raise_incarnation,
                replies=outbox,
            )
        )

    async def begin_incarnation(self, session_id: SessionId, *, at: int) -> StartPoint:
        """Raise the incarnation and read snapshot and tail, as one job."""
        return await self._writer.submit(
            lambda scope: supervision.begin_incarnation(scope, session_id, at=at)
        )

    async def finish_start(self, session_id: SessionId) -> None:
        """The started process is ready."""
        await self._writer.submit(lambda scope: supervision.finish_start(scope, session_id))

    async def record_crash(self, session_id: SessionId, report: CrashReport) -> CrashOutcome:
        """Commit a CrashRecorded and what follows from it."""
        return await self._writer.submit(
            lambda scope: supervision.record_crash(scope, session_id, report)
        )

    async def set_quarantined(self, session_id: SessionId, *, is_quarantined: bool) -> None:
        """Quarantine a session or lift it."""
        await self._writer.submit(
            lambda scope: supervision.set_quarantined(
                scope, session_id, is_quarantined=is_quarantined
            )
        )

    async def reset_session(self, session_id: SessionId, *, at: int) -> SessionRecord:
        """Commit SessionReset."""
        return await self._writer.submit(lambda scope: sessions.reset(scope, session_id, at=at))

    async def delete_session(self, session_id: SessionId) -> None:
        """Remove every row of a session, in pieces that hold nobody else up."""
        await self._deletions.delete(session_id)

    async def held_starts(self) -> tuple[tuple[SessionId, int], ...]:
        """Count the starts that the last death cut off."""
        return await self._writer.submit(supervision.held_starts)

    async def probe_write(self) -> None:
        """Prove that writing works."""
        await self._writer.submit(health.probe_write)

    # Reads.

    async def get_session(self, session_id: SessionId) -> SessionRecord | None:
        """The catalog row, or None."""
        return await self._readers.read(lambda db: sessions.find(db, session_id))

    async def list_sessions(self, *, limit: int, after_id: str = "") -> tuple[SessionRecord, ...]:
        """Catalog rows in id order."""
        return await self._readers.read(
            lambda db: sessions.list_all(db, limit=limit, after_id=after_id)
        )

    async def read_journal(
        self, session_id: SessionId, *, since: int, limit: int
    ) -> tuple[JournalRow, ...]:
        """Rows with a greater seq, oldest first."""
        return await self._readers.read(
            lambda db: journal.read_rows(db, session_id, since=since, limit=limit)
        )

    async def read_state(
        self, session_id: SessionId
    ) -> tuple[StoredSnapshot | None, tuple[JournalRow, ...]]:
        """Newest snapshot and the rows after it."""
        return await self._readers.read(lambda db: journal.read_state_of(db, session_id))

    async def ledger(self, session_id: SessionId, *, limit: int) -> tuple[LedgerEntry, ...]:
        """What became of the newest inputs."""
        return await self._readers.read(lambda db: inputs.ledger(db, session_id, limit=limit))

    async def find_input(self, session_id: SessionId, source_message_id: str) -> Admission | None:
        """The admission of a message by its source id."""
        return await self._readers.read(
            lambda db: inputs.find_input(db, session_id, source_message_id)
        )

    async def runnable_sessions(self) -> tuple[SessionId, ...]:
        """Sessions with runnable work and no quarantine."""
        return await self._readers.read(sessions.runnable)

    async def has_runnable_work(self, session_id: SessionId) -> bool:
        """Whether one session has runnable work."""
        return await self._readers.read(lambda db: sessions.has_runnable_work(db, session_id))

    async def counts(self) -> StoreCounts:
        """Totals for status."""
        size = health.size_on_disk(self._path)
        return await self._readers.read(lambda db: sessions.counts(db, database_bytes=size))

    async def check_integrity(self, *, is_full: bool) -> str | None:
        """None when sound, otherwise what SQLite says."""
        return await asyncio.to_thread(self._check.run, is_full=is_full)

    async def close(self) -> None:
        """Commit what waits, mark the stop as clean, checkpoint, close."""
        if self._quick_check is not None:
            self._check.interrupt()
            await self._quick_check
        await self._deletions.close()
        try:
            await self._submit_last(supervision.forget_open_starts)
            await self._submit_last(health.mark_clean)
            await self._readers.close()
            await self._writer.close()
        finally:
            if self._lock is not None:
                self._lock.close()

    async def _submit_last(self, work: Work[None]) -> None:
        try:
            await self._writer.submit(work)
        except NetclawError as error:
            logger.warning("the stop could not be marked as clean: %s", error.code)

    # On the writer thread.

    def _open_database(self) -> Database:
        refuse_foreign_file(self._path, self._guard)
        database = open_writer(self._path, self._guard)
        try:
            migrate(database)
            self._was_clean = health.mark_running(database)
        except apsw.Error as error:
            translated = database.translate(error)
            database.close()
            raise translated from error
        return database

    def _make_scope(self, database: Database, cache: SessionCache) -> WriteScope:
        return WriteScope(
            database, cache, self._gauge, self._limits, self._clock_ms(), self._signal_health
        )

    async def _check_quickly(self) -> None:
        self.soundness = Soundness.CHECKING
        try:
            found = await self.check_integrity(is_full=False)
        except DrainingError:
            return
        except NetclawError as error:
            found = error.sentence
        self.damage = found or ""
        self.soundness = Soundness.DAMAGED if found else Soundness.SOUND
        if found:
            logger.error("the quick check after an unclean stop found damage: %s", found)
