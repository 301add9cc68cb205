"""Memory and idle CPU of the daemon and its sessions."""

from __future__ import annotations

import asyncio
import os
import time

from benchmarks.figures import percentile
from benchmarks.stage import PROMPT_BYTES, Stage, cpu_seconds, pss_mib

BATCH = 10


async def _pids(stage: Stage, prefix: str) -> list[int]:
    rows = await stage.peer.rows()
    return [row.pid for name, row in rows.items() if name.startswith(prefix) and row.pid]


async def _daemon_pids(stage: Stage) -> list[int]:
    zygote = (await stage.peer.status()).zygote_pid
    return [stage.world.pid, *([zygote] if zygote else [])]


async def measure_idle_daemon(stage: Stage) -> dict[str, float]:
    """Supervisor and zygote before any session was started."""
    async with asyncio.timeout(10):
        while not (await stage.peer.status()).zygote_pid:
            await asyncio.sleep(0.05)
    return {"idleDaemonPssMiB": pss_mib(await _daemon_pids(stage))}


async def measure_sessions(stage: Stage, *, count: int) -> dict[str, float]:
    """Mean PSS of live sessions before their first turn, and after one with a 40 kB prompt."""
    names = [f"size-{number}" for number in range(count)]
    await asyncio.gather(*(stage.peer.ensure(name) for name in names))
    for start in range(0, count, BATCH):
        part = names[start : start + BATCH]
        await asyncio.gather(*(stage.peer.restart_session(name) for name in part))
    live = await _pids(stage, "size-")
    if len(live) != count:
        raise RuntimeError(f"{len(live)} of {count} sessions are alive")
    before = pss_mib(live) / count
    prompt = "[[reply:short]] " + "word " * (PROMPT_BYTES // 5)
    for start in range(0, count, BATCH):
        part = names[start : start + BATCH]
        await asyncio.gather(*(stage.peer.turn(name, prompt) for name in part))
    after = pss_mib(await _pids(stage, "size-")) / count
    return {"idleSessionPssMiB": before, "sessionAfterTurnPssMiB": after}


async def measure_idle_cpu(stage: Stage, *, count: int, seconds: float) -> dict[str, float]:
    """Cores that the daemon and `count` live sessions use while nothing happens, per 200."""
    names = [f"idle-{number}" for number in range(count)]
    await asyncio.gather(*(stage.peer.ensure(name) for name in names))
    for start in range(0, count, BATCH):
        part = names[start : start + BATCH]
        await asyncio.gather(*(stage.peer.turn(name, "[[reply:x]]") for name in part))
    pids = await _daemon_pids(stage) + [row.pid for row in (await stage.peer.rows()).values()]
    pids = [pid for pid in pids if pid]
    before, began = cpu_seconds(pids), time.monotonic()
    await asyncio.sleep(seconds)
    used, elapsed = cpu_seconds(pids) - before, time.monotonic() - began
    live = len(pids) - 2
    return {"idleCpuCores200": used / elapsed * 200 / live}


async def measure_live(stage: Stage, *, count: int) -> dict[str, float]:
    """How many sessions are alive at once after a turn each."""
    for start in range(0, count, BATCH):
        part = [f"live-{number}" for number in range(start, start + BATCH)]
        await asyncio.gather(*(stage.peer.turn(name, "[[reply:x]]") for name in part))
    return {"liveSessions500": float(len(await _pids(stage, "live-")))}


async def measure_tool_output(stage: Stage, *, megabytes: int) -> dict[str, float]:
    """Growth of the supervisor and the session while a tool prints, at its highest."""
    peer = stage.peer
    await peer.turn("loud", "[[reply:warm]]")
    pids = [stage.world.pid, *await _pids(stage, "loud")]
    before = pss_mib(pids)
    command = f"head -c {megabytes}000000 /dev/zero | tr '\\\\0' 'x'"
    arguments = f'{{"command": "{command}", "timeout_seconds": 300}}'
    turn = asyncio.create_task(
        peer.turn("loud", f"[[tool:shell_execute {arguments}]] [[reply:done]]")
    )
    peak = before
    while not turn.done():
        peak = max(peak, pss_mib(pids))
        await asyncio.sleep(0.05)
    if (await turn).text != "done":
        raise RuntimeError(f"the loud tool failed: {(await turn).error}")
    return {"toolOutputGrowthMiB": peak - before}


async def measure_status(stage: Stage, *, runs: int) -> dict[str, float]:
    """Wall time of `netclaw status`, as a whole process."""
    samples = []
    environment = stage.world.environment()
    for _ in range(runs):
        began = time.perf_counter()
        process = await asyncio.create_subprocess_exec(
            str(stage.world.cli), "status", env=environment, stdout=asyncio.subprocess.DEVNULL
        )
        await process.wait()
        samples.append((time.perf_counter() - began) * 1000)
        if process.returncode != os.EX_OK:
            raise RuntimeError(f"netclaw status ended with {process.returncode}")
    return {"statusMs": percentile(samples, 0.5)}
