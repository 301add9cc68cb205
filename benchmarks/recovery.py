"""How fast things start and come back: readiness, cold sessions, kills."""

from __future__ import annotations

import os
import signal
import time

from benchmarks.figures import percentile
from benchmarks.stage import Stage

REPLY = "[[reply:back]]"


async def measure_ready(stage: Stage, *, starts: int) -> dict[str, float]:
    """Seconds from starting netclawd to its READY=1; leaves the daemon running."""
    samples = []
    for _ in range(starts):
        samples.append(await stage.world.start())
        await stage.world.stop()
    samples.append(await stage.world.start())
    return {"readySeconds": percentile(samples, 0.5)}


async def measure_cold(stage: Stage, *, rounds: int) -> dict[str, float]:
    """Milliseconds from sending to a session without a process to its model request."""
    samples = []
    for number in range(rounds):
        name = f"cold-{number}"
        await stage.peer.ensure(name)
        await stage.model.reset(stage.http)
        began = time.monotonic()
        await stage.peer.send(name, REPLY)
        arrived = await stage.model.arrivals(stage.http, 1)
        samples.append((arrived[0]["at_s"] - began) * 1000)
        await stage.peer.wait_answered(name, 1)
    return {"coldStartP50Ms": percentile(samples, 0.5)}


async def measure_session_kill(stage: Stage, *, rounds: int, bare_ms: float) -> dict[str, float]:
    """Milliseconds from kill -9 in mid-turn to the turn's answer, minus a bare call."""
    samples = []
    peer = stage.peer
    await peer.ensure("killed")
    for number in range(rounds):
        gate = f"kill-{number}"
        await stage.model.reset(stage.http)
        # Only the first attempt waits at the gate; the one after the kill is answered.
        sent = await peer.send("killed", f"[[gate:{gate}:1]]{REPLY}")
        await stage.model.arrivals(stage.http, 1)
        pid = (await peer.rows())["killed"].pid
        began = time.perf_counter()
        os.kill(pid, signal.SIGKILL)
        turn = await peer.follow("killed", sent)
        samples.append((time.perf_counter() - began) * 1000 - bare_ms)
        if turn.error is not None:
            raise RuntimeError(f"the killed turn did not come back: {turn.error}")
    return {"sessionKillRecoveryP50Ms": percentile(samples, 0.5)}


async def measure_supervisor_kill(stage: Stage, *, rounds: int) -> dict[str, float]:
    """Seconds from the next start of a killed daemon to the answer of the turn it was in."""
    samples = []
    peer = stage.peer
    await peer.ensure("survivor")
    for number in range(rounds):
        await stage.model.reset(stage.http)
        sent = await peer.send("survivor", f"[[gate:super-{number}:1]]{REPLY}")
        await stage.model.arrivals(stage.http, 1)
        await stage.world.kill()
        began = time.perf_counter()
        await stage.world.start()
        await peer.follow("survivor", sent)
        samples.append(time.perf_counter() - began)
    return {"supervisorKillRecoverySeconds": percentile(samples, 0.5)}
