"""When a watcher is woken, and when it is left alone, through real processes."""

from __future__ import annotations

from collections.abc import AsyncIterator
from itertools import pairwise

import pytest

from netclaw.wire.v1 import admin_pb2
from tests.process.lending import Lender
from tests.process.notice_calls import (
    QUIET,
    SLOW,
    TARGET,
    WATCHER,
    config,
    marks,
    pair,
    set_goal,
    show,
    speak,
    told,
    until_marks,
    until_told,
    wakes_in,
)
from tests.process.world import World, merge

pytestmark = pytest.mark.timeout(90)
WINDOW_S = 2.0
NO_WINDOW = config(0.0)


@pytest.fixture
async def world(lender: Lender) -> AsyncIterator[World]:
    """A daemon that wakes a watcher for each change."""
    async with lender.lend(NO_WINDOW) as world:
        yield world


async def admitted_at(world: World, session_id: str = WATCHER) -> list[int]:
    """When each wake was admitted, epoch ms."""
    entries = await world.peer.ledger(session_id)
    return [
        entry.admitted_at_ms for entry in entries if entry.source_message_id.startswith("signal:")
    ]


@pytest.mark.requirement("wakes.first-at-once", "wakes.merged", "signals.case-27")
async def test_the_first_wake_comes_at_once_and_the_others_become_one_per_window() -> None:
    async with World(config=config(WINDOW_S)) as world:
        await world.start()
        await pair(world)
        for number in range(5):
            await speak(world, TARGET)
            if number == 0:
                await until_told(world, 1)

        events = [event.sequence for event in (await show(world, TARGET)).events]
        found = await until_told(world, 3)

        assert [item.mark for item in found] == [events[0], events[1], events[-1]]
        times = await admitted_at(world)
        assert len(times) == 3
        first = (await show(world, TARGET)).events[0].occurred_at_ms
        assert times[0] - first < WINDOW_S * 500
        gaps = [later - sooner for sooner, later in pairwise(times)]
        assert min(gaps) >= WINDOW_S * 1000 - 20, gaps


@pytest.mark.requirement("wakes.passivated")
async def test_a_watcher_without_a_process_is_started() -> None:
    idle = {"Session": {"IdleTimeout": "00:00:00.050", "Tuning": {"PassivationGraceSeconds": 0.05}}}
    async with World(config=merge(NO_WINDOW, idle)) as world:
        await world.start()
        await pair(world)
        await world.peer.wait_row(WATCHER, lambda row: row.phase == "passive")

        await set_goal(world, TARGET, "on we go")

        (notice,) = await until_told(world, 1)
        assert notice.target == TARGET
        await world.peer.wait_row(WATCHER, lambda row: row.phase == "passive")
        assert len(wakes_in(await world.peer.journal(WATCHER))) == 1


@pytest.mark.requirement("wakes.authority")
async def test_a_wake_is_automation_of_the_watchers_own_audience(world: World) -> None:
    slack = "C1/17.1"
    await world.peer.inject_slack(slack, "[[reply:hello]]")
    await world.peer.wait_answered(slack, 1)
    (greeting,) = await world.peer.claim("slack", "adapter")
    await world.peer.confirm(greeting.row_id, "adapter", "1")
    await world.peer.turn(TARGET, "[[reply:there]]")
    await world.peer.admin.WatchSession(
        admin_pb2.WatchRequest(watcher=slack, target=TARGET), metadata=world.peer.metadata
    )

    await set_goal(world, TARGET, "on we go")
    await until_told(world, 1, slack)

    (wake,) = [
        row["payload"]
        for row in await world.peer.journal(slack)
        if row["type"] == "InputAdmitted" and row["payload"]["source_message_id"]
    ]
    requester = wake["authority"]["requester"]
    assert (requester["audience"], requester["principal"]) == ("Team", "automation")
    assert wake["authority"]["provenance"] == {
        "source_kind": "signal",
        "authenticity": "LocalProcess",
    }
    assert not wake["attended"]
    assert await world.peer.claim("slack", "adapter") == [], "nobody asked for that answer"


