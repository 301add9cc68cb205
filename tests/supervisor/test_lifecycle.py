"""Stopping, restarting, reloading and starting again."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import grpc
import grpc.aio
import pytest

from netclaw.config.load import load_config
from netclaw.config.loaded import LoadedConfig
from netclaw.core.errors import InvalidArgumentError, NoModelError
from netclaw.core.exit_codes import ExitCode
from netclaw.core.session.outputs import NoticeOutput
from netclaw.core.settings import DaemonSettings
from netclaw.supervisor.daemon import Wish
from netclaw.supervisor.manifest import MANIFEST
from netclaw.supervisor.server import Servers
from netclaw.supervisor.session_host import SessionHost
from netclaw.supervisor.tasks import Tasks
from netclaw.wire.v1 import admin_pb2
from tests.supervisor.peers import Peer
from tests.supervisor.test_gateway import refused
from tests.supervisor.world import InProcess


async def busy(peer: Peer) -> int:
    """A turn that stops at its safe point when a drain asks, and is told to the person."""
    await peer.connect()
    await peer.phase("ready")
    if peer.state.turn is None:
        await peer.start_turn()
    await peer.phase("processing")
    frame = await peer.expect("command")
    assert frame.command.kind == "drain"
    await peer.emit(NoticeOutput(sentence="netclaw is stopping.", kind="stopping"))
    await peer.passivate()
    return int(ExitCode.PASSIVATED)


@pytest.mark.requirement("supervisor.drain")
async def test_a_stop_lets_sessions_reach_their_safe_point_and_ends_every_process(
    world: InProcess,
) -> None:
    world.spawner.scripts = [busy]
    await world.ensure("hello")
    async with world.attached("hello") as watcher:
        await world.send("hello", "x")
        await world.until_phase("hello", "processing")
        stopping = asyncio.create_task(world.stop())
        seen = await watcher.until_end()
        assert await stopping is Wish.STOP
    assert [o.outcome for o in seen if o.type == "notice"] == ["stopping"]
    assert not any(process.is_alive for process in world.spawner.processes)
    assert not world.home.socket.exists()
    assert not world.home.operator_token.exists()


@pytest.mark.requirement("supervisor.drain")
async def test_messages_sent_during_a_drain_are_kept_told_about_and_run_afterwards(
    world: InProcess,
) -> None:
    release = asyncio.Event()

    async def slow_to_drain(peer: Peer) -> int:
        await peer.connect()
        await peer.phase("ready")
        await peer.expect("command")
        await release.wait()
        return int(ExitCode.PASSIVATED)

    world.spawner.scripts = [slow_to_drain]
    await world.send("hello", "first")
    await world.until_phase("hello", "ready")
    world.supervisor.wish(Wish.STOP)
    await world.until(lambda: world.supervisor.state == "draining")
    status = await world.admin.Status(admin_pb2.StatusRequest(), metadata=world.metadata)
    assert status.state == "draining"
    late = await world.send("other", "during the drain")
    assert "stopping" in late.notice
    release.set()
    await world.ended()
    await world.start()
    await world.until_phase("other", "ready")
    assert "TurnRecorded" in await world.events("other")
    assert "TurnRecorded" in await world.events("hello")


@pytest.mark.requirement("signals.tail")
async def test_who_follows_the_log_is_told_of_changes_until_the_drain_is_over(
    world: InProcess,
) -> None:
    release = asyncio.Event()

    async def slow_to_drain(peer: Peer) -> int:
        await peer.connect()
        await peer.phase("ready")
        await peer.expect("command")
        await release.wait()
        return int(ExitCode.PASSIVATED)

    world.spawner.scripts = [slow_to_drain]
    await world.send("hello", "first")
    await world.until_phase("hello", "ready")
    request = admin_pb2.TailSignalsRequest(since=0)
    early = world.admin.TailSignals(request, metadata=world.metadata)
    await early.initial_metadata()
    world.supervisor.wish(Wish.STOP)
    await world.until(lambda: world.supervisor.state == "draining")
    goal = admin_pb2.SetGoalRequest(session_id="hello", text="Ship it")
    await world.admin.SetGoal(goal, metadata=world.metadata)
    late = world.admin.TailSignals(request, metadata=world.metadata)
    for tail in (early, late):
        batch = await tail.read()
        assert isinstance(batch, admin_pb2.SignalsTail)
        assert [event.summary for event in batch.events] == ["goal created"]
    release.set()
    for tail in (early, late):
        assert await tail.read() is grpc.aio.EOF
    await world.ended()


@pytest.mark.requirement("supervisor.drain")
async def test_a_session_that_does_not_drain_is_killed_at_the_end_of_its_budget() -> None:
    async def stubborn(peer: Peer) -> int:
        await peer.connect()
        await peer.phase("ready")
        while await peer.read() is not None:
            pass
        await asyncio.Event().wait()
        return 0

    daemon = DaemonSettings(drain_s=0.1, shutdown_s=20)
    async with InProcess(script=stubborn, daemon=daemon) as world:
        await world.send("hello", "x")
        await world.until_phase("hello", "ready")
        await world.stop()
        assert await world.spawner.processes[0].wait() == -9
        await world.start()
        assert "CrashRecorded" not in await world.events("hello")


@pytest.mark.requirement("supervisor.drain")
async def test_a_second_request_to_stop_is_in_a_hurry() -> None:
    async def stubborn(peer: Peer) -> int:
        await peer.connect()
        await peer.phase("ready")
        await asyncio.Event().wait()
        return 0

    async with InProcess(script=stubborn, daemon=DaemonSettings(drain_s=60)) as world:
        await world.send("hello", "x")
        await world.until_phase("hello", "ready")
        world.supervisor.wish(Wish.STOP)
        await world.until(lambda: world.supervisor.state == "draining")
        await world.stop()


@pytest.mark.requirement("supervisor.stop-outranks")
@pytest.mark.parametrize("is_early", [True, False], ids=["queued", "draining"])
async def test_a_stop_outranks_a_restart_that_is_under_way(*, is_early: bool) -> None:
    async def stubborn(peer: Peer) -> int:
        await peer.connect()
        await peer.phase("ready")
        await asyncio.Event().wait()
        return 0

    async with InProcess(script=stubborn, daemon=DaemonSettings(drain_s=60)) as world:
        await world.send("hello", "x")
        await world.until_phase("hello", "ready")
        world.supervisor.wish(Wish.RESTART)
        if not is_early:
            await world.until(lambda: world.supervisor.state == "draining")
        world.supervisor.wish(Wish.STOP)
        await world.until(lambda: world.supervisor.state == "draining")
        late = await world.send("other", "during the drain")
        assert "stopping" in late.notice
        assert world.spawner.processes[0].is_alive, "the first stop is no second one"
        assert await world.stop() is Wish.STOP


@pytest.mark.requirement("supervisor.warm-up")
async def test_sessions_at_work_before_a_stop_are_warm_when_traffic_resumes(
    world: InProcess,
) -> None:
    world.spawner.scripts = [busy]
    await world.send("busy", "x")
    await world.until_phase("busy", "processing")
    await world.send("idle", "x")
    await world.until_phase("idle", "ready")
    await world.stop(Wish.RESTART)
    assert (world.home.run_dir / MANIFEST).exists()
    await world.start()
    row = await world.row("busy")
    assert row.pid
    assert row.phase in ("ready", "processing")
    assert (await world.row("idle")).phase == "passive"
    assert not (world.home.run_dir / MANIFEST).exists()


async def reload(world: InProcess) -> admin_pb2.ReloadResponse:
    """Ask for a reload."""
    answer: admin_pb2.ReloadResponse = await world.admin.Reload(
        admin_pb2.ReloadRequest(), metadata=world.metadata
    )
    return answer


@pytest.mark.requirement("supervisor.reload")
async def test_an_equal_configuration_does_nothing_and_an_invalid_one_changes_nothing(
    world: InProcess,
) -> None:
    answer = await reload(world)
    assert not answer.changed
    before = world.supervisor.services.settings.current

    def broken() -> LoadedConfig:
        raise InvalidArgumentError("netclaw.json is not JSON.")

    world.next_config = broken
    assert isinstance(await refused(reload(world)), InvalidArgumentError)
    world.supervisor.wish(Wish.RELOAD)
    await world.until(lambda: world.supervisor._wishes.empty())
    assert world.supervisor.services.settings.current is before
    assert world.supervisor.state == "running"


@pytest.mark.requirement("supervisor.reload")
async def test_live_sections_change_in_place_and_others_restart(world: InProcess) -> None:
    quiet = load_config(world.home, {"NETCLAW_Logging__LogLevel__Default": "Error"})
    world.next_config = lambda: replace(world.config, model=quiet.model)
    answer = await reload(world)
    assert (answer.changed, answer.restarting) == (True, False)
    other = load_config(world.home, {"NETCLAW_Session__PrefillTimeoutSeconds": "77"})
    world.next_config = lambda: other
    answer = await reload(world)
    assert (answer.changed, answer.restarting) == (True, True)
    assert await world.ended() is Wish.RESTART


@pytest.mark.requirement("restart.edit-at-start")
async def test_an_edit_between_reading_and_watching_is_not_missed() -> None:
    world = InProcess()
    world.home.config_dir.mkdir(parents=True)
    world.home.config_file.write_text('{"Session": {"NoProgressTimeoutSeconds": 77}}')
    edited = load_config(world.home, {})
    world.next_config = lambda: edited
    async with world:
        assert await world.ended() is Wish.RESTART


@pytest.mark.requirement("restart.edit-at-start")
async def test_files_that_are_as_they_were_read_are_not_read_again(world: InProcess) -> None:
    reads = 0

    def read() -> LoadedConfig:
        nonlocal reads
        reads += 1
        return world.config

    world.next_config = read
    await world.send("hello", "x")
    await world.until_phase("hello", "ready")
    assert reads == 0


async def test_without_a_model_the_daemon_runs_degraded_and_says_why(world: InProcess) -> None:
    status = await world.admin.Status(admin_pb2.StatusRequest(), metadata=world.metadata)
    assert status.degraded_reason == world.config.degraded_reason
    assert "model" in status.degraded_reason
    assert status.main_model == ""
    assert NoModelError.code.value == "no_model"


@pytest.mark.requirement("supervisor.no-silent-task")
async def test_a_vital_task_that_fails_ends_the_daemon(
    world: InProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("the watch is broken")

    monkeypatch.setattr(world.supervisor._liveness, "_sessions", broken)
    assert await world.ended() is Wish.FATAL


@pytest.mark.requirement("supervisor.no-silent-task")
async def test_a_store_that_ends_by_itself_ends_the_daemon(world: InProcess) -> None:
    world.store.fail()
    assert await world.ended() is Wish.FATAL


async def test_a_home_too_deep_for_a_socket_is_said(tmp_path: Path) -> None:
    servers = Servers(tmp_path / ("d" * 108), tmp_path / ("h" * 108))
    with pytest.raises(InvalidArgumentError):
        await servers.serve_host(SessionHost(Tasks()))


async def test_after_the_stop_the_socket_refuses(world: InProcess) -> None:
    await world.ensure("hello")
    await world.stop()
    channel = grpc.aio.insecure_channel(f"unix:{world.home.socket}")
    call: grpc.aio.UnaryUnaryMultiCallable[bytes, bytes] = channel.unary_unary("/x/y")
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await call(b"")
    assert caught.value.code() is grpc.StatusCode.UNAVAILABLE
    await channel.close()
