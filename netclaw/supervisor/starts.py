"""Starts one process of a session and gives it everything it needs in its Welcome."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable

from netclaw.core.errors import NotFoundError, QuarantinedError
from netclaw.core.ids import SessionId
from netclaw.core.settings import SessionStorage
from netclaw.core.storage_layout import LAYOUT
from netclaw.ports.journal import StartPoint
from netclaw.ports.spawner import Bootstrap
from netclaw.supervisor.consents import Asker
from netclaw.supervisor.live_session import LiveSession
from netclaw.supervisor.services import Services
from netclaw.supervisor.session_host import SessionHost
from netclaw.supervisor.slot import Hold, Slot, SlotState
from netclaw.wire.convert import row_to_proto
from netclaw.wire.journal_codec import encode_settings
from netclaw.wire.notices import notice_to_proto
from netclaw.wire.sandbox_facts import encode_facts
from netclaw.wire.v1.session_host_pb2 import ChildRole, Welcome

_log = logging.getLogger(__name__)


class Starter:
    """Spawns a process and reads its start point at the same time."""

    def __init__(self, services: Services, host: SessionHost, host_socket: str) -> None:
        self._services = services
        self._host = host
        self._host_socket = host_socket
        self._role_of: Callable[[SessionId], ChildRole | None] = lambda _session_id: None
        self._on_welcome: Callable[[Slot], None] = lambda _slot: None

    def tell(
        self,
        *,
        role_of: Callable[[SessionId], ChildRole | None],
        on_welcome: Callable[[Slot], None],
    ) -> None:
        """Name who knows the runs that processes work for, and who has a word for new ones."""
        self._role_of = role_of
        self._on_welcome = on_welcome

    def prepare(self, slot: Slot) -> LiveSession:
        """Make the live session, so that commits from now on are kept for it."""
        live = LiveSession(
            slot.session_id,
            store=self._services.store,
            tasks=self._services.tasks,
            listener=slot,
            now_s=asyncio.get_running_loop().time(),
        )
        slot.live = live
        slot.state = SlotState.STARTING
        return live

    async def start(self, slot: Slot, live: LiveSession) -> None:
        """Spawn the process and queue its Welcome.

        Raises a `NetclawError` when it cannot; then no process of it is left.
        """
        services = self._services
        beginning = services.tasks.start(
            services.store.begin_incarnation(slot.session_id, at=services.now_ms()),
            name=f"start point of {slot.session_id}",
        )
        self._host.expect(live)
        try:
            storage = await self._storage(slot)
            live.process = await services.spawner.spawn(
                self._bootstrap(slot.session_id, live.token, storage)
            )
            point = await beginning
        except BaseException:
            beginning.cancel()
            await self._undo(live)
            raise
        slot.asker = Asker(session_id=slot.session_id, audience=point.record.audience)
        slot.hub.begin_incarnation(point.incarnation)
        live.welcome(self._welcome(slot, point), point.record.head)
        self._on_welcome(slot)
        if live.end_reason is not None:
            # Somebody wanted it dead before it was born.
            live.process.kill()

    def forget(self, live: LiveSession) -> None:
        """The process is dead: whoever shows its token now is not it."""
        self._host.forget(live)

    async def _undo(self, live: LiveSession) -> None:
        self.forget(live)
        if live.process is not None:
            live.process.kill()
            await live.process.wait()

    async def _storage(self, slot: Slot) -> SessionStorage:
        record = await self._services.store.get_session(slot.session_id)
        if record is None:
            raise NotFoundError(f"There is no session {slot.session_id}.")
        if record.is_quarantined:
            slot.hold = Hold.QUARANTINE
            raise QuarantinedError(f"The session {slot.session_id} is quarantined.")
        if record.storage_layout > LAYOUT:
            slot.hold = Hold.NEWER_LAYOUT
            raise QuarantinedError(f"The session {slot.session_id} is of a newer netclaw.")
        return self._services.envelopes.storage(slot.session_id, record)

    def _bootstrap(self, session_id: SessionId, token: str, storage: SessionStorage) -> Bootstrap:
        return Bootstrap(
            session_id=session_id,
            host_socket=self._host_socket,
            token=token,
            supervisor_pid=os.getpid(),
            memory_mib=self._services.settings.current.session.limits.memory_mib,
            log_path=storage.log_file,
        )

    def _welcome(self, slot: Slot, point: StartPoint) -> Welcome:
        settings = self._services.settings.current
        storage = self._services.envelopes.storage(slot.session_id, point.record)
        welcome = Welcome(
            session_id=slot.session_id,
            incarnation=point.incarnation,
            storage_home=storage.home,
            storage_root=storage.root,
            storage_tmp=storage.tmp,
            settings=encode_settings(settings.session),
            credentials=settings.credentials,
            tail=[row_to_proto(row) for row in point.tail],
            interest=slot.hub.interest,
            generation=self._services.generation,
            redactions=settings.redactions,
            sandbox=encode_facts(self._services.sandbox),
            child=self._role_of(slot.session_id),
            notices=map(notice_to_proto, point.notices),
        )
        if point.snapshot is not None:
            welcome.snapshot = point.snapshot.payload
            welcome.snapshot_seq = point.snapshot.seq
            welcome.snapshot_codec = point.snapshot.codec
        return welcome
