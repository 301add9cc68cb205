"""The home's disk fills up or cannot be written: clear codes, no damage, and life goes on."""

from __future__ import annotations

import asyncio

import grpc
import pytest

from tests.process.checks import check_journal
from tests.process.errors import code_of
from tests.process.small_disk import fill, small_disk
from tests.process.world import World

pytestmark = pytest.mark.timeout(90)

STORAGE_CODES = {"storage_full", "storage_timeout"}


@pytest.mark.requirement("recovery.disk-full-mid-turn")
async def test_a_disk_that_fills_in_mid_turn_is_reported_and_survived() -> None:
    world = World()
    with small_disk(world.home, megabytes=64):
        async with world:
            await world.start()
            peer = world.peer
            await peer.turn("before", "[[reply:stored]]")
            await peer.ensure("full")
            sent = await peer.send("full", "[[gate:full]][[reply:the answer]]", message_id="m-1")
            behind = await peer.send("full", "[[reply:behind it]]", sender="somebody else")
            await world.at_gate("full")
            opened = asyncio.Event()
            watching = asyncio.create_task(peer.first_error("full", opened))
            await opened.wait()
            ballast = fill(world.home)
            world.open_gate("full")
            told = await watching
            assert told.category == "Storage"
            assert "may already have run" in told.text
            assert told.reference
            assert list(told.input_ids) == [sent.input_id, behind.input_id]

            with pytest.raises(grpc.aio.AioRpcError) as raised:
                await peer.send("before", "[[reply:refused]]", message_id="m-2")
            assert code_of(raised.value) in STORAGE_CODES
            assert (await peer.status()).pid == world.pid

            ballast.unlink()
            await peer.wait_status(lambda status: status.storage_state == "ok")
            entries = await peer.wait_answered("full", 2)
            assert [entry.outcome for entry in entries] == ["completed", "completed"]
            again = await peer.turn("before", "[[reply:accepted]]", message_id="m-2")
            assert again.text == "accepted"
            for name in ("before", "full"):
                check_journal(await peer.journal(name))
            assert await peer.check_storage() == ""


@pytest.mark.requirement("recovery.disk-full-control")
async def test_sessions_and_the_daemon_can_be_ended_while_the_disk_is_full() -> None:
    world = World()
    with small_disk(world.home, megabytes=64):
        async with world:
            await world.start()
            peer = world.peer
            await peer.ensure("stuck")
            await peer.send("stuck", "[[gate:full]][[reply:late]]")
            await world.at_gate("full")
            ballast = fill(world.home)
            world.open_gate("full")
            await peer.wait_status(lambda status: status.storage_state != "ok")

            async with asyncio.timeout(20):
                await peer.stop_session("stuck")
                assert await world.stop() == 0
            ballast.unlink()
            await world.start()
            assert (await peer.wait_answered("stuck", 1))[0].outcome == "completed"
            check_journal(await peer.journal("stuck"))


async def test_a_full_disk_at_the_start_is_one_sentence() -> None:
    world = World()
    with small_disk(world.home, megabytes=8):
        async with world:
            fill(world.home)
            status, words = await world.refuse_to_start()
            assert status == 1
            assert "space" in words or "full" in words
            assert "Traceback" not in words
