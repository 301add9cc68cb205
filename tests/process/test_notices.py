"""Sessions that watch each other: what one is told of another, through real processes."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from netclaw.wire.v1 import admin_pb2
from tests.process.lending import Lender
from tests.process.notice_calls import (
    QUIET,
    SLOW,
    TARGET,
    WATCHER,
    line,
    lines_in,
    marks,
    pair,
    set_goal,
    show,
    speak,
    told,
    until_quiet,
    until_told,
    wakes_in,
    watch,
)
from tests.process.run_calls import add_agent, begin, in_state, is_of
from tests.process.run_calls import told as told_of_run
from tests.process.world import World, merge

pytestmark = pytest.mark.timeout(90)
SECRET = "nobody may know"
OTHER = "other"


@pytest.fixture
async def world(lender: Lender) -> AsyncIterator[World]:
    """A daemon with one agent, which wakes a watcher for the first change alone."""
    async with lender.lend(SLOW, prepare=add_agent) as world:
        yield world


@pytest.mark.requirement("notices.pushed", "signals.case-02", "signals.trouble-02")
async def test_a_watcher_is_told_once_that_somebody_wrote_and_never_what(world: World) -> None:
    await pair(world)
    await set_goal(world, TARGET, "before the first watch of it")
    before = (await show(world, TARGET)).state_version
    assert await watch(world, WATCHER, TARGET), "watching again is no error"
    await until_quiet(world, WATCHER, TARGET)
    first = await told(world)

    await speak(world, TARGET, f"{SECRET} [[reply:yes]]")
    await world.peer.turn(WATCHER, "[[reply:noted]]")
    await world.peer.turn(WATCHER, "[[reply:again]]")

    (notice,) = (await told(world))[len(first) :]
    assert notice.line == line(TARGET, before)
    assert lines_in(world.model.requests[-1]) == [item.line for item in (*first, notice)]
    changes = await show(world, TARGET, before)
    (event,) = changes.events
    assert (event.kind, event.actor_type) == ("human_direct_message", "human")
    assert SECRET not in str(changes)


@pytest.mark.requirement("notices.burst", "signals.case-03", "signals.case-04")
async def test_a_burst_of_twenty_is_two_lines_in_two_turns(world: World) -> None:
    await pair(world)
    await world.peer.send(WATCHER, "[[gate:work]] [[reply:done]]")
    await world.at_gate("work")
    for _ in range(20):
        await speak(world, TARGET)
    stand = await marks(world, WATCHER, TARGET)
    burst = [event.sequence for event in (await show(world, TARGET)).events]
    assert len(burst) == 20
    assert stand == (0, burst[0], burst[-1])
    for _ in range(3):
        assert (await show(world, TARGET)).state_version == burst[-1]
    assert await marks(world, WATCHER, TARGET) == stand, "looking back moved a mark"

    world.open_gate("work")
    (first,) = await until_told(world, 1)
    assert (first.since, first.mark) == (0, burst[0])
    await world.peer.turn(WATCHER, "[[reply:two]]")
    await world.peer.turn(WATCHER, "[[reply:three]]")

    found = await told(world)
    assert [(item.since, item.mark) for item in found] == [
        (0, burst[0]),
        (burst[0], burst[-1]),
    ]
    assert lines_in(world.model.requests[-1]) == [item.line for item in found]


@pytest.mark.requirement("signals.case-18")
async def test_one_watcher_takes_nothing_from_the_other(world: World) -> None:
    await pair(world)
    await world.peer.turn(OTHER, "[[reply:me too]]")
    await watch(world, OTHER, TARGET)
    await world.peer.send(OTHER, "[[gate:busy]] [[reply:done]]")
    await world.at_gate("busy")

    await speak(world, TARGET)
    await until_told(world, 1)

    seen, notified, _ = await marks(world, OTHER, TARGET)
    assert seen < notified
    world.open_gate("busy")
    assert len(await until_told(world, 1, OTHER)) == 1


@pytest.mark.requirement("signals.case-09", "notices.only-watched")
async def test_whom_nobody_watches_leaves_no_trace_in_the_log(world: World) -> None:
    await speak(world, TARGET)

    changes = await show(world, TARGET)

    assert (changes.state_version, list(changes.events)) == (0, [])
    assert (await world.peer.rows())[TARGET].state_version == 0


@pytest.mark.requirement("signals.case-19", "signals.trouble-18", "signals.trouble-20")
async def test_a_reset_watcher_watches_nobody_and_is_told_again_once_it_does(world: World) -> None:
    await pair(world)
    await world.peer.turn(OTHER, "[[reply:me too]]")
    await watch(world, OTHER, TARGET)
    await world.peer.send(WATCHER, "[[gate:busy]] [[reply:done]]")
    await world.at_gate("busy")
    await speak(world, TARGET)
    await until_told(world, 1, OTHER)

    await world.peer.admin.ResetSession(
        admin_pb2.SessionRef(session_id=WATCHER), metadata=world.peer.metadata
    )
    world.open_gate("busy")
    before = len(world.model.requests)
    await world.peer.turn(WATCHER, "[[reply:who am I]]")

    assert lines_in(world.model.requests[before]) == []
    left = await world.peer.admin.ListWatches(
        admin_pb2.ListWatchesRequest(), metadata=world.peer.metadata
    )
    assert [(row.watcher, row.target) for row in left.watches] == [(OTHER, TARGET)]
    head = (await show(world, TARGET)).state_version
    assert head > 0
    await watch(world, WATCHER, TARGET)
    await set_goal(world, TARGET, "something new")
    await world.peer.turn(WATCHER, "[[reply:I see]]")
    assert (await told(world))[-1].since == head


@pytest.mark.requirement("signals.case-20", "signals.trouble-17")
async def test_nobody_is_told_of_a_session_that_was_deleted(world: World) -> None:
    await pair(world)
    await world.peer.send(WATCHER, "[[gate:busy]] [[reply:done]]")
    await world.at_gate("busy")
    await speak(world, TARGET)
    await world.peer.wait_row(WATCHER, lambda row: row.pending_inputs == 2)

    await world.peer.admin.DeleteSession(
        admin_pb2.SessionRef(session_id=TARGET), metadata=world.peer.metadata
    )
    world.open_gate("busy")
    await world.peer.wait_answered(WATCHER, 3)
    await world.peer.turn(WATCHER, "[[reply:nothing?]]")

    assert await told(world) == []
    assert not any(map(lines_in, world.model.requests))
    await world.peer.turn(TARGET, "[[reply:born again]]")
    assert list((await show(world, TARGET)).events) == []


@pytest.mark.requirement(
    "notices.child", "signals.case-01", "signals.case-05", "signals.trouble-01"
)
async def test_a_parent_is_told_that_somebody_wrote_to_its_run_and_once_of_its_end(
    world: World,
) -> None:
    (run,) = await begin(world, "[[gate:run]] [[reply:result]]")
    await world.at_gate("run")
    spawned = await show(world, run.session_id)
    (born,) = spawned.events
    assert (born.kind, born.actor_id) == ("child_spawned", run.parent)
    assert spawned.state_version == born.sequence

    await world.peer.send(run.session_id, f"{SECRET} [[reply:heard]]")
    world.open_gate("run")
    await in_state(world, run.run_id, "Completed")
    await until_told(world, 1, run.parent)
    await told_of_run(world, run.run_id)
    await world.peer.turn(run.parent, "[[reply:and now]]")

    rows = await world.peer.journal(run.parent)
    (notice,) = await told(world, run.parent)
    assert notice.line == line(run.session_id, born.sequence)
    assert sum(is_of(row, "ChildResultDelivered", run.run_id) for row in rows) == 1
    kinds = [event.kind for event in (await show(world, run.session_id)).events]
    assert kinds == ["child_spawned", "human_direct_message", "run_completed"]
    assert SECRET not in str(await show(world, run.session_id))


@pytest.mark.requirement("notices.restart")
async def test_a_restart_in_place_and_a_stop_lose_and_double_nothing() -> None:
    slow = merge(SLOW, {"Daemon": {"DrainSeconds": 5}})
    async with World(config=slow) as world:
        await world.start()
        await pair(world)
        await world.peer.send(WATCHER, "[[gate:busy]] [[reply:done]]")
        await world.at_gate("busy")
        await speak(world, TARGET)
        await world.peer.wait_row(WATCHER, lambda row: row.pending_inputs == 2)

        await world.restart()
        world.open_gate("busy")
        (notice,) = await until_told(world, 1)
        await world.stop()
        await world.start()
        await set_goal(world, TARGET, "after the stop")

        found = await until_told(world, 2)
        assert found[0] == notice
        assert found[1].since == notice.mark
        wakes = wakes_in(await world.peer.journal(WATCHER))
        assert len(wakes) == len(set(wakes)) == 2
        assert (await world.peer.rows())[WATCHER].phase in QUIET


@pytest.mark.requirement("signals.compacted", "signals.trouble-30")
async def test_a_compaction_is_one_event_tells_nobody_and_drops_no_notice() -> None:
    small = {"Models": {"Definitions": {"main": {"ContextWindow": 32_768}}}}
    async with World(config=merge(SLOW, small)) as world:
        world.model.rule("<transcript>", "[[gate:notes]][[reply:They talked.]]")
        await world.start()
        for name in (WATCHER, TARGET):
            for number in range(5):
                await world.peer.turn(name, f"{number} {'-' * 3000} [[reply:well]]")
        await watch(world, WATCHER, TARGET)
        await compact(world, WATCHER)
        await world.at_gate("notes")

        await set_goal(world, TARGET, "on we go")
        sent = await world.peer.send(WATCHER, "[[reply:after it]]")
        world.open_gate("notes")
        await world.peer.follow(WATCHER, sent)
        (notice,) = await until_told(world, 1)
        await compact(world, TARGET)
        await world.peer.wait_row(TARGET, lambda row: row.state_version > notice.mark)

        kinds = [event.kind for event in (await show(world, TARGET)).events]
        assert kinds == ["goal_changed", "compacted"]
        assert await marks(world, WATCHER, TARGET) == (notice.mark,) * 3
        await world.peer.turn(WATCHER, "[[reply:nothing new]]")
        assert await told(world) == [notice]


async def compact(world: World, session_id: str) -> None:
    """`netclaw sessions compact`."""
    await world.peer.admin.CompactSession(
        admin_pb2.SessionRef(session_id=session_id), metadata=world.peer.metadata
    )
