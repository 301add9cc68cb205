"""Time added to a turn, alone and with twenty sessions at once, beside the bare call."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Coroutine

from grpc_health.v1 import health_pb2, health_pb2_grpc

from benchmarks.figures import percentile
from benchmarks.stage import Stage, Talk

LOOPS = 20
TURNS_PER_SESSION = 50
WARM_UP_TURNS = 3
REPLY = "[[reply:the answer to the question that was asked, in one short sentence]]"


async def measure_alone(stage: Stage, *, turns: int) -> dict[str, float]:
    """One session at a time: turns and bare calls in turn, so that both meet the same machine.

    A conversation ends after some turns and the next one begins: the bare call carries no history,
    so a long one on our side would be compared with nothing.
    """
    bare: list[float] = []
    ours: list[float] = []
    rpc: list[float] = []
    for start in range(0, turns, TURNS_PER_SESSION):
        talk = Talk(stage, f"alone-{start}")
        await talk.open()
        for _ in range(WARM_UP_TURNS):
            await stage.bare_call(REPLY)
            await talk.turn(REPLY)
        for _ in range(min(TURNS_PER_SESSION, turns - start)):
            bare.append(await stage.bare_call(REPLY) * 1000)
            rpc.append(await _empty_call(stage) * 1000)
            ours.append(await talk.turn(REPLY) * 1000)
        await talk.close()
    overhead = percentile(ours, 0.5) - percentile(bare, 0.5)
    return {
        "bareCallP50Ms": percentile(bare, 0.5),
        "bareCallP99Ms": percentile(bare, 0.99),
        "rpcP50Ms": percentile(rpc, 0.5),
        "turnOverheadP50Ms": overhead,
        "turnOverheadP99Ms": percentile(ours, 0.99) - percentile(bare, 0.5),
        "daemonOwnTimeP50Ms": overhead - percentile(rpc, 0.5),
    }


async def _empty_call(stage: Stage) -> float:
    stub = health_pb2_grpc.HealthStub(stage.peer.channel)
    began = time.perf_counter()
    await stub.Check(health_pb2.HealthCheckRequest(), metadata=stage.peer.metadata)
    return time.perf_counter() - began


async def measure_twenty(stage: Stage, *, turns: int) -> dict[str, float]:
    """Twenty loops of turns, and twenty loops of bare calls in the same run."""
    talks = [Talk(stage, f"twenty-{number}") for number in range(LOOPS)]
    await asyncio.gather(*(talk.open() for talk in talks))
    await asyncio.gather(*(talk.turn(REPLY) for talk in talks))
    ours, ours_s = await _race([_loop_turns(talk, turns) for talk in talks])
    await asyncio.gather(*(talk.close() for talk in talks))
    bare, bare_s = await _race([_loop_bare(stage, turns) for _ in range(LOOPS)])
    return {
        "turnsPerSecond20": len(ours) / ours_s,
        "turnP95Ms20": percentile(ours, 0.95) * 1000,
        "bareCallsPerSecond20": len(bare) / bare_s,
        "bareCallP95Ms20": percentile(bare, 0.95) * 1000,
    }


async def _race(loops: list[Coroutine[None, None, list[float]]]) -> tuple[list[float], float]:
    began = time.perf_counter()
    results = await asyncio.gather(*loops)
    elapsed = time.perf_counter() - began
    return [sample for result in results for sample in result], elapsed


async def _loop_turns(talk: Talk, turns: int) -> list[float]:
    return [await talk.turn(REPLY) for _ in range(turns)]


async def _loop_bare(stage: Stage, turns: int) -> list[float]:
    return [await stage.bare_call(REPLY) for _ in range(turns)]
