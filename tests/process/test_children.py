"""Child runs in real processes: handed over, worked on, told of once, whoever dies."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from netclaw.wire.v1 import admin_pb2
from tests.process.checks import is_alive, wait_gone
from tests.process.lending import Lender
from tests.process.run_calls import (
    NAME,
    add_agent,
    begin,
    in_state,
    is_of,
    kill,
    launched,
    pid_of,
    result_of,
    runs,
    shell,
    told,
    until,
    until_purged,
)
from tests.process.world import ASKING, World

pytestmark = pytest.mark.timeout(120)


@pytest.fixture
async def world(lender: Lender) -> AsyncIterator[World]:
    """A daemon that knows an agent."""
    async with lender.lend(prepare=add_agent) as world:
        yield world


@pytest.mark.requirement("children.whole")
async def test_a_run_works_beside_its_session_and_its_result_is_a_turn_of_its_own(
    world: World,
) -> None:
    (row,) = await begin(world, "[[gate:go]] [[reply:found it]]")
    pid = await pid_of(world, row.run_id)
    assert pid != (await world.peer.rows())[NAME].pid
    assert (await world.peer.turn(NAME, "[[reply:meanwhile]]")).text == "meanwhile"
    world.model.gates.open("go")
    row = await in_state(world, row.run_id, "Completed")
    end = await told(world, row.run_id)
    assert end["type"] == "TurnRecorded"
    assert "found it" in result_of(row)
    folder = Path(row.folder)
    assert (folder / "task.md").exists()
    assert (folder / "logs" / "session.log").exists()
    notes = [item.text for item in await world.peer.history(NAME) if item.role == "note"]
    assert any(row.run_id in note for note in notes)
    assert not any("found it" in note for note in notes)
    wait_gone([pid])
    await until_purged(world, row)
    assert (folder / "result.md").exists(), "its files stay"


@pytest.mark.requirement("children.deaths")
async def test_a_run_that_is_killed_goes_on(world: World) -> None:
    (row,) = await begin(world, f"{shell('echo one')} [[next]] [[gate:go]] [[reply:both done]]")
    await launched(world, row)
    kill(await pid_of(world, row.run_id))
    world.model.gates.open("go")
    row = await in_state(world, row.run_id, "Completed", "Failed", "Lost")
    await told(world, row.run_id)
    rows = await world.peer.journal(NAME)
    assert "CrashRecorded" not in {item["type"] for item in rows}


@pytest.mark.requirement("children.deaths")
async def test_a_parent_that_is_killed_hears_of_its_runs_afterwards(world: World) -> None:
    first, second = await begin(world, "[[reply:quick]]", "[[gate:go]] [[reply:slow]]")
    kill((await world.peer.rows())[NAME].pid)
    await told(world, first.run_id)
    kill((await world.peer.wait_row(NAME, lambda row: bool(row.pid))).pid)
    world.model.gates.open("go")
    await told(world, second.run_id)
    for row in await runs(world, NAME):
        assert row.state == "Completed"
    rows = await world.peer.journal(NAME)
    assert sum(is_of(row, "ChildEnded", first.run_id) for row in rows) == 1


@pytest.mark.requirement("children.deaths")
async def test_runs_go_on_after_the_death_of_the_daemon(world: World) -> None:
    (row,) = await begin(world, "[[gate:go]] [[reply:survived]]")
    pid = await pid_of(world, row.run_id)
    await world.kill()
    wait_gone([pid])
    world.model.gates.open("go")
    await world.start()
    row = await in_state(world, row.run_id, "Completed")
    await told(world, row.run_id)
    assert "survived" in result_of(row)


@pytest.mark.requirement("children.stop-order")
async def test_a_run_parks_at_a_restart_and_goes_on_after_it(world: World) -> None:
    (row,) = await begin(world, "[[gate:go]] [[reply:went on]]")
    pid = await pid_of(world, row.run_id)
    await world.stop()
    wait_gone([pid])
    world.model.gates.open("go")
    await world.start()
    row = await in_state(world, row.run_id, "Completed")
    await told(world, row.run_id)
    kinds = [item["type"] for item in await world.peer.journal(NAME)]
    assert kinds.count("ChildParked") == 1
    assert kinds.count("ChildResumed") == 1


@pytest.mark.requirement("children.owner-gone")
async def test_no_process_of_a_run_survives_its_owner(world: World) -> None:
    rows = await begin(world, *("[[gate:never]] [[reply:x]]" for _ in range(3)))
    pids = [await pid_of(world, row.run_id) for row in rows]
    await world.peer.stop_session(NAME)
    assert not any(is_alive(pid) for pid in pids)
    await world.peer.send(NAME, "[[reply:again]]")
    pids = [await pid_of(world, row.run_id) for row in rows]
    await world.kill()
    wait_gone(pids)


@pytest.mark.requirement("children.consent-parent")
async def test_a_run_that_asks_has_no_process_until_it_is_answered() -> None:
    async with World(config=ASKING) as world:
        add_agent(world)
        await world.start()
        (row,) = await begin(world, f"{shell('touch from-a-run')} [[results]]", is_attended=True)
        row = await in_state(world, row.run_id, "Parked")
        await until(lambda: has_no_process(world, row.run_id))
        (asked,) = await world.peer.approvals(NAME)
        assert (asked.session_id, asked.run_id) == (NAME, row.run_id)
        await world.kill()
        await world.start()
        (asked,) = await world.peer.approvals(NAME)
        key = next(item.key for item in asked.options if item.effect == "approve")
        await world.peer.answer(asked, key)
        row = await in_state(world, row.run_id, "Completed")
        await told(world, row.run_id)
        assert (Path(row.folder) / "workspace" / "from-a-run").exists()


async def has_no_process(world: World, run_id: str) -> bool:
    """Whether a run has none right now."""
    return not next(row.pid for row in await runs(world) if row.run_id == run_id)


@pytest.mark.requirement("children.steered")
async def test_a_run_can_be_cancelled_watched_and_written_to(world: World) -> None:
    (row,) = await begin(world, f"{shell('sleep 300.125')} [[reply:never]]")
    await launched(world, row)
    sent = await world.peer.send(row.session_id, "hurry up")
    assert sent.seq
    await world.peer.admin.CancelRun(
        admin_pb2.RunRef(run_id=row.run_id), metadata=world.peer.metadata
    )
    row = await in_state(world, row.run_id, "Cancelled")
    assert row.reason == "CancelledByParent"
    await told(world, row.run_id)


@pytest.mark.requirement("children.gate")
async def test_a_run_that_waits_for_a_place_is_cancelled_at_once() -> None:
    async with World(config={"SubAgents": {"MaxLive": 1}}) as world:
        add_agent(world)
        await world.start()
        rows = await begin(world, *("[[gate:go]] [[reply:done]]" for _ in range(2)))
        first, second = await placed_first(world, rows)
        await world.peer.admin.CancelRun(
            admin_pb2.RunRef(run_id=second.run_id), metadata=world.peer.metadata
        )
        row = await in_state(world, second.run_id, "Cancelled")
        assert row.reason == "CancelledByParent"
        await told(world, second.run_id)
        world.model.gates.open("go")
        await in_state(world, first.run_id, "Completed")
        await told(world, first.run_id)


async def placed_first(world: World, rows: list[admin_pb2.RunRow]) -> list[admin_pb2.RunRow]:
    """These runs once one of them has a process, that one first; bounded."""
    placed: list[str] = []

    async def is_one_placed() -> bool:
        placed[:] = [row.run_id for row in await runs(world) if row.pid]
        return bool(placed)

    await until(is_one_placed)
    return sorted(rows, key=lambda row: row.run_id not in placed)


@pytest.mark.requirement("children.stop-order")
async def test_a_run_parks_when_its_session_alone_is_stopped_and_goes_on_with_it(
    world: World,
) -> None:
    (row,) = await begin(world, "[[gate:go]] [[reply:went on]]")
    await pid_of(world, row.run_id)
    await world.peer.stop_session(NAME)
    row = await in_state(world, row.run_id, "Parked")
    world.model.gates.open("go")
    await world.peer.send(NAME, "[[reply:again]]")
    row = await in_state(world, row.run_id, "Completed")
    await told(world, row.run_id)
