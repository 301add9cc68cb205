"""Inputs that meet a session in the moment it stops: each is answered once, whoever was first."""

from __future__ import annotations

import asyncio

import pytest

from tests.process.checks import check_journal, consumed_inputs
from tests.process.world import World

pytestmark = pytest.mark.timeout(120)

IDLE_S, GRACE_S = 0.05, 0.05
CONFIG = {
    "Session": {
        "IdleTimeout": f"00:00:00.{int(IDLE_S * 1000):03}",
        "Tuning": {"PassivationGraceSeconds": GRACE_S},
    }
}
ROUNDS, BURST = 16, 8


@pytest.mark.requirement("recovery.passivation-burst")
async def test_bursts_around_the_instant_of_passivation_lose_and_double_nothing() -> None:
    async with World(config=CONFIG) as world:
        await world.start()
        peer = world.peer
        await peer.ensure("s")
        for number in range(ROUNDS):
            await asyncio.gather(
                *(
                    peer.send("s", f"[[reply:{number}.{each}]]", sender=f"person-{each}")
                    for each in range(BURST)
                )
            )
            await peer.wait_answered("s", (number + 1) * BURST)
            # From "the idle timer is about to fire" to "the process is gone", in small steps.
            await asyncio.sleep((IDLE_S + GRACE_S) * (0.3 + number / ROUNDS))
        rows = await peer.journal("s")
        check_journal(rows)
        assert len(consumed_inputs(rows)) == ROUNDS * BURST
        await peer.wait_row("s", lambda row: row.phase == "passive")
        stops = [row for row in await peer.journal("s") if row["type"] == "Passivated"]
        assert stops, "no burst met a session that had stopped"
        assert {entry.outcome for entry in await peer.ledger("s")} == {"completed"}
