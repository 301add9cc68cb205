"""The walk-throughs of the protocol page "Recovery, exactly", each with a real kill -9."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from pathlib import Path

import pytest

from tests.process.checks import (
    check_journal,
    consumed_inputs,
    launches,
    processes_with,
    wait_gone,
)
from tests.process.world import World

pytestmark = pytest.mark.timeout(90)


def shell(command: str) -> str:
    """The directive for one shell call."""
    return f"[[tool:shell_execute {json.dumps({'command': command})}]]"


async def kill_session(world: World, name: str) -> int:
    """SIGKILL a session's process and wait until its successor runs; returns the old pid."""
    row = (await world.peer.rows())[name]
    assert row.pid
    os.kill(row.pid, signal.SIGKILL)
    await world.peer.wait_row(name, lambda new: new.incarnation > row.incarnation)
    return int(row.pid)


async def crash_session(world: World, name: str) -> None:
    """SIGKILL a session's process and wait until it is not that process any more."""
    row = await world.peer.wait_row(name, lambda new: bool(new.pid))
    os.kill(row.pid, signal.SIGKILL)
    await world.peer.wait_row(name, lambda new: new.pid != row.pid)


async def workspace(world: World, name: str) -> Path:
    """The session's workspace folder."""
    detail = await world.peer.detail(name)
    return Path(detail.storage_root) / "workspace"


@pytest.mark.requirement("recovery.two-inputs-while-processing")
async def test_two_inputs_while_processing_are_answered_in_order_after_a_kill(
    world: World,
) -> None:
    peer = world.peer
    await peer.ensure("queue")
    await peer.send("queue", "[[gate:first:1]][[reply:one]]", sender="alice")
    await world.at_gate("first")
    for word, sender in (("two", "bob"), ("three", "carol")):
        await peer.send("queue", f"[[reply:{word}]]", sender=sender)
    await kill_session(world, "queue")
    world.open_gate("first")

    await peer.wait_answered("queue", 3)
    history = await peer.history("queue")
    answers = [item.text for item in history if item.role == "assistant"]
    assert answers == ["one", "two", "three"]
    check_journal(await peer.journal("queue"))


@pytest.mark.requirement("recovery.launched-without-result")
async def test_a_launched_call_without_a_result_is_reported_and_never_run_again(
    world: World,
) -> None:
    peer = world.peer
    await peer.ensure("halfway")
    sent = await peer.send(
        "halfway", f"{shell('echo ran >> ran.txt; sleep 3021.25')} [[reply:never]]"
    )
    await peer.wait_launched("halfway")
    ran = await workspace(world, "halfway") / "ran.txt"
    await world.until(lambda: ran.exists() and bool(ran.read_text()))
    await kill_session(world, "halfway")

    turn = await peer.follow("halfway", sent)
    assert turn.error is not None
    assert turn.error.category == "Interrupted"
    assert "may already have run" in turn.error.text
    assert ran.read_text() == "ran\n"
    await world.until(lambda: not processes_with("sleep 3021.25"))
    rows = await peer.journal("halfway")
    check_journal(rows)
    assert max(launches(rows).values()) == 1
    assert (await peer.turn("halfway", "[[reply:usable]]")).text == "usable"


@pytest.mark.requirement("recovery.model-answered-before-recorded")
async def test_a_kill_while_the_model_answers_runs_the_turn_again(world: World) -> None:
    peer = world.peer
    await peer.ensure("again")
    sent = await peer.send("again", "[[gate_after:2:mid]][[tokens:4]]")
    await world.at_gate("mid")
    await kill_session(world, "again")
    world.open_gate("mid")

    turn = await peer.follow("again", sent)
    assert turn.text.split() == ["t0", "t1", "t2", "t3"]
    rows = await peer.journal("again")
    check_journal(rows)
    assert len({r["payload"]["turn_id"] for r in rows if r["type"] == "TurnStarted"}) == 1


@pytest.mark.requirement("recovery.text-reached-person")
async def test_a_turn_whose_text_streamed_to_a_person_is_ended_and_told(world: World) -> None:
    peer = world.peer
    await peer.ensure("seen")
    is_watching = asyncio.Event()
    watching = asyncio.create_task(peer.first_delta("seen", is_watching))
    await is_watching.wait()
    sent = await peer.send("seen", "[[gate_after:2:mid]][[tokens:4]]")
    await world.at_gate("mid")
    assert await watching
    await kill_session(world, "seen")
    world.open_gate("mid")

    turn = await peer.follow("seen", sent)
    assert turn.error is not None
    assert turn.error.category == "Interrupted"
    assert "may already have run" not in turn.error.text
    check_journal(await peer.journal("seen"))


@pytest.mark.requirement("recovery.batch-complete-continues")
async def test_a_turn_with_a_complete_batch_goes_on_by_itself(world: World) -> None:
    peer = world.peer
    await peer.ensure("goes-on")
    sent = await peer.send(
        "goes-on", f"{shell('echo x >> once.txt; wc -l < once.txt')} [[gate:after]][[results]]"
    )
    await world.at_gate("after")
    await kill_session(world, "goes-on")
    world.open_gate("after")

    turn = await peer.follow("goes-on", sent)
    assert turn.error is None
    assert "1" in turn.text
    assert (await workspace(world, "goes-on") / "once.txt").read_text() == "x\n"
    check_journal(await peer.journal("goes-on"))


