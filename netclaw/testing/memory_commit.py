"""Group commit of the in-memory journal: writes of one turn of the loop share a transaction."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeVar

from netclaw.core.errors import DrainingError, StorageError
from netclaw.ports.journal import Commit, CommitListener
from netclaw.ports.signals import SignalListener, SignalsCommitted

T = TypeVar("T")


class MemoryCommitter:
    """Runs what was asked for, tells the listener of all rows, then answers the authors."""

    def __init__(self) -> None:
        self._waiting: list[Callable[[], Callable[[], None]]] = []
        self._commits: list[Commit] = []
        self._signals: list[SignalsCommitted] = []
        self.signal_listener: SignalListener | None = None
        self.listener: CommitListener | None = None
        self.failure: StorageError | None = None
        """Raised by every write while set."""
        self.is_closed = False
        self.has_failed = asyncio.Event()
        """Set by a test: the store ended by itself."""
        self.transactions = 0

    def check_open(self) -> None:
        """Raises `DrainingError` once closed."""
        if self.is_closed:
            raise DrainingError("The store is closed; the daemon is stopping.")

    def write(self, work: Callable[[], T]) -> asyncio.Future[T]:
        """Queue a write, which must leave everything as it was when it raises."""
        self.check_open()
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()

        def run() -> Callable[[], None]:
            if self.failure is not None:
                return _failed(future, self.failure)
            try:
                result = work()
            except Exception as error:  # noqa: BLE001 a fault of the twin must not hang its caller
                return _failed(future, error)
            return lambda: None if future.done() else future.set_result(result)

        if not self._waiting:
            loop.call_soon(self.commit)
        self._waiting.append(run)
        return future

    def publish(self, commit: Commit) -> None:
        """Name rows of the running write, which has succeeded, to the listener."""
        self._commits.append(commit)

    def publish_signals(self, signals: SignalsCommitted) -> None:
        """Name what the running write, which has succeeded, recorded in the signal log."""
        self._signals.append(signals)

    def commit(self) -> None:
        """Run all that waits."""
        waiting, self._waiting = self._waiting, []
        if not waiting:
            return
        answers = [run() for run in waiting]
        self.transactions += 1
        self._tell_signals()
        commits, self._commits = self._commits, []
        if commits and self.listener is not None:
            self.listener(commits)
        for answer in answers:
            answer()

    def _tell_signals(self) -> None:
        told, self._signals = self._signals, []
        if told and self.signal_listener is not None:
            self.signal_listener(
                SignalsCommitted(
                    events=tuple(event for item in told for event in item.events),
                    notices=tuple(notice for item in told for notice in item.notices),
                )
            )


def _failed(future: asyncio.Future[T], error: Exception) -> Callable[[], None]:
    return lambda: None if future.done() else future.set_exception(error)
