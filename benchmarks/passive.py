"""What many passive sessions beside some live ones cost (S0 "Passivation")."""

from __future__ import annotations

import asyncio
from typing import Any

from benchmarks.stage import Stage, pss_mib
from netclaw.wire.v1.gateway_pb2 import ListSessionsRequest

BATCH = 10
LIVE = 100


def places() -> dict[str, Any]:
    """The configuration under which no more than `LIVE` sessions are alive at once."""
    return {"Daemon": {"MaxLiveSessions": LIVE}}


async def _alive(stage: Stage) -> list[int]:
    """Processes of all sessions, of however many pages the list has."""
    found: list[int] = []
    after = ""
    while True:
        answer = await stage.peer.gateway.ListSessions(
            ListSessionsRequest(after_id=after), metadata=stage.peer.metadata
        )
        if not answer.sessions:
            return found
        found += [row.pid for row in answer.sessions if row.pid]
        after = answer.sessions[-1].id


async def measure_passive(stage: Stage, *, passive: int) -> dict[str, float]:
    """Memory of the daemon alone, and of all, with `passive` sessions at rest and `LIVE` alive.

    Every session has had a turn; the older ones made room for the newer. The daemon needs
    `places()`. Raises `RuntimeError` when the sessions are not as wanted.
    """
    total = passive + LIVE
    names = [f"many-{number}" for number in range(total)]
    for start in range(0, total, BATCH):
        part = names[start : start + BATCH]
        await asyncio.gather(*(stage.peer.turn(name, "[[reply:x]]") for name in part))
    alive = await _alive(stage)
    if len(alive) > LIVE or len(alive) < LIVE - BATCH:
        raise RuntimeError(f"{len(alive)} of {total} sessions are alive, not {LIVE}")
    zygote = (await stage.peer.status()).zygote_pid
    ours = pss_mib([stage.world.pid, *([zygote] if zygote else [])])
    return {
        "passive1000DaemonPssMiB": ours,
        "passive1000Live100PssMiB": ours + pss_mib(alive),
    }
