"""The command line against the real daemon: the same words as with a scripted one."""

from __future__ import annotations

import asyncio
import json
import signal
import sys
from asyncio.subprocess import PIPE, Process
from dataclasses import dataclass
from typing import Any

import pytest

from tests.process.small_disk import fill, small_disk
from tests.process.world import World

pytestmark = pytest.mark.timeout(90)


@dataclass(frozen=True)
class Result:
    """What a command left."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The one JSON value on standard output."""
        return json.loads(self.out)


HASTY = (sys.executable, "-m", "tests.process.hasty")
"""Started in place of `netclaw` where what follows a wait is looked at, and not the wait."""


async def begin(
    world: World, *words: str, program: tuple[str, ...] = (), **environment: str
) -> Process:
    """Start a command."""
    return await asyncio.create_subprocess_exec(
        *(program or (str(world.cli),)),
        *words,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=PIPE,
        stderr=PIPE,
        env={**world.environment(), **environment},
    )


async def finish(process: Process) -> Result:
    """Wait for a command."""
    async with asyncio.timeout(60):
        out, err = await process.communicate()
    assert process.returncode is not None
    return Result(process.returncode, out.decode(), err.decode())


async def cli(world: World, *words: str, code: int = 0, program: tuple[str, ...] = ()) -> Result:
    """Run a command that must end with an exit code."""
    result = await finish(await begin(world, *words, program=program))
    assert result.code == code, result
    return result


@pytest.mark.requirement("cli.daemon-start")
@pytest.mark.requirement("cli.daemon-restart")
@pytest.mark.requirement("cli.daemon-stop")
async def test_a_daemons_whole_life() -> None:
    async with World() as world:
        assert (await cli(world, "status", code=1)).out.startswith("netclaw is down")
        started = (await cli(world, "daemon", "start", "--json")).json
        try:
            answer = (await cli(world, "chat", "-p", "[[echo]] hi", "--json")).json
            assert answer["outcome"] == "completed"
            status = (await cli(world, "status", "--json")).json
            assert (status["overall"], status["turns"]["completed"]) == ("healthy", 1)
            again = (await cli(world, "daemon", "restart", "--json")).json
            assert (again["pid"], again["generation"]) == (started["pid"], 2)
            words = ("chat", "-p", "[[reply:still here]]", "--resume", answer["sessionId"])
            assert (await cli(world, *words)).out == "still here\n"
        finally:
            stopped = (await cli(world, "daemon", "stop", "--json")).json
        assert stopped == {"state": "stopped", "pid": started["pid"], "killed": False}
        assert (await cli(world, "daemon", "status", "--json", code=1)).json == {"state": "stopped"}


@pytest.mark.requirement("cli.chat-json")
@pytest.mark.requirement("cli.sessions-show")
@pytest.mark.requirement("cli.ledger")
async def test_a_turn_with_a_tool_and_what_is_left_of_it(world: World) -> None:
    script = '[[tool:file_write {"path": "a.txt", "content": "hello"}]] [[reply:written]]'
    row = (await cli(world, "chat", "-p", script, "--resume", "notes", "--json")).json
    assert row["response"] == "written"
    (call,) = row["toolCalls"]
    assert (call["toolName"], call["outcome"]) == ("file_write", "Success")
    assert call["arguments"]["path"] == "a.txt"
    shown = (await cli(world, "sessions", "show", "notes", "--json")).json
    assert shown["turns"] == 1
    assert shown["storage"]["workspace"].startswith(str(world.home.resolve()))
    history = (await cli(world, "sessions", "history", "notes", "--json")).json
    assert [item["role"] for item in history] == ["user", "assistant", "tool", "assistant"]
    assert history[2]["toolCallId"] == history[1]["toolCalls"][0]["callId"] == call["callId"]
    lines = (await cli(world, "sessions", "journal", "notes")).out.splitlines()
    rows = [json.loads(line) for line in lines]
    assert [row["seq"] for row in rows] == list(range(1, len(rows) + 1))
    admitted = next(row for row in rows if row["type"] == "InputAdmitted")
    (entry,) = (await cli(world, "ledger", "notes", "--json")).json
    assert admitted["payload"]["inputId"] == entry["inputId"] == row["inputId"]
    assert (entry["outcome"], entry["turnId"]) == ("completed", row["turnId"])


