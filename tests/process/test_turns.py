"""The main job on real processes: turns, tools, several subscribers, two sessions side by side."""

from __future__ import annotations

import asyncio
import json
import os
import signal

import pytest

from tests.process.checks import check_journal, is_alive
from tests.process.world import World

pytestmark = pytest.mark.timeout(60)

TEXT, TEXT_STREAMING, TOOL_CALLS = 1, 2, 8


async def test_a_message_is_answered_and_journaled(world: World) -> None:
    turn = await world.peer.turn("first", "[[reply:hello there]]")

    assert turn.text == "hello there"
    assert turn.types[-1] == "turn_completed"
    rows = await world.peer.journal("first")
    check_journal(rows)
    assert [row["type"] for row in rows][:3] == ["SessionCreated", "InputAdmitted", "TurnStarted"]


@pytest.mark.requirement("process.tool-turn")
async def test_a_shell_command_runs_in_the_sandbox_and_its_result_reaches_the_model(
    world: World,
) -> None:
    command = '{"command": "echo made-by-$((40+2)); id -u"}'
    turn = await world.peer.turn("tools", f"[[tool:shell_execute {command}]] [[results]]")

    assert "made-by-42" in turn.text
    assert "tool_call" in turn.types
    assert "tool_result" in turn.types
    check_journal(await world.peer.journal("tools"))


async def test_parallel_calls_of_one_batch_all_report(world: World) -> None:
    calls = " ".join(
        f'[[tool:shell_execute {{"command": "echo part-{number}"}}]]' for number in range(4)
    )
    turn = await world.peer.turn("batch", f"{calls} [[results]]")

    for number in range(4):
        assert f"part-{number}" in turn.text


@pytest.mark.requirement("process.own-process")
async def test_killing_one_session_in_mid_turn_leaves_the_other_untouched(world: World) -> None:
    peer = world.peer
    for name in ("left", "right"):
        await peer.ensure(name)
    left = await peer.send("left", "[[gate:left]][[reply:left done]]")
    right = await peer.send("right", "[[gate:right]][[reply:right done]]")
    await world.at_gate("left")
    await world.at_gate("right")
    rows = await peer.rows()
    assert rows["left"].pid != rows["right"].pid
    assert world.pid not in {rows["left"].pid, rows["right"].pid}

    os.kill(rows["left"].pid, signal.SIGKILL)
    await peer.wait_row("left", lambda row: row.incarnation > rows["left"].incarnation)
    world.open_gate("left")
    world.open_gate("right")

    assert (await peer.follow("left", left)).text == "left done"
    assert (await peer.follow("right", right)).text == "right done"
    assert (await peer.rows())["right"].pid == rows["right"].pid
    assert is_alive(rows["right"].pid)
    for name in ("left", "right"):
        check_journal(await peer.journal(name))


@pytest.mark.requirement("delivery.two-filters")
async def test_two_subscribers_see_their_own_views_of_one_turn(world: World) -> None:
    peer = world.peer
    await peer.ensure("shared")
    sent = await peer.send(
        "shared", '[[tool:shell_execute {"command": "echo hi"}]] [[gate:go]][[tokens:5]]'
    )
    views = asyncio.gather(
        peer.follow("shared", sent, filter_bits=TEXT | TEXT_STREAMING),
        peer.follow("shared", sent, filter_bits=TOOL_CALLS),
        peer.follow("shared", sent, filter_bits=0),
    )
    await world.at_gate("go")
    world.open_gate("go")
    words, tools, bare = await views

    assert words.text.split() == ["t0", "t1", "t2", "t3", "t4"]
    assert "text_delta" in words.types
    assert not {"tool_call", "tool_result"} & set(words.types)
    assert {"tool_call", "tool_result"} <= set(tools.types)
    assert not {"text", "text_delta"} & set(tools.types)
    assert set(bare.types) == {"turn_completed"}
    deltas = "".join(output.text for output in words.outputs if output.type == "text_delta")
    assert deltas == words.text


@pytest.mark.requirement("delivery.catch-up")
async def test_a_late_subscriber_catches_up_from_a_seq(world: World) -> None:
    peer = world.peer
    await peer.turn("late", "[[reply:one]]")
    second = await peer.turn("late", "[[reply:two]]")

    seen: list[tuple[str, str, int]] = []
    async with asyncio.timeout(20):
        async for output in peer.attach("late", after=0):
            seen.append((output.type, output.text, output.seq))
            if output.type == "turn_completed" and second.input_id in output.input_ids:
                break

    assert [text for kind, text, _ in seen if kind == "text"] == ["one", "two"]
    assert len([kind for kind, _, _ in seen if kind == "turn_completed"]) == 2
    seqs = [seq for _, _, seq in seen if seq]
    assert seqs == sorted(seqs)


@pytest.mark.requirement("recovery.resend-safe")
async def test_a_resend_with_the_same_message_id_is_admitted_once(world: World) -> None:
    peer = world.peer
    await peer.ensure("again")
    first = await peer.send("again", "[[reply:once]]", message_id="m-1")
    await peer.wait_answered("again", 1)
    await world.kill()
    await world.start()
    second = await peer.send("again", "[[reply:once]]", message_id="m-1")

    assert (second.input_id, second.seq) == (first.input_id, first.seq)
    assert second.duplicate
    assert not first.duplicate
    entries = await peer.wait_answered("again", 1)
    assert [entry.input_id for entry in entries] == [first.input_id]
    check_journal(await peer.journal("again"))


@pytest.mark.requirement("session.nothing-shared")
async def test_nothing_of_one_conversation_reaches_another(world: World) -> None:
    peer = world.peer
    await peer.turn("one", "my word is heron [[reply:noted heron]]")
    call = json.dumps({"command": "echo heron > heron.txt"})
    await peer.turn("one", f"[[tool:shell_execute {call}]] [[reply:kept]]")
    looked = json.dumps({"command": "ls -a; cat *.txt"})
    turn = await peer.turn("two", f"[[tool:shell_execute {looked}]] [[results]]")
    assert "heron" not in turn.text
    asked = [r.raw.decode() for r in world.model.requests if "cat *.txt" in r.raw.decode()]
    assert len(asked) == 2
    assert not [body for body in asked if "heron" in body]
    roots = {(await peer.detail(name)).storage_root for name in ("one", "two")}
    assert len(roots) == 2
