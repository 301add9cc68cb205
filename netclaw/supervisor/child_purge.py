"""Removes the journals of child runs of which nobody will hear any more (S3 "child journal").

Last of all: after the run's end, its result and the turn that told of it. A closing event goes
before the rows; the files stay in the envelope of the parent. What a dead daemon left is found
again at the next start.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable

from netclaw.core.errors import NetclawError, NotFoundError, StorageError
from netclaw.core.ids import RunId, SessionId, run_of_key
from netclaw.core.session.child_events import ChildAccepted, ChildClosed
from netclaw.ports.journal import Commit
from netclaw.supervisor.children import Children
from netclaw.supervisor.router import Router
from netclaw.supervisor.services import Services
from netclaw.supervisor.slot import ENDS_ALL_THAT_IS_DUE
from netclaw.wire.journal_codec import encode_event

_log = logging.getLogger(__name__)

BATCH = 100
TOLD = "told"
OWNER_GONE = "owner_gone"


class ChildPurge:
    """Knows which sessions have child sessions, and when to look for what may go."""

    def __init__(
        self,
        services: Services,
        router: Router,
        children: Children,
        forget: Callable[[SessionId], None],
    ) -> None:
        self._services = services
        self._router = router
        self._children = children
        self._forget = forget
        self._parents: set[SessionId] = set()
        self._wanted = asyncio.Event()

    async def run(self) -> None:
        """Purge what is left, and then whenever something may have become so."""
        while True:
            self._wanted.clear()
            try:
                self._parents |= set(await self._services.store.parents_of_children())
                await self.sweep()
            except NetclawError as error:
                _log.warning("the journals of child runs are purged later: %s", error.sentence)
                if isinstance(error, StorageError):
                    self._services.health.note(error)
                    await self._services.health.wait_usable()
                    self._wanted.set()
            await self._wanted.wait()

    def on_commit(self, commit: Commit) -> None:
        """The end of a parent's turn may have been the telling of its runs."""
        types = {row.type for row in commit.rows}
        if ChildAccepted.__name__ in types:
            self._parents.add(commit.session_id)
        if commit.session_id in self._parents and types & ENDS_ALL_THAT_IS_DUE:
            self._wanted.set()

    async def sweep(self) -> None:
        """Remove every child session that is left over."""
        while stale := await self._services.store.stale_children(limit=BATCH):
            for child in stale:
                await self._purge(child, TOLD)

    async def purge_all_of(self, parent: SessionId) -> None:
        """End and remove all child sessions of a session whose life is over."""
        await self._children.forget_all_of(parent)
        for child in await self._services.store.children_of(parent):
            await self._purge(child, OWNER_GONE)

    async def _purge(self, child: SessionId, reason: str) -> None:
        slot = self._router.slot(child)
        slot.is_awaited = False
        slot.hold = None
        async with self._router.exclusive(slot):
            with contextlib.suppress(NotFoundError):
                closed = ChildClosed(run_id=run_of_key(child) or RunId(""), reason=reason)
                await self._services.store.append_own(
                    child, (encode_event(closed),), at=self._services.now_ms()
                )
                await self._services.store.delete_session(child)
            self._services.consents.chats.forget(child)
            self._forget(child)
            self._router.deleted(slot)
