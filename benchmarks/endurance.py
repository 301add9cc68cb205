"""What becomes of a conversation that goes on and on: its memory, and how fast it wakes."""

from __future__ import annotations

import asyncio
import sys
import time
from pathlib import Path

from benchmarks.figures import percentile
from benchmarks.long_journal import open_store, write_long_journal
from benchmarks.stage import ModelProcess, Stage, Talk, pss_mib
from netclaw.core.ids import SessionId
from netclaw.ports.journal import StartPoint
from netclaw.session_proc.recovery import recover_state
from netclaw.wire.convert import row_to_proto
from netclaw.wire.v1.session_host_pb2 import Welcome

LOOKS = (50, 100, 250, 500, 1000)
"""Turns after which the session's memory is looked at; growth counts from the second on."""
WINDOW = 32_768
SAYING = "a sentence that somebody says or a model answers, with a few words more; " * 6
ANSWER = f"[[usage:none]] [[reply:{SAYING}]]"
"""No count from the provider: netclaw estimates, and shortens the history when that is due."""

LONG = "long"
STARTS = 20


def endurance_stage() -> Stage:
    """A daemon whose model has a window of usual size and answers at once, at some length."""
    window = {"Models": {"Definitions": {"main": {"ContextWindow": WINDOW}}}}
    return Stage(model=ModelProcess(latency_ms=0, default=ANSWER), config=window)


async def measure_memory(stage: Stage, *, turns: int) -> dict[str, float]:
    """Growth of one session's process from its 100th turn on, history shortened as it goes."""
    talk = Talk(stage, "endless")
    await talk.open()
    pid = 0
    found: dict[int, float] = {}
    for number in range(1, turns + 1):
        await talk.turn(SAYING)
        if number in LOOKS:
            pid = pid or (await stage.peer.rows())["endless"].pid
            found[number] = pss_mib([pid])
    await talk.close()
    rows = await stage.peer.journal("endless")
    compactions = sum(row["type"] == "Compacted" for row in rows)
    shown = ", ".join(f"{count}: {size:.2f}" for count, size in found.items())
    print(f"  MiB after turns {shown}; {compactions} compactions", file=sys.stderr)
    if (await stage.peer.rows())["endless"].pid != pid or not compactions:
        raise RuntimeError("the session was started again, or its history never shortened")
    return {"memory1000TurnsMiB": found[max(found)] - found[LOOKS[1]]}


async def measure_replay(stage: Stage, *, events: int, colds: int) -> dict[str, float]:
    """Recovery and wake of a session whose journal is long; leaves the daemon running."""
    await stage.peer.turn(LONG, "hello")
    await stage.world.stop()
    home = stage.world.home
    await write_long_journal(home, LONG, events=events)
    recovery = await _recover(home)
    await stage.world.start()
    return {
        "replay100kMs": recovery,
        "coldStart100kP50Ms": await _wake(stage, colds),
    }


async def _recover(home: Path) -> float:
    """From the wish to start a process until its state is there, without the process itself."""
    store = await open_store(home)
    samples = []
    try:
        for _ in range(STARTS):
            began = time.perf_counter()
            point = await store.begin_incarnation(SessionId(LONG), at=int(time.time() * 1000))
            welcome = Welcome.FromString(_welcome(point).SerializeToString())
            state = await recover_state(welcome)
            samples.append((time.perf_counter() - began) * 1000)
            if state.head != point.record.head:
                raise RuntimeError(f"recovered {state.head} of {point.record.head} events")
            await store.finish_start(SessionId(LONG))
    finally:
        await store.close()
    return percentile(samples, 0.5)


def _welcome(point: StartPoint) -> Welcome:
    if point.snapshot is None:
        raise RuntimeError("a long journal has a snapshot")
    return Welcome(
        session_id=LONG,
        incarnation=point.incarnation,
        tail=[row_to_proto(row) for row in point.tail],
        snapshot=point.snapshot.payload,
        snapshot_seq=point.snapshot.seq,
        snapshot_codec=point.snapshot.codec,
    )


async def _wake(stage: Stage, rounds: int) -> float:
    """Milliseconds from a message to the passive session until its model request came."""
    samples = []
    for number in range(rounds):
        row = await stage.peer.stop_session(LONG)
        if row.pid:
            raise RuntimeError("the session did not stop")
        await stage.model.reset(stage.http)
        began = time.monotonic()
        await stage.peer.send(LONG, f"message {number}")
        arrived = await stage.model.arrivals(stage.http, 1)
        samples.append((arrived[0]["at_s"] - began) * 1000)
        async with asyncio.timeout(30):
            while (await stage.peer.rows())[LONG].pending_inputs:
                await asyncio.sleep(0.01)
    return percentile(samples, 0.5)
