"""What a part under test never asks of a driver or of the daemon."""

from __future__ import annotations

from collections.abc import AsyncIterator

from netclaw.adapters.driver import Thread
from netclaw.wire.v1 import gateway_pb2 as pb


class SendsNotAsked:
    """Of a driver: threads of its own accord."""

    async def open_direct(self, user_id: str) -> str:
        """See `Driver`."""
        raise NotImplementedError

    async def begin_thread(self, channel_id: str, post: str, key: str) -> Thread:
        """See `Driver`."""
        raise NotImplementedError

    async def find_thread(self, channel_id: str, key: str) -> Thread | None:
        """See `Driver`."""
        raise NotImplementedError


class FilesNotAsked:
    """Of the daemon: files on their way out, and what became of replies."""

    def fetch_file(self, request: pb.FetchFileRequest) -> AsyncIterator[pb.FilePiece]:
        """See `Link`."""
        raise NotImplementedError

    async def find_reply(self, request: pb.FindReplyRequest) -> pb.FindReplyResponse:
        """See `Link`."""
        raise NotImplementedError
