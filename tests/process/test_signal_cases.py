"""State awareness from outside, in cases that are about more than one of its parts."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from tests.process.checks import check_journal
from tests.process.lending import Lender
from tests.process.signal_calls import (
    WINDOW,
    Row,
    call,
    changes,
    directive,
    execute,
    goal,
    hold,
    is_open,
    kinds,
    person,
    sessions,
    told,
    until,
    until_kind,
    until_told,
    version,
    wakes,
    watch,
    watches,
)
from tests.process.test_command_line import cli
from tests.process.world import World

pytestmark = pytest.mark.timeout(120)

WRITERS, WRITES = 16, 20
AGED = "UPDATE session_watch_cursors SET updated_at = 1 WHERE watcher_session_key = 'old'"


@pytest.fixture
async def world(lender: Lender) -> AsyncIterator[World]:
    """A daemon that merges wakes for half a second only."""
    async with lender.lend(config=WINDOW) as world:
        yield world


@pytest.mark.requirement("signals.own-changes")
@pytest.mark.requirement("signals.case-18")
async def test_nobody_is_told_of_what_he_did_himself(world: World) -> None:
    await sessions(world, "p", "q", "d")
    await watch(world, "p", "d")
    await watch(world, "q", "d")
    known = await version(world, "d")
    await call(world, "q", "create_goal", sessionKey="d", objective="Ship it")
    assert await until_told(world, "p") == [[("d", known)]]
    row = (await watches(world))["q", "d"]
    assert not is_open(row)
    await person(world, "d")
    assert await until_told(world, "q") == [[("d", row["lastSeen"])]]
    seen = await call(world, "q", "session_status", sessionKey="d", changesSince=row["lastSeen"])
    assert [(each["kind"], each["actorType"]) for each in seen["stateChanges"]["events"]] == [
        *(("goal_changed", "agent"), ("human_direct_message", "human"))
    ]


@pytest.mark.requirement("signals.trouble-19")
@pytest.mark.requirement("signals.gap-advice")
async def test_a_session_that_comes_after_a_deleted_one_is_another(world: World) -> None:
    await sessions(world, "p", "d")
    await watch(world, "p", "d")
    await goal(world, "d", "Ship it")
    (first,) = await until_told(world, "p")
    before = await version(world, "d")
    await cli(world, "sessions", "delete", "d", "--yes")
    await person(world, "d")
    await goal(world, "d", "Begin anew")
    found = await changes(world, "d", before)
    assert kinds(found) == ["goal_changed"]
    assert found["stateVersion"] > before
    assert found["historyGap"]
    assert await watches(world) == {}
    seen = await call(world, "p", "session_status", sessionKey="d", changesSince=before)
    assert seen["stateChanges"]["historyGap"]
    assert "sessions_history" in str(seen)
    assert await told(world, "p") == [first]


@pytest.mark.requirement("signals.trouble-25")
async def test_what_is_sent_to_a_busy_session_waits_for_its_turn(world: World) -> None:
    await sessions(world, "p", "q", "d")
    await hold(world, "d")
    sent = directive("sessions_send", sessionKey="d", message="[[reply:later]]", timeoutSeconds=0)
    for name in ("p", "q"):
        turn = await world.peer.turn(name, f"{sent} [[reply:sent]]")
        assert turn.text == "sent"
    row = (await world.peer.rows())["d"]
    assert (row.phase, row.pending_inputs) == ("processing", 3), "the one at work among them"
    world.open_gate("busy")
    await world.peer.wait_answered("d", 4)
    check_journal(await world.peer.journal("d"))
    assert len([row for row in await world.peer.journal("d") if row["type"] == "TurnStarted"]) == 4


@pytest.mark.requirement("signals.trouble-30")
@pytest.mark.requirement("signals.compacted")
async def test_a_compaction_drops_neither_messages_nor_notices(world: World) -> None:
    await sessions(world, "p", "d")
    for text in ("x" * 400, "y" * 400, "z" * 400):
        await person(world, "p", f"[[reply:{text}]]")
    await watch(world, "p", "d")
    await watch(world, "d", "p")
    known = await version(world, "d")
    await hold(world, "p")
    await goal(world, "d", "Ship it")
    sent = await world.peer.send("p", "[[reply:mine]]", sender="U1")
    await cli(world, "sessions", "compact", "p")
    world.open_gate("busy")
    assert (await world.peer.follow("p", sent)).text == "mine"
    assert await until_told(world, "p") == [[("d", known)]]
    found = await until_kind(world, "p", "compacted")
    (event,) = [each for each in found["events"] if each["kind"] == "compacted"]
    assert (event["actorType"], event["summary"]) == ("system", "session compacted")
    check_journal(await world.peer.journal("p"))


async def until_pruned(world: World) -> None:
    """Wait until the start of the daemon has dropped the watch of `old`."""

    async def is_over() -> bool:
        return list(await watches(world)) == [("kept", "d")]

    await until(is_over, lambda: "the old watch stays, or both are gone")


@pytest.mark.requirement("signals.watch-expires")
async def test_a_watch_of_which_nothing_was_heard_goes_with_the_log(world: World) -> None:
    await sessions(world, "old", "kept", "d")
    for name in ("old", "kept"):
        await watch(world, name, "d")
    await world.stop()
    execute(world, AGED)
    await world.start()
    await until_pruned(world)
    await watch(world, "old", "d")
    await world.stop()
    execute(world, AGED)
    await world.start()
    await until_pruned(world)


@pytest.mark.requirement("signals.trouble-02")
async def test_watching_again_keeps_what_is_open_and_makes_it_as_good_as_new(world: World) -> None:
    await sessions(world, "old", "d")
    await watch(world, "old", "d")
    await hold(world, "old")
    await goal(world, "d", "Ship it")
    before = (await watches(world))["old", "d"]
    assert is_open(before)
    execute(world, AGED.replace("= 1", "= 86400000"))
    await watch(world, "old", "d")
    assert (await watches(world))["old", "d"] == before
    await world.stop()
    world.open_gate("busy")
    await world.start()
    assert await until_told(world, "old") == [[("d", before["lastSeen"])]]


@pytest.mark.requirement("signals.trouble-09")
async def test_what_netclaw_answers_itself_takes_no_notice(world: World) -> None:
    await sessions(world, "p", "d")
    await watch(world, "p", "d")
    known = await version(world, "d")
    await hold(world, "p")
    sent = await world.peer.send("p", "/status", sender="U1")
    await goal(world, "d", "Ship it")
    world.open_gate("busy")
    assert "notice" not in (await world.peer.follow("p", sent)).types
    assert await until_told(world, "p") == [[("d", known)]]
    assert await wakes(world, "p") == ["completed"]


@pytest.mark.requirement("signals.trouble-08")
async def test_fifty_lines_are_shown_and_only_those_are_taken(world: World) -> None:
    targets = [f"t{number:02}" for number in range(53)]
    await sessions(world, "p")
    for target in targets:
        await world.peer.ensure(target)
        await watch(world, "p", target)
    # A process at work may begin its next turn before it has read of the last of them.
    await world.peer.stop_session("p")
    for target in targets:
        await goal(world, target, "Ship it")
    await person(world, "p")
    first, second = await until_told(world, "p", 2)
    assert [target for target, _ in first] == targets[:50]
    assert [target for target, _ in second] == targets[50:]
    assert not [row for row in (await watches(world)).values() if is_open(row)]


@pytest.mark.requirement("signals.case-30")
async def test_many_writers_of_one_target_get_numbers_of_their_own(world: World) -> None:
    await sessions(world, "p", "d")
    await watch(world, "p", "d")
    await hold(world, "p")

    async def write(writer: int) -> None:
        for number in range(WRITES):
            await goal(world, "d", f"{writer} wants {number}")

    await asyncio.gather(*map(write, range(WRITERS)))
    events: list[Row] = []
    while True:
        page = await changes(world, "d", events[-1]["sequence"] if events else 0)
        events += page["events"]
        if not page["truncated"]:
            break
    sequences = [event["sequence"] for event in events]
    assert sequences == sorted(set(sequences))
    assert len(sequences) == WRITERS * WRITES
    assert page["stateVersion"] == sequences[-1]
    row = (await watches(world))["p", "d"]
    assert is_open(row)
    assert (row["notified"], row["material"]) == (sequences[0], sequences[-1])
    world.open_gate("busy")
    expected = [[("d", 0)], [("d", sequences[0])]]
    assert await until_told(world, "p", 2) == expected
