"""Child runs under fire: one parent and five runs with jobs, and any process of them is killed.

What is checked is seen from outside: the parent's journal, the files that commands wrote to and the
processes of the machine. A small dose by the tests, a large one by `scripts/torture runs`.
"""

from __future__ import annotations

import asyncio
import os
import random
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import grpc

from netclaw.wire.v1 import admin_pb2
from tests.process.checks import check_journal, describe, is_alive, processes_with, wait_gone
from tests.process.job_calls import check_jobs, job, until_jobs_told
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

RUNS = 5
STEPS = 3
KILLS_PER_TREE = 6
LONGEST_PAUSE_S = 0.6
SETTLED = ("ready", "processing", "passive")
"""Phases of a parent that no start is under way of."""


@dataclass(slots=True, kw_only=True)
class RunToll:
    """What was killed, and what became of the runs."""

    kills: Counter[str] = field(default_factory=Counter)
    ends: Counter[str] = field(default_factory=Counter)
    jobs: int = 0
    """Jobs of runs that were at work."""

    def add(self, other: RunToll) -> None:
        """Count what another tree saw as well."""
        self.kills += other.kills
        self.ends += other.ends
        self.jobs += other.jobs


class Tree:
    """One parent and its runs."""

    def __init__(self, world: World, *, name: str) -> None:
        self._world = world
        self._dice = random.Random(name)
        self._mark = f"300.{os.getpid()}{self._dice.randrange(10**6):06}"
        self._struck: set[str] = set()
        """Runs whose process was killed: what they were at is not done again."""
        self.toll = RunToll()

    async def run(self, *, kills: int) -> RunToll:
        """Hand over, kill, and check each promise."""
        started = await begin(self._world, *(self._task() for _ in range(RUNS)))
        assert len(started) == RUNS
        await self._world.peer.turn(NAME, f"{job('echo ran >> own-job')} [[reply:begun]]")
        for _ in range(kills):
            await asyncio.sleep(self._dice.uniform(0.0, LONGEST_PAUSE_S))
            await self._strike()
        await self._settle(started)
        return self.toll

    def _task(self) -> str:
        """A run that leaves a line for each command it runs, and a job that does not end."""
        steps = " [[next]] ".join(
            f"{shell(f'echo {step} >> steps-{step}')} [[pace:20]]" for step in range(STEPS)
        )
        endless = job(f"echo ran >> job; sleep {self._mark}")
        return f"{endless} [[next]] {steps} [[next]] [[tokens:20]] [[pace:20]]"

    async def _strike(self) -> None:
        """Kill one of the processes there are."""
        world = self._world
        victims = [("daemon", world.pid, "")]
        victims += [("job", pid, "") for pid in processes_with(self._mark)[:RUNS]]
        try:
            row = (await world.peer.rows())[NAME]
            victims += [("parent", row.pid, "")] * 3 if row.pid else []
            victims += [("run", run.pid, run.run_id) for run in await runs(world) if run.pid]
        except grpc.aio.AioRpcError:
            pass
        kind, pid, run_id = self._dice.choice(victims)
        self.toll.kills[kind] += 1
        if kind == "daemon":
            await self._strike_daemon()
        else:
            self._struck |= {run_id}
            kill(pid)

    async def _strike_daemon(self) -> None:
        world = self._world
        # Two deaths during one start of a session hold it, which is another matter.
        await world.peer.wait_row(NAME, lambda row: row.phase in SETTLED)
        listed = await runs(world)
        pids = [row.pid for row in listed if row.pid]
        self._struck |= {row.run_id for row in listed if row.state not in TERMINAL}
        await world.kill()
        # Before anything is started again: nothing may need a next start to end.
        await world.until(lambda: not any(map(is_alive, pids)))
        await self._until_no_job()
        await world.start()

    async def _until_no_job(self) -> None:
        try:
            await self._world.until(lambda: not processes_with(self._mark))
        except TimeoutError:
            shown = [describe(pid) for pid in processes_with(self._mark)]
            raise AssertionError(f"jobs outlived their owner: {shown}") from None

    async def _settle(self, started: list[admin_pb2.RunRow]) -> None:
        world = self._world
        for row in started:
            await told(world, row.run_id)
        await until_jobs_told(world, NAME)
        rows = await world.peer.journal(NAME)
        check_journal(rows)
        check_jobs(rows)
        for row in await runs(world):
            assert row.state in TERMINAL
            self.toll.ends[f"{row.state} {row.reason}".strip()] += 1
            self._check_files(row)
            await until_purged(world, row)
        assert not any(row.pid for row in await runs(world))
        await self._until_no_job()
        pids = [pid for pid in processes_with(str(world.home)) if pid != os.getpid()]
        await world.stop()
        wait_gone(pids)

    def _check_files(self, row: admin_pb2.RunRow) -> None:
        """No command ran twice, and a run that nobody struck ran all of them."""
        folder = Path(row.folder) / "workspace"
        counts = [_lines(folder / f"steps-{step}") for step in range(STEPS)]
        jobs = _lines(folder / "job")
        assert max(*counts, jobs) <= 1, f"a command of {row.run_id} ran twice: {counts}, {jobs}"
        self.toll.jobs += jobs
        assert row.state != "Completed" or Path(row.result_path).exists()
        if row.run_id not in self._struck:
            assert (row.state, counts) == ("Completed", [1] * STEPS), row.reason


def _lines(path: Path) -> int:
    return len(path.read_text().splitlines()) if path.exists() else 0


async def torture_tree(*, name: str, kills: int = KILLS_PER_TREE) -> RunToll:
    """One tree in a home of its own."""
    async with World() as world:
        add_agent(world)
        await world.start()
        try:
            return await Tree(world, name=name).run(kills=kills)
        except BaseException:
            print(f"tree {name}; the daemon said:\n{world.log[-6000:]}")
            raise


async def torture_runs(*, seed: int, kills: int) -> RunToll:
    """Trees after each other until so many processes were killed."""
    toll = RunToll()
    tree = 0
    while (left := kills - toll.kills.total()) > 0:
        toll.add(await torture_tree(name=f"{seed}-{tree}", kills=min(left, KILLS_PER_TREE)))
        tree += 1
    return toll
