"""A session whose stored data cannot be read harms nobody else, and is given up as a whole."""

from __future__ import annotations

from dataclasses import replace

import pytest

from netclaw.core.errors import SessionUnreadableError, StorageFullError
from netclaw.core.ids import SessionId
from netclaw.ports.journal import StoredSnapshot
from netclaw.wire.journal_codec import STATE_CODEC
from netclaw.wire.v1 import gateway_pb2
from tests.supervisor.peers import Peer
from tests.supervisor.test_gateway import refused
from tests.supervisor.world import InProcess

BAD = SessionId("bad")


async def crash_if_unreadable(peer: Peer) -> int:
    """What a session process does: it cannot rebuild its state."""
    await peer.connect()
    raise AssertionError("the state was readable")


async def history(world: InProcess, name: str) -> gateway_pb2.GetHistoryResponse:
    """Ask for the history."""
    request = gateway_pb2.GetHistoryRequest(session_id=name)
    answer: gateway_pb2.GetHistoryResponse = await world.gateway.GetHistory(
        request, metadata=world.metadata
    )
    return answer


@pytest.mark.requirement("supervisor.unreadable-session")
@pytest.mark.parametrize(
    "damage",
    [{"payload": b"{"}, {"version": 99}, {"type": "FromTheFuture"}, {"seq": 5}],
    ids=lambda damage: next(iter(damage)),
)
async def test_a_session_that_cannot_be_read_is_quarantined_and_the_database_is_sound(
    world: InProcess, damage: dict[str, object]
) -> None:
    await world.ensure("bad")
    await world.send("good", "x")
    await world.until_phase("good", "ready")
    stored = world.data.sessions[BAD]
    stored.rows = (replace(stored.rows[0], **damage), *stored.rows[1:])  # type: ignore[arg-type]
    world.spawner.scripts = [crash_if_unreadable]
    await world.send("bad", "y")
    row = await world.until_phase("bad", "quarantined")
    assert row.quarantined
    assert len([b for b in world.spawner.bootstraps if b.session_id == BAD]) == 1
    assert "CrashRecorded" in [stored.type for stored in world.data.sessions[BAD].rows]
    assert world.supervisor.services.health.state == "ok"
    assert isinstance(await refused(history(world, "bad")), SessionUnreadableError)
    assert "cannot be read" in (await world.send("bad", "kept")).notice
    await world.send("good", "still served")
    await world.until_phase("good", "ready")
    # Neither would get further, and neither is said to be done.
    for call in ("RestartSession", "ResetSession"):
        fault = await refused(world.admin_call(call, "bad"))
        assert isinstance(fault, SessionUnreadableError)
        assert "sessions delete" in fault.fix
    assert (await world.until_phase("bad", "quarantined")).quarantined
    assert "cannot be read" in (await world.send("bad", "kept too")).notice
    await world.admin_call("DeleteSession", "bad")
    assert (await world.ensure("bad")).created


@pytest.mark.requirement("supervisor.unreadable-session")
async def test_with_an_unreadable_snapshot_the_journal_is_replayed_from_its_first_event(
    world: InProcess,
) -> None:
    async with world.attached((await world.ensure("bad")).session_id) as watcher:
        await world.send("bad", "first")
        await watcher.until("turn_completed")
        await world.admin_call("StopSession", "bad")
        stored = world.data.sessions[BAD]
        assert stored.snapshot is not None
        stored.snapshot = StoredSnapshot(
            seq=stored.snapshot.seq, codec=STATE_CODEC, payload=b'{"head": "no"}'
        )
        assert len((await history(world, "bad")).items) == 2
        world.spawner.scripts = [crash_if_unreadable]
        await world.send("bad", "second")
        seen = await watcher.until("turn_completed", 2)
    assert [output.text for output in seen if output.type == "text"] == ["first", "second"]
    assert len((await history(world, "bad")).items) == 4
    assert (await world.events("bad")).count("CrashRecorded") == 1


@pytest.mark.requirement("supervisor.restart")
async def test_a_death_that_could_not_be_recorded_at_first_counts_once(world: InProcess) -> None:
    async def crash_on_full_disk(peer: Peer) -> int:
        await peer.connect()
        await peer.phase("ready")
        await peer.start_turn()
        world.store.failure = StorageFullError("full")
        return -11

    world.spawner.scripts = [crash_on_full_disk]
    await world.ensure("hello")
    async with world.attached("hello") as watcher:
        await world.send("hello", "x")
        await world.until(lambda: world.supervisor.services.health.state == "storage_full")
        world.store.failure = None
        await watcher.until("notice")
    stored = world.data.sessions[SessionId("hello")]
    assert len(stored.crash_times) == 1
    assert [row.type for row in stored.rows].count("CrashRecorded") == 1
