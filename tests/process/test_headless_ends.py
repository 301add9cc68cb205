"""`chat -p` against a real daemon: every way its turn can end, and what a script makes of it."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from asyncio.subprocess import Process

import pytest

from netclaw.wire.v1 import gateway_pb2
from tests.process.test_command_line import begin, cli, finish
from tests.process.test_loop_guard import STUBBORN
from tests.process.world import World

pytestmark = pytest.mark.timeout(120)

CHAT = ("chat", "-p")


async def ask(world: World, text: str, *flags: str) -> Process:
    """Begin a headless chat in the session `n` with a JSON result."""
    return await begin(world, *CHAT, text, "--resume", "n", "--json", *flags)


async def said(process: Process, text: str) -> None:
    """Wait until the command has written this on standard error."""
    assert process.stderr is not None
    async with asyncio.timeout(30):
        line = b""
        while text.encode() not in line:
            line = await process.stderr.readline()
            assert line, f"ended before {text!r}"


@pytest.mark.requirement("operator.headless-exit")
async def test_a_turn_that_the_guard_ended_is_an_answer(world: World) -> None:
    rounds = [f"[[reply:Attempt {number}.]] {STUBBORN} [[next]]" for number in range(1, 12)]
    result = await finish(await ask(world, " ".join(rounds)))
    assert (result.code, result.json["outcome"]) == (0, "guard-ended")
    assert result.json["response"] == "Attempt 8."


@pytest.mark.requirement("operator.headless-exit")
async def test_a_turn_that_somebody_else_stopped_is_a_failure(world: World) -> None:
    chat = await ask(world, "[[gate:held]] [[reply:late]]")
    await world.at_gate("held")
    await world.peer.gateway.StopTurn(
        gateway_pb2.StopTurnRequest(session_id="n"), metadata=world.peer.metadata
    )
    result = await finish(chat)
    assert (result.code, result.json["outcome"]) == (1, "stopped")
    assert result.json["error"]["code"] == "interrupted"


@pytest.mark.requirement("operator.headless-ctrl-c")
async def test_ctrl_c_stops_the_turn_and_waits_for_its_end(world: World) -> None:
    chat = await ask(world, "[[gate:held]] [[reply:late]]")
    await world.at_gate("held")
    chat.send_signal(signal.SIGINT)
    await said(chat, "[stopping]")
    result = await finish(chat)
    assert (result.code, result.json["outcome"]) == (130, "stopped")
    (entry,) = (await cli(world, "ledger", "n", "--json")).json
    assert entry["outcome"] == "stopped"


@pytest.mark.requirement("operator.headless-ctrl-c")
async def test_ctrl_c_twice_leaves_while_a_tool_still_runs(world: World) -> None:
    wait = json.dumps({"command": "echo begun; until [ -e go ]; do sleep 0.05; done"})
    chat = await ask(world, f"[[tool:shell_execute {wait}]] [[reply:after all]]")
    detail = await begun(world)
    chat.send_signal(signal.SIGINT)
    await said(chat, "[stopping]")
    chat.send_signal(signal.SIGINT)
    assert (await finish(chat)).code == 130
    workspace = f"{detail.storage_root}/workspace"
    await asyncio.to_thread(_touch, f"{workspace}/go")
    async with asyncio.timeout(30):
        while (await cli(world, "ledger", "n", "--json")).json[0]["outcome"] == "running":
            await asyncio.sleep(0.05)


def _touch(path: str) -> None:
    os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o600))


async def begun(world: World) -> gateway_pb2.SessionDetail:
    """The session, once its tool was launched."""
    async with asyncio.timeout(30):
        while True:
            rows = (await cli(world, "sessions", "--json")).json
            if rows and any(
                row["type"] == "ToolBatchStarted" for row in await world.peer.journal("n")
            ):
                return await world.peer.detail("n")
            await asyncio.sleep(0.05)


@pytest.mark.requirement("operator.headless-ctrl-c")
async def test_ctrl_c_behind_somebody_elses_turn_stops_nobody(world: World) -> None:
    words = ("--source", "cli", "--sender", "other", "--principal", "trusted")
    await cli(world, "sessions", "inject", "n", "[[gate:held]] [[reply:theirs]]", *words)
    await world.at_gate("held")
    chat = await ask(world, "[[reply:mine]]")
    async with asyncio.timeout(30):
        while len(await world.peer.ledger("n")) < 2:
            await asyncio.sleep(0.02)
    chat.send_signal(signal.SIGINT)
    assert (await finish(chat)).code == 130
    world.open_gate("held")
    async with asyncio.timeout(30):
        while any(entry.outcome != "completed" for entry in await world.peer.ledger("n")):
            await asyncio.sleep(0.02)


@pytest.mark.requirement("operator.headless-exit")
async def test_a_restart_in_the_middle_is_survived(world: World) -> None:
    chat = await ask(world, "[[gate:held]] [[reply:after all]]")
    await world.at_gate("held")
    restart = await begin(world, "daemon", "restart", "--json")
    world.open_gate("held")
    assert (await finish(restart)).code == 0
    result = await finish(chat)
    assert result.code == 0, result
    assert result.json["response"] == "after all"


@pytest.mark.requirement("operator.headless-exit")
async def test_a_restart_after_words_were_shown_ends_the_turn_and_says_why(brief: World) -> None:
    world = brief
    chat = await begin(world, *CHAT, "[[tokens:4]] [[gate_after:2:held]]", "--resume", "n")
    assert chat.stdout is not None
    await world.at_gate("held")
    assert await chat.stdout.read(2) == b"t0"
    await cli(world, "daemon", "restart")
    result = await finish(chat)
    assert result.code == 1, result
    assert "restarting" in result.err


@pytest.mark.requirement("operator.headless-notice")
async def test_a_quarantine_ends_the_wait() -> None:
    config = {"Supervision": {"TurnCrashLimit": 1000, "QuarantineCrashes": 1}}
    async with World(config=config) as world:
        await world.start()
        chat = await ask(world, "[[gate:held]] [[reply:late]]")
        await world.at_gate("held")
        os.kill((await world.peer.detail("n")).row.pid, signal.SIGKILL)
        result = await finish(chat)
        assert (result.code, result.json["error"]["code"]) == (1, "quarantined"), result
        assert "netclaw sessions restart n" in result.json["error"]["fix"]