@pytest.mark.requirement("cli.sessions-steering")
async def test_steering_a_session(world: World) -> None:
    await cli(world, "chat", "-p", "[[reply:one]]", "--resume", "s")
    (row,) = (await cli(world, "sessions", "--json")).json
    assert (row["id"], row["phase"]) == ("s", "ready")
    assert (await cli(world, "sessions", "kill", "s", "--json")).json == {
        "id": "s",
        "phase": "passive",
    }
    restarted = (await cli(world, "sessions", "restart", "s", "--json")).json
    assert (restarted["phase"], restarted["pid"] > 0) == ("ready", True)
    assert (await cli(world, "sessions", "stop", "s", "--json")).json["phase"] == "passive"
    await cli(world, "sessions", "reset", "s")
    assert (await cli(world, "sessions", "history", "s", "--json")).json == []
    await cli(world, "sessions", "delete", "s", code=1)
    await cli(world, "sessions", "delete", "s", "--yes")
    assert (await cli(world, "sessions", "--json")).json == []
    assert (await cli(world, "trash", "empty", "--yes", "--json")).json["removed"] == 1


@pytest.mark.requirement("cli.inject")
@pytest.mark.requirement("cli.message-id")
async def test_an_injected_message_is_admitted_once(world: World) -> None:
    words = ["sessions", "inject", "C1/17.2", "[[reply:yes]]", "--source", "slack", "--json"]
    words += ["--sender", "U1", "--principal", "trusted", "--message-id", "m1"]
    first = (await cli(world, *words)).json
    second = (await cli(world, *words)).json
    assert (first["duplicate"], second["duplicate"]) == (False, True)
    assert first["inputId"] == second["inputId"]
    (row,) = (await cli(world, "sessions", "--json")).json
    assert (row["channel"], row["audience"]) == ("slack", "Team")
    await cli(world, "chat", "-p", "hi", "--resume", "C1/99", code=1)


@pytest.mark.requirement("cli.reconnect")
async def test_a_chat_gets_its_answer_from_the_next_daemon(world: World) -> None:
    chat = await begin(world, "chat", "-p", "[[gate:held]] [[reply:after all]]", "--json")
    await world.at_gate("held")
    await world.kill()
    world.open_gate("held")
    await world.start()
    result = await finish(chat)
    assert result.code == 0, result
    assert result.json["response"] == "after all"
    assert "[connection] lost" in result.err


@pytest.mark.requirement("cli.delivery-unconfirmed")
async def test_an_admitted_message_is_answered_without_its_sender(world: World) -> None:
    words = ("chat", "-p", "[[gate:held]] [[reply:later]]", "--resume", "n", "--message-id", "m")
    chat = await begin(world, *words)
    await world.at_gate("held")
    chat.kill()
    await finish(chat)
    world.open_gate("held")
    again = await cli(world, *words, "--json")
    assert again.json["response"] == "later"
    (entry,) = (await cli(world, "ledger", "n", "--json")).json
    assert (entry["messageId"], entry["outcome"]) == ("m", "completed")


@pytest.mark.requirement("cli.chat-ends")
@pytest.mark.parametrize("words", [("stop",), ("reset",), ("delete", "--yes")])
async def test_a_chat_ends_with_its_session(world: World, words: tuple[str, ...]) -> None:
    chat = await begin(world, "chat", "-p", "[[gate:held]] hi", "--resume", "n", "--json")
    await world.at_gate("held")
    verb, *flags = words
    await cli(world, "sessions", verb, "n", *flags)
    result = await finish(chat)
    assert (result.code, result.json["error"]["code"]) == (1, "interrupted"), result


@pytest.mark.requirement("cli.chat-ends")
async def test_a_chat_ends_when_its_turn_cannot_be_recorded() -> None:
    world = World()
    with small_disk(world.home, megabytes=64):
        async with world:
            await world.start()
            chat = await begin(world, "chat", "-p", "[[gate:full]][[reply:yes]]", "--json")
            await world.at_gate("full")
            ballast = fill(world.home)
            world.open_gate("full")
            result = await finish(chat)
            assert (result.code, result.json["error"]["category"]) == (1, "Storage"), result
            ballast.unlink()


