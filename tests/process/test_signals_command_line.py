"""`netclaw signals` and `netclaw goal` against a real daemon: what scripts and people rely on."""

from __future__ import annotations

import asyncio
import json
import signal
from asyncio.subprocess import Process
from typing import Any

import pytest

from tests.cli.terminal import Terminal
from tests.process.lending import Lender
from tests.process.signal_calls import (
    WINDOW,
    Row,
    hold,
    kinds,
    person,
    sessions,
    until_told,
)
from tests.process.test_command_line import begin, cli, finish
from tests.process.world import World

pytestmark = pytest.mark.timeout(120)


async def changes(world: World, name: str) -> Row:
    """`signals show`: stateVersion, and what is in stateChanges."""
    row: Row = (await cli(world, "signals", "show", name, "--json")).json
    return {"stateVersion": row["stateVersion"], **row["stateChanges"]}


async def watch(world: World, watcher: str, target: str) -> None:
    """`signals watch`."""
    assert (await cli(world, "signals", "watch", watcher, target, "--json")).json["watched"]


async def goal(world: World, name: str, *words: str) -> Row:
    """`goal set`."""
    row: Row = (await cli(world, "goal", "set", name, *words, "--json")).json
    return row


async def line(reader: Process) -> dict[str, Any]:
    """The next JSON line of a command that goes on."""
    assert reader.stdout is not None
    async with asyncio.timeout(45):
        row: dict[str, Any] = json.loads(await reader.stdout.readline())
    return row


@pytest.mark.requirement("signals.cli-show")
@pytest.mark.requirement("signals.cli-watch")
@pytest.mark.requirement("signals.cli-goal")
@pytest.mark.requirement("signals.cli-sessions")
@pytest.mark.requirement("signals.cli-status")
async def test_a_day_in_the_life_of_two_sessions(world: World) -> None:
    await sessions(world, "planner", "release")
    assert "stateVersion" not in (await cli(world, "sessions", "--json")).json[1]
    assert (await cli(world, "goal", "show", "release", "--json")).json == {"id": "release"}
    made = await goal(world, "release", "Ship it")
    assert made == {"id": "release", "goal": "Ship it", "status": "active", "changed": True}
    assert not (await goal(world, "release", "Ship it"))["changed"]
    await watch(world, "planner", "release")
    await hold(world, "planner")
    await goal(world, "release", "--status", "blocked")
    found = await changes(world, "release")
    assert kinds(found) == ["goal_changed", "goal_changed"]
    assert [event["summary"] for event in found["events"]] == [
        *("goal created", "goal status changed to blocked")
    ]
    first, last = (event["sequence"] for event in found["events"])
    (row,) = (await cli(world, "signals", "watches", "--json")).json
    assert row == {
        "watcher": "planner",
        "target": "release",
        "lastSeen": first,
        "notified": last,
        "material": last,
    }
    assert (await cli(world, "status", "--json")).json["signals"]["openNotices"] == 1
    shown = (await cli(world, "sessions", "show", "planner", "--json")).json
    assert (shown["watches"], shown["openNotices"]) == (["release"], ["release"])
    shown = (await cli(world, "sessions", "show", "release", "--json")).json
    assert (shown["watchers"], shown["stateVersion"]) == (["planner"], last)
    assert (shown["goal"], shown["goalStatus"]) == ("Ship it", "blocked")
    ended = (await cli(world, "signals", "unwatch", "planner", "release", "--json")).json
    assert ended == {"watched": False, "wasWatched": True}
    assert (await cli(world, "goal", "clear", "release", "--json")).json["changed"]
    assert not (await cli(world, "goal", "clear", "release", "--json")).json["changed"]
    world.open_gate("busy")


@pytest.mark.requirement("signals.cli-show")
@pytest.mark.requirement("signals.cli-watch")
async def test_mistakes_are_told_with_a_way_out(world: World) -> None:
    await sessions(world, "a")
    for words, code in (
        (("signals", "watch", "a", "a"), "invalid_argument"),
        (("signals", "watch", "a", "nope"), "not_found"),
        (("signals", "watch", "nope", "a"), "not_found"),
        (("signals", "show", "nope"), "not_found"),
        (("signals", "tail", "nope"), "not_found"),
        (("signals", "watches", "nope"), "not_found"),
        (("goal", "set", "nope", "x"), "not_found"),
        (("goal", "set", "a", "--status", "complete"), "invalid_argument"),
        (("goal", "set", "a", "x" * 2001), "invalid_argument"),
    ):
        result = await cli(world, *words, "--json", code=1)
        assert result.json["error"]["code"] == code, (words, result)
        assert "fix:" in result.err, words
    assert list(await world.peer.rows()) == ["a"]


@pytest.mark.requirement("signals.cli-tail")
async def test_a_tail_misses_nothing_over_a_restart_of_the_daemon(world: World) -> None:
    await sessions(world, "a", "b")
    await goal(world, "a", "one")
    first = (await changes(world, "a"))["stateVersion"]
    fleet = await begin(world, "signals", "tail", "--json", "--since", str(first - 1))
    one = await begin(world, "signals", "tail", "b", "--json", "--since", "0")
    row = await line(fleet)
    assert (row["sessionId"], row["sequence"], row["summary"]) == ("a", first, "goal created")
    await goal(world, "b", "two")
    assert (await line(fleet))["sessionId"] == "b"
    assert (await line(one))["sessionId"] == "b"
    await world.restart()
    await goal(world, "a", "three")
    await goal(world, "b", "--status", "complete")
    assert [(await line(fleet))["summary"] for _ in range(2)] == [
        *("goal objective changed", "goal status changed to complete")
    ]
    assert (await line(one))["summary"] == "goal status changed to complete"
    for reader in (fleet, one):
        reader.send_signal(signal.SIGINT)
        result = await finish(reader)
        assert (result.code, result.out) == (0, "")
        assert "[connection] back" in result.err


@pytest.mark.requirement("signals.cli-wake")
async def test_who_looks_on_is_told_why_a_turn_began(
    lender: Lender, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with lender.lend(WINDOW) as world:
        monkeypatch.setenv("NETCLAW_HOME", str(world.home))
        await sessions(world, "planner", "release")
        await watch(world, "planner", "release")
        view = await begin(world, "sessions", "attach", "planner", "--json", "--after", "0")
        assert (await line(view))["type"]
        with Terminal(["chat", "--resume", "planner"], columns=110) as chat:
            await asyncio.to_thread(chat.expect, "| Ctrl-D leaves")
            await person(world, "release")
            woken = "[notice] Woken because another session changed: release."
            await asyncio.to_thread(chat.expect, woken)
        rows: list[dict[str, Any]] = []
        while not rows or rows[-1]["type"] != "notice":
            rows.append(await line(view))
        assert rows[-1]["kind"] == "wake"
        assert rows[-1]["text"] == "Woken because another session changed: release."
        await until_told(world, "planner")
        view.send_signal(signal.SIGINT)
        assert (await finish(view)).code == 0
