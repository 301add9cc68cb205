"""Tool servers of real sessions: loaded tools outlive the process, programs do not."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.process.checks import check_journal, is_alive
from tests.process.world import World
from tests.repo import tree

pytestmark = pytest.mark.timeout(120)

LOAD = '[[tool:load_tool {"name":"files__pid"}]] [[next]] [[reply:loaded]]'
PID = "[[tool:files__pid {}]] [[next]] [[results]]"
STALL = '[[tool:load_tool {"name":"files__stall"}]] [[next]] [[tool:files__stall {}]] [[reply:x]]'


@contextlib.asynccontextmanager
async def serving(config: dict[str, Any] | None = None) -> AsyncIterator[World]:
    """A daemon whose sessions have one tool server."""
    with tempfile.TemporaryDirectory(prefix="nc-", dir="/tmp") as folder:
        notes = Path(folder) / "notes"
        server = {
            "Command": sys.executable,
            "Arguments": ["-m", "tests.mcp.server_main", "stdio", str(notes)],
        }
        async with World(config={"McpServers": {"files": server}, **(config or {})}) as made:
            secret = {"files": {"EnvironmentVariables": {"PYTHONPATH": str(tree.ROOT)}}}
            secrets = made.home / "config/secrets.json"
            secrets.write_text(json.dumps({"McpServers": secret}))
            secrets.chmod(0o600)
            await made.start()
            yield made


@pytest.fixture
async def world() -> AsyncIterator[World]:
    """One whose calls ask nobody."""
    async with serving() as made:
        yield made


def notes_of(world: World) -> Path:
    """Where the server notes its calls."""
    configured = json.loads((world.home / "config/netclaw.json").read_text())
    return Path(configured["McpServers"]["files"]["Arguments"][-1])


def said(notes: Path) -> str:
    """What the server noted."""
    return notes.read_text() if notes.exists() else ""


def tools_of(request: dict[str, Any]) -> list[str]:
    """The names of the tools that a model was shown."""
    return [tool["function"]["name"] for tool in request["tools"]]


def descendants(pid: int) -> dict[int, str]:
    """Every process below one, with its command line."""
    found: dict[int, str] = {}
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in map(int, task.read_text().split()):
            found[child] = Path(f"/proc/{child}/cmdline").read_text().replace("\0", " ")
            found |= descendants(child)
    return found


def programs(session_pid: int) -> tuple[int, ...]:
    """The host of a session and its server."""
    found = descendants(session_pid)
    return tuple(
        pid for pid, line in found.items() if "netclaw.mcp" in line or "server_main" in line
    )


@pytest.mark.requirement("mcp.deferred")
@pytest.mark.requirement("exposure.journal")
@pytest.mark.requirement("exposure.order")
@pytest.mark.requirement("mcp.lazy")
async def test_a_loaded_tool_is_shown_and_works_after_passivation_and_kill(world: World) -> None:
    peer = world.peer
    await peer.ensure("s")
    await peer.turn("s", "[[reply:hello]]")
    assert programs((await peer.rows())["s"].pid) == ()
    await peer.turn("s", LOAD)
    before = tools_of(world.model.requests[-2].body)
    assert tools_of(world.model.requests[-1].body) == [*before, "files__pid"]
    first = await peer.turn("s", PID)
    await peer.stop_session("s")
    await peer.wait_row("s", lambda row: row.phase == "passive")
    second = await peer.turn("s", PID)
    assert first.text != second.text
    assert "no such tool" not in second.text
    assert tools_of(world.model.requests[-1].body) == [*before, "files__pid"]
    check_journal(await peer.journal("s"))


@pytest.mark.requirement("mcp.dies-with-session")
@pytest.mark.requirement("mcp.no-replay")
async def test_kill_9_of_a_session_leaves_no_program_and_repeats_no_call(world: World) -> None:
    peer = world.peer
    await peer.ensure("s")
    await peer.send("s", STALL)
    notes = notes_of(world)
    await world.until(lambda: said(notes) == "stall\n")
    left = programs((await peer.rows())["s"].pid)
    assert len(left) == 2
    os.kill((await peer.rows())["s"].pid, signal.SIGKILL)
    await world.until(lambda: not any(map(is_alive, left)))
    await peer.wait_answered("s", 1)
    assert said(notes) == "stall\n"


@pytest.mark.requirement("mcp.dies-with-session")
async def test_kill_9_of_the_daemon_leaves_no_program(world: World) -> None:
    await world.peer.turn("s", LOAD)
    await world.peer.turn("s", PID)
    left = programs((await world.peer.rows())["s"].pid)
    assert len(left) == 2
    await world.kill()
    await world.until(lambda: not any(map(is_alive, left)))


@pytest.mark.requirement("mcp.consent")
@pytest.mark.requirement("mcp.no-replay")
@pytest.mark.requirement("exposure.journal")
async def test_a_call_that_waited_for_consent_runs_once_in_another_process() -> None:
    asking = {"ApprovalPolicy": {"McpServerDefaults": {"files": "Approval"}}}
    config = {"Tools": {"AudienceProfiles": {"Personal": asking}}}
    async with serving(config) as world:
        peer = world.peer
        await peer.turn("s", '[[tool:load_tool {"name":"files__echo"}]] [[reply:loaded]]')
        script = '[[tool:files__echo {"text":"once"}]] [[results]]'
        await peer.send("s", script, is_attended=True)
        (request,) = await peer.approvals("s")
        assert "once" in request.display
        os.kill((await peer.rows())["s"].pid, signal.SIGKILL)
        await peer.answer(request, "approve_once")
        await peer.wait_answered("s", 2)
        assert said(notes_of(world)) == "echo once\n"
        history = await peer.history("s")
        assert any(item.text.startswith("results: once") for item in history)
