"""An operator's stop, restart, reset and delete, whatever a session's keeper is doing."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from netclaw.core.errors import StorageFullError
from netclaw.core.exit_codes import ExitCode
from netclaw.core.ids import SessionId
from netclaw.core.session import events as ev
from netclaw.core.settings import DaemonSettings, SupervisionSettings
from netclaw.supervisor import admin_api, router
from netclaw.supervisor.slot import Slot, SlotState
from tests.supervisor.peers import Peer, stay_ready
from tests.supervisor.test_gateway import refused
from tests.supervisor.world import InProcess

NAME = "hello"
FULL = StorageFullError("The disk is full.")


async def hold_turn(peer: Peer) -> int:
    """Begin a turn and never finish it."""
    await peer.connect()
    await peer.phase("ready")
    await peer.start_turn()
    await asyncio.Event().wait()
    return 0


async def never_ready(peer: Peer) -> int:
    """Connect and recover for ever."""
    await peer.connect()
    await asyncio.Event().wait()
    return 0


async def crash(peer: Peer) -> int:
    """Die at once."""
    await peer.connect()
    await peer.phase("ready")
    return -11


async def passive(world: InProcess) -> None:
    """Nothing ran yet."""
    await world.ensure(NAME)


async def just_woken(world: InProcess) -> None:
    """The keeper exists and has not taken its first step when the order comes."""
    await world.ensure(NAME)
    end = world.supervisor.router.interrupt

    async def wake_first(slot: Slot) -> None:
        world.supervisor.router.wake(SessionId(NAME))
        world.supervisor.router.interrupt = end  # type: ignore[method-assign]
        await end(slot)

    world.supervisor.router.interrupt = wake_first  # type: ignore[method-assign]


async def waits_for_a_place(world: InProcess) -> None:
    """All places are taken by sessions at work."""
    world.spawner.scripts = [hold_turn]
    await world.send("other", "x")
    await world.until_phase("other", "processing")
    await world.send(NAME, "x")


async def starting(world: InProcess) -> None:
    """The process does not come up."""
    world.spawner.scripts = [never_ready]
    await world.send(NAME, "x")
    await world.until(lambda: bool(world.spawner.peers and world.spawner.peers[0].welcome.tail))


async def in_a_turn(world: InProcess) -> None:
    """The process is at work and hears nothing."""
    world.spawner.scripts = [hold_turn]
    await world.send(NAME, "x")
    await world.until_phase(NAME, "processing")


async def in_backoff(world: InProcess) -> None:
    """It crashed and waits for a minute."""
    world.spawner.scripts = [crash]
    await world.send(NAME, "x")
    await world.until_phase(NAME, "backoff")


async def waits_to_record_a_crash(world: InProcess) -> None:
    """It crashed and the database cannot be told."""

    async def crash_on_full_disk(peer: Peer) -> int:
        await peer.connect()
        await peer.phase("ready")
        world.store.failure = FULL
        return -11

    await ends_on_full_disk(world, crash_on_full_disk)


async def waits_for_the_database(world: InProcess) -> None:
    """It ended because nothing can be written."""

    async def end_on_full_disk(peer: Peer) -> int:
        await peer.connect()
        await peer.phase("ready")
        world.store.failure = FULL
        await peer.append(ev.TitleSet(title="t", actor="model"))
        await peer.expect("append_failed")
        return int(ExitCode.STORAGE)

    await ends_on_full_disk(world, end_on_full_disk)


async def ends_on_full_disk(world: InProcess, script: Callable[[Peer], Awaitable[int]]) -> None:
    """Wait until the keeper waits for the database."""
    world.spawner.scripts = [script]
    await world.send(NAME, "x")
    slot = world.supervisor.router.slot(SessionId(NAME))
    await world.until(lambda: world.supervisor.services.health.state == "storage_full")
    await world.until(lambda: slot.live is None and slot.state is SlotState.QUEUED)


SITUATIONS = [
    passive,
    just_woken,
    waits_for_a_place,
    starting,
    in_a_turn,
    in_backoff,
    waits_to_record_a_crash,
    waits_for_the_database,
]


@pytest.mark.timeout(30)
@pytest.mark.requirement("supervisor.end-anywhere")
@pytest.mark.parametrize("situation", SITUATIONS, ids=lambda made: made.__name__)
@pytest.mark.parametrize(
    "order", ["StopSession", "RestartSession", "ResetSession", "DeleteSession"]
)
async def test_an_order_to_end_is_carried_out_or_refused_whatever_the_keeper_waits_for(
    situation: Callable[[InProcess], Awaitable[None]], order: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(admin_api, "RESTART_PATIENCE_S", 0.3)
    monkeypatch.setattr(router, "END_MARGIN_S", 0.1)
    daemon = DaemonSettings(drain_s=0.1, shutdown_s=20, max_live_sessions=1)
    supervision = SupervisionSettings(backoff_s=(60.0,))
    async with InProcess(script=stay_ready, daemon=daemon, supervision=supervision) as world:
        await situation(world)
        if world.store.failure is not None and order != "StopSession":
            error = await refused(world.admin_call(order, NAME))
            assert isinstance(error, StorageFullError)
            world.store.failure = None
        row = await world.admin_call(order, NAME)
        world.store.failure = None
        if order != "RestartSession":
            assert (row.phase, row.pid) == ("passive", 0)
        elif situation is not waits_for_a_place:
            assert (await world.until_phase(NAME, "ready")).pid
        if order == "StopSession":
            slot = world.supervisor.router.find(SessionId(NAME))
            assert slot is None or slot.keeper is None
