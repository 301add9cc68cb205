"""A restart as people and the model live through it: notices, warm-up, going on, cold sessions."""

from __future__ import annotations

import asyncio
import json
import signal
import time
from pathlib import Path

import pytest

from netclaw.core.session import sentences
from tests.process.checks import check_journal, is_alive, launches
from tests.process.test_ends import GATED, Waiter
from tests.process.world import World

pytestmark = pytest.mark.timeout(120)

STEP = json.dumps({"command": "echo step >> steps.txt"})
LOOP = f"[[tool:shell_execute {STEP}]] [[next]] [[gate:go]][[reply:done]]"
"""One call, then a model call that waits until the gate opens."""


async def hear(world: World, name: str, opened: asyncio.Event) -> Waiter:
    """Listen to a session until the daemon ends the stream."""
    waiter = Waiter("")
    await waiter.listen(world.peer.attach(name, opened=opened))
    return waiter


@pytest.mark.requirement("restart.twice")
@pytest.mark.requirement("restart.continuity")
async def test_a_tool_loop_survives_two_restarts_and_is_told_of_each_once(world: World) -> None:
    peer = world.peer
    await peer.ensure("loop")
    sent = await peer.send("loop", LOOP)
    await world.until_requests(2)
    await world.at_gate("go")
    await world.restart()
    await world.until_requests(3)
    await world.at_gate("go")
    await world.restart()
    world.open_gate("go")

    turn = await peer.follow("loop", sent)
    assert (turn.text, turn.error) == ("done", None)
    rows = await peer.journal("loop")
    check_journal(rows)
    assert list(launches(rows).values()) == [1]
    root = Path((await peer.detail("loop")).storage_root)
    assert (root / "workspace" / "steps.txt").read_text() == "step\n"
    stops = [row["payload"]["deadline_at"] for row in rows if row["type"] == "DrainStopped"]
    assert len(stops) == 2
    assert stops[0] == stops[1]

    told = [sentences.CONTINUED in item.raw.decode() for item in world.model.requests]
    assert told[:2] == [False, False]
    assert told[2] is True
    await peer.turn("loop", "and now? [[reply:fine]]")
    assert sentences.CONTINUED not in world.model.requests[-1].raw.decode()


@pytest.mark.requirement("restart.warm-and-cold")
async def test_after_a_restart_what_was_at_work_is_warm_and_what_was_idle_stays_cold(
    world: World,
) -> None:
    await world.peer.turn("idle", "[[reply:x]]")
    await world.peer.ensure("busy")
    sent = await world.peer.send("busy", GATED)
    await world.at_gate("held")
    generation = (await world.peer.status()).generation
    await world.peer.shutdown(is_restart=True)
    await world.wait_generation(generation + 1)
    rows = await world.peer.rows()  # the first call that the new generation serves
    assert (rows["idle"].phase, rows["idle"].pid) == ("passive", 0)
    assert rows["busy"].pid
    assert not (world.home / "run" / "warm-sessions.json").exists()
    world.open_gate("held")
    assert (await world.peer.follow("busy", sent)).text == "the answer"
    assert (await world.peer.turn("idle", "[[reply:recovered]]")).text == "recovered"


@pytest.mark.requirement("restart.notices")
@pytest.mark.parametrize("is_restart", [True, False], ids=["restarting", "stopping"])
async def test_a_person_who_has_seen_text_is_told_what_stops_their_turn(
    *, is_restart: bool
) -> None:
    async with World(config={"Daemon": {"DrainSeconds": 2}}) as world:
        await world.start()
        await world.peer.ensure("seen")
        opened, first = asyncio.Event(), asyncio.Event()
        hearing = asyncio.create_task(hear(world, "seen", opened))
        seeing = asyncio.create_task(world.peer.first_delta("seen", first))
        await asyncio.gather(opened.wait(), first.wait())
        await world.peer.send("seen", "[[tokens:20]] [[gate_after:5:held]]")
        async with asyncio.timeout(60):
            await seeing
            await world.peer.shutdown(is_restart=is_restart)
            heard = await hearing
    (notice,) = [output for output in heard.outputs if output.type == "notice"]
    word = "restarting" if is_restart else "stopping"
    assert notice.outcome == word
    assert f"netclaw is {word}" in notice.text


@pytest.mark.requirement("restart.bounded")
async def test_a_stop_ends_in_time_whatever_runs_and_leaves_nothing_running() -> None:
    async with World(config={"Daemon": {"DrainSeconds": 2}}) as world:
        await world.start()
        call = json.dumps({"command": "trap '' TERM INT; echo $$; exec sleep 1000"})
        await world.peer.ensure("stubborn")
        await world.peer.send("stubborn", f"[[tool:shell_execute {call}]] [[reply:never]]")
        await world.peer.wait_launched("stubborn")
        pids = [row.pid for row in (await world.peer.rows()).values() if row.pid]
        began = time.monotonic()
        assert await world.stop(number=signal.SIGTERM) == 0
        assert time.monotonic() - began < 30
        assert not [pid for pid in pids if is_alive(pid)]
        await world.start()
        (entry,) = await world.peer.wait_answered("stubborn", 1)
        assert entry.outcome == "failed"