@pytest.mark.requirement("wakes.replies")
async def test_the_answer_of_a_wake_is_posted_where_that_is_wanted() -> None:
    async with World(config=config(0.0, WakeReplies=True)) as world:
        await world.start()
        slack = "C1/17.1"
        await world.peer.inject_slack(slack, "[[reply:hello]]")
        await world.peer.wait_answered(slack, 1)
        (greeting,) = await world.peer.claim("slack", "adapter")
        await world.peer.confirm(greeting.row_id, "adapter", "1")
        await world.peer.turn(TARGET, "[[reply:there]]")
        await world.peer.admin.WatchSession(
            admin_pb2.WatchRequest(watcher=slack, target=TARGET), metadata=world.peer.metadata
        )
        world.model.rule("changed (other actor)", "[[reply:I saw it]]")

        await set_goal(world, TARGET, "on we go")
        await until_told(world, 1, slack)

        (posted,) = await world.peer.claim("slack", "adapter")
        assert (posted.address, posted.text) == (slack, "I saw it")


@pytest.mark.requirement("wakes.waits", "signals.trouble-12")
async def test_a_wake_waits_for_a_person_and_ends_without_a_word_if_all_was_told(
    world: World,
) -> None:
    await pair(world)
    await world.peer.send(WATCHER, "[[gate:one]] [[reply:one]]")
    await world.at_gate("one")
    await world.peer.send(WATCHER, "[[reply:two]]")
    await set_goal(world, TARGET, "on we go")
    await world.peer.wait_row(WATCHER, lambda row: row.pending_inputs == 3)

    world.open_gate("one")
    await world.peer.wait_answered(WATCHER, 4)

    (notice,) = await told(world)
    rows = await world.peer.journal(WATCHER)
    (turn,) = [
        row["payload"]
        for row in rows
        if row["type"] == "TurnStarted" and row["payload"]["turn_id"] == notice.turn_id
    ]
    assert turn["authority"]["requester"]["principal"] == "operator", "the person's own turn"
    (ending,) = [e for e in await world.peer.ledger(WATCHER) if e.source_message_id]
    assert ending.outcome == "stopped"
    assert world.model.request_count == 4
    assert "netclaw, not by a person" not in str(await world.peer.history(WATCHER))


@pytest.mark.requirement("wakes.reopened", "signals.trouble-15")
async def test_a_notice_whose_turns_fail_is_woken_for_a_few_times_and_then_waits(
    world: World,
) -> None:
    await pair(world)
    world.model.rule("changed (other actor)", "[[status:400]]")

    await set_goal(world, TARGET, "on we go")
    await world.peer.wait_answered(WATCHER, 7)

    rows = await world.peer.journal(WATCHER)
    wakes = wakes_in(rows)
    assert [int(wake.rpartition(":")[2]) for wake in wakes] == list(range(6))
    assert await told(world) == []
    head = (await show(world, TARGET)).state_version
    assert await marks(world, WATCHER, TARGET) == (0, head, head)
    world.model.forget_rules()
    await world.peer.turn(WATCHER, "[[reply:at last]]")
    (notice,) = await told(world)
    assert (notice.since, notice.mark) == (0, head)
    assert (await world.peer.rows())[WATCHER].phase in QUIET


@pytest.mark.requirement("wakes.held")
async def test_a_stopped_session_is_left_alone_until_it_is_restarted(world: World) -> None:
    await pair(world)
    await world.peer.stop_session(WATCHER)

    await set_goal(world, TARGET, "on we go")
    head = (await show(world, TARGET)).state_version
    await until_marks(world, WATCHER, TARGET, (0, head, head))
    # Whatever the daemon had to do about it is done before this is answered.
    await set_goal(world, TARGET, status="paused")
    assert (await world.peer.rows())[WATCHER].phase == "passive"
    assert wakes_in(await world.peer.journal(WATCHER)) == []

    await world.peer.restart_session(WATCHER)
    assert (await until_told(world, 1))[0].since == 0


@pytest.mark.requirement("wakes.reload")
async def test_another_window_counts_from_the_reload_on() -> None:
    async with World(config=SLOW) as world:
        await world.start()
        await pair(world)
        pid = world.pid
        await set_goal(world, TARGET, "one")
        await until_told(world, 1)
        await set_goal(world, TARGET, "two")
        assert len(await told(world)) == 1

        world.edit_config(config(0.1))

        assert len(await until_told(world, 2)) == 2
        assert (world.pid, (await world.peer.status()).generation) == (pid, 1)
