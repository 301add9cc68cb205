"""Speaks to a server over its standard input and output, with bounds that the library lacks.

A message has a largest size, the program dies with this process even if that is killed, and the
end of the connection is a fact that can be asked for instead of a text in an error.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass

import anyio
from anyio.streams.memory import MemoryObjectSendStream
from mcp.client._transport import TransportStreams
from mcp.shared.message import SessionMessage
from mcp_types import jsonrpc_message_adapter

from netclaw.mcp.frames import ServerEntry

MAX_MESSAGE_BYTES = 16 * 1024 * 1024
"""A longer message ends the connection: only reading it whole could tell what it answers."""
READ_BYTES = 64 * 1024
GRACE_S = 2.0
"""How long a program may take to end after its input ended, and again after SIGTERM."""
INHERITED = ("HOME", "LANG", "LC_ALL", "LOGNAME", "PATH", "SHELL", "TERM", "TZ", "USER")


@dataclass(slots=True, kw_only=True)
class Pipe:
    """What is known of one connection over pipes."""

    is_ended: bool = False
    is_too_large: bool = False


def environment_of(entry: ServerEntry, inherited: Mapping[str, str]) -> dict[str, str]:
    """The few variables that every program needs, and those that are configured."""
    kept = {name: inherited[name] for name in INHERITED if name in inherited}
    return kept | entry.environment


@asynccontextmanager
async def connect(entry: ServerEntry, pipe: Pipe) -> AsyncGenerator[TransportStreams]:
    """Start the program and yield the streams of its messages. Raises `OSError`."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-I", "-m", "netclaw.mcp.leash", str(os.getpid()), entry.command, *entry.arguments),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        env=environment_of(entry, os.environ),
        cwd=os.environ.get("HOME", "/"),
        start_new_session=True,
    )
    to_client, from_server = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    to_server, from_client = anyio.create_memory_object_stream[SessionMessage](0)
    assert process.stdin is not None  # noqa: S101 - both were asked for
    assert process.stdout is not None  # noqa: S101
    stdin, stdout = process.stdin, process.stdout

    async def read() -> None:
        with suppress(anyio.ClosedResourceError, anyio.BrokenResourceError):
            async with to_client:
                await _forward(stdout, to_client, pipe)

    async def write() -> None:
        with suppress(ConnectionError):
            async for message in from_client:
                text = message.message.model_dump_json(by_alias=True, exclude_unset=True)
                stdin.write(text.encode() + b"\n")
                await stdin.drain()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(read)
        tasks.start_soon(write)
        try:
            yield from_server, to_server
        finally:
            with anyio.CancelScope(shield=True):
                await _end(process)
            tasks.cancel_scope.cancel()
            for stream in (from_server, to_server, to_client, from_client):
                stream.close()


async def _forward(
    stdout: asyncio.StreamReader,
    to_client: MemoryObjectSendStream[SessionMessage | Exception],
    pipe: Pipe,
) -> None:
    try:
        async for line in _lines(stdout, pipe):
            try:
                message = jsonrpc_message_adapter.validate_json(line, by_name=False)
            except ValueError:
                continue  # programs print what they should not; only messages count
            await to_client.send(SessionMessage(message))
    finally:
        # Before the streams close: whoever waits for an answer then knows why there is none.
        pipe.is_ended = True


async def _lines(stdout: asyncio.StreamReader, pipe: Pipe) -> AsyncIterator[bytes]:
    buffer = bytearray()
    while chunk := await stdout.read(READ_BYTES):
        searched = len(buffer)
        buffer += chunk
        while (end := buffer.find(b"\n", searched)) >= 0:
            line = bytes(buffer[:end])
            del buffer[: end + 1]
            searched = 0
            if line.strip():
                yield line
        if len(buffer) > MAX_MESSAGE_BYTES:
            pipe.is_too_large = True
            return


async def _end(process: asyncio.subprocess.Process) -> None:
    """Input ends first, as the protocol wants it; then the whole group is ended."""
    if process.stdin is not None:
        process.stdin.close()
    for number in (signal.SIGTERM, signal.SIGKILL):
        with suppress(TimeoutError):
            async with asyncio.timeout(GRACE_S):
                await process.wait()
        with suppress(ProcessLookupError, PermissionError):
            # Also after its end: what it started shares the group.
            os.killpg(process.pid, number)
    with suppress(TimeoutError):
        async with asyncio.timeout(GRACE_S):
            await process.wait()
