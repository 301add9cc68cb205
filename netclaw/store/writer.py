"""The one writer thread: commits everything that waits in one transaction (group commit).

Each write is a savepoint, so one that fails alone fails alone. A write is acknowledged after its
COMMIT returned: the listener hears of the rows of a transaction and then the authors' futures
resolve, all in commit order and in one turn of the event loop (decision 3).
"""

from __future__ import annotations

import asyncio
import logging
import queue
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import TypeVar, cast

import apsw

from netclaw.core.errors import (
    DrainingError,
    ErrorCode,
    InternalError,
    NetclawError,
    StorageCorruptError,
    StorageFullError,
    StorageTimeoutError,
)
from netclaw.ports.journal import CommitListener
from netclaw.ports.signals import SignalListener
from netclaw.store.connection import BUSY_TIMEOUT_MS, Database, ForkGuard
from netclaw.store.scope import SessionCache, Work, WriteScope
from netclaw.store.signal_book import SignalBook
from netclaw.store.write_item import AnyWrite, Write

logger = logging.getLogger(__name__)

T = TypeVar("T")

BATCH_ITEMS = 1024
BATCH_TIME_S = 0.02
"""A transaction takes no further write after this long, so that the first one is not kept."""
IDLE_CHECKPOINT_S = 2.0
"""Quiet time after which the log is copied into the database and cut."""


