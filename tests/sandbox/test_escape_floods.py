"""Floods of output, processes and memory end bounded, and daemon and session stay small."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

import pytest

from tests.process.world import World
from tests.sandbox.rig import marked

pytestmark = [pytest.mark.escape, pytest.mark.timeout(120)]

T = TypeVar("T")
NAME = "flood"
FLOOD_BYTES = 1_500_000_000
GROWTH_KIB = 10 * 1024
SAMPLE_S = 0.02
CONFIG = {
    "Tools": {"Sandbox": {"MemoryMiB": 192, "Processes": 80}, "MaxToolTimeoutSeconds": 90},
}


def resident_kib(pid: int) -> tuple[int, int]:
    """What a process holds now, and the most that it ever held."""
    text = Path(f"/proc/{pid}/status").read_text()
    fields = dict(line.split(":", 1) for line in text.splitlines() if ":" in line)
    return int(fields["VmRSS"].split()[0]), int(fields["VmHWM"].split()[0])


class Scale:
    """Weighs processes while something goes on."""

    def __init__(self, pids: dict[str, int]) -> None:
        self._pids = pids
        self._before = {name: resident_kib(pid) for name, pid in pids.items()}
        self._most = {name: now for name, (now, _) in self._before.items()}

    async def during(self, work: Awaitable[T]) -> T:
        """The result of the work, weighed until it is there."""
        task = asyncio.ensure_future(work)
        while not task.done():
            self._look()
            with suppress(TimeoutError):
                await asyncio.wait_for(asyncio.shield(task), SAMPLE_S)
        self._look()
        return task.result()

    def _look(self) -> None:
        for name, pid in self._pids.items():
            now, highest = resident_kib(pid)
            if highest > self._before[name][1]:
                now = max(now, highest)
            self._most[name] = max(self._most[name], now)

    def growth_kib(self) -> dict[str, int]:
        """By how much each grew at most."""
        return {name: most - self._before[name][0] for name, most in self._most.items()}


@pytest.fixture
async def world() -> AsyncIterator[World]:
    """A daemon whose session has run a command and knows all its code."""
    async with World(config=CONFIG) as made:
        await made.start()
        await run(made, "yes some line of output | head -c 5000000")
        yield made


async def run(world: World, command: str, timeout_s: int = 90) -> str:
    """What the model is told about a command."""
    call = json.dumps({"command": command, "timeout_seconds": timeout_s})
    turn = await world.peer.turn(NAME, f"[[tool:shell_execute {call}]] [[results]]")
    return turn.text


async def scale(world: World) -> Scale:
    """Weighs the daemon and the session."""
    row = (await world.peer.rows())[NAME]
    return Scale({"daemon": world.pid, "session": row.pid})


@pytest.mark.requirement("escape.floods")
async def test_a_flood_of_output_leaves_daemon_and_session_small(world: World) -> None:
    weighed = await scale(world)
    text = await weighed.during(run(world, f"yes some line of output | head -c {FLOOD_BYTES}"))
    assert "some line of output" in text
    assert "exit status 0" in text
    growth = weighed.growth_kib()
    assert max(growth.values()) <= GROWTH_KIB, growth


STORM = """
hop() {{ (hop &); (exec -a {mark} sleep 5 &); sleep 0.01; }}
for i in 1 2 3 4; do hop & done
setsid nohup bash -c 'exec -a {mark} sleep 60' &
disown -a
sleep 60
"""


@pytest.mark.requirement("escape.floods")
async def test_a_storm_and_a_bomb_end_bounded_and_leave_nothing(world: World) -> None:
    weighed = await scale(world)
    mark = f"storm-{world.home.name}"
    storm = await weighed.during(run(world, STORM.format(mark=mark), 3))
    assert "more than 80 processes" in storm or "after its 3 seconds" in storm
    assert marked(mark) == []
    bomb = await weighed.during(run(world, "tail /dev/zero; echo survived; sleep 60"))
    assert "more than 192 MiB of memory" in bomb
    growth = weighed.growth_kib()
    assert max(growth.values()) <= GROWTH_KIB, growth
    assert (await world.peer.turn(NAME, "[[reply:still here]]")).text == "still here"
