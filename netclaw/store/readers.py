"""A small pool of read-only connections in threads, beside the writer and never in its way.

Every read fetches all it answers and ends its transaction before it returns: an open read
transaction keeps the log from being checkpointed, so none is ever held across an await.
"""

from __future__ import annotations

import asyncio
import queue
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

import apsw

from netclaw.core.errors import DrainingError
from netclaw.store.connection import Database, ForkGuard, open_reader

T = TypeVar("T")

READERS = 2


class ReaderPool:
    """Runs queries off the event loop; connections are opened when first needed."""

    def __init__(self, path: Path, guard: ForkGuard, loop: asyncio.AbstractEventLoop) -> None:
        self._path = path
        self._guard = guard
        self._loop = loop
        self._executor = ThreadPoolExecutor(READERS, thread_name_prefix="netclaw-reader")
        self._idle: queue.SimpleQueue[Database] = queue.SimpleQueue()
        self._is_closed = False

    async def read(self, query: Callable[[Database], T]) -> T:
        """Run a query in one read transaction. Raises a `StorageError`."""
        self._guard.check()
        if self._is_closed:
            raise DrainingError("The store is closed; the daemon is stopping.")
        return await self._loop.run_in_executor(self._executor, self._run, query)

    def _run(self, query: Callable[[Database], T]) -> T:
        try:
            database = self._idle.get_nowait()
        except queue.Empty:
            database = open_reader(self._path, self._guard)
        try:
            database.run("BEGIN")
            result = query(database)
            database.run("COMMIT")
        except BaseException as error:
            translated = database.translate(error) if isinstance(error, apsw.Error) else None
            # A connection that met an error is not reused: it may still stand in its statement.
            database.close()
            if translated is None:
                raise
            raise translated from error
        self._idle.put(database)
        return result

    async def close(self) -> None:
        """Wait for running queries, then close the connections."""
        self._is_closed = True
        await self._loop.run_in_executor(None, self._executor.shutdown)
        while not self._idle.empty():
            self._idle.get_nowait().close()