class GroupWriter:
    """Owns the writing connection; `submit` is called on the event loop only."""

    def __init__(
        self,
        *,
        loop: asyncio.AbstractEventLoop,
        guard: ForkGuard,
        open_database: Callable[[], Database],
        make_scope: Callable[[Database, SessionCache], WriteScope],
        deadline_s: float,
    ) -> None:
        self._loop = loop
        self._guard = guard
        self._open_database = open_database
        self._make_scope = make_scope
        self._deadline_s = deadline_s
        self._queue: queue.SimpleQueue[AnyWrite | None] = queue.SimpleQueue()
        self._claim = threading.Lock()
        self._waiting: deque[AnyWrite] = deque()
        self._timer: asyncio.TimerHandle | None = None
        self._cache = SessionCache()
        self._listener: CommitListener | None = None
        self._signal_listener: SignalListener | None = None
        self._damage: StorageCorruptError | None = None
        self._failing: ErrorCode | None = None
        self._is_closing = False
        self._fault: InternalError | None = None
        """Why the thread ended unasked."""
        self._opened: asyncio.Future[None] = loop.create_future()
        self._ended: asyncio.Future[None] = loop.create_future()
        self._thread = threading.Thread(target=self._run, name="netclaw-writer", daemon=True)
        self.transactions = 0
        """Transactions committed so far."""

    async def start(self) -> None:
        """Open the database on the writer thread. Raises a `StorageError`."""
        self._thread.start()
        await self._opened

    def set_listener(self, listener: CommitListener) -> None:
        """Name the receiver of commits."""
        self._listener = listener

    def set_signal_listener(self, listener: SignalListener) -> None:
        """Name the receiver of what is recorded in the signal log."""
        self._signal_listener = listener

    def submit(self, work: Work[T]) -> asyncio.Future[T]:
        """Queue a write; the future answers after its commit.

        It fails with `StorageTimeoutError` when the write has not begun at its deadline; once
        begun, its true outcome is reported however long it takes (decision 11).
        """
        self._guard.check()
        if self._is_closing:
            raise DrainingError("The store is closed; the daemon is stopping.")
        future: asyncio.Future[T] = self._loop.create_future()
        write = Write(work, future, time.monotonic() + self._deadline_s)
        known = cast("AnyWrite", write)
        self._waiting.append(known)
        self._queue.put(known)
        if self._timer is None:
            self._timer = self._loop.call_later(self._deadline_s, self._drop_late)
        return future

    async def watch(self) -> None:
        """Return once closed; raises `InternalError` when the thread ended by itself."""
        await asyncio.shield(self._ended)
        if self._fault is not None:
            raise self._fault

    async def close(self) -> None:
        """Commit what waits, checkpoint and close the connection."""
        self._guard.check()
        if not self._is_closing:
            self._is_closing = True
            self._queue.put(None)
        await asyncio.shield(self._ended)
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    # On the event loop.

    def _drop_late(self) -> None:
        self._timer = None
        self._forget_answered()
        now = time.monotonic()
        late = []
        with self._claim:
            for write in self._waiting:
                if write.deadline > now:
                    break
                if not write.is_begun and write.error is None:
                    write.error = _too_late()
                    late.append(write)
        for write in late:
            write.resolve()
        self._forget_answered()
        if self._waiting:
            delay = max(self._waiting[0].deadline - now, self._deadline_s / 20)
            self._timer = self._loop.call_later(delay, self._drop_late)

    def _tell_signals(self, writes: list[AnyWrite]) -> None:
        """Before the rows: a session must know of a notice before it starts a turn of theirs."""
        if self._signal_listener is None:
            return
        book = SignalBook()
        for write in writes:
            book.extend(write.book)
        if book.is_empty:
            return
        try:
            self._signal_listener(book.committed())
        except Exception:  # what was recorded is durable: the authors must hear of it
            logger.exception("the listener of signals failed")

    def _forget_answered(self) -> None:
        while self._waiting and self._waiting[0].future.done():
            self._waiting.popleft()

    def _deliver(self, writes: list[AnyWrite]) -> None:
        self._tell_signals(writes)
        commits = [commit for write in writes for commit in write.commits]
        if commits and self._listener is not None:
            try:
                self._listener(commits)
            except Exception:  # the rows are durable: their authors must hear of it
                logger.exception("the listener of commits failed")
        for write in writes:
            write.resolve()
        self._forget_answered()

    # On the writer thread.

    def _run(self) -> None:
        try:
            database = self._open_database()
        except NetclawError as error:
            self._on_loop(_fail, self._opened, error)
            return
        except Exception:
            logger.exception("opening the database failed")
            self._on_loop(_fail, self._opened, InternalError("The database cannot be opened."))
            return
        self._on_loop(_finish, self._opened)
        try:
            self._serve(database)
        except Exception:
            logger.exception("the writer thread failed")
            self._fault = InternalError("The database's writer failed; nothing can be written.")
        finally:
            self._end(database)

    def _serve(self, database: Database) -> None:
        is_open = True
        is_log_used = False
        while is_open:
            try:
                first = self._queue.get(timeout=IDLE_CHECKPOINT_S if is_log_used else None)
            except queue.Empty:
                is_log_used = False
                _checkpoint(database)
                continue
            batch, is_open = self._gather(first)
            while batch:
                batch = self._commit_or_refuse(database, batch)
                is_log_used = True

    def _gather(self, first: AnyWrite | None) -> tuple[list[AnyWrite], bool]:
        found: list[AnyWrite] = []
        write = first
        while write is not None:
            found.append(write)
            if len(found) >= BATCH_ITEMS:
                break
            try:
                write = self._queue.get_nowait()
            except queue.Empty:
                break
        return self._begin(found), write is not None

    def _begin(self, found: list[AnyWrite]) -> list[AnyWrite]:
        now = time.monotonic()
        begun, late = [], []
        with self._claim:
            for write in found:
                if write.error is not None:
                    continue
                if write.deadline <= now:
                    write.error = _too_late()
                    late.append(write)
                else:
                    write.is_begun = True
                    begun.append(write)
        if late:
            self._on_loop(self._deliver, late)
        return begun

    def _commit_or_refuse(self, db: Database, batch: list[AnyWrite]) -> list[AnyWrite]:
        try:
            return self._commit(db, batch)
        except Exception:
            logger.exception("the writer failed; the writes at hand are refused")
            self._refuse(batch, InternalError("The store failed to make this write."))
            return []

    def _commit(self, db: Database, batch: list[AnyWrite]) -> list[AnyWrite]:
        """Commit a batch as far as the time allows; return what is left of it."""
        if self._damage is not None:
            self._refuse(batch, self._damage)
            return []
        done, failure = self._transact(db, batch)
        self._note_health(failure)
        if failure is None:
            self.transactions += 1
            self._on_loop(self._deliver, done)
        elif isinstance(failure, StorageFullError) and len(done) > 1:
            # One large write may be what did not fit.
            for write in done:
                self._commit(db, [write])
        else:
            if isinstance(failure, StorageCorruptError):
                self._damage = failure
            self._refuse(done, failure)
        return batch[len(done) :]

    def _note_health(self, failure: NetclawError | None) -> None:
        """Log when writing begins to fail, and when it works again; a full disk fails often."""
        code = None if failure is None else failure.code
        if code == self._failing:
            return
        self._failing = code
        if code is None:
            logger.warning("the database can be written again")
        else:
            logger.error("the database cannot be written: %s", code)

    def _refuse(self, writes: list[AnyWrite], error: NetclawError) -> None:
        for write in writes:
            write.refuse(error)
        self._on_loop(self._deliver, writes)

    def _transact(
        self, db: Database, batch: list[AnyWrite]
    ) -> tuple[list[AnyWrite], NetclawError | None]:
        """Run writes in one transaction; answer those tried and why all of them failed, if so."""
        done: list[AnyWrite] = []
        started = time.monotonic()
        try:
            db.run("BEGIN IMMEDIATE")
            for write in batch:
                done.append(write)
                self._run_write(db, write)
                if time.monotonic() - started > BATCH_TIME_S:
                    break
            self._cache.flush(db)
            db.run("COMMIT")
        except apsw.Error as error:
            failure = db.translate(error)
            self._roll_back(db)
            return done or batch, failure
        except Exception:
            logger.exception("a transaction of %d writes failed", len(done))
            self._roll_back(db)
            return done or batch, InternalError("The store failed to make this write.")
        self._cache.committed()
        return done, None

    def _roll_back(self, db: Database) -> None:
        self._cache.clear()
        db.roll_back()

    def _run_write(self, db: Database, write: AnyWrite) -> None:
        """Run one write in its savepoint. Raises `apsw.Error` when the transaction is lost."""
        scope = self._make_scope(db, self._cache)
        write.begin()
        db.run("SAVEPOINT item")
        try:
            write.result = write.work(scope)
        except NetclawError as error:
            write.error = error
        except apsw.Error as error:
            if not db.is_in_transaction or isinstance(error, (apsw.CorruptError, apsw.FullError)):
                raise
            write.error = db.translate(error)
            logger.exception("a write failed")
        except Exception:
            logger.exception("a write failed")
            write.error = InternalError("The store failed to make this write.")
        if write.error is None:
            scope.accept()
            write.commits, write.book = scope.commits, scope.book
        else:
            scope.reject()
            db.run("ROLLBACK TO item")
        db.run("RELEASE item")

    def _end(self, database: Database) -> None:
        self._is_closing = True
        left = []
        while not self._queue.empty():
            write = self._queue.get_nowait()
            if write is not None:
                left.append(write)
        self._refuse(left, DrainingError("The store is closed; the daemon is stopping."))
        try:
            _checkpoint(database)
            database.close()
        except apsw.Error:
            logger.exception("closing the database failed")
        self._on_loop(_finish, self._ended)

    def _on_loop(self, call: Callable[..., None], *args: object) -> None:
        try:
            self._loop.call_soon_threadsafe(call, *args)
        except RuntimeError:
            logger.warning("the event loop ended before the store was closed")


def _too_late() -> StorageTimeoutError:
    return StorageTimeoutError("The database took too long; the write was dropped.")


def _fail(future: asyncio.Future[None], error: NetclawError) -> None:
    if not future.done():
        future.set_exception(error)


def _finish(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)


def _checkpoint(database: Database) -> None:
    # A running read must not make the writer wait here; the next quiet time will do.
    database.connection.set_busy_timeout(0)
    try:
        database.connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
    except apsw.Error as error:
        logger.debug("a checkpoint was put off: %s", error)
    finally:
        database.connection.set_busy_timeout(BUSY_TIMEOUT_MS)
