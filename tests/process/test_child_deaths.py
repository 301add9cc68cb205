"""Whoever is killed, whenever: each run is told of once, no call runs twice, nothing is left.

A tree of one parent and five runs; its processes and the daemon's are killed at random moments.
"""

from __future__ import annotations

import asyncio
import os
import random
from pathlib import Path

import grpc
import pytest

from netclaw.wire.v1 import admin_pb2
from tests.process.checks import check_journal, processes_with, wait_gone
from tests.process.run_calls import (
    NAME,
    TERMINAL,
    add_agent,
    begin,
    kill,
    runs,
    shell,
    told,
    until_purged,
)
from tests.process.world import World

pytestmark = pytest.mark.timeout(240)

RUNS = 5
STEPS = 3
TREES = int(os.environ.get("NETCLAW_RUN_TREES", "4"))
"""Of six kills each; the torture takes more."""
KILLS = 6
LONGEST_PAUSE_S = 0.6
SETTLED = ("ready", "processing", "passive")
"""Phases of a parent that no start is under way of."""


def task() -> str:
    """A run that leaves a line for each command it runs."""
    steps = " [[next]] ".join(
        f"{shell(f'echo {step} >> steps-{step}')} [[pace:20]]" for step in range(STEPS)
    )
    return f"{steps} [[next]] [[tokens:20]] [[pace:20]]"


async def strike(world: World, dice: random.Random) -> None:
    """Kill one of the processes there are."""
    victims = [("daemon", world.pid)]
    try:
        row = (await world.peer.rows())[NAME]
        victims += [("parent", row.pid)] * 3 if row.pid else []
        victims += [("run", row.pid) for row in await runs(world, NAME) if row.pid]
    except grpc.aio.AioRpcError:
        pass
    kind, pid = dice.choice(victims)
    if kind == "daemon":
        # Two deaths during one start of a session hold it, which is another matter.
        await world.peer.wait_row(NAME, lambda row: row.phase in SETTLED)
        await world.kill()
        await world.start()
    else:
        kill(pid)


@pytest.mark.requirement("children.deaths")
@pytest.mark.parametrize("tree", range(TREES))
async def test_each_run_is_told_of_once_whoever_dies(tree: int) -> None:
    dice = random.Random(tree)
    async with World() as world:
        add_agent(world)
        await world.start()
        started = await begin(world, *(task() for _ in range(RUNS)))
        assert len(started) == RUNS
        for _ in range(KILLS):
            await asyncio.sleep(dice.uniform(0.0, LONGEST_PAUSE_S))
            await strike(world, dice)
        for row in started:
            await told(world, row.run_id)
        check_journal(await world.peer.journal(NAME))
        ended = await runs(world, NAME)
        assert all(row.state in TERMINAL for row in ended)
        for row in ended:
            check_files(row)
            await until_purged(world, row)
        assert not any(row.pid for row in await runs(world, NAME))
        home = str(world.home)
        pids = [pid for pid in processes_with(home) if pid != os.getpid()]
        await world.stop()
        wait_gone(pids)


def check_files(row: admin_pb2.RunRow) -> None:
    """No command ran twice, and a run that is complete ran all of them."""
    folder = Path(row.folder) / "workspace"
    counts = [
        len(path.read_text().splitlines()) if path.exists() else 0
        for path in (folder / f"steps-{step}" for step in range(STEPS))
    ]
    assert max(counts) <= 1, f"a command of run {row.run_id} ran twice: {counts}"
    if row.state == "Completed":
        assert counts == [1] * STEPS, counts
        assert Path(row.result_path).exists()
