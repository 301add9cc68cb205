"""What a session and its host of tool servers say to each other: length-prefixed JSON frames.

The pipe is private to the two processes; environment and headers of servers, which may be secret,
travel by it and by nothing else.
"""

from __future__ import annotations

import asyncio
import struct

import msgspec

from netclaw.ports.tool_servers import ReplyKind, ServerState

MAX_FRAME_BYTES = 32 * 1024 * 1024
"""A longer frame is a fault of the other side. A result is cut far below it."""
_LENGTH = struct.Struct(">I")


class FrameError(Exception):
    """The other side sent what is no frame."""


class ServerEntry(msgspec.Struct, frozen=True, kw_only=True):
    """One server to be reached; its repr tells no secret."""

    name: str
    transport: str
    command: str = ""
    arguments: tuple[str, ...] = ()
    url: str = ""
    environment: dict[str, str] = {}
    headers: dict[str, str] = {}

    def __repr__(self) -> str:
        """Name and transport alone."""
        return f"ServerEntry(name={self.name!r}, transport={self.transport!r})"


class Setup(msgspec.Struct, frozen=True, tag="setup", kw_only=True):
    """The first frame to a host: what it serves."""

    servers: tuple[ServerEntry, ...]


class ListTools(msgspec.Struct, frozen=True, tag="list", kw_only=True):
    """Ask every server for its catalogue."""

    request: int


class CallTool(msgspec.Struct, frozen=True, tag="call", kw_only=True):
    """Run one tool."""

    request: int
    server: str
    tool: str
    arguments: str
    max_chars: int


class CancelCall(msgspec.Struct, frozen=True, tag="cancel", kw_only=True):
    """Nobody waits for this call any more; it is not answered."""

    request: int
    is_timeout: bool = False
    """It was silent for too long: later calls need a new connection."""


ToHost = Setup | ListTools | CallTool | CancelCall


class ToolEntry(msgspec.Struct, frozen=True, kw_only=True):
    """One tool in a catalogue."""

    server: str
    name: str
    description: str
    parameters: str


class StatusEntry(msgspec.Struct, frozen=True, kw_only=True):
    """How one server stands."""

    name: str
    state: ServerState
    tools: int = 0
    sentence: str = ""


class Listed(msgspec.Struct, frozen=True, tag="listed", kw_only=True):
    """The answer to a `ListTools`."""

    request: int
    tools: tuple[ToolEntry, ...]
    statuses: tuple[StatusEntry, ...]


class Progress(msgspec.Struct, frozen=True, tag="progress", kw_only=True):
    """A call shows a sign of life."""

    request: int


class Ended(msgspec.Struct, frozen=True, tag="ended", kw_only=True):
    """A call is over."""

    request: int
    kind: ReplyKind
    text: str
    status: StatusEntry
    is_complete: bool = True


ToSession = Listed | Progress | Ended

_encoder = msgspec.json.Encoder()
to_host = msgspec.json.Decoder(ToHost)
to_session = msgspec.json.Decoder(ToSession)


def pack(frame: ToHost | ToSession) -> bytes:
    """A frame as it goes over the pipe."""
    body = _encoder.encode(frame)
    return _LENGTH.pack(len(body)) + body


async def read_body(reader: asyncio.StreamReader) -> bytes | None:
    """The next frame's JSON, None at the end of the pipe. Raises `FrameError`."""
    try:
        head = await reader.readexactly(_LENGTH.size)
        (length,) = _LENGTH.unpack(head)
        if length > MAX_FRAME_BYTES:
            raise FrameError("a frame is too long")
        return await reader.readexactly(length)
    except (asyncio.IncompleteReadError, ConnectionError):
        return None
