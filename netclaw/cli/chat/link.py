"""A conversation's connection to the daemon: one that comes back, and sends nothing twice."""

from __future__ import annotations

import asyncio
import secrets
import time
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

from netclaw.cli.chat.feed import MAX_IDLE_RESYNCS, RECONNECT_DELAYS_S
from netclaw.cli.chat.questions import Question, question_in
from netclaw.cli.client import (
    CHANNEL_OPTIONS,
    PATIENCE_S,
    authorization,
    map_error,
    wait_for_way_in,
)
from netclaw.cli.holder import lock_owner
from netclaw.config.home import Home
from netclaw.core.errors import (
    DaemonDownError,
    DeliveryUnconfirmedError,
    DrainingError,
    InternalError,
    NetclawError,
    UnauthenticatedError,
)

if TYPE_CHECKING:
    import grpc.aio

    from netclaw.wire.v1 import gateway_pb2
    from netclaw.wire.v1.common_pb2 import Output, Sender
    from netclaw.wire.v1.gateway_pb2_grpc import GatewayAsyncStub

FILTER_BITS = 1 | 2 | 8 | 16 | 32 | 64
CALL_TIMEOUT_S = 30.0
RESEND_PAUSE_S = 0.2
OPEN_PATIENCE_S = 30.0
"""How long a conversation waits for a daemon that restarts before it begins."""
Request = TypeVar("Request")
Response = TypeVar("Response")
GONE = (DaemonDownError, DrainingError, UnauthenticatedError)


@dataclass(slots=True)
class Outgoing:
    """A message that waits to be confirmed; its id makes a resend safe (decision 33)."""

    text: str
    message_id: str = field(default_factory=lambda: f"cli-{secrets.token_hex(8)}")


