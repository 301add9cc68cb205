"""The operator's service: end, restart, reset and remove sessions, read journals, stop all."""

from __future__ import annotations

import asyncio
import logging
import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

from netclaw import __version__
from netclaw.core.errors import (
    ErrorCategory,
    InvalidArgumentError,
    OperationTimeoutError,
    QuarantinedError,
    StorageReadOnlyError,
)
from netclaw.core.ids import SessionId, TurnId, parse_session_id, run_of_key
from netclaw.core.session.after_drain import AfterDrain
from netclaw.core.session.outputs import ErrorOutput, TurnCompletedOutput
from netclaw.core.session.state import SessionState
from netclaw.core.storage_layout import LAYOUT
from netclaw.supervisor.admissions import Admissions
from netclaw.supervisor.adoption_api import AdminAdoptions
from netclaw.supervisor.awareness import Awareness
from netclaw.supervisor.callers import Caller, stored_position
from netclaw.supervisor.child_purge import ChildPurge
from netclaw.supervisor.children import Children
from netclaw.supervisor.crashes import read_state, read_state_if_readable
from netclaw.supervisor.envelope import check_layout
from netclaw.supervisor.gateway_api import Gateway
from netclaw.supervisor.grants_api import AdminGrants
from netclaw.supervisor.jobs_api import AdminJobs
from netclaw.supervisor.memory_use import measure
from netclaw.supervisor.router import Router
from netclaw.supervisor.rows import session_row
from netclaw.supervisor.rpc import RpcStream
from netclaw.supervisor.runs_api import AdminRuns
from netclaw.supervisor.services import Services
from netclaw.supervisor.signals_api import AdminSignals
from netclaw.supervisor.slot import Hold, Slot, SlotState
from netclaw.supervisor.transcript_reader import TranscriptReader
from netclaw.wire.batches import split_row
from netclaw.wire.convert import row_to_proto
from netclaw.wire.outputs import output_to_proto
from netclaw.wire.v1 import admin_pb2 as pb
from netclaw.wire.v1.common_pb2 import OutputBatch
from netclaw.wire.v1.gateway_pb2 import (
    SendUserMessageRequest,
    SendUserMessageResponse,
    SessionRow,
)
from netclaw.wire.v1.session_host_pb2 import HostCommand

_log = logging.getLogger(__name__)

