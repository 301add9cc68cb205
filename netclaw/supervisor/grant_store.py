"""The one keeper of stored grants while a daemon runs (decision 47): the grants file, off the loop.

A revocation counts at the next check of any session, because each check asks here and each answer
looks at the disk.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable
from pathlib import Path

from netclaw.core.authz.grants import Grant, GrantStore
from netclaw.core.authz.revoking import GrantChoice, chosen
from netclaw.store.grants_file import GrantsFile

_log = logging.getLogger(__name__)


class GrantKeeper:
    """Reads and changes the grants file in threads, so that no disk holds the daemon up."""

    def __init__(self, path: Path) -> None:
        self._file = GrantsFile(path)
        self._fault: str | None = None

    async def read(self) -> GrantStore:
        """The grants of this moment; a file that cannot be used says so in `fault`."""
        store = await asyncio.to_thread(self._file.read)
        if store.fault != self._fault:
            self._fault = store.fault
            if store.fault is None:
                _log.info("the grants file can be used again")
            else:
                _log.error("no stored grant counts, the grants file is unusable: %s", store.fault)
        return store

    async def add(self, grants: Iterable[Grant]) -> tuple[Grant, ...]:
        """Store grants, durable when it returns; returns those that added something.

        Raises `ApprovalStoreError`, `InvalidArgumentError` or a `StorageError`, nothing changed.
        """
        added = await asyncio.to_thread(self._file.add, tuple(grants))
        for grant in added:
            _log.info("stored a grant of %s for %s", grant.audience.value, grant.tool)
        return added

    async def revoke(self, choice: GrantChoice) -> tuple[Grant, ...]:
        """Remove the chosen grants; raises as `add`, and as `chosen` for an unclear choice."""
        revoked = await asyncio.to_thread(self._file.remove, lambda there: chosen(choice, there))
        _log.info("revoked %d grants", len(revoked))
        return revoked
