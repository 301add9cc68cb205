"""Adoptions of long files that nobody waits for hold up nothing else, nor the daemon's end."""

from __future__ import annotations

import asyncio

import grpc
import pytest

from netclaw.wire.v1 import admin_pb2, gateway_pb2
from tests.process.transcripts import Transcript, row
from tests.process.world import World

pytestmark = pytest.mark.timeout(120)

LONG = 600_000
"""Rows, which take seconds to read."""
PATIENCE_S = 10.0
LEFT_AFTER_S = 0.5
AT_ONCE = 8
"""More than the daemon has threads to spare."""


@pytest.mark.requirement("upstream.left")
async def test_long_readings_that_were_left_hold_nothing_up() -> None:
    async with World() as world:
        await world.start()
        await world.peer.turn("talk", "[[reply:hello]]")
        with (
            Transcript(row("x" * 60) * LONG) as long,
            Transcript(row("hi"), name="b.jsonl") as short,
        ):
            left = [_adopt(world, long, LEFT_AFTER_S) for _ in range(AT_ONCE)]
            assert set(await asyncio.gather(*left)) == {grpc.StatusCode.DEADLINE_EXCEEDED}
            await world.peer.gateway.GetHistory(
                gateway_pb2.GetHistoryRequest(session_id="talk"),
                metadata=world.peer.metadata,
                timeout=PATIENCE_S,
            )
            assert await _adopt(world, short, PATIENCE_S) is grpc.StatusCode.OK
            reading = asyncio.create_task(_adopt(world, long, 60))
            await asyncio.sleep(0)
            assert await world.stop() == 0
            assert await reading is not grpc.StatusCode.OK


async def _adopt(world: World, transcript: Transcript, timeout_s: float) -> grpc.StatusCode:
    """How an adoption ended for whoever waited for it so long."""
    request = admin_pb2.AdoptTranscriptRequest(path=str(transcript.path))
    try:
        await world.peer.admin.AdoptTranscript(
            request, metadata=world.peer.metadata, timeout=timeout_s
        )
    except grpc.aio.AioRpcError as error:
        return error.code()
    return grpc.StatusCode.OK
