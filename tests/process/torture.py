"""Kills whatever runs, at random and again and again, then asks the journal whether it was kept.

Used with a small budget by the tests and with a large one by `scripts/torture`. Everything random
comes from one seed, which is printed when a promise was broken.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import random
import signal
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import grpc

from tests.process.checks import check_journal, describe, is_alive, processes_with
from tests.process.job_calls import check_jobs, until_jobs_told
from tests.process.peer import WAIT_S
from tests.process.world import World


@dataclass(slots=True, kw_only=True)
class Toll:
    """What a torture run did."""

    kills: Counter[str] = field(default_factory=Counter)
    inputs: int = 0
    unconfirmed: int = 0
    released: int = 0
    """Starts that were held because the supervisor died during them twice."""

    @property
    def total(self) -> int:
        """Kills of every kind."""
        return sum(self.kills.values())


class Torture:
    """Several sessions of one daemon under fire."""

    def __init__(self, world: World, *, seed: int, sessions: int) -> None:
        self._world = world
        self._random = random.Random(seed)
        self._names = [f"t{number}" for number in range(sessions)]
        self._counter = 0
        self._marker = f"effects-{os.getpid()}-{seed}.txt"
        self.toll = Toll()
        self._confirmed: dict[str, set[str]] = {name: set() for name in self._names}
        self._seen_pids: set[int] = set()

    async def run(self, *, kills: int, supervisor_share: float = 0.1) -> Toll:
        """Send and kill until `kills` processes were killed, then settle and check."""
        for name in self._names:
            await self._world.peer.ensure(name)
        while self.toll.total < kills:
            sends = [asyncio.create_task(self._send(name)) for name in self._some()]
            await self._pause()
            if self._random.random() < supervisor_share:
                await self._kill_supervisor()
            else:
                await self._kill_something()
            await asyncio.gather(*sends)
        await self._settle()
        return self.toll

    def _some(self) -> list[str]:
        return self._random.sample(self._names, k=self._random.randint(1, len(self._names)))

    async def _pause(self) -> None:
        # From "the append is in flight" to "the turn is long over".
        await asyncio.sleep(self._random.choice((0.0, 0.002, 0.005, 0.01, 0.03, 0.06, 0.12)))

    def _script(self, number: int) -> str:
        tag = f"n{number}"
        effect = json.dumps({"command": f"echo {tag} >> {self._marker}; sleep 0.{number % 3}"})
        tool = f"[[tool:shell_execute {effect}]]"
        job = tool.replace("{", '{"background": true, ', 1)
        return self._random.choice(
            (
                f"[[reply:{tag}]]",
                f"[[tokens:20]][[pace:2]] {tag}",
                f"{tool} [[reply:{tag}]]",
                f"{job} [[reply:{tag}]]",
                f"{tool} [[next]] {tool} [[reply:{tag}]]",
            )
        )

    async def _send(self, name: str) -> None:
        self._counter += 1
        number = self._counter
        text, message_id = self._script(number), f"m{number}"
        while True:
            try:
                sent = await self._world.peer.send(
                    name, text, message_id=message_id, sender=f"p{number % 3}"
                )
            except (grpc.aio.AioRpcError, grpc.aio.UsageError, asyncio.CancelledError):
                # The supervisor died under it, delivery is unconfirmed: with its message id a
                # resend is safe, once there is a daemon again.
                self.toll.unconfirmed += 1
                await self._world.is_up.wait()
                continue
            self._confirmed[name].add(sent.input_id)
            self.toll.inputs += 1
            return

    async def _kill_something(self) -> None:
        rows = [row for row in (await self._world.peer.rows()).values() if row.pid]
        tools = processes_with(self._marker)
        choice = self._random.random()
        if choice < 0.05 and (zygote := (await self._world.peer.status()).zygote_pid):
            self._kill("zygote", zygote)
        elif choice < 0.4 and tools:
            self._kill("tool", self._random.choice(tools))
        elif rows:
            for row in self._random.sample(rows, k=min(len(rows), self._random.randint(1, 3))):
                self._seen_pids.add(row.pid)
                self._kill("session", row.pid)

    def _kill(self, kind: str, pid: int) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
            self.toll.kills[kind] += 1

    async def _kill_supervisor(self) -> None:
        rows = (await self._world.peer.rows()).values()
        pids = [row.pid for row in rows if row.pid]
        await self._world.kill()
        self.toll.kills["supervisor"] += 1
        await self._world.until(lambda: not [pid for pid in pids if is_alive(pid)])
        # Before anything is started again: nothing may need a next start to end.
        await self._until_no_tool()
        await self._world.start()
        await self._release_held()

    async def _release_held(self) -> None:
        """A start that two deaths of the supervisor in a row cut short is held for the operator."""
        for name, row in (await self._world.peer.rows()).items():
            if row.phase == "quarantined":
                self.toll.released += 1
                await self._world.peer.restart_session(name)

    async def _settle(self) -> None:
        peer = self._world.peer
        for name in self._names:
            await peer.wait_answered(name, len(self._confirmed[name]))
            await until_jobs_told(self._world, name)
            rows = await peer.journal(name)
            check_journal(rows)
            check_jobs(rows)
            admitted = {r["payload"]["input_id"] for r in rows if r["type"] == "InputAdmitted"}
            lost = self._confirmed[name] - admitted
            assert not lost, f"acknowledged and lost: {lost}"
            await self._check_effects(name, rows)
        await self._until_no_tool()

    async def _until_no_tool(self) -> None:
        try:
            await self._world.until(lambda: not processes_with(self._marker))
        except TimeoutError:
            shown = [describe(pid) for pid in processes_with(self._marker)]
            raise AssertionError(f"tools outlived their owner: {shown}") from None

    async def _check_effects(self, name: str, rows: list[dict[str, object]]) -> None:
        """No tool ran more often than the journal launched it."""
        root = (await self._world.peer.detail(name)).storage_root
        effects = Path(root) / "workspace" / self._marker
        if not effects.exists():
            return
        ran = Counter(effects.read_text().split())
        launched: Counter[str] = Counter()
        calls = _calls(rows)
        for row in rows:
            if row["type"] == "ToolBatchStarted":
                for call_id in row["payload"]["call_ids"]:  # type: ignore[index]
                    launched[calls[call_id]] += 1
        too_often = {tag: n for tag, n in ran.items() if n > launched[tag]}
        assert not too_often, f"ran more often than launched: {too_often}"


def _calls(rows: list[dict[str, object]]) -> dict[str, str]:
    """call id -> the tag its command writes."""
    found = {}
    for row in rows:
        if row["type"] == "RoundRecorded":
            for call in row["payload"]["message"]["calls"]:  # type: ignore[index]
                command = json.loads(call["arguments"])["command"]
                found[call["call_id"]] = command.split()[1]
    return found


async def torture(*, seed: int, kills: int, sessions: int, supervisor_share: float = 0.1) -> Toll:
    """One whole run in a home of its own."""
    async with World() as world:
        await world.start()
        try:
            return await Torture(world, seed=seed, sessions=sessions).run(
                kills=kills, supervisor_share=supervisor_share
            )
        except BaseException:
            print(f"seed {seed}, waited at most {WAIT_S} s; the daemon said:\n{world.log[-6000:]}")
            raise
