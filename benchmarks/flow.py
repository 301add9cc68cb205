"""Token relay to many subscribers, and the cost of the sandbox."""

from __future__ import annotations

import asyncio
import json
import os
import tempfile
import time
from pathlib import Path

from benchmarks.figures import percentile
from benchmarks.stage import Stage
from netclaw.ports.shell_runner import SandboxProfile, ShellEnd, ShellLimits, ShellRequest

SUBSCRIBERS = 16


async def measure_relay(stage: Stage, *, tokens: int) -> dict[str, float]:
    """Tokens of one streamed turn a second, when 16 subscribers receive all of them."""
    peer = stage.peer
    await peer.ensure("relay")

    async def subscriber(opened: asyncio.Event) -> tuple[float, float, int]:
        first = 0.0
        size = 0
        async for output in peer.attach("relay", filter_bits=2, opened=opened):
            if output.type == "text_delta":
                first = first or time.perf_counter()
                size += output.text.count(" ")
            if output.type == "turn_completed":
                break
        return first, time.perf_counter(), size

    events = [asyncio.Event() for _ in range(SUBSCRIBERS)]
    tasks = [asyncio.create_task(subscriber(event)) for event in events]
    await asyncio.gather(*(event.wait() for event in events))
    await peer.send("relay", f"[[tokens:{tokens}]]")
    results = await asyncio.gather(*tasks)
    short = [size for _, _, size in results if size < tokens - 1]
    if short:
        raise RuntimeError(f"subscribers missed tokens: {short} of {tokens}")
    elapsed = max(end for _, end, _ in results) - min(first for first, _, _ in results)
    return {"relayTokensPerSecond16": tokens / elapsed}


async def measure_sandbox(*, runs: int) -> dict[str, float]:
    """`true` in the sandbox through the same runner that a session uses."""
    from netclaw.core.settings import ToolSettings
    from netclaw.sandbox.probe import prove_backends
    from netclaw.sandbox.runner import SandboxRunner

    with tempfile.TemporaryDirectory(prefix="nc-", dir="/tmp") as folder:
        work = Path(folder) / "work"
        work.mkdir()
        facts = await asyncio.to_thread(prove_backends, ToolSettings())
        runner = SandboxRunner(facts)
        request = ShellRequest(
            argv=("/bin/true",),
            cwd=str(work),
            environment={"PATH": os.defpath},
            profile=SandboxProfile(home=folder, writable=(str(work),), tmp=str(work)),
            limits=ShellLimits(),
        )
        samples = []
        for number in range(runs + 3):
            began = time.perf_counter()
            outcome = await runner.run(request, on_started=_acknowledge, sink=_swallow)
            if number >= 3:
                samples.append((time.perf_counter() - began) * 1000)
            if outcome.end is not ShellEnd.EXITED or outcome.exit_code != 0:
                raise RuntimeError(f"true failed in the sandbox: {json.dumps(str(outcome))}")
    return {"sandboxTrueP50Ms": percentile(samples, 0.5)}


async def _acknowledge(_pid: int, _start_ticks: int) -> None:
    return


def _swallow(_piece: bytes) -> None:
    return
