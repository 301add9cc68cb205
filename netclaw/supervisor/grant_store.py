"""The one keeper of stored grants while a daemon runs (decision 47): the grants file, off the loop.

A revocation counts at the next check of any session, because each check asks here and each answer
looks at the disk.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

from netclaw.core.authz.grants import Grant, GrantStore
from netclaw.core.authz.revoking import GrantChoice, chosen
from netclaw.store.grants_file import GrantsFile

_log = logging.getLogger(__name__)

T = TypeVar("T")
LOOK_PATIENCE_S = 2.0
"""How long the status of the daemon waits for the file."""


class GrantKeeper:
    """Reads and changes the grants file in a thread of its own.

    A disk that does not answer holds up the sessions that ask, and nothing else of the daemon.
    """

    def __init__(self, path: Path) -> None:
        self._file = GrantsFile(path)
        self._fault: str | None = None
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="grants")

    def close(self) -> None:
        """Take no more questions; what is being written is finished or never happened."""
        self._thread.shutdown(wait=False, cancel_futures=True)

    async def _run(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)

    async def read(self) -> GrantStore:
        """The grants of this moment; a file that cannot be used says so in `fault`."""
        store = await self._run(self._file.read)
        if store.fault != self._fault:
            self._fault = store.fault
            if store.fault is None:
                _log.info("the grants file can be used again")
            else:
                _log.error("no stored grant counts, the grants file is unusable: %s", store.fault)
        return store

    async def problem(self) -> str:
        """Why no stored grant counts; empty if they do. Answers soon, whatever the disk does."""
        try:
            async with asyncio.timeout(LOOK_PATIENCE_S):
                return (await self.read()).fault or ""
        except TimeoutError:
            return f"it could not be read within {LOOK_PATIENCE_S:g} s"

    async def add(self, grants: Iterable[Grant]) -> tuple[Grant, ...]:
        """Store grants, durable when it returns; returns those that added something.

        Raises `ApprovalStoreError`, `InvalidArgumentError` or a `StorageError`, nothing changed.
        """
        wanted = tuple(grants)
        added = await self._run(lambda: self._file.add(wanted))
        for grant in added:
            _log.info("stored a grant of %s for %s", grant.audience.value, grant.tool)
        return added

    async def revoke(self, choice: GrantChoice) -> tuple[Grant, ...]:
        """Remove the chosen grants; raises as `add`, and as `chosen` for an unclear choice."""
        revoked = await self._run(lambda: self._file.remove(lambda there: chosen(choice, there)))
        _log.info("revoked %d grants", len(revoked))
        return revoked
