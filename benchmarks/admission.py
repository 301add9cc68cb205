"""Durable admissions a second, one call each and over the ingest stream."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator

from benchmarks.figures import percentile
from benchmarks.stage import Stage
from netclaw.wire.v1 import gateway_pb2

SENDERS = 64
STREAMS = 4


async def _prepare(stage: Stage, kind: str) -> list[str]:
    """Sessions whose one turn waits at the model, so that admissions alone are measured."""
    names = [f"{kind}-{number}" for number in range(SENDERS)]
    await asyncio.gather(*(stage.peer.ensure(name) for name in names))
    await stage.model.reset(stage.http)
    await asyncio.gather(*(stage.peer.send(name, "[[gate:hold]]held") for name in names))
    await stage.model.arrivals(stage.http, SENDERS)
    return names


async def measure_unary(stage: Stage, *, each: int) -> dict[str, float]:
    """64 senders, each waiting for its acknowledgement before it sends again."""
    names = await _prepare(stage, "unary")

    async def sender(name: str) -> list[float]:
        samples = []
        for number in range(each):
            began = time.perf_counter()
            await stage.peer.send(name, f"message {number}", sender="other")
            samples.append((time.perf_counter() - began) * 1000)
        return samples

    began = time.perf_counter()
    results = await asyncio.gather(*(sender(name) for name in names))
    elapsed = time.perf_counter() - began
    return {
        "admissionsPerSecond": SENDERS * each / elapsed,
        "admissionWorstP99Ms": max(percentile(result, 0.99) for result in results),
    }


async def measure_ingest(stage: Stage, *, batches: int) -> dict[str, float]:
    """64 senders behind 4 adapters: each stream carries one message of each of its 16 senders."""
    names = await _prepare(stage, "ingest")
    per_stream = SENDERS // STREAMS

    async def adapter(senders: list[str]) -> list[float]:
        samples: list[float] = []
        turn: asyncio.Queue[None] = asyncio.Queue()
        batch = gateway_pb2.IngestBatch(
            messages=[
                gateway_pb2.SendUserMessageRequest(session_id=name, text="a message")
                for name in senders
            ]
        )

        async def feed() -> AsyncIterator[gateway_pb2.IngestBatch]:
            for _ in range(batches):
                yield batch
                await turn.get()

        began = time.perf_counter()
        async for answer in stage.peer.gateway.Ingest(feed(), metadata=stage.peer.metadata):
            samples.append((time.perf_counter() - began) * 1000)
            refused = [result.code for result in answer.results if result.code]
            if refused:
                raise RuntimeError(f"an admission was refused: {refused[0]}")
            began = time.perf_counter()
            turn.put_nowait(None)
        return samples

    groups = [names[start : start + per_stream] for start in range(0, SENDERS, per_stream)]
    began = time.perf_counter()
    results = await asyncio.gather(*(adapter(group) for group in groups))
    elapsed = time.perf_counter() - began
    return {
        "ingestPerSecond": SENDERS * batches / elapsed,
        "ingestP99Ms": percentile([sample for result in results for sample in result], 0.99),
    }
