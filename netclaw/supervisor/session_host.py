"""Where session processes dial home: one stream each, introduced by a one-time token."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import logging

from google.protobuf.message import DecodeError

from netclaw.core.authority import Audience, Principal
from netclaw.core.errors import InvalidArgumentError, TooLargeError, UnauthenticatedError
from netclaw.supervisor.callers import Caller
from netclaw.supervisor.ids import new_token
from netclaw.supervisor.live_session import LiveSession
from netclaw.supervisor.rpc import Context, RpcStream
from netclaw.supervisor.tasks import Tasks
from netclaw.wire.chunks import ChunkJoiner
from netclaw.wire.v1.session_host_pb2 import ToHost

_log = logging.getLogger(__name__)

HELLO_LIMIT_S = 10.0
"""From the opening of a stream to its Hello."""

_SESSION = Caller(
    name="session process", max_principal=Principal.AUTOMATION, max_audience=Audience.PUBLIC
)


def by_hello(_context: Context) -> Caller:
    """Let the call in; its first frame must hold the token."""
    return _SESSION


class SessionHost:
    """The service `SessionHost`; knows which tokens are out and for whom."""

    def __init__(self, tasks: Tasks) -> None:
        self._tasks = tasks
        self._expected: dict[bytes, LiveSession] = {}

    def expect(self, live: LiveSession) -> None:
        """Make the token by which this process will introduce itself, once."""
        live.token = new_token()
        self._expected[_digest(live.token)] = live

    def forget(self, live: LiveSession) -> None:
        """Take its token back; nothing happens if it was used."""
        self._expected.pop(_digest(live.token), None)

    async def connect(self, stream: RpcStream, _caller: Caller) -> None:
        """Serve one process until either side ends the stream."""
        live = await self._introduce(stream)
        live.is_connected = True
        live.heard_at = asyncio.get_running_loop().time()
        reading = self._tasks.start(self._read(stream, live), name=f"stream of {live.session_id}")
        try:
            await live.frames.write_all(stream.write)
        finally:
            reading.cancel()
            live.close_stream()
            live.stream_ended_at = asyncio.get_running_loop().time()

    async def _introduce(self, stream: RpcStream) -> LiveSession:
        try:
            frame = await asyncio.wait_for(stream.read(), HELLO_LIMIT_S)
        except TimeoutError:
            frame = None
        if frame is None or frame.WhichOneof("body") != "hello":
            raise UnauthenticatedError("A session process must introduce itself first.")
        live = self._expected.pop(_digest(frame.hello.token), None)
        if live is None or not _is_same(live.token, frame.hello.token):
            _log.warning("a process (pid %d) came with an unknown token", frame.hello.pid)
            raise UnauthenticatedError("The session token is not valid.")
        return live

    async def _read(self, stream: RpcStream, live: LiveSession) -> None:
        loop = asyncio.get_running_loop()
        joiner = ChunkJoiner()
        try:
            while (frame := await stream.read()) is not None:
                if frame.HasField("chunk"):
                    frame = _joined(joiner, frame)
                if frame is not None:
                    live.handle(frame, loop.time())
        except (InvalidArgumentError, TooLargeError) as error:
            _log.error("session %s broke the protocol: %s", live.session_id, error.sentence)
        finally:
            live.close_stream()


def _joined(joiner: ChunkJoiner, frame: ToHost) -> ToHost | None:
    whole = joiner.add(frame.chunk)
    if whole is None:
        return None
    try:
        return ToHost.FromString(whole)
    except DecodeError:
        raise InvalidArgumentError("A frame in pieces is malformed.") from None


def _is_same(known: str, shown: str) -> bool:
    return hmac.compare_digest(known.encode("ascii"), shown.encode("utf-8", "replace"))


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "replace")).digest()
