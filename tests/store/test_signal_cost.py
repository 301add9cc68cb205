"""What signals cost, in processor time: a loaded machine must not fail this, nor hide a miss."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from netclaw.core.ids import SessionId
from netclaw.core.session.events import NoticeMark
from netclaw.core.signals.events import SYSTEM
from tests.contracts.journal_world import SqliteWorld
from tests.contracts.signal_steps import Q, began, open_notices, wants, watch, write_own

WATCHERS = 100
CURSORS = 50
ROUNDS = 10
TARGET_MS = 5.0


def cpu_ms() -> float:
    """Processor time of this process so far."""
    return time.process_time() * 1000


@pytest.mark.timeout(60)
@pytest.mark.requirement("signals.cost", "signals.trouble-07")
async def test_an_append_with_a_hundred_watchers_is_cheap(tmp_path: Path) -> None:
    world = SqliteWorld(tmp_path / "netclaw.db")
    await world.open()
    await world.create(Q)
    for number in range(WATCHERS):
        watcher = SessionId(f"watcher/{number}")
        await world.create(watcher)
        await watch(world, watcher, Q)
    began_at = cpu_ms()
    for number in range(ROUNDS):
        await wants(world, Q, f"goal {number}", actor=SYSTEM)
    spent = (cpu_ms() - began_at) / ROUNDS
    assert len(await world.journal.cursors(Q)) == WATCHERS
    await world.close()
    assert spent < TARGET_MS


@pytest.mark.timeout(60)
@pytest.mark.requirement("signals.cost")
async def test_fifty_notices_add_little_to_the_start_of_a_turn(tmp_path: Path) -> None:
    world = SqliteWorld(tmp_path / "netclaw.db")
    await world.open()
    await world.create(Q)
    targets = [SessionId(f"target/{number}") for number in range(CURSORS)]
    for target in targets:
        await world.create(target)
        await watch(world, Q, target)
        await wants(world, target, "Win.", actor=SYSTEM)
    found = await open_notices(world, Q)
    marks = tuple(NoticeMark(target=n.target, mark=n.mark, since=n.since) for n in found)
    assert len(marks) == CURSORS
    began_at = cpu_ms()
    await write_own(world, Q, began("t", notices=marks))
    spent = cpu_ms() - began_at
    assert await open_notices(world, Q) == ()
    await world.close()
    assert spent < TARGET_MS
