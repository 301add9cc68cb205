"""The loop guard through a real daemon: a scripted model that does not learn, and real commands."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from tests.process.checks import check_journal, launches
from tests.process.world import World

pytestmark = pytest.mark.timeout(90)

TEXT, TOOL_CALLS = 1, 8


def shell(command: str) -> str:
    """The directive for one shell call."""
    return f"[[tool:shell_execute {json.dumps({'command': command})}]]"


STUBBORN = shell("echo ran >> effects.txt; echo done")


async def effects(world: World, name: str) -> list[str]:
    """What the commands of a session left in its workspace."""
    detail = await world.peer.detail(name)
    path = Path(detail.storage_root) / "workspace" / "effects.txt"
    return path.read_text().split()


def payloads(rows: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    """The payloads of all journal rows of one type."""
    return [row["payload"] for row in rows if row["type"] == kind]


@pytest.mark.requirement("guard.two-equal-rounds")
@pytest.mark.requirement("guard.quiet-end")
async def test_a_call_that_is_repeated_for_ever_runs_twice_and_the_turn_ends_quietly(
    world: World,
) -> None:
    rounds = [f"[[reply:Attempt {number}.]] {STUBBORN} [[next]]" for number in range(1, 12)]
    turn = await world.peer.turn("stubborn", " ".join(rounds), filter_bits=TEXT | TOOL_CALLS)

    assert await effects(world, "stubborn") == ["ran", "ran"]
    assert turn.text == "Attempt 8."
    assert turn.error is None
    assert turn.outputs[-1].type == "turn_completed"
    (entry,) = await world.peer.ledger("stubborn")
    assert entry.outcome == "guard-ended"
    assert len(world.model.requests) == 8

    rows = await world.peer.journal("stubborn")
    check_journal(rows)
    assert len(launches(rows)) == 2
    results = [item["result"] for item in payloads(rows, "ToolResultRecorded")]
    categories = [item["receipt"]["category"] for item in results]
    assert categories == ["Success"] * 2 + ["RecoverableCorrection"] * 5
    assert [item["text"].startswith("Not run") for item in results] == [False] * 2 + [True] * 5
    assert "fifth" in results[-1]["text"]

    again = await world.peer.turn("stubborn", f"{STUBBORN} [[reply:fresh]]")
    assert again.text == "fresh"
    assert await effects(world, "stubborn") == ["ran"] * 3


@pytest.mark.requirement("guard.survives")
async def test_what_the_guard_has_seen_survives_a_kill_of_the_session_and_of_the_daemon(
    world: World,
) -> None:
    peer = world.peer
    before = " ".join(f"{STUBBORN} [[next]]" for _ in range(3))
    between = f"[[gate:session:1]] {STUBBORN} [[next]] [[gate:daemon:1]] {STUBBORN} [[next]]"
    after = " ".join(f"{STUBBORN} [[next]]" for _ in range(6))
    await peer.ensure("killed")
    await peer.send("killed", f"{before} {between} {after}")

    await world.at_gate("session")
    row = (await peer.rows())["killed"]
    os.kill(row.pid, signal.SIGKILL)
    await world.at_gate("daemon")
    await world.kill()
    await world.start()

    (entry,) = await peer.wait_answered("killed", 1)
    assert entry.outcome == "guard-ended"
    assert await effects(world, "killed") == ["ran", "ran"]
    rows = await peer.journal("killed")
    check_journal(rows)
    assert len(payloads(rows, "Resumed")) == 2
    assert len(payloads(rows, "RoundRecorded")) == 7


@pytest.mark.requirement("guard.failures")
async def test_a_model_whose_calls_only_fail_is_told_twice_and_then_stopped(
    world: World,
) -> None:
    failing = [f"{shell(f'echo {number} >> effects.txt; exit 3')} [[next]]" for number in range(12)]
    turn = await world.peer.turn("failing", " ".join(failing))

    assert await effects(world, "failing") == [str(number) for number in range(8)]
    assert turn.error is None
    assert turn.types[-1] == "turn_completed"
    (entry,) = await world.peer.ledger("failing")
    assert entry.outcome == "guard-ended"
    said = [
        message["content"]
        for message in world.model.requests[-1].messages
        if message["role"] == "user" and str(message["content"]).startswith("[netclaw]")
    ]
    assert len(said) == 3
    check_journal(await world.peer.journal("failing"))
