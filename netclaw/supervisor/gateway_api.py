"""The public service: what clients and channel adapters ask of the daemon."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Iterator
from itertools import repeat
from typing import TypeVar

from netclaw.core.errors import (
    InvalidArgumentError,
    NetclawError,
    NotFoundError,
    NotRequesterError,
    StorageError,
)
from netclaw.core.ids import CallId, SessionId, parse_session_id
from netclaw.core.session.events import AnswerAdmitted
from netclaw.core.session.phase import Phase
from netclaw.core.session.state import SessionState
from netclaw.ports.journal import Admission, AdmitRequest
from netclaw.supervisor.admissions import Admissions
from netclaw.supervisor.attach import Attachments
from netclaw.supervisor.callers import Caller, check_short_text
from netclaw.supervisor.crashes import read_state
from netclaw.supervisor.gateway_reads import GatewayReads
from netclaw.supervisor.router import Router
from netclaw.supervisor.rpc import RpcStream
from netclaw.supervisor.services import Services
from netclaw.supervisor.slot import HOLD_NOTICE
from netclaw.supervisor.uploads import Uploads
from netclaw.wire.convert import media_to_proto
from netclaw.wire.journal_codec import encode_event
from netclaw.wire.v1 import gateway_pb2 as pb
from netclaw.wire.v1.session_host_pb2 import HostCommand

_T = TypeVar("_T")

INGEST_WINDOW = 16
"""Batches of one stream that may be on their way to the disk at the same time."""
BATCH_LIMIT = 1000
"""Messages of one batch."""


class Gateway(GatewayReads):
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
            wanted, caller, must_exist=request.must_exist
        )
        return pb.EnsureSessionResponse(session_id=session_id, created=is_new)

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

    async def upload(self, stream: RpcStream, _caller: Caller) -> pb.UploadResponse:
        """Receive one file."""
        first: pb.UploadChunk | None = await stream.read()
        if first is None:
            raise InvalidArgumentError("The upload is empty.")
        session_id = parse_session_id(first.session_id)
        facts = await self._admissions.facts(session_id)
        storage = self._services.envelopes.storage(session_id, facts.storage_root)
        media = await self._uploads.receive(storage, first, stream)
        return pb.UploadResponse(media=media_to_proto(media))

    async def stop_turn(self, request: pb.StopTurnRequest, caller: Caller) -> pb.StopTurnResponse:
        """Ask the turn in flight to end."""
        record = await self._router.record(parse_session_id(request.session_id))
        slot = self._router.find(record.session_id)
        live = slot.live if slot is not None else None
        if live is None:
            return pb.StopTurnResponse(was_running=False)
        was_running = live.phase in (Phase.PROCESSING, Phase.COMPACTING) or bool(record.open_turn)
        live.command(HostCommand(kind="stop_turn", actor=caller.name))
        return pb.StopTurnResponse(was_running=was_running)

    async def attach(self, request: pb.AttachRequest, _caller: Caller, stream: RpcStream) -> None:
        """Serve one subscriber."""
        record = await self._router.record(parse_session_id(request.session_id))
        await self._attachments.serve(record, request, stream)

    async def answer_approval(
        self, request: pb.AnswerApprovalRequest, caller: Caller
    ) -> pb.AnswerApprovalResponse:
        """Make an answer durable, then see that its session acts on it."""
        session_id = parse_session_id(request.session_id)
        await self._router.record(session_id)
        state = await read_state(self._services.store, session_id)
        call_id = CallId(request.call_id)
        _check_answer(state, call_id, request, caller)
        rows = await self._services.store.append_own(
            session_id,
            (
                encode_event(
                    AnswerAdmitted(
                        call_id=call_id,
                        option=check_short_text(request.option, "option"),
                        answerer=request.sender.sender_id or caller.name,
                    )
                ),
            ),
            at=self._services.now_ms(),
        )
        return pb.AnswerApprovalResponse(seq=rows[-1].seq)

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


def _check_answer(
    state: SessionState, call_id: CallId, request: pb.AnswerApprovalRequest, caller: Caller
) -> None:
    """Only an open request can be answered, and only by the person who asked (decision 48)."""
    turn = state.turn
    waiting = turn is not None and any(
        item.call.call_id == call_id and not item.is_launched and item.result is None
        for item in turn.batch
    )
    if turn is None or not waiting or any(a.call_id == call_id for a in state.answers):
        raise NotFoundError(f"No consent request {call_id} is open in this session.")
    requester = turn.authority.requester
    if requester.sender_id and request.sender.sender_id != requester.sender_id:
        raise NotRequesterError("Only the person who asked may answer this request.")
    if (
        not caller.is_operator
        and caller.channels is not None
        and (requester.channel_type not in caller.channels)
    ):
        raise NotRequesterError("This connection may not answer requests of that channel.")
