"""One write on its way through the writer thread, and what is told of it once it is durable."""

from __future__ import annotations

import asyncio
from typing import Generic, TypeVar, cast

from netclaw.core.errors import NetclawError
from netclaw.ports.journal import Commit
from netclaw.store.scope import Work
from netclaw.store.signal_book import SignalBook

T = TypeVar("T")


class Write(Generic[T]):
    """A write and its author's future; `is_begun` moves under the writer's lock."""

    __slots__ = (*("book", "commits", "deadline", "error", "future", "is_begun", "result", "work"),)

    def __init__(self, work: Work[T], future: asyncio.Future[T], deadline: float) -> None:
        self.work = work
        self.future = future
        self.deadline = deadline
        self.is_begun = False
        self.result: T | None = None
        self.begin()

    def begin(self) -> None:
        """Nothing is known of its outcome: it is tried, or tried again."""
        self.error: NetclawError | None = None
        self.commits: list[Commit] = []
        self.book = SignalBook()

    def refuse(self, error: NetclawError) -> None:
        """It is not durable, so there is nothing to tell but this."""
        self.begin()
        self.error = error

    def resolve(self) -> None:
        """Answer the caller, who may have stopped waiting."""
        if self.future.done():
            return
        if self.error is not None:
            self.future.set_exception(self.error)
        else:
            self.future.set_result(cast("T", self.result))


AnyWrite = Write[object]
