"""The signal log as the operator reads it: events, versions, goals, the live tail, its limits."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Awaitable
from contextlib import closing

import grpc
import pytest

from netclaw.wire.v1 import admin_pb2
from tests.process.checks import check_journal
from tests.process.lending import Lender
from tests.process.notice_calls import (
    SLOW,
    SLOW_WINDOW_S,
    TARGET,
    WATCHER,
    config,
    marks,
    pair,
    set_goal,
    show,
    speak,
    told,
    until_told,
    unwatch,
    watch,
)
from tests.process.run_calls import add_agent, begin, until_purged
from tests.process.run_calls import told as told_of_run
from tests.process.world import World

pytestmark = pytest.mark.timeout(90)
BREAK = (
    "CREATE TRIGGER unwritable BEFORE INSERT ON session_state_events"
    " BEGIN SELECT RAISE(ABORT, 'the log is broken'); END"
)
MEND = "DROP TRIGGER unwritable"
WARNING = "the signal log cannot be written"


@pytest.fixture
async def world(lender: Lender) -> AsyncIterator[World]:
    """A daemon with one agent, which wakes a watcher for the first change alone."""
    async with lender.lend(SLOW, prepare=add_agent) as world:
        yield world


def alter(world: World, statement: str) -> None:
    """Change the database of a daemon that is down."""
    with closing(sqlite3.connect(world.home / "netclaw.db")) as database, database:
        database.execute(statement)


async def refused(call: Awaitable[object]) -> grpc.StatusCode:
    """The status of a call that must fail."""
    with pytest.raises(grpc.aio.AioRpcError) as failure:
        await call
    return failure.value.code()


@pytest.mark.requirement("signals.admin", "signals.case-08")
async def test_a_goal_is_created_reworded_moved_and_cleared_and_only_changes_count(
    world: World,
) -> None:
    await pair(world)

    assert (await set_goal(world, TARGET, "find the leak")).changed
    assert not (await set_goal(world, TARGET, "find the leak")).changed
    assert (await set_goal(world, TARGET, "fix the leak")).changed
    assert (await set_goal(world, TARGET, status="blocked")).status == "blocked"
    row = (await world.peer.rows())[TARGET]
    assert (row.goal, row.goal_status) == ("fix the leak", "blocked")
    assert (await set_goal(world, TARGET)).changed
    assert not (await set_goal(world, TARGET)).changed

    changes = await show(world, TARGET)
    assert [event.summary for event in changes.events] == [
        "goal created",
        "goal objective changed",
        "goal status changed to blocked",
        "goal cleared",
    ]
    assert {(event.kind, event.actor_type) for event in changes.events} == {
        ("goal_changed", "human")
    }
    assert row.state_version == changes.events[2].sequence
    assert "the leak" not in str(changes)


@pytest.mark.requirement("signals.admin", "signals.case-23")
async def test_an_answer_holds_two_hundred_events_and_says_that_there_are_more(
    world: World,
) -> None:
    await pair(world)
    for number in range(250):
        await set_goal(world, TARGET, f"goal {number}")

    begun = (await show(world, TARGET)).events[0].sequence
    first = await show(world, TARGET, begun)
    rest = await show(world, TARGET, first.events[-1].sequence)

    assert (len(first.events), first.truncated, first.gap) == (200, True, False)
    assert (len(rest.events), rest.truncated) == (49, False)
    assert rest.state_version == rest.events[-1].sequence == first.state_version
    admin, token = world.peer.admin, world.peer.metadata
    negative = admin_pb2.ShowSignalsRequest(session_id=TARGET, since=-1)
    unknown = admin_pb2.ShowSignalsRequest(session_id="nobody")
    beyond = admin_pb2.ShowSignalsRequest(session_id=TARGET, since=2**63 - 1)
    assert await refused(admin.ShowSignals(negative, metadata=token)) is (
        grpc.StatusCode.INVALID_ARGUMENT
    )
    assert await refused(admin.ShowSignals(unknown, metadata=token)) is (grpc.StatusCode.NOT_FOUND)
    assert not (await admin.ShowSignals(beyond, metadata=token)).events


@pytest.mark.requirement("signals.admin")
async def test_a_watch_is_listed_ended_and_never_of_oneself(world: World) -> None:
    await pair(world)
    admin, token = world.peer.admin, world.peer.metadata
    own = admin_pb2.WatchRequest(watcher=TARGET, target=TARGET)
    unknown = admin_pb2.WatchRequest(watcher=TARGET, target="nobody")

    assert await refused(admin.WatchSession(own, metadata=token)) is (
        grpc.StatusCode.INVALID_ARGUMENT
    )
    assert await refused(admin.WatchSession(unknown, metadata=token)) is (grpc.StatusCode.NOT_FOUND)
    assert await marks(world, WATCHER, TARGET) == (0, 0, 0)
    assert (await world.peer.status()).watches == 1
    await watch(world, TARGET, WATCHER)
    page = await admin.ListWatches(admin_pb2.ListWatchesRequest(limit=1), metadata=token)
    (first,) = page.watches
    assert page.more
    (second,) = (
        await admin.ListWatches(
            admin_pb2.ListWatchesRequest(after_watcher=first.watcher, after_target=first.target),
            metadata=token,
        )
    ).watches
    assert {first.watcher, second.watcher} == {WATCHER, TARGET}
    assert await unwatch(world, WATCHER, TARGET)
    assert not await unwatch(world, WATCHER, TARGET)


@pytest.mark.requirement("signals.admin")
async def test_the_log_of_a_run_that_is_gone_still_answers(world: World) -> None:
    (run,) = await begin(world, "[[reply:result]]")
    await told_of_run(world, run.run_id)
    await until_purged(world, run)

    changes = await show(world, run.session_id)

    assert [event.kind for event in changes.events] == ["child_spawned", "run_completed"]


@pytest.mark.requirement("signals.case-24", "signals.degraded")
async def test_a_log_that_cannot_be_written_disturbs_nobody_and_is_shown(world: World) -> None:
    await pair(world)
    await world.stop()
    alter(world, BREAK)
    await world.start()

    for _ in range(3):
        turn = await world.peer.turn(TARGET, "hm [[reply:as ever]]")
        assert turn.text == "as ever"
        assert turn.error is None
    assert (await set_goal(world, TARGET, "still")).text == "still"

    check_journal(await world.peer.journal(TARGET))
    assert world.daemon_log.count(WARNING) == 1
    assert "the log is broken" in (await world.peer.status()).signals_problem
    assert (await show(world, TARGET)).state_version == 0
    await world.stop()
    alter(world, MEND)
    await world.start()
    await speak(world, TARGET)
    assert len(await until_told(world, 1)) == 1
    assert (await world.peer.status()).signals_problem == ""


@pytest.mark.requirement("signals.pruned", "signals.case-21")
async def test_pruning_leaves_versions_and_tells_of_the_gap() -> None:
    async with World(config=config(SLOW_WINDOW_S, RowCap=100)) as world:
        await world.start()
        await pair(world)
        for number in range(120):
            await set_goal(world, TARGET, f"goal {number}")
        before = await show(world, TARGET)
        assert before.earliest == 1

        world.edit_config(config(SLOW_WINDOW_S, RowCap=100, PruneIntervalSeconds=1))

        async with asyncio.timeout(20):
            while (after := await show(world, TARGET)).earliest == 1:
                await asyncio.sleep(0.05)
        assert after.state_version == before.state_version
        assert len(after.events) == 100
        assert (await show(world, TARGET, 1)).gap
        assert not (await show(world, TARGET, after.earliest - 1)).gap


@pytest.mark.requirement("signals.tail")
async def test_a_tail_replays_and_then_follows_without_a_gap_or_a_double(world: World) -> None:
    await pair(world)
    await world.peer.turn("else", "[[reply:hi]]")
    await watch(world, WATCHER, "else")
    for number in range(10):
        await set_goal(world, TARGET, f"early {number}")
    first = (await show(world, TARGET)).events[0].sequence
    opened = asyncio.Event(), asyncio.Event()
    everything = asyncio.create_task(_follow(world, 29, opened[0], since=first))
    of_one = asyncio.create_task(_follow(world, 10, opened[1], session_id="else"))
    for event in opened:
        await asyncio.wait_for(event.wait(), 20)

    for number in range(10):
        await set_goal(world, TARGET, f"late {number}")
        await set_goal(world, "else", f"other {number}")

    found = await everything
    assert [row.sequence - first for row in found] == list(range(1, 30))
    assert {row.session_id for row in await of_one} == {"else"}
    assert await told(world)


async def _follow(
    world: World,
    count: int,
    opened: asyncio.Event,
    *,
    session_id: str = "",
    since: int | None = None,
) -> list[admin_pb2.SignalRow]:
    """So many events of a tail, which has replayed one once `opened` is set."""
    request = admin_pb2.TailSignalsRequest(session_id=session_id, since=since)
    call = world.peer.admin.TailSignals(request, metadata=world.peer.metadata)
    found: list[admin_pb2.SignalRow] = []
    try:
        async for message in call:
            opened.set()
            assert not message.missed
            assert not message.gap
            found += message.events
            if len(found) >= count:
                return found
    finally:
        call.cancel()
    raise AssertionError("the tail ended early")
