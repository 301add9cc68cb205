"""The daemon as an adapter process reaches it: the public API, with the token of one channel.

An adapter lives no longer than its daemon, so a lost connection is no state to wait out: calls
fail with `DaemonDownError`, and the process ends.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeVar

import grpc
import grpc.aio

from netclaw.wire.chunks import CHANNEL_OPTIONS
from netclaw.wire.errors import from_rpc_error
from netclaw.wire.v1 import common_pb2, gateway_pb2
from netclaw.wire.v1.gateway_pb2_grpc import GatewayStub

if TYPE_CHECKING:
    from netclaw.wire.v1.gateway_pb2_grpc import GatewayAsyncStub

CALL_TIMEOUT_S = 60.0
PIECE_BYTES = 1024 * 1024

Metadata = tuple[tuple[str, str], ...]
Request = TypeVar("Request", contravariant=True)
Response = TypeVar("Response", covariant=True)
Message = TypeVar("Message", covariant=True)


class UnaryCall(Protocol[Request, Response]):
    """A unary method of the stub."""

    def __call__(
        self, request: Request, *, timeout: float | None, metadata: Metadata
    ) -> Awaitable[Response]: ...


class GatewayLink:
    """One connection; implements `parts.Link`."""

    def __init__(self, socket: str, token: str) -> None:
        self._metadata: Metadata = (("authorization", f"Bearer {token}"),)
        self._channel = grpc.aio.insecure_channel(
            f"unix:{socket}",
            options=(
                *CHANNEL_OPTIONS,
                ("grpc.default_authority", "localhost"),
                ("grpc.enable_http_proxy", 0),
            ),
        )
        self._stub: GatewayAsyncStub = GatewayStub(self._channel)

    async def close(self) -> None:
        """End every call and the connection."""
        await self._channel.close()

    async def get_channel(self) -> gateway_pb2.ChannelSetup:
        """This channel's section."""
        return await self._call(self._stub.GetChannel, gateway_pb2.GetChannelRequest())

    def converse(
        self, reports: AsyncIterator[gateway_pb2.ChannelReport]
    ) -> AsyncIterator[gateway_pb2.ChannelNews]:
        """Tell how the channel is; gives what the daemon has to say until either ends it."""
        return _mapped(self._stub.ReportChannel(reports, metadata=self._metadata))

    async def ensure_session(
        self, request: gateway_pb2.EnsureSessionRequest
    ) -> gateway_pb2.EnsureSessionResponse:
        """See `parts.Link`."""
        return await self._call(self._stub.EnsureSession, request)

    async def send_user_message(
        self, request: gateway_pb2.SendUserMessageRequest
    ) -> gateway_pb2.SendUserMessageResponse:
        """See `parts.Link`."""
        return await self._call(self._stub.SendUserMessage, request, is_send=True)

    async def find_input(
        self, request: gateway_pb2.FindInputRequest
    ) -> gateway_pb2.SendUserMessageResponse:
        """See `parts.Link`."""
        return await self._call(self._stub.FindInput, request)

    async def get_session(
        self, request: gateway_pb2.GetSessionRequest
    ) -> gateway_pb2.SessionDetail:
        """See `parts.Link`."""
        return await self._call(self._stub.GetSession, request)

    async def claim_outbox(
        self, request: gateway_pb2.ClaimOutboxRequest
    ) -> gateway_pb2.ClaimOutboxResponse:
        """See `parts.Link`."""
        return await self._call(self._stub.ClaimOutbox, request, is_send=True)

    async def confirm_outbox(
        self, request: gateway_pb2.ConfirmOutboxRequest
    ) -> gateway_pb2.ConfirmOutboxResponse:
        """See `parts.Link`."""
        return await self._call(self._stub.ConfirmOutbox, request)

    def fetch_file(
        self, request: gateway_pb2.FetchFileRequest
    ) -> AsyncIterator[gateway_pb2.FilePiece]:
        """See `parts.Link`."""
        return _mapped(
            self._stub.FetchFile(request, timeout=CALL_TIMEOUT_S, metadata=self._metadata)
        )

    async def find_reply(
        self, request: gateway_pb2.FindReplyRequest
    ) -> gateway_pb2.FindReplyResponse:
        """See `parts.Link`."""
        return await self._call(self._stub.FindReply, request)

    async def list_approvals(
        self, request: gateway_pb2.ListApprovalsRequest
    ) -> gateway_pb2.ListApprovalsResponse:
        """See `parts.Link`."""
        return await self._call(self._stub.ListApprovals, request)

    async def answer_approval(
        self, request: gateway_pb2.AnswerApprovalRequest
    ) -> gateway_pb2.AnswerApprovalResponse:
        """See `parts.Link`."""
        return await self._call(self._stub.AnswerApproval, request)

    async def upload(
        self, session_id: str, path: Path, *, name: str, media_type: str
    ) -> common_pb2.MediaRef:
        """See `parts.Link`."""
        answer = await self._upload(session_id, path, name=name, media_type=media_type)
        return answer.media

    async def put_into_inbox(
        self, session_id: str, path: Path, *, name: str, media_type: str
    ) -> gateway_pb2.UploadResponse:
        """See `parts.Link`."""
        return await self._upload(
            session_id, path, name=name, media_type=media_type, is_for_inbox=True
        )

    async def _upload(
        self,
        session_id: str,
        path: Path,
        *,
        name: str,
        media_type: str,
        is_for_inbox: bool = False,
    ) -> gateway_pb2.UploadResponse:
        async def pieces() -> AsyncIterator[gateway_pb2.UploadChunk]:
            with path.open("rb") as file:
                first = gateway_pb2.UploadChunk(
                    session_id=session_id,
                    name=name,
                    media_type=media_type,
                    data=file.read(PIECE_BYTES),
                    inbox=is_for_inbox,
                )
                yield first
                while data := file.read(PIECE_BYTES):
                    yield gateway_pb2.UploadChunk(data=data)

        try:
            answer: gateway_pb2.UploadResponse = await self._stub.Upload(
                pieces(), timeout=CALL_TIMEOUT_S, metadata=self._metadata
            )
        except grpc.RpcError as error:
            raise from_rpc_error(error) from None
        return answer

    def attach(self, request: gateway_pb2.AttachRequest) -> AsyncIterator[common_pb2.OutputBatch]:
        """See `parts.Link`."""
        return _mapped(self._stub.Attach(request, metadata=self._metadata))

    async def _call(
        self,
        method: UnaryCall[Request, Response],
        request: Request,
        *,
        is_send: bool = False,
    ) -> Response:
        try:
            return await method(request, timeout=CALL_TIMEOUT_S, metadata=self._metadata)
        except grpc.RpcError as error:
            raise from_rpc_error(error, is_send=is_send) from None


class _Messages(Protocol[Message]):
    """A call that gives messages."""

    def __aiter__(self) -> AsyncIterator[Message]: ...

    def cancel(self) -> bool: ...


async def _mapped(call: _Messages[Message]) -> AsyncIterator[Message]:
    try:
        async for message in call:
            yield message
    except grpc.RpcError as error:
        raise from_rpc_error(error) from None
    finally:
        call.cancel()