JOURNAL_PAGE = 100
RESET_SENTENCE = "The session was reset before this message was answered."
DELETED_SENTENCE = "The session was deleted before this message was answered."
RESTART_PATIENCE_S = 15.0
"""How long a restart of a session waits for the new process to be ready."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReloadOutcome:
    """What reading the configuration again led to."""

    is_changed: bool
    is_restarting: bool


class Daemon(Protocol):
    """What the operator may ask of the daemon as a whole."""

    @property
    def state(self) -> str:
        """`running` or `draining`."""

    @property
    def config_problem(self) -> str:
        """Why the configuration as it was edited is not in force; empty if it is."""

    async def request_stop(self, *, is_restart: bool) -> None:
        """Begin a graceful stop or an in-place restart; raises `InvalidArgumentError`."""

    async def reload(self) -> ReloadOutcome:
        """Read the configuration again; raises `InvalidArgumentError`, nothing changed."""


class Admin(AdminGrants, AdminJobs, AdminRuns, AdminSignals, AdminAdoptions):
    """Implements `Admin` of admin.proto; see there for what each method promises."""

    def __init__(
        self,
        services: Services,
        router: Router,
        admissions: Admissions,
        gateway: Gateway,
        daemon: Daemon,
        *,
        children: Children,
        purge: ChildPurge,
        awareness: Awareness,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._services = services
        self._router = router
        self._admissions = admissions
        self._gateway = gateway
        self._daemon = daemon
        self._children = children
        self._purge = purge
        self._wakes = awareness.wakes
        self._tails = awareness.tails
        self._transcripts = TranscriptReader()
        self._monotonic = monotonic
        self._began = monotonic()

    async def kill_session(self, request: pb.SessionRef, _caller: Caller) -> SessionRow:
        """SIGKILL; returns when the process is dead."""
        slot = await self._slot(request)
        await self._router.kill(slot)
        return await self._row(slot)

    async def stop_session(self, request: pb.SessionRef, _caller: Caller) -> SessionRow:
        """Drain, end what is open, leave it passive until something new arrives."""
        slot = await self._own_slot(request)
        await self._router.rest(slot, self._drain_command(AfterDrain.NOTHING))
        await self._children.stop_all_of(slot.session_id)
        return await self._row(slot)

    async def restart_session(self, request: pb.SessionRef, _caller: Caller) -> SessionRow:
        """Drain, lift a quarantine, start again; not where no start could get further."""
        slot = await self._own_slot(request)
        record = await self._router.record(slot.session_id)
        check_layout(slot.session_id, record)
        if record.is_quarantined:
            await read_state(self._services.store, slot.session_id)
        await self._services.store.set_quarantined(slot.session_id, is_quarantined=False)
        await self._router.restart(slot, self._drain_command(AfterDrain.SESSION_RESTART))
        try:
            async with asyncio.timeout(RESTART_PATIENCE_S):
                await slot.until_state(SlotState.LIVE)
        except TimeoutError:
            _log.warning("session %s is slow to start again", slot.session_id)
        self._wakes.look_again(slot.session_id)
        return await self._row(slot)

    async def reset_session(self, request: pb.SessionRef, _caller: Caller) -> SessionRow:
        """Begin a new life; it stands behind the old one, so that this must be readable."""
        slot = await self._own_slot(request)
        check_layout(slot.session_id, await self._router.record(slot.session_id))
        async with self._router.exclusive(slot):
            state = await read_state(self._services.store, slot.session_id)
            await self._services.store.reset_session(slot.session_id, at=self._services.now_ms())
            self._services.consents.chats.forget(slot.session_id)
            await self._purge.purge_all_of(slot.session_id)
            _tell_senders(slot, state, RESET_SENTENCE)
        return await self._row(slot)

    async def delete_session(self, request: pb.SessionRef, _caller: Caller) -> SessionRow:
        """Remove its rows, move its files to the trash; those of other layouts stay in place."""
        slot = await self._own_slot(request)
        record = await self._router.record(slot.session_id)
        async with self._router.exclusive(slot):
            state = await read_state_if_readable(self._services.store, slot.session_id)
            await self._services.store.delete_session(slot.session_id)
            await self._purge.purge_all_of(slot.session_id)
            self._services.consents.chats.forget(slot.session_id)
            self._admissions.forget(slot.session_id)
            self._wakes.forget(slot.session_id)
            slot.hold = None
            _tell_senders(slot, state, DELETED_SENTENCE)
            self._router.deleted(slot)
            if record.storage_layout == LAYOUT:
                storage = self._services.envelopes.storage(slot.session_id, record)
                await asyncio.to_thread(self._discard, Path(storage.root))
        return session_row(record, None)

    async def compact_session(self, request: pb.SessionRef, caller: Caller) -> SessionRow:
        """Let it shorten its history now, or after its turn; starts it if it is passive."""
        slot = await self._own_slot(request)
        if slot.hold is not None:
            raise QuarantinedError("This session is quarantined and does not run.")
        if slot.live is None:
            self._router.warm((slot.session_id,))
        try:
            async with asyncio.timeout(RESTART_PATIENCE_S):
                await slot.until_state(SlotState.LIVE)
        except TimeoutError:
            raise OperationTimeoutError(
                f"The session did not start within {RESTART_PATIENCE_S:g} s."
            ) from None
        if slot.live is not None:
            slot.live.command(HostCommand(kind="compact", actor=caller.name))
        return await self._row(slot)

    async def read_journal(
        self, request: pb.ReadJournalRequest, _caller: Caller, stream: RpcStream
    ) -> None:
        """Every stored row after a seq."""
        record = await self._router.record(parse_session_id(request.session_id))
        since = stored_position(request.since_seq)
        while True:
            rows = await self._services.store.read_journal(
                record.session_id, since=since, limit=JOURNAL_PAGE
            )
            for row in rows:
                for message in split_row(row_to_proto(row)):
                    await stream.write(message)
            if len(rows) < JOURNAL_PAGE:
                return
            since = rows[-1].seq

    async def inject(
        self, request: SendUserMessageRequest, caller: Caller
    ) -> SendUserMessageResponse:
        """Deliver a message as an adapter would."""
        return await self._gateway.inject(request, caller)

    async def status(self, _request: pb.StatusRequest, _caller: Caller) -> pb.StatusResponse:
        """The daemon about itself."""
        services = self._services
        counts = await services.store.counts()
        settings = services.settings.current
        model = settings.session.main_model
        sandbox = services.sandbox
        pids = [slot.pid for slot in self._router.slots if slot.pid]
        ours = [pid for pid in (services.pid, services.spawner.zygote_pid) if pid]
        memory = await asyncio.to_thread(measure, ours, pids)
        return pb.StatusResponse(
            state=self._daemon.state,
            pid=services.pid,
            generation=services.generation,
            uptime_s=self._monotonic() - self._began,
            version=__version__,
            live_sessions=len(pids),
            quarantined_sessions=counts.quarantined + self._held(),
            sandbox_backend=sandbox.backend.value if sandbox.backend is not None else "",
            sandbox_limits=sandbox.limits,
            sandbox_why=sandbox.why,
            zygote_pid=services.spawner.zygote_pid,
            adapters=self._gateway.adapters.rows(),
            degraded_reason=settings.degraded_reason or settings.session.tools.deny_rules_fault,
            main_model=model.model_id if model is not None else "",
            main_provider=model.provider if model is not None else "",
            total_sessions=counts.sessions,
            admitted_inputs=counts.admitted_inputs,
            pending_inputs=counts.pending_inputs,
            open_approvals=counts.open_approvals,
            running_jobs=services.job_slots.running,
            waiting_jobs=services.job_slots.waiting,
            watches=counts.watches,
            open_notices=counts.open_notices,
            signals_problem=services.store.signals_problem,
            turns_completed=counts.turns_completed,
            turns_failed=counts.turns_failed,
            storage_state=services.health.state,
            database_bytes=counts.database_bytes,
            outbox_waiting=counts.outbox_waiting,
            config_problem=self._daemon.config_problem,
            grants_problem=await services.consents.stored.problem(),
            daemon_memory_bytes=memory.daemon_bytes,
            sessions_memory_bytes=memory.sessions_bytes,
        )

    async def shutdown(self, request: pb.ShutdownRequest, _caller: Caller) -> pb.ShutdownResponse:
        """Begin a graceful stop or an in-place restart."""
        await self._daemon.request_stop(is_restart=request.restart)
        return pb.ShutdownResponse(generation=self._services.generation)

    async def reload(self, _request: pb.ReloadRequest, _caller: Caller) -> pb.ReloadResponse:
        """Read the configuration again."""
        outcome = await self._daemon.reload()
        return pb.ReloadResponse(
            changed=outcome.is_changed,
            restarting=outcome.is_restarting,
            generation=self._services.generation,
        )

    async def check_storage(
        self, _request: pb.CheckStorageRequest, _caller: Caller
    ) -> pb.CheckStorageResponse:
        """Full integrity check of the open database."""
        fault = await self._services.store.check_integrity(is_full=True)
        return pb.CheckStorageResponse(ok=fault is None, detail=fault or "")

    async def _slot(self, request: pb.SessionRef) -> Slot:
        record = await self._router.record(parse_session_id(request.session_id))
        self._router.note_record(record)
        return self._router.slot(record.session_id)

    async def _own_slot(self, request: pb.SessionRef) -> Slot:
        """The slot of a session that is not steered by its parent."""
        slot = await self._slot(request)
        if slot.is_child:
            raise InvalidArgumentError(
                f"{slot.session_id} is the session of a child run, which its parent steers.",
                fix=f"`netclaw runs cancel {run_of_key(slot.session_id)}` ends the run.",
            )
        return slot

    async def _row(self, slot: Slot) -> SessionRow:
        record = await self._router.record(SessionId(slot.session_id))
        row = session_row(record, slot)
        self._router.release(slot)
        return row

    def _held(self) -> int:
        """Sessions held for their deadly starts; the database knows the quarantined ones."""
        return sum(1 for slot in self._router.slots if slot.hold is Hold.START_KILLS_DAEMON)

    def _drain_command(self, then: AfterDrain) -> HostCommand:
        return HostCommand(
            kind="drain",
            is_restart=then.is_restart,
            then=then,
            budget_s=self._services.settings.current.daemon.drain_s,
            actor="operator",
        )

    def _discard(self, root: Path) -> None:
        """Move an envelope to `<home>/trash/<date>/` (decision 34)."""
        if not root.is_dir():
            return
        now = datetime.fromtimestamp(self._services.now_ms() / 1000, tz=UTC)
        folder = self._services.home / "trash" / now.strftime("%Y-%m-%d")
        place = folder / root.name
        number = 1
        while place.exists():
            number += 1
            place = folder / f"{root.name}.{number}"
        try:
            folder.mkdir(parents=True, mode=0o700, exist_ok=True)
            shutil.move(root, place)
        except OSError as error:
            raise StorageReadOnlyError(
                f"The session's rows are removed, but its files at {root} cannot be moved:"
                f" {error.strerror}."
            ) from None


def _tell_senders(slot: Slot, state: SessionState, sentence: str) -> None:
    """Whoever waits for an answer hears that none will come (protocol "Recovery, exactly")."""
    waiting = tuple(item.admitted.input_id for item in (*state.in_turn, *state.buffered))
    if not waiting:
        return
    turn_id = state.turn.turn_id if state.turn is not None else TurnId("")
    outputs = (
        ErrorOutput(
            turn_id=turn_id or None,
            category=ErrorCategory.INTERRUPTED,
            sentence=sentence,
            reference="",
            input_ids=waiting,
        ),
        TurnCompletedOutput(turn_id=turn_id, input_ids=waiting, outcome=None),
    )
    slot.hub.publish(OutputBatch(outputs=[output_to_proto(output) for output in outputs]))
