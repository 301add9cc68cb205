"""A conversation and a watcher, each at a terminal of its own, against a real daemon."""

from __future__ import annotations

import asyncio
import json
import signal

import pytest

from tests.cli.terminal import ESCAPES, Terminal, visible
from tests.process.test_command_line import begin, cli, finish
from tests.process.world import World

pytestmark = pytest.mark.timeout(120)

LOOK = (
    '[[tool:file_list {"path": "."}]] [[next]] [[gate:held]] [[reply:All **done**.]]'
    " [[usage:1204,24,1100]]"
)


@pytest.mark.requirement("operator.status-line")
@pytest.mark.requirement("operator.attach-view")
async def test_two_terminals_show_one_session_at_work(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NETCLAW_HOME", str(world.home))
    world.model.rule("look around", LOOK)
    await cli(world, "chat", "-p", "[[reply:first]]", "--resume", "notes")
    with (
        Terminal(["chat", "--resume", "notes"], columns=110) as person,
        Terminal(["sessions", "attach", "notes"], columns=110) as watcher,
    ):
        await asyncio.to_thread(_begin, person, watcher)
        await world.at_gate("held")
        await asyncio.to_thread(_at_work, person, watcher)
        world.open_gate("held")
        await asyncio.to_thread(_end, person, watcher)
        rows = visible(watcher.raw)
        colours = ESCAPES.findall(watcher.raw)
    settled = [row for row in rows if row]
    assert settled[0].startswith('* file_list {"path":')
    assert settled[1].startswith("  ok (")
    assert "All done." in settled
    assert any("1 tool call, " in row for row in settled), settled
    assert colours, "a terminal that can is shown colours"


def _begin(person: Terminal, watcher: Terminal) -> None:
    watcher.expect("Ready | ")
    watcher.expect("Ctrl-C leaves, the session stays")
    person.expect("| Ctrl-D leaves")
    person.type("look around\r")


def _at_work(person: Terminal, watcher: Terminal) -> None:
    for terminal in (person, watcher):
        terminal.expect("* file_list")
        terminal.expect("ok (")
    watcher.expect("Working 1 s")
    person.type("and tell me more\r")
    watcher.expect("Queued 1")


def _end(person: Terminal, watcher: Terminal) -> None:
    for terminal in (person, watcher):
        terminal.expect("All done.")
        terminal.expect("1 tool call, ")
    watcher.expect("Ready | context ")
    person.type("\x04")
    assert person.ended() == 0
    watcher.interrupt()
    assert watcher.ended() == 0


@pytest.mark.requirement("operator.phase-without-process")
@pytest.mark.parametrize("verb", ["stop", "kill"])
async def test_who_watches_hears_that_a_process_is_gone(world: World, verb: str) -> None:
    await cli(world, "chat", "-p", "[[reply:first]]", "--resume", "notes")
    words = ("sessions", "attach", "notes", "--filter", "processing-state", "--after", "0")
    watcher = await begin(world, *words, "--json")
    assert watcher.stdout is not None
    phases: list[str] = []
    async with asyncio.timeout(45):
        assert json.loads(await watcher.stdout.readline())["type"] == "turn_completed"
        await cli(world, "sessions", verb, "notes")
        while "passive" not in phases:
            phases.append(json.loads(await watcher.stdout.readline()).get("phase", ""))
    watcher.send_signal(signal.SIGINT)
    assert (await finish(watcher)).code == 0
