"""What child runs cost when many start at once, and what one that runs wild does to a neighbour."""

from __future__ import annotations

import asyncio
import re
import time
from pathlib import Path
from typing import Any

from benchmarks.figures import percentile
from benchmarks.stage import Stage, Talk, pss_mib
from netclaw.wire.v1 import admin_pb2
from tests.process.run_calls import TERMINAL, add_agent, begin, in_state, launched, runs, shell

AT_ONCE = 20
LIMIT_MIB = 512
"""What a command may hold, so that one that eats all of it is affordable everywhere."""
WARM_UP_TURNS = 3
REPLY = "[[reply:the answer to the question that was asked, in one short sentence]]"
TAG = re.compile(r"task-\d\d")
WAIT_S = 60.0

SPIN = "touch wild; while :; do :; done"
_EAT = f"""
blocks = []
while True:
    blocks.append(b"x" * (1 << 20))
    if len(blocks) > {LIMIT_MIB - 64}:
        blocks.clear()
"""
EAT = f"touch wild; python3 -c '{_EAT}'"
"""Fills its memory almost to the limit, lets go of it and begins again, for ever."""


def places() -> dict[str, Any]:
    """The configuration under which a command that eats memory stays affordable."""
    return {"Tools": {"Sandbox": {"MemoryMiB": LIMIT_MIB}}}


async def measure_at_once(stage: Stage) -> dict[str, float]:
    """Twenty runs of one turn: their starts, their memory at the model, and one turn of each."""
    add_agent(stage.world)
    await stage.model.reset(stage.http)
    tasks = [
        f"task-{number:02} [[gate:go]] {shell('true')} [[reply:done]]" for number in range(AT_ONCE)
    ]
    started = await begin(stage.world, *tasks, name="many")
    if len(started) != AT_ONCE:
        raise RuntimeError(f"{len(started)} of {AT_ONCE} runs were accepted")
    starts = await _waits(stage, started)
    pids = [row.pid for row in await runs(stage.world, "many") if row.pid]
    if len(pids) != AT_ONCE:
        raise RuntimeError(f"{len(pids)} of {AT_ONCE} runs are alive")
    memory = pss_mib(pids) / AT_ONCE
    opened_ms = time.time() * 1000
    await stage.model.open_gate(stage.http, "go")
    ended = [await in_state(stage.world, row.run_id, *TERMINAL) for row in started]
    failed = [row.reason for row in ended if row.state != "Completed"]
    if failed:
        raise RuntimeError(f"{len(failed)} runs failed: {failed[0]}")
    turns = [row.ended_at_ms - opened_ms for row in ended]
    return {
        "childStartP50Ms20": percentile(starts, 0.5),
        "childStartP95Ms20": percentile(starts, 0.95),
        "childPssMiB20": memory,
        "childTurnP50Ms20": percentile(turns, 0.5),
        "childTurnP95Ms20": percentile(turns, 0.95),
    }


async def _waits(stage: Stage, started: list[admin_pb2.RunRow]) -> list[float]:
    """Milliseconds from the acceptance of each run until its first request came to the model."""
    to_epoch_ms = (time.time() - time.monotonic()) * 1000
    arrived: dict[str, float] = {}
    async with asyncio.timeout(WAIT_S):
        while len(arrived) < AT_ONCE:
            await asyncio.sleep(0.05)
            for request in await stage.model.arrivals(stage.http, AT_ONCE):
                tags = TAG.findall(request["message"] or "")
                if len(tags) == 1:
                    arrived.setdefault(tags[0], request["at_s"] * 1000 + to_epoch_ms)
    samples = []
    for row in started:
        (tag,) = set(TAG.findall((Path(row.folder) / "task.md").read_text()))
        samples.append(arrived[tag] - row.started_at_ms)
    return samples


async def measure_wild(stage: Stage, *, turns: int) -> dict[str, float]:
    """A neighbour's turns beside a run that spins, and beside one that eats memory, to those
    before.
    """
    add_agent(stage.world)
    talk = Talk(stage, "neighbour")
    await talk.open()
    for _ in range(WARM_UP_TURNS):
        await talk.turn(REPLY)
    found = {}
    for key, command in (("childSpinningRatio", SPIN), ("childEatingRatio", EAT)):
        before = await _median(talk, turns)
        row = await _run_wild(stage, command)
        found[key] = await _median(talk, turns) / before
        await _end(stage, row)
    await talk.close()
    return found


async def _median(talk: Talk, turns: int) -> float:
    return percentile([await talk.turn(REPLY) for _ in range(turns)], 0.5)


async def _run_wild(stage: Stage, command: str) -> admin_pb2.RunRow:
    """A run whose command is at it."""
    (row,) = await begin(stage.world, f"{shell(command)} [[reply:over]]", name="wild")
    await launched(stage.world, row)
    sign = Path(row.folder) / "workspace" / "wild"
    async with asyncio.timeout(WAIT_S):
        while not sign.exists():
            await asyncio.sleep(0.05)
    return row


async def _end(stage: Stage, row: admin_pb2.RunRow) -> None:
    """Cancel a run that still is at it; anything else says that nothing was measured."""
    (now,) = [item for item in await runs(stage.world, "wild") if item.run_id == row.run_id]
    if now.state != "Running":
        raise RuntimeError(f"the run ended while it was measured: {now.state} {now.reason}")
    peer = stage.peer
    await peer.admin.CancelRun(admin_pb2.RunRef(run_id=row.run_id), metadata=peer.metadata)
    await in_state(stage.world, row.run_id, "Cancelled")
