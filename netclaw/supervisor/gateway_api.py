"""The public service: what clients and channel adapters ask of the daemon."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Iterator
from itertools import repeat
from typing import TypeVar

from netclaw.core.errors import (
    InvalidArgumentError,
    NetclawError,
    StorageError,
)
from netclaw.core.ids import SessionId, parse_session_id
from netclaw.ports.journal import Admission, AdmitRequest
from netclaw.supervisor.admissions import Admissions
from netclaw.supervisor.approvals_api import GatewayApprovals
from netclaw.supervisor.attach import Attachments
from netclaw.supervisor.callers import Caller, check_channel
from netclaw.supervisor.channels_api import GatewayChannels
from netclaw.supervisor.router import Router
from netclaw.supervisor.rpc import RpcStream
from netclaw.supervisor.services import Services
from netclaw.supervisor.slot import HOLD_NOTICE
from netclaw.supervisor.uploads import Uploads
from netclaw.wire.convert import media_to_proto
from netclaw.wire.v1 import gateway_pb2 as pb
from netclaw.wire.v1.session_host_pb2 import HostCommand

_T = TypeVar("_T")

INGEST_WINDOW = 16
"""Batches of one stream that may be on their way to the disk at the same time."""
BATCH_LIMIT = 1000
"""Messages of one batch."""


class Gateway(GatewayApprovals, GatewayChannels):
    """Implements `Gateway` of gateway.proto; see there for what each method promises."""

    def __init__(
        self,
        services: Services,
        router: Router,
        admissions: Admissions,
        uploads: Uploads,
        attachments: Attachments,
    ) -> None:
        super().__init__(services, router)
        self._admissions = admissions
        self._uploads = uploads
        self._attachments = attachments
        self.stop_notice = ""
        """While the daemon stops or restarts: what a sender is told (protocol "Recovery")."""

    async def ensure_session(
        self, request: pb.EnsureSessionRequest, caller: Caller
    ) -> pb.EnsureSessionResponse:
        """Find or create a session."""
        wanted = parse_session_id(request.session_id) if request.session_id else None
        session_id, is_new = await self._admissions.ensure(
            wanted, caller, request.sender, must_exist=request.must_exist
        )
        return pb.EnsureSessionResponse(
            session_id=session_id,
            created=is_new,
            audience=await self._admissions.audience(session_id, caller, request.sender),
            thread_cursor=await self._services.store.thread_cursor(session_id),
        )

    async def send_user_message(
        self, request: pb.SendUserMessageRequest, caller: Caller
    ) -> pb.SendUserMessageResponse:
        """Admit one message; returns once it is durable."""
        return await self._admit(await self._admissions.prepare(request, caller))

    async def inject(
        self, request: pb.SendUserMessageRequest, caller: Caller
    ) -> pb.SendUserMessageResponse:
        """Admit one message as an adapter would (Admin.Inject); creates unknown sessions."""
        request.create = True
        return await self._admit(
            await self._admissions.prepare(request, caller, may_create_any=True)
        )

    async def ingest(self, stream: RpcStream, caller: Caller) -> None:
        """Admit batches as they come and answer them in order, several at a time."""
        under_way: asyncio.Queue[asyncio.Task[bytes] | None] = asyncio.Queue(INGEST_WINDOW)
        reading = self._services.tasks.start(
            self._read_batches(stream, caller, under_way), name="ingest stream"
        )
        try:
            while (task := await under_way.get()) is not None:
                await stream.write(await task)
        finally:
            reading.cancel()
            while not under_way.empty():
                if (task := under_way.get_nowait()) is not None:
                    task.cancel()

    async def _read_batches(
        self,
        stream: RpcStream,
        caller: Caller,
        under_way: asyncio.Queue[asyncio.Task[bytes] | None],
    ) -> None:
        while True:
            try:
                batch: pb.IngestBatch | None = await stream.read()
            except InvalidArgumentError as error:
                # Answered in its place, after the batches that came before it.
                await under_way.put(asyncio.ensure_future(_raise(error)))
                return
            if batch is None:
                await under_way.put(None)
                return
            await under_way.put(asyncio.ensure_future(self._admit_batch(batch, caller)))

    async def upload(self, stream: RpcStream, caller: Caller) -> pb.UploadResponse:
        """Receive one file."""
        first: pb.UploadChunk | None = await stream.read()
        if first is None:
            raise InvalidArgumentError("The upload is empty.")
        session_id = parse_session_id(first.session_id)
        facts = await self._admissions.facts(session_id)
        check_channel(caller, facts.channel)
        storage = self._services.envelopes.storage(session_id, facts)
        media = await self._uploads.receive(storage, first, stream)
        path = await self._uploads.copy_to_inbox(storage, media) if first.inbox else ""
        return pb.UploadResponse(media=media_to_proto(media), path=path)

    async def stop_turn(self, request: pb.StopTurnRequest, caller: Caller) -> pb.StopTurnResponse:
        """Ask the turn in flight to end, or the one that is about to begin."""
        record = await self._visible(request.session_id, caller)
        slot = self._router.slot(record.session_id)
        is_open = record.open_turn is not None
        try:
            was_running = slot.stop_turn(
                HostCommand(kind="stop_turn", actor=caller.name),
                is_open=is_open,
                is_due=record.pending_inputs > 0,
            )
            if was_running and is_open:
                self._router.wake(record.session_id)
            return pb.StopTurnResponse(was_running=was_running)
        finally:
            self._router.release(slot)

    async def attach(self, request: pb.AttachRequest, caller: Caller, stream: RpcStream) -> None:
        """Serve one subscriber."""
        record = await self._visible(request.session_id, caller)
        await self._attachments.serve(record, request, stream)

    # Admission ----------------------------------------------------------------------------

    async def _admit(self, request: AdmitRequest) -> pb.SendUserMessageResponse:
        try:
            admission = await self._services.store.admit(request)
        except StorageError as error:
            self._services.health.note(error)
            raise
        return self._admitted(request.session_id, admission)

    def _admitted(self, session_id: SessionId, admission: Admission) -> pb.SendUserMessageResponse:
        """Answer for what is durable; its session was woken by the commit itself."""
        notice = self.stop_notice
        slot = self._router.find(session_id)
        if slot is not None and slot.hold is not None:
            notice = HOLD_NOTICE[slot.hold]
        return pb.SendUserMessageResponse(
            input_id=admission.input_id,
            seq=admission.seq,
            duplicate=admission.is_duplicate,
            notice=notice,
        )

    async def _admit_batch(self, batch: pb.IngestBatch, caller: Caller) -> bytes:
        if len(batch.messages) > BATCH_LIMIT:
            raise InvalidArgumentError(f"A batch has at most {BATCH_LIMIT} messages.")
        # Prepared one after another, so that two messages of one session keep their order.
        prepared = [await _outcome(self._admissions.prepare(m, caller)) for m in batch.messages]
        requests = [item for item in prepared if isinstance(item, AdmitRequest)]
        answer = pb.IngestBatchResult()
        admitted: Iterator[Admission | NetclawError]
        try:
            admitted = iter(await self._services.store.admit_many(requests) if requests else ())
        except StorageError as error:
            self._services.health.note(error)
            admitted = repeat(error, len(requests))
        for request in prepared:
            outcome = next(admitted) if isinstance(request, AdmitRequest) else request
            if isinstance(outcome, NetclawError):
                answer.results.add(code=outcome.code.value, sentence=outcome.sentence)
            elif isinstance(request, AdmitRequest):
                answer.results.add(admitted=self._admitted(request.session_id, outcome))
        return answer.SerializeToString()


async def _raise(error: NetclawError) -> bytes:
    raise error


async def _outcome(work: Awaitable[_T]) -> _T | NetclawError:
    try:
        return await work
    except NetclawError as error:
        return error
