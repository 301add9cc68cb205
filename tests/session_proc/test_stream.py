"""The stream to the supervisor by itself: what leaves first when it is slow to take frames."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from netclaw.session_proc.stream import HostStream
from netclaw.wire.v1.session_host_pb2 import Append, Failing, PhaseChanged, ToHost, ToSession
from tests.session_proc.host import TOKEN, ScriptedHost

MORE_THAN_IS_BUFFERED = 12 * 1024 * 1024
"""Characters that a stream does not take from a writer while the other end reads nothing."""


@pytest.fixture
async def stream(host: ScriptedHost) -> AsyncIterator[HostStream]:
    """A stream that was welcomed."""
    made = HostStream(host.socket)
    await made.open(TOKEN)
    yield made
    await made.close()


@pytest.mark.requirement("session_proc.ping")
async def test_pings_are_answered_in_order_and_ahead_of_what_waits(
    host: ScriptedHost, stream: HostStream
) -> None:
    is_past_the_pings = asyncio.Event()

    def deliver(frame: ToSession) -> None:
        if frame.WhichOneof("body") == "tool_tree_ack":
            is_past_the_pings.set()

    host.hold_appends.clear()
    stream.send(ToHost(append=Append()))
    stream.send(ToHost(failing=Failing(stack="x" * MORE_THAN_IS_BUFFERED)))
    stream.send(ToHost(phase=PhaseChanged(phase="ready")))
    tasks = [asyncio.create_task(stream.write_all()), asyncio.create_task(stream.read_all(deliver))]
    await host.until(lambda seen: bool(seen.appends))
    for number in range(1, 6):
        host.ping(number)
    host.acknowledge_tree("sent behind the pings")
    await is_past_the_pings.wait()
    assert host.seen.failing == []
    host.hold_appends.set()
    await host.until(lambda seen: seen.phases == ["ready"])
    assert host.seen.pongs == [1, 2, 3, 4, 5]
    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks)
