"""Compaction in a real daemon: after a turn, within one, on overflow, on request, when killed."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from collections.abc import AsyncIterator
from typing import Any

import pytest

from tests.process.checks import check_journal
from tests.process.lending import Lender
from tests.process.world import World

pytestmark = pytest.mark.timeout(90)

FULL = "[[usage:30000,5,0]]"
"""What a provider reports of a request that fills nine tenths of the window."""

CONFIG: dict[str, Any] = {
    "Models": {"Definitions": {"main": {"ContextWindow": 32_768}}},
    "Daemon": {"DrainSeconds": 3},
}
NOTES = "They asked for small things."


@pytest.fixture
async def world(lender: Lender) -> AsyncIterator[World]:
    """A daemon whose model has a small window and writes notes when asked to."""
    async with lender.lend(CONFIG) as made:
        made.model.rule("<transcript>", f"[[gate:notes]][[reply:{NOTES}]]")
        yield made


def shell(command: str) -> str:
    """The directive for one shell call."""
    return f"[[tool:shell_execute {json.dumps({'command': command})}]]"


async def talk(world: World, name: str, turns: int = 5) -> None:
    """Some turns with room to spare."""
    for number in range(turns):
        text = f"question {number} {'-' * 3000} [[reply:answer {number}]]"
        turn = await world.peer.turn(name, text)
        assert turn.text == f"answer {number}"


async def compacted(world: World, name: str, count: int = 1) -> list[dict[str, Any]]:
    """Wait until the journal holds this many compactions; their payloads."""
    async with asyncio.timeout(30):
        while True:
            rows = await world.peer.journal(name)
            found = [row["payload"] for row in rows if row["type"] == "Compacted"]
            if len(found) >= count:
                return found
            await asyncio.sleep(0.02)


def texts(world: World, index: int = -1) -> str:
    """The whole conversation of one request to the model."""
    return json.dumps(world.model.requests[index].messages)


async def kill_session(world: World, name: str) -> None:
    """SIGKILL a session's process and wait until it is not that process any more."""
    row = await world.peer.wait_row(name, lambda new: bool(new.pid))
    os.kill(row.pid, signal.SIGKILL)
    await world.peer.wait_row(name, lambda new: new.pid != row.pid)


@pytest.mark.requirement("compaction.threshold")
async def test_a_long_conversation_goes_on_with_notes(world: World) -> None:
    world.open_gate("notes")
    await talk(world, "long")
    await world.peer.turn("long", f"the last one {FULL} [[reply:done]]")
    (event,) = await compacted(world, "long")
    assert (event["trigger"], event["tokens_before"]) == ("threshold", 30_000)
    await world.peer.wait_row("long", lambda row: row.phase == "ready")

    turn = await world.peer.turn("long", "go on [[reply:of course]]")
    assert turn.text == "of course"
    sent = texts(world)
    assert NOTES in sent
    assert "the last one" in sent
    assert "question 0" not in sent
    assert not [item for item in turn.outputs if item.type == "compaction"]

    await kill_session(world, "long")
    await world.peer.turn("long", "again [[reply:yes]]")
    assert NOTES in texts(world)
    check_journal(await world.peer.journal("long"))


@pytest.mark.requirement("compaction.tool-loop")
@pytest.mark.requirement("upstream.compacts-in-loops")
async def test_a_tool_loop_goes_on_after_its_history_was_shortened(world: World) -> None:
    world.open_gate("notes")
    await talk(world, "loop")
    script = f"work {shell('echo one')} {FULL} [[next]] {shell('echo two')} [[results]]"
    turn = await world.peer.turn("loop", script)
    assert "compaction" in turn.types
    assert turn.types.index("compaction") < len(turn.types) - 1 - turn.types[::-1].index(
        "tool_call"
    )
    assert "two" in turn.text
    rows = [row["type"] for row in await world.peer.journal("loop")]
    assert rows.index("Compacted") < len(rows) - 1 - rows[::-1].index("RoundRecorded")
    check_journal(await world.peer.journal("loop"))


@pytest.mark.requirement("compaction.overflow")
@pytest.mark.parametrize("dialect", ["openai", "llamacpp"])
@pytest.mark.requirement("upstream.overflow-compacts")
async def test_a_request_the_provider_refuses_as_too_long_is_sent_again_shorter(
    world: World, dialect: str
) -> None:
    await talk(world, "over")
    world.model.enqueue(f"[[overflow:{dialect}]]", f"[[reply:{NOTES}]]")
    turn = await world.peer.turn("over", "one more [[reply:it fits]]")
    assert turn.text == "it fits"
    assert turn.error is None
    (event,) = await compacted(world, "over")
    assert event["trigger"] == "overflow"
    assert NOTES in texts(world)
    rows = await world.peer.journal("over")
    assert [row["type"] for row in rows][-4:] == [
        "InputAdmitted",
        "TurnStarted",
        "Compacted",
        "TurnRecorded",
    ]
    check_journal(rows)


