"""Child runs on the command line of a real daemon: listed, shown, cancelled, watched."""

from __future__ import annotations

import asyncio
import json
import signal
from collections.abc import AsyncIterator
from typing import Any

import pytest

from tests.cli.terminal import Terminal
from tests.process.run_calls import (
    LOADING,
    NAME,
    add_agent,
    begin,
    in_state,
    pid_of,
    shell,
    spawn,
    told,
)
from tests.process.test_command_line import begin as begin_cli
from tests.process.test_command_line import cli, finish
from tests.process.world import ASKING, World

pytestmark = pytest.mark.timeout(120)

KEYS = {"runId", "parent", "sessionId", "agent", "state", "pid", "startedAt"}


@pytest.fixture
async def world(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[World]:
    """A daemon with an agent, whose commands ask nobody."""
    async with World() as world:
        monkeypatch.setenv("NETCLAW_HOME", str(world.home))
        add_agent(world)
        await world.start()
        yield world


@pytest.mark.requirement("children.cli")
async def test_a_run_is_listed_shown_and_found_over_afterwards(world: World) -> None:
    (run,) = await begin(world, "[[gate:go]] [[reply:found it]]")
    pid = await pid_of(world, run.run_id)
    (row,) = (await cli(world, "runs", "list", "--json")).json
    assert set(row) >= KEYS
    assert (row["runId"], row["parent"], row["pid"]) == (run.run_id, NAME, pid)
    assert row["sessionId"] == f"{NAME}/sub/{run.run_id}"
    assert (await cli(world, "runs", "show", run.run_id[:8], "--json")).json["pid"] == pid
    shown = (await cli(world, "sessions", "show", NAME, "--json")).json
    assert (shown["openChildRuns"], shown["children"]) == ([run.run_id], [row["sessionId"]])
    own = (await cli(world, "sessions", "show", row["sessionId"], "--json")).json
    assert own["parent"] == NAME
    listed = (await cli(world, "sessions", "list", "--json")).json
    assert [item["id"] for item in listed] == [NAME]
    listed = (await cli(world, "sessions", "list", "--children", "--json")).json
    assert {item["id"] for item in listed} == {NAME, row["sessionId"]}
    world.model.gates.open("go")
    await in_state(world, run.run_id, "Completed")
    await told(world, run.run_id)
    after = (await cli(world, "runs", "show", run.run_id, "--json")).json
    assert after["state"] == "Completed"
    assert after["resultPath"].endswith(f"/subagents/{run.run_id}/result.md")
    assert (await cli(world, "runs", "list", "--open", "--json")).json == []
    assert "Completed" in (await cli(world, "runs")).out


@pytest.mark.requirement("children.cli")
async def test_a_cancel_ends_a_run_and_a_second_one_says_that_it_is_over(world: World) -> None:
    (run,) = await begin(world, f"{shell('sleep 300.77')} [[reply:never]]")
    await pid_of(world, run.run_id)
    answer = (await cli(world, "runs", "cancel", run.run_id, "--json")).json
    assert answer["state"] in {"Cancelling", "Cancelled"}
    await in_state(world, run.run_id, "Cancelled")
    await told(world, run.run_id)
    shown = (await cli(world, "runs", "show", run.run_id)).out
    assert "Cancelled (CancelledByParent)" in shown
    late = await cli(world, "runs", "cancel", run.run_id, code=1)
    assert "over" in late.err


@pytest.mark.requirement("children.cli")
async def test_a_consent_request_of_a_run_is_listed_and_answered_with_its_run() -> None:
    async with World(config=ASKING) as world:
        add_agent(world)
        await world.start()
        (run,) = await begin(world, f"{shell('echo hello > made')} [[results]]", is_attended=True)
        await in_state(world, run.run_id, "Parked")
        (asked,) = (await cli(world, "approvals", "pending", "--json")).json
        assert (asked["sessionId"], asked["childRunId"]) == (NAME, run.run_id)
        (row,) = (await cli(world, "runs", "list", "--json")).json
        assert (row["state"], "pid" in row) == ("Parked", False)
        key = next(item["key"] for item in asked["options"] if "once" in item["key"])
        await cli(world, "approvals", "answer", asked["callId"], key)
        await in_state(world, run.run_id, "Completed")
        await told(world, run.run_id)


@pytest.mark.requirement("children.cli")
async def test_an_attached_view_has_a_line_for_each_step_of_a_run(world: World) -> None:
    await world.peer.turn(NAME, "[[reply:hello]]")
    view = await begin_cli(world, "sessions", "attach", NAME, "--after", "0", "--json")
    lines: list[dict[str, Any]] = []
    reading = asyncio.create_task(read_until_told(view, lines))
    (run,) = await begin(world, "[[reply:found it]]")
    async with asyncio.timeout(40):
        await reading
    view.send_signal(signal.SIGINT)
    assert (await finish(view)).code == 0
    steps = [line["state"] for line in lines if line["type"] == "child"]
    assert (steps[0], steps[-1]) == ("Accepted", "Completed")
    assert {line["runId"] for line in lines if line["type"] == "child"} == {run.run_id}
    ends = [line["openChildRuns"] for line in lines if line["type"] == "turn_completed"]
    assert ends[1:] == [[run.run_id], []]


async def read_until_told(view: asyncio.subprocess.Process, lines: list[dict[str, Any]]) -> None:
    """Read the lines of a view until the turn that told of a run is over."""
    assert view.stdout is not None
    while sum(line["type"] == "turn_completed" for line in lines) < 3:
        lines.append(json.loads(await view.stdout.readline()))


@pytest.mark.requirement("children.cli")
async def test_a_person_in_a_chat_sees_what_becomes_of_a_run(world: World) -> None:
    await world.peer.ensure(NAME)
    world.model.rule("hand it over", f"{LOADING} {spawn('[[reply:found]]')} [[reply:Done so.]]")
    with Terminal(["chat", "--resume", NAME], columns=110) as person:

        def talk() -> None:
            person.expect("| Ctrl-D leaves")
            person.type("hand it over\r")
            person.expect("[sub-agent] helper: Accepted")
            person.expect("[sub-agent] helper: Completed")

        await asyncio.to_thread(talk)


@pytest.mark.requirement("children.cli")
async def test_a_headless_chat_waits_for_its_runs(world: World) -> None:
    text = f"{LOADING} {spawn('[[reply:found]]')} [[reply:handed over]]"
    answer = (await cli(world, "chat", "-p", text, "--resume", NAME, "--json")).json
    (run,) = (await cli(world, "runs", "list", "--json")).json
    assert run["state"] == "Completed"
    assert run["toldAt"]
    assert answer["sessionId"] == NAME
