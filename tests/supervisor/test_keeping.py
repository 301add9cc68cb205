"""When sessions start, and what follows from each way to end."""

from __future__ import annotations

import asyncio

import pytest

from netclaw.core.errors import InternalError, StorageFullError
from netclaw.core.exit_codes import ExitCode
from netclaw.core.ids import SessionId
from netclaw.core.session import events as ev
from netclaw.core.settings import SupervisionSettings
from netclaw.wire.v1 import gateway_pb2
from netclaw.wire.v1.common_pb2 import DeliveryTarget, Sender
from tests.supervisor.peers import Peer, echo, stay_ready
from tests.supervisor.test_gateway import refused
from tests.supervisor.world import InProcess


async def crash_in_turn(peer: Peer) -> int:
    """Begin the turn (or find it open) and die."""
    await peer.connect()
    await peer.phase("ready")
    while not peer.state.buffered and peer.state.turn is None:
        await peer.read()
    if peer.state.turn is None:
        await peer.start_turn()
    return -11


async def crash_idle(peer: Peer) -> int:
    """Die without a turn."""
    await peer.connect()
    return int(ExitCode.INTERNAL)


@pytest.mark.requirement("supervisor.restart")
async def test_a_crashed_session_is_started_again_with_what_is_not_consumed(
    world: InProcess,
) -> None:
    async def crash_before_turn(peer: Peer) -> int:
        await peer.connect()
        await peer.phase("ready")
        return -9

    world.spawner.scripts = [crash_before_turn, crash_before_turn]
    await world.ensure("hello")
    async with world.attached("hello") as watcher:
        await world.send("hello", "first")
        await world.send("hello", "second")
        seen = await watcher.until("turn_completed")
    answers = [output.text for output in seen if output.type == "text"]
    assert "first" in answers[0]
    assert [o.outcome for o in seen if o.type == "notice"] == ["recovering", "recovering"]
    types = await world.events("hello")
    assert types.count("CrashRecorded") == 2
    assert (await world.row("hello")).incarnation == 3


@pytest.mark.requirement("supervisor.restart")
async def test_a_crash_without_work_stays_passive_until_something_arrives(
    world: InProcess,
) -> None:
    async def answer_then_crash(peer: Peer) -> int:
        await peer.connect()
        await peer.phase("ready")
        await peer.finish_turn(await peer.start_turn(), "fine")
        return int(ExitCode.MEMORY)

    world.spawner.scripts = [answer_then_crash]
    await world.send("hello", "x")
    await world.until_phase("hello", "passive")
    assert len(world.spawner.processes) == 1
    assert (await world.events("hello"))[-1] == "CrashRecorded"
    await world.send("hello", "y")
    await world.until_phase("hello", "ready")


@pytest.mark.requirement("supervisor.restart")
async def test_the_backoff_grows_and_is_shown() -> None:
    supervision = SupervisionSettings(backoff_s=(0.0, 60.0))
    async with InProcess(script=crash_in_turn, supervision=supervision) as world:
        await world.send("hello", "x")
        await world.until_phase("hello", "backoff")
        assert len(world.spawner.processes) == 2
        world.spawner.default = echo
        row = await world.admin_call("RestartSession", "hello")
        assert row.phase in ("ready", "processing")


@pytest.mark.requirement("supervisor.poison")
async def test_a_turn_that_crashes_three_times_fails_and_frees_the_session(
    world: InProcess,
) -> None:
    world.spawner.scripts = [crash_in_turn] * 3
    await world.ensure("hello")
    async with world.attached("hello") as watcher:
        poison = await world.send("hello", "poison")
        seen = await watcher.until("turn_completed")
        errors = [output for output in seen if output.type == "error"]
        assert [(e.category, list(e.input_ids)) for e in errors] == [
            ("Internal", [poison.input_id])
        ]
        assert errors[0].seq == seen[-1].seq > 0
        assert errors[0].reference
        await world.send("hello", "honey")
        seen = await watcher.until("turn_completed", 2)
    assert [output.text for output in seen if output.type == "text"] == ["honey"]
    types = await world.events("hello")
    assert types.count("CrashRecorded") == 3
    assert types.count("TurnFailed") == 1


