"""Mistakes that daemons of this kind have made, made impossible: each with its real processes."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator

import pytest

from netclaw.wire.v1.common_pb2 import Output
from tests.process.checks import check_journal, processes_with
from tests.process.test_command_line import begin, cli, finish
from tests.process.world import World

pytestmark = pytest.mark.timeout(120)

IN_A_FOLDER_THAT_IS_GONE = ("sh", "-c", 'd=$(mktemp -d); cd "$d"; rmdir "$d"; exec "$0"')
SLEEPY = {"Session": {"IdleTimeout": "00:00:00.200", "Tuning": {"PassivationGraceSeconds": 0.1}}}


def shell(command: str) -> str:
    """The directive for one shell call."""
    return f"[[tool:shell_execute {json.dumps({'command': command})}]]"


async def next_of(stream: AsyncIterator[Output], kind: str) -> Output:
    """The next output of this kind."""
    async with asyncio.timeout(30):
        async for output in stream:
            if output.type == kind:
                return output
    raise AssertionError(f"the stream ended without {kind}")


@pytest.mark.requirement("upstream.rows-after-kill")
async def test_rows_say_what_is_true_after_a_kill_and_after_a_stop(world: World) -> None:
    await world.peer.turn("idle", "[[reply:x]]")
    await world.peer.wait_row("idle", lambda row: row.phase == "ready" and bool(row.pid))
    await world.kill()
    await world.start()
    row = (await world.peer.rows())["idle"]
    assert (row.phase, row.pid) == ("passive", 0)

    await world.peer.turn("idle", "[[reply:y]]")
    assert await world.stop() == 0
    await world.start()
    rows = await world.peer.journal("idle")
    assert rows[-1]["type"] == "Passivated"  # SIGTERM went the same way as every other stop
    check_journal(rows)
    row = (await world.peer.rows())["idle"]
    assert (row.phase, row.pid) == ("passive", 0)


@pytest.mark.requirement("upstream.edit-in-mid-turn")
async def test_an_edit_in_mid_turn_loses_nothing_of_the_history(world: World) -> None:
    peer = world.peer
    await peer.turn("busy", "remember the heron [[reply:noted]]")
    generation = (await peer.status()).generation
    sent = await peer.send("busy", f"{shell('echo kept')} [[next]] [[gate:held]][[results]]")
    await world.until_requests(3)
    await world.at_gate("held")
    world.edit_config({"Session": {"PrefillTimeoutSeconds": 61}})
    await world.wait_generation(generation + 1)
    world.open_gate("held")

    turn = await peer.follow("busy", sent)
    assert turn.error is None
    assert "kept" in turn.text
    asked = world.model.requests[-1].raw.decode()
    assert "remember the heron" in asked
    assert "noted" in asked
    check_journal(await peer.journal("busy"))


@pytest.mark.requirement("upstream.lost-pid-file")
async def test_a_lost_pid_file_makes_no_second_daemon(world: World) -> None:
    (world.home / "netclaw.pid").unlink()
    first = world.process
    status, words = await world.refuse_to_start()
    world.process = first
    assert status == 1
    assert "in use by process" in words
    assert (await world.peer.turn("still", "[[reply:here]]")).text == "here"


@pytest.mark.requirement("upstream.one-owner")
async def test_a_daemon_that_a_service_runs_is_not_joined_by_a_detached_one(world: World) -> None:
    assert len(processes_with("netclawd")) >= 1
    before = await world.peer.status()
    await finish(await begin(world, "daemon", "start"))
    after = json.loads((await cli(world, "daemon", "status", "--json")).out)
    assert after["pid"] == before.pid == world.pid
    assert (await world.peer.status()).generation == before.generation


@pytest.mark.requirement("upstream.failed-turn-keeps-inputs")
async def test_a_failed_turn_keeps_what_was_sent_meanwhile(world: World) -> None:
    peer = world.peer
    await peer.ensure("s")
    first = await peer.send("s", "[[tokens:5]] [[gate_after:1:held]] [[cut:3]]", sender="alice")
    await world.at_gate("held")
    second = await peer.send("s", "[[reply:the second]]", sender="bob")
    third = await peer.send("s", "[[reply:the third]]", sender="alice")
    world.open_gate("held")
    assert (await peer.follow("s", first)).error is not None
    assert (await peer.follow("s", second)).text == "the second"
    assert (await peer.follow("s", third)).text == "the third"
    check_journal(await peer.journal("s"))


@pytest.mark.requirement("upstream.output-after-passivation")
async def test_who_stays_attached_hears_a_session_that_passivated_and_woke() -> None:
    async with World(config=SLEEPY) as world:
        await world.start()
        peer = world.peer
        await peer.ensure("s")
        opened = asyncio.Event()
        stream = peer.attach("s", opened=opened)
        hearing = asyncio.create_task(next_of(stream, "text"))
        await opened.wait()
        await peer.send("s", "[[reply:before]]")
        assert (await hearing).text == "before"
        await peer.wait_row("s", lambda row: row.phase == "passive" and not row.pid)
        await peer.send("s", "[[reply:after]]")
        assert (await next_of(stream, "text")).text == "after"
        await stream.aclose()  # type: ignore[attr-defined]


@pytest.mark.requirement("upstream.folder-gone")
async def test_a_daemon_whose_folder_was_removed_runs_tools_as_ever() -> None:
    async with World(launcher=IN_A_FOLDER_THAT_IS_GONE) as world:
        await world.start()
        turn = await world.peer.turn("s", f"{shell('pwd')} [[results]]")
        assert "workspace" in turn.text
        await world.restart()
        turn = await world.peer.turn("s", f"{shell('echo again')} [[results]]")
        assert "again" in turn.text


@pytest.mark.requirement("upstream.sidecars-guarded")
async def test_notes_that_never_come_hold_nobody_up() -> None:
    config = {
        "Models": {"Definitions": {"main": {"ContextWindow": 32_768}}},
        "Session": {"SidecarLlmTimeoutSeconds": 1},
    }
    async with World(config=config) as world:
        world.model.rule("<transcript>", "[[stall_headers:600]]")
        await world.start()
        peer = world.peer
        for number in range(5):
            await peer.turn("s", f"question {number} {'-' * 3000} [[reply:answer]]")
        world.model.enqueue("[[usage:30000,5,0]][[reply:full]]")
        await peer.turn("s", "the last one")
        assert (await peer.turn("s", "[[reply:goes on]]")).text == "goes on"
        (event,) = [row for row in await peer.journal("s") if row["type"] == "Compacted"]
        assert "no notes" in event["payload"]["notes"]


@pytest.mark.requirement("upstream.idle-timer")
async def test_watchers_questions_and_edits_do_not_keep_an_idle_session_alive() -> None:
    async with World(config=SLEEPY) as world:
        await world.start()
        peer = world.peer
        await peer.turn("s", "[[reply:x]]")
        opened = asyncio.Event()
        stream = peer.attach("s", opened=opened)
        watching = asyncio.create_task(next_of(stream, "text"))
        await opened.wait()
        # Each look at the row, its detail and its history is a tick; none of them is work.
        async with asyncio.timeout(20):
            while (await peer.detail("s")).row.pid:
                await peer.history("s")
        assert (await peer.rows())["s"].phase == "passive"
        watching.cancel()