@pytest.mark.requirement("cli.held-home")
async def test_changes_at_the_same_time_wait_for_each_others_restarts(world: World) -> None:
    keys = ("MemoryMiB", "Processes")
    changes = [
        begin(world, "config", "set", f"Tools.Sandbox.{key}", str(number), "--json")
        for number in (700, 800, 900)
        for key in keys
    ]
    for process in await asyncio.gather(*changes):
        result = await finish(process)
        assert result.code == 0, result
        assert result.json["applied"] in ("restarted", "unchanged")
    assert (await cli(world, "status", "--json")).json["daemon"]["pid"] == world.pid


@pytest.mark.requirement("cli.held-home")
async def test_a_restart_mends_a_daemon_that_lost_its_token(world: World) -> None:
    (world.home / "run" / "operator.token").unlink()
    result = await cli(world, "sessions", code=1, program=HASTY)
    assert "operator.token is not there" in result.err
    restarted = await cli(world, "daemon", "restart", "--json", program=HASTY)
    assert restarted.json["pid"] != world.pid
    await cli(world, "sessions")
    await cli(world, "daemon", "stop")


@pytest.mark.requirement("cli.attach")
async def test_two_terminals_see_their_own_view_of_one_turn(world: World) -> None:
    await cli(world, "chat", "-p", "[[reply:first]]", "--resume", "shared")
    head = (await cli(world, "sessions", "show", "shared", "--json")).json["headSeq"]
    views = {
        name: await begin(
            world,
            *("sessions", "attach", "shared", "--filter", name, "--after", str(head), "--json"),
        )
        for name in ("text", "tool-calls,usage")
    }
    script = '[[tool:file_list {"path": "."}]] [[reply:second]]'
    await cli(world, "chat", "-p", script, "--resume", "shared")
    seen = {name: await until_completed(view) for name, view in views.items()}
    assert {row["type"] for row in seen["text"]} == {"text", "turn_completed"}
    assert {row["type"] for row in seen["tool-calls,usage"]} == {
        *("tool_call", "tool_result", "usage", "turn_completed")
    }
    for view in views.values():
        view.send_signal(signal.SIGINT)
        assert (await finish(view)).code == 0


async def until_completed(view: Process) -> list[dict[str, Any]]:
    """The lines of a view up to the end of a turn."""
    assert view.stdout is not None
    rows: list[dict[str, Any]] = []
    async with asyncio.timeout(30):
        while not rows or rows[-1]["type"] != "turn_completed":
            rows.append(json.loads(await view.stdout.readline()))
    return rows


@pytest.mark.requirement("cli.config-in-force")
async def test_a_change_is_in_force_when_the_command_returns(world: World) -> None:
    generation = (await world.peer.status()).generation
    applied = (
        await cli(world, "config", "set", "Logging.LogLevel.Default", "Debug", "--json")
    ).json
    assert applied["applied"] == "live"
    applied = (await cli(world, "config", "set", "Tools.ShellMode", "Off", "--json")).json
    assert (applied["applied"], applied["generation"]) == ("restarted", generation + 1)
    await cli(world, "config", "set", "Tools.ShellMode", "Maybe", code=1)
    status = (await cli(world, "daemon", "status", "--json")).json
    assert (status["pid"], status["generation"]) == (world.pid, generation + 1)


@pytest.mark.requirement("cli.status")
async def test_a_daemon_without_a_model_says_so_everywhere() -> None:
    async with World(has_model=False) as world:
        await world.start()
        status = await cli(world, "status", "--json", code=2)
        assert "No model is configured" in status.json["reasons"][0]
        result = await finish(await begin(world, "chat", "-p", "hi"))
        assert "netclaw init" in result.out + result.err


@pytest.mark.requirement("cli.doctor")
async def test_doctor_finds_the_sandbox_and_the_model(world: World) -> None:
    result = await finish(await begin(world, "doctor", "--json"))
    checks = {check["name"]: check for check in result.json["checks"]}
    assert checks["storage"]["verdict"] == "PASS"
    assert checks["daemon"]["verdict"] == "PASS"
    assert checks["model"]["verdict"] in ("PASS", "WARN")
    assert checks["sandbox"]["message"].split(",")[0] in ("bubblewrap", "unshare", "landlock")
