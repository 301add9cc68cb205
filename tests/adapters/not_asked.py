"""What ingress never asks of a driver or of the daemon."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

from netclaw.adapters.driver import Account, Button, Found, Incoming, Thread
from netclaw.wire.v1 import common_pb2
from netclaw.wire.v1 import gateway_pb2 as pb


class PlatformNotAsked:
    """Of a driver, by ingress."""

    async def open_direct(self, user_id: str) -> str:
        """See `Driver`."""
        raise NotImplementedError

    async def begin_thread(self, channel_id: str, post: str, key: str) -> Thread:
        """See `Driver`."""
        raise NotImplementedError

    async def find_thread(self, channel_id: str, key: str) -> Thread | None:
        """See `Driver`."""
        raise NotImplementedError

    async def check(self) -> Account:
        """See `Driver`."""
        raise NotImplementedError

    def events(self) -> AsyncIterator[Incoming]:
        """See `Driver`."""
        raise NotImplementedError

    async def find_post(self, thread: Thread, key: str) -> str | None:
        """See `Driver`."""
        raise NotImplementedError

    async def edit(
        self, thread: Thread, post_id: str, text: str, buttons: tuple[Button, ...]
    ) -> None:
        """See `Driver`."""
        raise NotImplementedError

    async def delete(self, thread: Thread, post_id: str) -> None:
        """See `Driver`."""
        raise NotImplementedError

    async def set_status(self, thread: Thread, text: str) -> None:
        """See `Driver`."""
        raise NotImplementedError

    async def set_title(self, thread: Thread, title: str) -> None:
        """See `Driver`."""
        raise NotImplementedError

    async def upload(self, thread: Thread, path: Path, name: str, key: str) -> str:
        """See `Driver`."""
        raise NotImplementedError

    async def find_users(self, text: str) -> tuple[Found, ...]:
        """See `Driver`."""
        raise NotImplementedError

    async def find_places(self, text: str) -> tuple[Found, ...]:
        """See `Driver`."""
        raise NotImplementedError

    async def close(self) -> None:
        """See `Driver`."""
        raise NotImplementedError


class DaemonNotAsked:
    """Of the daemon, by ingress."""

    def fetch_file(self, request: pb.FetchFileRequest) -> AsyncIterator[pb.FilePiece]:
        """See `Link`."""
        raise NotImplementedError

    async def find_reply(self, request: pb.FindReplyRequest) -> pb.FindReplyResponse:
        """See `Link`."""
        raise NotImplementedError

    async def get_session(self, request: pb.GetSessionRequest) -> pb.SessionDetail:
        """See `Link`."""
        raise NotImplementedError

    async def claim_outbox(self, request: pb.ClaimOutboxRequest) -> pb.ClaimOutboxResponse:
        """See `Link`."""
        raise NotImplementedError

    async def confirm_outbox(self, request: pb.ConfirmOutboxRequest) -> pb.ConfirmOutboxResponse:
        """See `Link`."""
        raise NotImplementedError

    async def list_approvals(self, request: pb.ListApprovalsRequest) -> pb.ListApprovalsResponse:
        """See `Link`."""
        raise NotImplementedError

    async def answer_approval(self, request: pb.AnswerApprovalRequest) -> pb.AnswerApprovalResponse:
        """See `Link`."""
        raise NotImplementedError

    async def upload(
        self, session_id: str, path: Path, *, name: str, media_type: str
    ) -> common_pb2.MediaRef:
        """See `Link`."""
        raise NotImplementedError

    def attach(self, request: pb.AttachRequest) -> AsyncIterator[common_pb2.OutputBatch]:
        """See `Link`."""
        raise NotImplementedError