@pytest.mark.requirement("recovery.supervisor-killed")
@pytest.mark.requirement("recovery.no-orphans")
async def test_a_hundred_admitted_inputs_survive_a_kill_of_the_supervisor(world: World) -> None:
    peer = world.peer
    names = [f"s{number}" for number in range(10)]
    await asyncio.gather(*(peer.ensure(name) for name in names))
    for name in names:
        await peer.send(name, f"[[gate:{name}:1]][[reply:{name} 0]]", sender="p0")
    sends = [
        peer.send(name, f"[[reply:{name} {turn}]]", sender=f"p{turn}")
        for turn in range(1, 10)
        for name in names
    ]
    admitted = await asyncio.gather(*sends)
    assert len({answer.input_id for answer in admitted}) == 90
    pids = [row.pid for row in (await peer.rows()).values() if row.pid]
    await world.kill()
    wait_gone(pids)
    for name in names:
        world.open_gate(name)

    await world.start()
    for name in names:
        await peer.wait_answered(name, 10)
        rows = await peer.journal(name)
        check_journal(rows)
        assert set(consumed_inputs(rows).values()) == {1}


@pytest.mark.requirement("recovery.no-orphans")
async def test_a_tool_does_not_outlive_a_killed_supervisor(world: World) -> None:
    peer = world.peer
    await peer.ensure("busy")
    await peer.send("busy", shell("setsid sleep 3021.75 & sleep 3021.75"))
    await world.until(lambda: len(processes_with("sleep 3021.75")) >= 2)
    await world.kill()
    await world.until(lambda: not processes_with("sleep 3021.75"))


@pytest.mark.requirement("recovery.flood-against-ending-turn")
async def test_a_flood_against_a_finishing_turn_answers_each_once(world: World) -> None:
    peer = world.peer
    await peer.ensure("flood")
    for wave in range(10):
        await asyncio.gather(
            *(
                peer.send("flood", f"[[reply:{wave}-{number}]]", sender=f"p{wave}-{number}")
                for number in range(8)
            )
        )
    await peer.wait_answered("flood", 80)
    rows = await peer.journal("flood")
    check_journal(rows)
    assert len(consumed_inputs(rows)) == 80


@pytest.mark.requirement("recovery.passivation-race")
async def test_admissions_that_race_passivation_are_answered() -> None:
    config = {
        "Session": {"IdleTimeout": "00:00:00.050", "Tuning": {"PassivationGraceSeconds": 0.05}}
    }
    async with World(config=config) as world:
        await world.start()
        peer = world.peer
        for number in range(25):
            turn = await peer.turn("sleepy", f"[[reply:{number}]]")
            assert turn.text == str(number)
            # Anything from "idle timer not due" to "process gone": the next message meets it.
            await asyncio.sleep((number % 9) * 0.015)
        rows = await peer.journal("sleepy")
        check_journal(rows)
        await peer.wait_row("sleepy", lambda row: row.phase == "passive")
        assert "Passivated" in {row["type"] for row in await peer.journal("sleepy")}


@pytest.mark.requirement("recovery.poison-turn")
async def test_three_crashes_within_one_turn_fail_it_and_free_the_session() -> None:
    config = {"Supervision": {"TurnCrashLimit": 3, "QuarantineCrashes": 50}}
    async with World(config=config) as world:
        await world.start()
        peer = world.peer
        await peer.ensure("poison")
        sent = await peer.send("poison", "[[gate:never]][[reply:x]]")
        for crash in range(3):
            await world.until_requests(crash + 1)
            await crash_session(world, "poison")

        turn = await peer.follow("poison", sent)
        assert turn.error is not None
        assert turn.error.category == "Internal"
        assert (await peer.turn("poison", "[[reply:fine]]")).text == "fine"
        check_journal(await peer.journal("poison"))


@pytest.mark.requirement("recovery.quarantine")
async def test_a_crash_loop_quarantines_one_session_until_it_is_restarted() -> None:
    config = {"Supervision": {"TurnCrashLimit": 50, "QuarantineCrashes": 3}}
    async with World(config=config) as world:
        await world.start()
        peer = world.peer
        await peer.ensure("loop")
        await peer.send("loop", "[[gate:loop]][[reply:late]]")
        for crash in range(3):
            await world.until_requests(crash + 1)
            await crash_session(world, "loop")
        await peer.wait_row("loop", lambda r: r.quarantined and r.phase == "quarantined")

        answer = await peer.send("loop", "[[reply:after]]")
        assert answer.notice
        assert (await peer.turn("other", "[[reply:unharmed]]")).text == "unharmed"
        world.open_gate("loop")
        await peer.restart_session("loop")
        await peer.wait_answered("loop", 2)
        check_journal(await peer.journal("loop"))


@pytest.mark.requirement("recovery.outbox-survives")
async def test_a_claimed_reply_is_offered_again_after_a_kill(world: World) -> None:
    peer = world.peer
    await peer.inject_slack("C1/1.2", "[[reply:to the thread]]")
    await peer.wait_answered("C1/1.2", 1)
    first = await peer.claim("slack", "start-1")
    assert [item.text for item in first] == ["to the thread"]
    await world.kill()
    await world.start()
    second = await peer.claim("slack", "start-2")
    assert [(i.row_id, i.text) for i in second] == [(i.row_id, i.text) for i in first]
    await peer.confirm(second[0].row_id, "start-2", "ts-9")
    assert await peer.claim("slack", "start-3") == []
    entry = (await peer.ledger("C1/1.2"))[0]
    assert [(d.state, d.external_id) for d in entry.deliveries] == [("delivered", "ts-9")]