class Link:
    """Attached to one session; survives restarts of the daemon."""

    def __init__(self, home: Home, sender: Sender, tell: Callable[[str], None]) -> None:
        self._home = home
        self._sender = sender
        self._tell = tell
        self.on_again: Callable[[gateway_pb2.SessionDetail], None] | None = None
        """Told what the session is like, each time it is attached to again: what it did meanwhile
        is replayed, but not whether it works now."""
        self._channel: grpc.aio.Channel | None = None
        self._last_seq = 0
        self._outgoing: deque[Outgoing] = deque()
        self._has_outgoing = asyncio.Event()
        self._connected = asyncio.Event()
        self._has_attached = False
        self.session_id = ""

    @property
    def is_connected(self) -> bool:
        """Whether there is a connection, as far as is known."""
        return self._connected.is_set()

    async def open(self, resume: str) -> gateway_pb2.SessionDetail:
        """Connect and make sure that the session exists. Raises what the daemon says.

        A daemon that holds its home and is between two lives is waited for.
        """
        deadline = time.monotonic() + OPEN_PATIENCE_S
        while True:
            try:
                return await self._open(resume)
            except GONE:
                await self.close()
                if lock_owner(self._home) is None or time.monotonic() >= deadline:
                    raise
            await asyncio.sleep(RESEND_PAUSE_S)

    async def _open(self, resume: str) -> gateway_pb2.SessionDetail:
        from netclaw.wire.v1 import gateway_pb2 as pb

        await self._connect()
        stub = self._stub()
        made = await self._call(stub.EnsureSession, pb.EnsureSessionRequest(session_id=resume))
        self.session_id = made.session_id
        detail = await self._call(stub.GetSession, pb.GetSessionRequest(session_id=self.session_id))
        self._last_seq = detail.row.head_seq
        return detail

    async def recent(self, limit: int) -> list[gateway_pb2.HistoryItem]:
        """The newest messages of the session, as far as they fit into one answer."""
        from netclaw.wire.batches import joined_items
        from netclaw.wire.v1.gateway_pb2 import GetHistoryRequest

        request = GetHistoryRequest(session_id=self.session_id, limit=limit)
        answer = await self._call(self._stub().GetHistory, request)
        return list(joined_items(answer.items))

    def send(self, text: str) -> None:
        """Send a message as soon as there is a connection, in order."""
        self._outgoing.append(Outgoing(text))
        self._has_outgoing.set()

    @property
    def unsent(self) -> int:
        """Messages that are not confirmed yet."""
        return len(self._outgoing)

    async def stop_turn(self) -> bool:
        """Ask the turn in flight to end; False if none ran or nobody could be asked."""
        from netclaw.wire.v1.gateway_pb2 import StopTurnRequest

        if not self.is_connected:
            return False
        request = StopTurnRequest(session_id=self.session_id)
        try:
            answer = await self._call(self._stub().StopTurn, request)
        except NetclawError:
            return False
        return answer.was_running

    async def answer(self, question: Question, option: str) -> str:
        """Answer a consent request; durable when it returns what the daemon has to say of it.

        Sending the same answer again is safe. Raises `NotFoundError` if the request is not open any
        more, `NotRequesterError` if it is another person's, and what a lost connection leaves open.
        """
        from netclaw.wire.v1.gateway_pb2 import AnswerApprovalRequest

        request = AnswerApprovalRequest(
            session_id=self.session_id,
            call_id=question.call_id,
            option=option,
            sender=self._sender,
            request_seq=question.seq,
        )
        answer = await self._call(self._stub().AnswerApproval, request, is_send=True)
        return answer.notice

    async def open_questions(self) -> list[Question]:
        """The consent requests that are open in the session, the oldest first."""
        from netclaw.wire.v1.gateway_pb2 import ListApprovalsRequest

        found: list[Question] = []
        request = ListApprovalsRequest(session_id=self.session_id)
        while True:
            page = await self._call(self._stub().ListApprovals, request)
            found += map(question_in, page.approvals)
            if not page.more:
                return found
            request.after = page.approvals[-1].position

    async def outputs(self) -> AsyncIterator[Output]:
        """Outputs in order, for ever. Raises `DaemonDownError` when no daemon came back."""
        idle_resyncs = 0
        while True:
            lost: NetclawError | None = DaemonDownError("The daemon ended the connection.")
            try:
                async for output in self._attached():
                    yield output
                    if output.type == "resync":
                        idle_resyncs += 1
                        lost = None
                        break
                    if output.seq > self._last_seq:
                        self._last_seq = output.seq
                        idle_resyncs = 0
            except GONE as error:
                lost = error
            if lost is not None:
                await self._reconnect(lost)
            elif idle_resyncs > MAX_IDLE_RESYNCS:
                raise InternalError("This terminal cannot keep up with the session's output.")

    async def _attached(self) -> AsyncIterator[Output]:
        from netclaw.wire.batches import BatchJoiner
        from netclaw.wire.v1.gateway_pb2 import AttachRequest

        joiner = BatchJoiner()
        request = AttachRequest(
            session_id=self.session_id, filter=FILTER_BITS, after_seq=self._last_seq
        )
        call = self._stub().Attach(request, metadata=authorization(self._home))
        try:
            await self._look_again()
            async for batch in call:
                for output in joiner.feed(batch):
                    yield output
        except _rpc_error() as error:
            raise map_error(error) from None
        finally:
            call.cancel()

    async def _look_again(self) -> None:
        """Ask for the present once its outputs are being kept for us; they come after it."""
        is_again, self._has_attached = self._has_attached, True
        if self.on_again is not None and is_again:
            from netclaw.wire.v1.gateway_pb2 import GetSessionRequest

            request = GetSessionRequest(session_id=self.session_id)
            with suppress(NetclawError):  # what keeps it from answering ends the stream, too
                self.on_again(await self._call(self._stub().GetSession, request))

    async def deliver(self, on_admitted: Callable[[str], None]) -> None:
        """Send what waits, for ever; what stays unconfirmed is sent again after a reconnect.

        `on_admitted` is told the sentence of a message that is durable but will not run now, or
        an empty text. A message that the daemon refuses is told and dropped.
        """
        while True:
            await self._has_outgoing.wait()
            if not self._outgoing:
                self._has_outgoing.clear()
                continue
            await self._connected.wait()
            try:
                notice = await self._send(self._outgoing[0])
            except (DeliveryUnconfirmedError, *GONE):
                await asyncio.sleep(RESEND_PAUSE_S)  # until the loss is noticed, or is over
            except NetclawError as error:
                self._outgoing.popleft()
                self._tell(f"[not sent] {error.sentence} {error.fix}")
            else:
                self._outgoing.popleft()
                on_admitted(notice)

    async def _send(self, message: Outgoing) -> str:
        from netclaw.wire.v1.gateway_pb2 import SendUserMessageRequest

        request = SendUserMessageRequest(
            session_id=self.session_id,
            text=message.text,
            sender=self._sender,
            source_message_id=message.message_id,
            attended=True,
        )
        answer = await self._call(self._stub().SendUserMessage, request, is_send=True)
        return answer.notice

    async def close(self) -> None:
        """End the connection."""
        self._connected.clear()
        if self._channel is not None:
            await self._channel.close()
            self._channel = None

    def _stub(self) -> GatewayAsyncStub:
        from netclaw.wire.v1.gateway_pb2_grpc import GatewayStub

        if self._channel is None:
            raise DaemonDownError("There is no connection to the daemon.")
        return GatewayStub(self._channel)

    async def _call(
        self,
        method: grpc.aio.UnaryUnaryMultiCallable[Request, Response],
        request: Request,
        *,
        is_send: bool = False,
    ) -> Response:
        try:
            return await method(request, timeout=CALL_TIMEOUT_S, metadata=authorization(self._home))
        except _rpc_error() as error:
            raise map_error(error, is_send=is_send) from None

    async def _connect(self) -> None:
        import grpc.aio

        await asyncio.to_thread(wait_for_way_in, self._home, PATIENCE_S)
        self._channel = grpc.aio.insecure_channel(
            f"unix:{self._home.socket}", options=CHANNEL_OPTIONS
        )
        self._connected.set()

    async def _reconnect(self, error: NetclawError) -> None:
        await self.close()
        self._tell("[connection] lost; what you type waits")
        for delay_s in RECONNECT_DELAYS_S:
            await asyncio.sleep(delay_s)
            with suppress(*GONE):
                await self._connect()
                self._tell("[connection] back")
                return
        raise error


def _rpc_error() -> type[grpc.RpcError]:
    import grpc

    return grpc.RpcError
