"""Whether the database takes writes: starts wait while it does not, and a probe lifts the wait.

Admissions need no gate: the store refuses each with its code. Sessions that met the same refusal
have exited, so what is left is to try a harmless write now and then (protocol "Appending").
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from netclaw.core.errors import NetclawError, StorageError
from netclaw.ports.journal import JournalStore
from netclaw.supervisor.tasks import OnFault, Tasks

_log = logging.getLogger(__name__)

PROBE_INTERVAL_S = 1.0


class StorageHealth:
    """The state of the one database, as its users experience it."""

    def __init__(
        self, store: JournalStore, tasks: Tasks, *, probe_interval_s: float = PROBE_INTERVAL_S
    ) -> None:
        self._store = store
        self._tasks = tasks
        self._interval_s = probe_interval_s
        self._error: StorageError | None = None
        self._usable = asyncio.Event()
        self._usable.set()
        self._on_recovered: list[Callable[[], None]] = []

    @property
    def state(self) -> str:
        """`ok`, or the code of the error in force."""
        return self._error.code.value if self._error is not None else "ok"

    def when_recovered(self, action: Callable[[], None]) -> None:
        """Call `action` each time writes work again."""
        self._on_recovered.append(action)

    def note(self, error: StorageError) -> None:
        """Somebody's write was refused."""
        if self._error is None:
            _log.error("the database takes no writes: %s", error.sentence)
            self._usable.clear()
            # Without it no session would start again, however well the database is.
            self._tasks.start(self._probe(), name="storage probe", on_fault=OnFault.STOP_DAEMON)
        self._error = error

    async def wait_usable(self) -> None:
        """Return once writes work, as far as anybody knows."""
        await self._usable.wait()

    async def _probe(self) -> None:
        while True:
            await asyncio.sleep(self._interval_s)
            try:
                await self._store.probe_write()
            except StorageError as error:
                self._error = error
            except NetclawError as error:
                _log.error("the probe of the database failed: %s", error.sentence)
            else:
                break
        _log.warning("the database takes writes again")
        self._error = None
        self._usable.set()
        for action in self._on_recovered:
            action()
