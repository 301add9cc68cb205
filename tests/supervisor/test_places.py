"""How many sessions live and start at the same time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from netclaw.core.exit_codes import ExitCode
from netclaw.core.settings import DaemonSettings
from netclaw.supervisor import router
from netclaw.supervisor.slot import Slot
from tests.supervisor.peers import Peer
from tests.supervisor.world import InProcess


@pytest.mark.requirement("supervisor.places")
async def test_beyond_the_limit_the_longest_idle_session_leaves() -> None:
    async with InProcess(daemon=DaemonSettings(max_live_sessions=2)) as world:
        for name in ("a", "b"):
            await world.send(name, "x")
            await world.until_phase(name, "ready")
        await world.ensure("c")
        async with world.attached("c") as watcher:
            await world.send("c", "x")
            await watcher.until("turn_completed")
        await world.until_phase("a", "passive")
        assert (await world.row("b")).phase == "ready"
        assert (await world.events("a"))[-1] == "Passivated"


@pytest.mark.requirement("supervisor.places")
async def test_with_nobody_idle_an_admission_succeeds_and_waits_for_a_place() -> None:
    async with InProcess(daemon=DaemonSettings(max_live_sessions=1)) as world:
        release = asyncio.Event()

        async def busy(peer: Peer) -> int:
            await peer.connect()
            await peer.phase("ready")
            turn = await peer.start_turn()
            await release.wait()
            await peer.finish_turn(turn, "done")
            return await stay_until_told(peer)

        world.spawner.scripts = [busy]
        await world.send("a", "x")
        await world.until_phase("a", "processing")
        await world.ensure("b")
        async with world.attached("b") as watcher:
            assert (await world.send("b", "waits")).seq == 2
            assert (await world.row("b")).phase == "passive"
            release.set()
            seen = await watcher.until("turn_completed")
        assert [output.text for output in seen if output.type == "text"] == ["waits"]


@pytest.mark.requirement("supervisor.places")
async def test_one_that_stays_leaves_its_turn_to_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(router, "ROOM_PATIENCE_S", 0.05)
    was_asked = asyncio.Event()

    async def holds(peer: Peer) -> int:
        await peer.connect()
        await peer.phase("ready")
        await peer.finish_turn(await peer.start_turn(), "done")
        await peer.phase("ready")
        await peer.expect("command")
        was_asked.set()
        return await stay_ready_after(peer)

    async with InProcess(daemon=DaemonSettings(max_live_sessions=2)) as world:
        world.spawner.scripts = [holds]
        for name in ("a", "b"):
            await world.send(name, "x")
            await world.until_phase(name, "ready")
        await world.send("c", "x")
        await world.until_phase("b", "passive")
        await world.until_phase("c", "ready")
        assert was_asked.is_set()
        assert (await world.row("a")).phase == "ready"


@pytest.mark.requirement("supervisor.places")
async def test_making_room_does_not_look_at_every_session(monkeypatch: pytest.MonkeyPatch) -> None:
    looks = 0
    is_idle: Callable[[Slot], bool] = vars(Slot)["is_idle"].fget

    def count(slot: Slot) -> bool:
        nonlocal looks
        looks += 1
        return is_idle(slot)

    async with InProcess(daemon=DaemonSettings(max_live_sessions=20)) as world:
        names = [f"s{number}" for number in range(20)]
        for name in names:
            await world.send(name, "x")
        for name in names:
            await world.until_phase(name, "ready")
        monkeypatch.setattr(Slot, "is_idle", property(count))
        for number in range(5):
            await world.send(f"new{number}", "x")
            await world.until_phase(f"new{number}", "ready")
        assert 0 < looks < 20 * 5
        phases = [(await world.row(name)).phase for name in names]
        assert phases == ["passive"] * 5 + ["ready"] * 15


async def stay_until_told(peer: Peer) -> int:
    """Wait for a command to leave, then leave."""
    await peer.expect("command")
    await peer.passivate()
    return int(ExitCode.PASSIVATED)


@pytest.mark.requirement("supervisor.start-concurrency")
async def test_so_many_sessions_start_at_once_as_configured() -> None:
    starting = 0
    most = 0
    gate = asyncio.Event()

    async def slow_start(peer: Peer) -> int:
        nonlocal starting, most
        starting += 1
        most = max(most, starting)
        await peer.connect()
        await gate.wait()
        starting -= 1
        await peer.phase("ready")
        return await stay_ready_after(peer)

    async with InProcess(script=slow_start, daemon=DaemonSettings(start_concurrency=3)) as world:
        for number in range(9):
            await world.send(f"s{number}", "x")
        await world.until(lambda: starting == 3)
        gate.set()
        await world.until(lambda: len(world.spawner.processes) == 9)
        assert most <= 3


async def stay_ready_after(peer: Peer) -> int:
    """Read until the stream ends."""
    while await peer.read() is not None:
        pass
    return int(ExitCode.STREAM_LOST)