@pytest.mark.requirement("supervisor.poison")
async def test_a_channel_is_told_of_a_turn_that_was_given_up(world: InProcess) -> None:
    world.spawner.scripts = [crash_in_turn] * 3
    message = gateway_pb2.SendUserMessageRequest(
        session_id="C1/17.1",
        text="poison",
        sender=Sender(source_kind="slack", sender_id="U1", principal="trusted"),
        delivery_targets=[DeliveryTarget(channel="slack", address="C1/17.1")],
    )
    await world.admin.Inject(message, metadata=world.metadata)
    claim = gateway_pb2.ClaimOutboxRequest(channel="slack", adapter_start="a1")
    items: list[gateway_pb2.OutboxItem] = []

    async def has_come() -> bool:
        answer = await world.gateway.ClaimOutbox(claim, metadata=world.metadata)
        items.extend(answer.items)
        return bool(items)

    await world.until(has_come)
    assert [(item.session_id, item.address) for item in items] == [("C1/17.1", "C1/17.1")]
    assert "crash" in items[0].text
    confirm = gateway_pb2.ConfirmOutboxRequest(
        row_id=items[0].row_id, adapter_start="a1", external_id="ts1"
    )
    await world.gateway.ConfirmOutbox(confirm, metadata=world.metadata)
    answer = await world.gateway.ClaimOutbox(claim, metadata=world.metadata)
    assert list(answer.items) == []


@pytest.mark.requirement("supervisor.quarantine")
async def test_a_crash_loop_quarantines_one_session_until_it_is_restarted() -> None:
    supervision = SupervisionSettings(backoff_s=(0.0,), turn_crash_limit=100, quarantine_crashes=4)
    async with InProcess(supervision=supervision) as world:
        world.spawner.scripts = [crash_in_turn] * 4
        await world.ensure("bad")
        async with world.attached("bad") as watcher:
            await world.send("bad", "x")
            seen = await watcher.until("notice", 4)
        assert [o.outcome for o in seen if o.type == "notice"][-1] == "quarantined"
        row = await world.until_phase("bad", "quarantined")
        assert row.quarantined
        kept = await world.send("bad", "kept")
        assert "quarantined" in kept.notice
        assert kept.seq
        await world.send("good", "fine")
        await world.until_phase("good", "ready")
        assert len(world.spawner.processes) == 5
        await world.stop()
        await world.start()
        assert (await world.row("bad")).phase == "quarantined"
        assert "quarantined" in (await world.send("bad", "also kept")).notice
        assert len(world.spawner.processes) == 5
        row = await world.admin_call("RestartSession", "bad")
        assert not row.quarantined
        await world.until_phase("bad", "ready")
        assert (await world.send("bad", "now")).notice == ""


@pytest.mark.requirement("supervisor.operator-kill")
async def test_a_kill_by_the_operator_is_no_crash_and_work_comes_back(world: InProcess) -> None:
    async def hold_turn(peer: Peer) -> int:
        await peer.connect()
        await peer.phase("ready")
        if peer.state.turn is None:
            await peer.start_turn()
        await peer.phase("processing")
        await asyncio.Event().wait()
        return 0

    world.spawner.scripts = [hold_turn] * 4
    await world.send("hello", "x")
    for number in range(4):
        await world.until_phase("hello", "processing")
        victim = world.spawner.processes[number]
        killed = await world.admin_call("KillSession", "hello")
        assert not victim.is_alive
        assert killed.pid != victim.pid
    await world.until(lambda: len(world.spawner.processes) == 5)
    assert "CrashRecorded" not in await world.events("hello")


@pytest.mark.requirement("supervisor.held-starts")
async def test_a_start_that_killed_the_daemon_twice_is_held_until_restarted() -> None:
    async def never_ready(peer: Peer) -> int:
        await peer.connect()
        await asyncio.Event().wait()
        return 0

    async with InProcess(script=never_ready) as world:
        await world.send("deadly", "x")
        for _ in range(2):
            await world.until(lambda: bool(world.spawner.peers[-1].welcome.session_id))
            await _die(world)
            await world.start()
        assert (await world.row("deadly")).phase == "quarantined"
        count = len(world.spawner.processes)
        assert "held" in (await world.send("deadly", "more")).notice
        assert len(world.spawner.processes) == count
        world.spawner.default = echo
        await world.admin_call("RestartSession", "deadly")
        await world.until_phase("deadly", "ready")


async def _die(world: InProcess) -> None:
    """Leave everything as a killed supervisor does: nothing drained, nothing written."""
    assert world.serving is not None
    world.serving.cancel()
    await asyncio.gather(world.serving, return_exceptions=True)
    supervisor = world.supervisor
    await supervisor._tasks.cancel_all()
    for process in world.spawner.processes:
        process.kill()
    await supervisor._servers.stop_public(0)
    await supervisor._servers.stop_host()
    await world.channel.close()
    world.guard.lock.close()


@pytest.mark.requirement("supervisor.storage-wait")
async def test_while_the_disk_is_full_admissions_fail_and_starts_wait(world: InProcess) -> None:
    await world.ensure("hello")
    world.store.failure = StorageFullError("The disk is full.")
    request = gateway_pb2.SendUserMessageRequest(session_id="hello", text="x")
    error = await refused(world.gateway.SendUserMessage(request, metadata=world.metadata))
    assert isinstance(error, StorageFullError)
    world.store.failure = None
    await world.send("hello", "y")
    await world.until_phase("hello", "ready")


