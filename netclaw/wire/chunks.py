"""Cuts a frame that is too large for one message into pieces and joins them again.

Both ends of the session host's stream use it: a frame over `FRAME_LIMIT` is serialized and sent
as Chunk frames, the last of which is marked (protocol "Streams"). Pieces of one frame are never
mixed with other frames.
"""

from __future__ import annotations

from collections.abc import Iterator

from netclaw.core.errors import InvalidArgumentError, TooLargeError
from netclaw.wire.v1.session_host_pb2 import Chunk, ToHost, ToSession

FRAME_LIMIT = 4 * 1024 * 1024
"""Largest frame that is sent whole, in bytes of its serialized form."""
MESSAGE_LIMIT = 16 * 1024 * 1024
"""gRPC's limit for one message, on every socket of the daemon."""
JOINED_LIMIT = 256 * 1024 * 1024
"""Largest frame that is accepted in pieces; beyond it the stream is broken off."""

CHANNEL_OPTIONS: tuple[tuple[str, int], ...] = (
    ("grpc.max_send_message_length", MESSAGE_LIMIT),
    ("grpc.max_receive_message_length", MESSAGE_LIMIT),
)
"""What every server and channel of the daemon is made with."""


def split(serialized: bytes) -> Iterator[Chunk]:
    """Cut a serialized frame into chunks of at most `FRAME_LIMIT` bytes, the last one marked."""
    for begin in range(0, max(len(serialized), 1), FRAME_LIMIT):
        end = begin + FRAME_LIMIT
        yield Chunk(data=serialized[begin:end], last=end >= len(serialized))


def to_host_frames(frame: ToHost) -> Iterator[ToHost]:
    """The frame itself, or the chunk frames that carry it."""
    if frame.ByteSize() <= FRAME_LIMIT:
        yield frame
        return
    for chunk in split(frame.SerializeToString()):
        yield ToHost(chunk=chunk)


def to_session_messages(serialized: bytes) -> Iterator[bytes]:
    """A serialized ToSession, or the serialized chunk frames that carry it."""
    if len(serialized) <= FRAME_LIMIT:
        yield serialized
        return
    for chunk in split(serialized):
        yield ToSession(chunk=chunk).SerializeToString()


class ChunkJoiner:
    """Collects the pieces of one frame after another, within `JOINED_LIMIT`."""

    def __init__(self, *, limit: int = JOINED_LIMIT) -> None:
        self._limit = limit
        self._pieces: list[bytes] = []
        self._size = 0

    def add(self, chunk: Chunk) -> bytes | None:
        """Take the next piece; returns the whole serialized frame once the last one came.

        Raises `TooLargeError` past the limit and `InvalidArgumentError` for an empty piece in
        the middle; the collected pieces are dropped.
        """
        self._size += len(chunk.data)
        if self._size > self._limit:
            self._reset()
            raise TooLargeError(f"A frame has more than {self._limit} bytes.")
        if not chunk.data and not chunk.last:
            self._reset()
            raise InvalidArgumentError("A piece of a frame is empty.")
        self._pieces.append(chunk.data)
        if not chunk.last:
            return None
        whole = b"".join(self._pieces)
        self._reset()
        return whole

    @property
    def is_in_progress(self) -> bool:
        """Whether pieces are waiting for the rest of their frame."""
        return bool(self._pieces)

    def _reset(self) -> None:
        self._pieces = []
        self._size = 0