@pytest.mark.requirement("compaction.too-large")
async def test_a_message_larger_than_the_window_is_named_and_the_next_one_works(
    world: World,
) -> None:
    world.open_gate("notes")
    world.model.enqueue("[[overflow]]")
    turn = await world.peer.turn("huge", "x" * 200_000)
    assert turn.error is not None
    assert turn.error.text.startswith("This message is too large for the model")
    world.model.enqueue("[[overflow]]", f"[[reply:{NOTES}]]")
    assert (await world.peer.turn("huge", "short [[reply:fine]]")).text == "fine"
    check_journal(await world.peer.journal("huge"))


@pytest.mark.requirement("compaction.manual")
async def test_the_command_line_shortens_a_passive_sessions_history(world: World) -> None:
    world.open_gate("notes")
    await talk(world, "asked")
    await world.peer.stop_session("asked")
    process = await asyncio.create_subprocess_exec(
        str(world.cli),
        "sessions",
        "compact",
        "asked",
        "--json",
        env=world.environment(),
        stdout=asyncio.subprocess.PIPE,
    )
    out, _ = await process.communicate()
    assert process.returncode == 0, out
    assert json.loads(out)["id"] == "asked"
    (event,) = await compacted(world, "asked")
    assert (event["trigger"], event["kept_messages"]) == ("manual", 6)
    assert event["notes"].endswith(NOTES)


@pytest.mark.requirement("compaction.notes")
@pytest.mark.requirement("upstream.notes-fail-visibly")
async def test_a_model_that_makes_no_notes_leaves_the_cut_and_a_notice(world: World) -> None:
    await talk(world, "bare")
    opened = asyncio.Event()
    seen: list[str] = []

    async def watch() -> None:
        async for output in world.peer.attach("bare", opened=opened):
            if output.type in {"compaction", "notice"}:
                seen.append(output.type)
            if output.type == "notice":
                return

    watching = asyncio.create_task(watch())
    await opened.wait()
    world.model.enqueue(f"{FULL}[[reply:done]]", "[[status:400]]")
    await world.peer.turn("bare", "the last one")
    async with asyncio.timeout(30):
        await watching
    assert seen == ["compaction", "notice"]
    (event,) = await compacted(world, "bare")
    assert "no notes" in event["notes"]


@pytest.mark.requirement("compaction.killed")
async def test_a_kill_while_the_notes_are_made_leaves_no_trace_and_it_starts_over(
    world: World,
) -> None:
    await talk(world, "cut")
    await world.peer.turn("cut", f"the last one {FULL} [[reply:done]]")
    await world.at_gate("notes")
    await world.peer.wait_row("cut", lambda row: row.phase == "compacting")
    await kill_session(world, "cut")
    sent = await world.peer.send("cut", "still there? [[reply:yes]]")
    await world.at_gate("notes", 1)
    await world.peer.wait_row("cut", lambda row: row.phase == "compacting")
    assert "Compacted" not in [row["type"] for row in await world.peer.journal("cut")]
    world.open_gate("notes")
    assert (await world.peer.follow("cut", sent)).text == "yes"
    await compacted(world, "cut")
    rows = await world.peer.journal("cut")
    assert [row["type"] for row in rows].count("Compacted") == 1
    check_journal(rows)


@pytest.mark.requirement("compaction.killed")
async def test_a_kill_inside_a_tool_loop_resumes_the_turn_and_compacts_again(
    world: World,
) -> None:
    await talk(world, "resume")
    await world.peer.ensure("resume")
    sent = await world.peer.send(
        "resume", f"work {shell('echo one')} {FULL} [[next]] [[reply:finished]]"
    )
    await world.at_gate("notes")
    await world.peer.wait_row("resume", lambda row: row.phase == "compacting")
    await kill_session(world, "resume")
    await world.until_requests(8)
    world.open_gate("notes")
    assert (await world.peer.follow("resume", sent)).text == "finished"
    rows = await world.peer.journal("resume")
    names = [row["type"] for row in rows]
    assert (names.count("Compacted"), names.count("ToolBatchStarted")) == (1, 1)
    assert names.index("Resumed") < names.index("Compacted")
    check_journal(rows)


@pytest.mark.requirement("compaction.buffer")
@pytest.mark.requirement("upstream.compaction-off-the-loop")
async def test_what_comes_while_a_session_compacts_runs_right_after(world: World) -> None:
    await talk(world, "busy")
    await world.peer.turn("busy", f"the last one {FULL} [[reply:done]]")
    await world.at_gate("notes")
    sent = await world.peer.send("busy", "meanwhile [[reply:heard]]")
    await world.peer.wait_row("busy", lambda row: row.pending_inputs == 1)
    world.open_gate("notes")
    assert (await world.peer.follow("busy", sent)).text == "heard"
    names = [row["type"] for row in await world.peer.journal("busy")]
    assert names[-4:] == ["InputAdmitted", "Compacted", "TurnStarted", "TurnRecorded"]


@pytest.mark.requirement("compaction.stops")
async def test_a_restart_finishes_a_compaction_within_its_budget(world: World) -> None:
    await talk(world, "drained")
    await world.peer.turn("drained", f"the last one {FULL} [[reply:done]]")
    await world.at_gate("notes")
    await world.restart()
    rows = await world.peer.journal("drained")
    assert [row["type"] for row in rows][-2:] == ["Compacted", "Passivated"]
    assert "no notes" in rows[-2]["payload"]["notes"]
    assert (await world.peer.turn("drained", "hello [[reply:back]]")).text == "back"