@pytest.mark.requirement("supervisor.storage-wait")
async def test_a_session_that_ended_for_storage_starts_once_writes_work(
    world: InProcess,
) -> None:
    async def meets_full_disk(peer: Peer) -> int:
        await peer.connect()
        await peer.phase("ready")
        world.store.failure = StorageFullError("The disk is full.")
        await peer.append(ev.TitleSet(title="t", actor="model"))
        await peer.expect("append_failed")
        return int(ExitCode.STORAGE)

    world.spawner.scripts = [meets_full_disk]
    await world.ensure("hello")
    async with world.attached("hello") as watcher:
        await world.send("hello", "x")
        await world.until(lambda: world.supervisor.services.health.state == "storage_full")
        assert len(world.spawner.processes) == 1
        world.store.failure = None
        seen = await watcher.until("turn_completed")
    assert [output.text for output in seen if output.type == "text"] == ["x"]
    assert "CrashRecorded" not in await world.events("hello")


@pytest.mark.requirement("supervisor.passivated")
async def test_a_session_that_answered_everything_and_left_stays_passive(
    world: InProcess,
) -> None:
    async def answer_three_and_leave(peer: Peer) -> int:
        await peer.connect()
        await peer.phase("ready")
        for number in range(3):
            while not peer.state.buffered:
                await peer.read()
            await peer.finish_turn(await peer.start_turn(), f"answer {number}")
        await peer.passivate()
        return int(ExitCode.PASSIVATED)

    world.spawner.scripts = [answer_three_and_leave]
    await world.ensure("hello")
    async with world.attached("hello") as watcher:
        for number in range(3):
            await world.send("hello", "x")
            await watcher.until("turn_completed", number + 1)
    await world.until_phase("hello", "passive")
    slot = world.supervisor.router.find(SessionId("hello"))
    await world.until(lambda: slot is None or slot.keeper is None)
    assert len(world.spawner.processes) == 1


@pytest.mark.requirement("supervisor.passivated")
async def test_after_passivated_nothing_is_sent_and_a_racing_input_starts_the_next(
    world: InProcess,
) -> None:
    after: list[str | None] = []

    async def leave(peer: Peer) -> int:
        await peer.connect()
        await peer.phase("ready")
        await peer.finish_turn(await peer.start_turn(), "first")
        await peer.passivate()
        await world.send("hello", "racing")
        peer_read = asyncio.ensure_future(peer.read())
        done, _ = await asyncio.wait({peer_read}, timeout=0.3)
        after.extend(
            frame.WhichOneof("body") for task in done if (frame := task.result()) is not None
        )
        peer_read.cancel()
        return int(ExitCode.PASSIVATED)

    world.spawner.scripts = [leave]
    await world.ensure("hello")
    async with world.attached("hello") as watcher:
        await world.send("hello", "go")
        seen = await watcher.until("turn_completed", 2)
    assert [output.text for output in seen if output.type == "text"] == ["first", "racing"]
    assert after == []
    assert "CrashRecorded" not in await world.events("hello")


async def test_a_start_that_fails_is_tried_again(world: InProcess) -> None:
    world.spawner.failures = [InternalError("no process today"), ValueError("a fault of ours")]
    await world.ensure("hello")
    async with world.attached("hello") as watcher:
        await world.send("hello", "x")
        seen = await watcher.until("turn_completed")
    assert [output.text for output in seen if output.type == "text"] == ["x"]
    assert "CrashRecorded" not in await world.events("hello")


async def test_ends_nobody_asked_for_are_no_crash_but_slow_down() -> None:
    async def vanish(peer: Peer) -> int:
        await peer.connect()
        await peer.phase("ready")
        return int(ExitCode.STREAM_LOST)

    async with InProcess(script=vanish) as world:
        await world.send("hello", "x")
        await world.until_phase("hello", "backoff")
        assert "CrashRecorded" not in await world.events("hello")


@pytest.mark.requirement("supervisor.restart")
async def test_at_boot_whatever_has_work_starts_and_nothing_else(world: InProcess) -> None:
    await world.send("idle", "x")
    await world.until_phase("idle", "ready")
    world.spawner.default = stay_ready
    await world.send("waiting", "y")
    await world.until_phase("waiting", "ready")
    await _die(world)
    world.spawner.default = echo
    count = len(world.spawner.processes)
    await world.start()
    await world.until_phase("waiting", "ready")
    assert (await world.row("idle")).phase == "passive"
    assert len(world.spawner.processes) == count + 1
