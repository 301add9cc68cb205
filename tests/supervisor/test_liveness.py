"""Processes that hang or linger, and the tools that dead ones leave behind."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Iterator

import pytest

from netclaw.core.settings import LivenessSettings
from netclaw.supervisor.tool_trees import ToolTrees, start_ticks_of
from netclaw.wire.v1 import session_host_pb2 as pb
from tests.supervisor.peers import Peer, stay_ready
from tests.supervisor.world import InProcess, played


@pytest.mark.requirement("supervisor.liveness")
async def test_a_silent_process_is_dumped_killed_replaced_and_told_about() -> None:
    async def freeze(peer: Peer) -> int:
        await peer.connect()
        await peer.phase("ready")
        await asyncio.Event().wait()
        return 0

    limits = LivenessSettings(ping_interval_s=0.05, liveness_s=1.5)
    async with InProcess(limits=limits) as world:
        world.spawner.scripts = [freeze]
        await world.ensure("hello")
        async with world.attached("hello") as watcher:
            await world.send("hello", "anybody?")
            seen = await watcher.until("turn_completed")
        assert world.spawner.processes[0].has_dumped_stacks
        assert not world.spawner.processes[0].is_alive
        notices = [output for output in seen if output.type == "notice"]
        assert [notice.outcome for notice in notices] == ["recovering"]
        assert "CrashRecorded" in await world.events("hello")


@pytest.mark.requirement("supervisor.liveness")
async def test_a_process_that_answers_pings_stays_alive() -> None:
    limits = LivenessSettings(ping_interval_s=0.03, liveness_s=1.5)
    async with InProcess(script=stay_ready, limits=limits) as world:
        await world.send("hello", "hi")
        await world.until_phase("hello", "ready")
        live = world.supervisor.router.live_sessions()[0]
        begin = live.heard_at
        await world.until(lambda: live.heard_at - begin > 2.0)
        assert world.spawner.processes[0].is_alive
        assert len(world.spawner.processes) == 1


@pytest.mark.requirement("supervisor.liveness")
async def test_a_process_is_not_idle_while_a_wish_or_a_tool_waits_for_it() -> None:
    async def play(peer: Peer) -> None:
        await peer.connect()
        await peer.phase("ready")
        await world.until_phase("hello", "ready")
        live = world.supervisor.router.live_sessions()[0]

        async def say_something() -> None:
            await peer.send(pb.ToHost(pong=pb.Pong(number=1)))
            await world.until(lambda: live.is_idle)

        await say_something()
        live.command(pb.HostCommand(kind="stop_turn", actor="test"))
        assert not live.is_idle
        await say_something()
        live.set_interest(1)
        assert not live.is_idle
        await say_something()
        await peer.send(pb.ToHost(tool_tree=pb.ToolTree(call_id="c1", pid=2**22 - 1, opened=True)))
        await peer.expect("tool_tree_ack")
        assert not live.is_idle

    async with InProcess() as world:
        await played(world, play)


@pytest.mark.requirement("supervisor.liveness")
async def test_a_process_that_outlives_its_stream_is_killed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("netclaw.supervisor.liveness.EXIT_LIMIT_S", 0.1)

    async def linger(peer: Peer) -> int:
        await peer.connect()
        await peer.phase("ready")
        await peer.close()
        await asyncio.Event().wait()
        return 0

    async with InProcess(limits=LivenessSettings(ping_interval_s=0.05)) as world:
        world.spawner.scripts = [linger]
        await world.send("hello", "hi")
        await world.until(lambda: len(world.spawner.processes) == 2)
        assert await world.spawner.processes[0].wait() == -9


@pytest.fixture
def tool() -> Iterator[subprocess.Popen[bytes]]:
    """A process that stands for a tool's tree."""
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"]) as process:
        yield process
        process.kill()


@pytest.mark.requirement("supervisor.tool-trees")
async def test_tools_of_a_dead_session_are_killed_before_its_next_process(
    world: InProcess, tool: subprocess.Popen[bytes]
) -> None:
    async def play(peer: Peer) -> None:
        await peer.connect()
        ticks = start_ticks_of(tool.pid)
        assert ticks is not None
        tree = pb.ToolTree(call_id="c1", pid=tool.pid, opened=True, start_ticks=ticks)
        await peer.send(pb.ToHost(tool_tree=tree))
        frame = await peer.expect("tool_tree_ack")
        assert frame.tool_tree_ack.call_id == "c1"
        peer.process.kill()

    await played(world, play)
    await world.until(lambda: len(world.spawner.processes) == 2)
    assert start_ticks_of(tool.pid) is None


@pytest.mark.requirement("supervisor.tool-trees")
async def test_a_reused_pid_is_not_mistaken_for_a_tool(tool: subprocess.Popen[bytes]) -> None:
    ticks = start_ticks_of(tool.pid)
    assert ticks is not None
    trees = ToolTrees()
    assert not trees.opened(tool.pid, ticks + 1)
    assert not trees.opened(2**22 - 1, 5)
    assert await trees.kill_all(1)
    assert start_ticks_of(tool.pid) == ticks
    assert trees.opened(tool.pid, ticks)
    trees.closed(tool.pid)
    assert await trees.kill_all(5)
    assert not trees.opened(tool.pid, ticks)
