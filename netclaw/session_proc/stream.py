"""The one stream to the supervisor: dial, introduce ourselves, read in order, write in order.

One task reads with `read()` alone and one task writes, so frames keep their order and no two
writes overlap. A Ping is answered from the reader itself, ahead of what waits to be sent and in
the order of the pings: an answer proves that the event loop turns. The end of the stream is the
end of the process (protocol "Recovery, exactly").
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections import deque
from collections.abc import Callable

import grpc
import grpc.aio

from netclaw.core.errors import InvalidArgumentError, TooLargeError
from netclaw.wire.chunks import CHANNEL_OPTIONS, ChunkJoiner, to_host_frames
from netclaw.wire.v1.session_host_pb2 import Hello, Pong, ToHost, ToSession, Welcome

CONNECT_OPTIONS = (
    *CHANNEL_OPTIONS,
    # One connection for the life of the process: nothing to pool, probe or trace.
    ("grpc.use_local_subchannel_pool", 1),
    ("grpc.enable_http_proxy", 0),
    ("grpc.enable_retries", 0),
)
CONNECT_METHOD = "/netclaw.v1.SessionHost/Connect"
REFUSED_STATUSES = (
    grpc.StatusCode.UNAUTHENTICATED,
    grpc.StatusCode.PERMISSION_DENIED,
    grpc.StatusCode.FAILED_PRECONDITION,
)
"""The supervisor said no; any other status is a stream that was lost."""


class StreamLostError(Exception):
    """The stream ended, or what came over it cannot be read."""


class StreamRefusedError(StreamLostError):
    """The supervisor refused this process: its token is not (or no longer) good."""


class HostStream:
    """The stream; `open`, then `read_all` as one task and `write_all` as another."""

    def __init__(self, socket_path: str) -> None:
        self._channel = grpc.aio.insecure_channel(f"unix:{socket_path}", options=CONNECT_OPTIONS)
        connect: grpc.aio.StreamStreamMultiCallable[ToHost, ToSession] = (
            self._channel.stream_stream(
                CONNECT_METHOD,
                request_serializer=ToHost.SerializeToString,
                response_deserializer=ToSession.FromString,
            )
        )
        self._call = connect()
        self._joiner = ChunkJoiner()
        self._queue: deque[ToHost] = deque()
        self._pongs: deque[ToHost] = deque()
        """Leave before the queue: the supervisor judges our life by them."""
        self._wake = asyncio.Event()
        self._idle = asyncio.Event()
        self._idle.set()
        self._is_over = False

    async def open(self, token: str) -> Welcome:
        """Send Hello, return the Welcome; raises `StreamLostError`."""
        await self._write(ToHost(hello=Hello(token=token, pid=os.getpid())))
        first = await self._read()
        if first is None or first.WhichOneof("body") != "welcome":
            raise StreamLostError("the supervisor did not welcome this process")
        return first.welcome

    def send(self, frame: ToHost) -> None:
        """Queue a frame; frames leave in this order. Ignored once the stream has ended."""
        if not self._is_over:
            self._queue.append(frame)
            self._idle.clear()
            self._wake.set()

    async def read_all(self, deliver: Callable[[ToSession], None]) -> None:
        """Hand on every frame until the stream ends; raises `StreamLostError` if it broke."""
        while (frame := await self._read()) is not None:
            if frame.WhichOneof("body") == "ping":
                self._pongs.append(ToHost(pong=Pong(number=frame.ping.number)))
                self._wake.set()
            else:
                deliver(frame)

    async def write_all(self) -> None:
        """Send what is queued, for ever; raises `StreamLostError` if the stream broke."""
        pongs, queue = self._pongs, self._queue
        while True:
            while pongs or queue:
                await self._write((pongs or queue).popleft())
            self._idle.set()
            self._wake.clear()
            await self._wake.wait()

    async def flush(self, patience_s: float) -> None:
        """Wait until every queued frame was handed to the transport, at most this long."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(patience_s):
                await self._idle.wait()

    async def half_close(self, patience_s: float) -> None:
        """Say that nothing more will come; what was sent still reaches the supervisor."""
        self._is_over = True
        if self._call.done():
            return
        with contextlib.suppress(TimeoutError, grpc.aio.AioRpcError, asyncio.InvalidStateError):
            async with asyncio.timeout(patience_s):
                await self._call.done_writing()

    async def close(self) -> None:
        """Break the connection off; frames the supervisor has not read yet may be lost."""
        self._is_over = True
        await self._channel.close()

    async def _write(self, frame: ToHost) -> None:
        try:
            for part in to_host_frames(frame):
                await self._call.write(part)
        except (grpc.aio.AioRpcError, asyncio.InvalidStateError) as error:
            self._is_over = True
            self._idle.set()
            raise _lost(error) from error

    async def _read(self) -> ToSession | None:
        while True:
            try:
                frame = await self._call.read()
            except grpc.aio.AioRpcError as error:
                raise _lost(error) from error
            if not isinstance(frame, ToSession):
                await self._raise_unless_ok()
                return None
            if frame.WhichOneof("body") != "chunk":
                return frame
            try:
                whole = self._joiner.add(frame.chunk)
            except (TooLargeError, InvalidArgumentError) as error:
                raise StreamLostError(error.sentence) from error
            if whole is not None:
                return ToSession.FromString(whole)

    async def _raise_unless_ok(self) -> None:
        if await self._call.code() in REFUSED_STATUSES:
            raise StreamRefusedError(await self._call.details())


def _lost(error: Exception) -> StreamLostError:
    if isinstance(error, grpc.aio.AioRpcError) and error.code() in REFUSED_STATUSES:
        return StreamRefusedError(error.details() or error.code().name)
    return StreamLostError(str(error))
