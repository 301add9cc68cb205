"""Sessions that handed tasks to child runs: what they are told of them, and what is logged."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from tests.process.lending import Lender
from tests.process.run_calls import DEFINITION, NAME, add_agent, begin, in_state, kill, pid_of
from tests.process.run_calls import told as result_told
from tests.process.signal_calls import (
    HELD,
    WINDOW,
    answers,
    call,
    changes,
    directive,
    execute,
    held_run,
    hold,
    is_open,
    kinds,
    log_text,
    person,
    told,
    until_kind,
    until_told,
    version,
    wakes,
    watch,
    watches,
    written_to,
)
from tests.process.test_command_line import cli
from tests.process.world import World

pytestmark = pytest.mark.timeout(120)


@pytest.fixture
async def world(lender: Lender) -> AsyncIterator[World]:
    """A daemon with one agent."""
    async with lender.lend(WINDOW, prepare=add_agent) as world:
        yield world


@pytest.mark.requirement("signals.case-01")
@pytest.mark.requirement("signals.actors")
async def test_a_new_run_is_logged_and_its_parent_is_told_nothing(world: World) -> None:
    row = await held_run(world)
    found = await changes(world, row.session_id)
    (event,) = found["events"]
    assert (event["kind"], event["actorType"], event["actorId"]) == ("child_spawned", "agent", NAME)
    assert (event["runId"], event["sequence"]) == (row.run_id, found["stateVersion"])
    (listed,) = [
        each
        for each in (await cli(world, "sessions", "list", "--children", "--json")).json
        if each["id"] == row.session_id
    ]
    assert listed["stateVersion"] == found["stateVersion"]
    assert not is_open((await watches(world))[NAME, row.session_id])
    assert await told(world, NAME) == []


@pytest.mark.requirement("signals.case-02")
@pytest.mark.requirement("signals.trouble-01")
@pytest.mark.requirement("signals.no-text")
async def test_a_person_in_a_run_is_one_line_in_its_parents_next_turn(world: World) -> None:
    row = await held_run(world)
    known = await version(world, row.session_id)
    await written_to(world, row)
    assert await until_told(world, NAME) == [[(row.session_id, known)]]
    (event,) = (await changes(world, row.session_id, known))["events"]
    assert (event["kind"], event["actorType"]) == ("human_direct_message", "human")
    assert (event["actorId"], event["summary"]) == ("U1", "human message via cli")
    assert "look again" not in log_text(world)
    requests = [each.messages for each in world.model.requests]
    assert any(f"changesSince {known}." in str(messages[-1]) for messages in requests)


@pytest.mark.requirement("signals.case-03")
async def test_twenty_messages_are_two_lines_in_two_turns(world: World) -> None:
    row = await held_run(world)
    known = await version(world, row.session_id)
    await hold(world, NAME)
    await written_to(world, row, 20)
    first = (await changes(world, row.session_id, known))["events"][0]["sequence"]
    world.open_gate("busy")
    expected = [[(row.session_id, known)], [(row.session_id, first)]]
    assert await until_told(world, NAME, 2) == expected
    await person(world, NAME)
    assert await told(world, NAME) == expected


@pytest.mark.requirement("signals.case-04")
async def test_looking_moves_nothing(world: World) -> None:
    row = await held_run(world)
    known = await version(world, row.session_id)
    look = directive("session_status", sessionKey=row.session_id, changesSince=known)
    await hold(world, NAME)
    await written_to(world, row)
    world.model.rule("look thrice", f"{look} {look} {look} [[reply:seen]]")
    turn = asyncio.create_task(answers(world, NAME, "look thrice"))
    world.open_gate("busy")
    first, second, third = [answer["stateChanges"] for answer in await turn]
    assert first == second == third
    assert kinds(first) == ["human_direct_message"]
    assert await until_told(world, NAME) == [[(row.session_id, known)]]


@pytest.mark.requirement("signals.case-05")
async def test_a_run_that_completes_is_told_of_by_its_result_alone(world: World) -> None:
    row = await held_run(world)
    world.open_gate("early")
    world.open_gate("late")
    await in_state(world, row.run_id, "Completed")
    await result_told(world, row.run_id)
    found = await changes(world, row.session_id)
    assert kinds(found) == ["child_spawned", "run_completed"]
    assert (found["events"][1]["actorType"], found["events"][1]["runId"]) == ("system", row.run_id)
    assert await told(world, NAME) == []
    assert not [row for row in (await watches(world)).values() if is_open(row)]


IMPATIENT = DEFINITION.replace("Main", "Main\ntimeoutSeconds: 5\nprefillTimeoutSeconds: 5")
FAILURES = {
    "error": ("[[status:400]]", DEFINITION),
    "timeout": ("[[gate:early]] [[reply:never]]", IMPATIENT),
    "cancelled": ("[[gate:early]] [[reply:never]]", DEFINITION),
}


@pytest.mark.requirement("signals.case-06")
@pytest.mark.requirement("signals.trouble-03")
@pytest.mark.parametrize("outcome", list(FAILURES))
async def test_how_a_run_failed_is_kept(world: World, outcome: str) -> None:
    task, definition = FAILURES[outcome]
    (world.home / "agents" / "helper.md").write_text(definition)
    (row,) = await begin(world, task)
    if outcome == "cancelled":
        await world.at_gate("early")
        await cli(world, "runs", "cancel", row.run_id)
    await result_told(world, row.run_id)
    found = await until_kind(world, row.session_id, "run_failed")
    assert kinds(found) == ["child_spawned", "run_failed"]
    assert found["events"][1]["payload"] == {"outcome": outcome}
    assert await told(world, NAME) == []


@pytest.mark.requirement("signals.trouble-14")
async def test_a_result_survives_a_stop_and_the_pruning_of_the_log(world: World) -> None:
    row = await held_run(world)
    await world.stop()
    execute(world, "UPDATE session_state_events SET occurred_at = 1")
    world.open_gate("early")
    world.open_gate("late")
    await world.start()
    await in_state(world, row.run_id, "Completed")
    await result_told(world, row.run_id)
    found = await changes(world, row.session_id)
    assert kinds(found) == ["run_completed"]
    assert found["historyGap"]


@pytest.mark.requirement("signals.trouble-29")
@pytest.mark.parametrize("end", ["stop", "kill", "session", "process"])
async def test_a_run_that_goes_on_is_not_logged_as_ended(world: World, end: str) -> None:
    row = await held_run(world)
    await INTERRUPTIONS[end](world, row.run_id)
    world.open_gate("early")
    world.open_gate("late")
    await in_state(world, row.run_id, "Completed")
    await result_told(world, row.run_id)
    assert kinds(await changes(world, row.session_id)) == ["child_spawned", "run_completed"]


async def _stop(world: World, _run_id: str) -> None:
    await world.stop()
    await world.start()


async def _kill(world: World, _run_id: str) -> None:
    await world.kill()
    await world.start()


async def _session(world: World, run_id: str) -> None:
    await cli(world, "sessions", "stop", NAME)
    await in_state(world, run_id, "Parked")
    await world.peer.send(NAME, "[[reply:again]]")


async def _process(world: World, run_id: str) -> None:
    kill(await pid_of(world, run_id))


INTERRUPTIONS = {"stop": _stop, "kill": _kill, "session": _session, "process": _process}


@pytest.mark.requirement("signals.trouble-31")
@pytest.mark.requirement("signals.trouble-32")
async def test_runs_that_are_over_are_not_shown_as_open_whoever_died(world: World) -> None:
    over, open_run = await begin(world, "[[reply:quick]]", HELD)
    await in_state(world, over.run_id, "Completed")
    await world.kill()
    await world.start()
    await result_told(world, over.run_id)
    (listed,) = (await cli(world, "runs", "list", "--open", "--json")).json
    assert listed["runId"] == open_run.run_id
    rows = {row["runId"]: row for row in (await cli(world, "runs", "--json")).json}
    assert rows[over.run_id]["state"] == "Completed"
    assert kinds(await changes(world, over.session_id)).count("run_completed") == 1
    seen = await call(world, NAME, "sessions_list")
    assert over.session_id not in str(seen["sessions"])
    assert open_run.session_id in str(seen["sessions"])


@pytest.mark.requirement("signals.trouble-32")
async def test_pruning_leaves_a_run_at_work_alone(world: World) -> None:
    row = await held_run(world)
    await world.stop()
    execute(
        world,
        "UPDATE session_state_events SET occurred_at = 1",
        "UPDATE session_watch_cursors SET updated_at = 1",
    )
    await world.start()
    (listed,) = (await cli(world, "runs", "list", "--open", "--json")).json
    assert listed["runId"] == row.run_id
    world.open_gate("early")
    world.open_gate("late")
    await in_state(world, row.run_id, "Completed")
    await result_told(world, row.run_id)


@pytest.mark.requirement("signals.nested-not-woken")
async def test_a_run_that_watches_is_not_woken(world: World) -> None:
    row = await held_run(world)
    await person(world, "other")
    await watch(world, row.session_id, "other")
    await person(world, "other")
    assert is_open((await watches(world))[row.session_id, "other"])
    assert await wakes(world, row.session_id) == []
    assert len(await world.peer.ledger(row.session_id)) == 1


@pytest.mark.requirement("signals.trouble-28")
async def test_a_parent_without_a_process_is_started_for_a_result_once(world: World) -> None:
    row = await held_run(world)
    await cli(world, "sessions", "kill", NAME)
    world.open_gate("early")
    world.open_gate("late")
    await in_state(world, row.run_id, "Completed")
    await result_told(world, row.run_id)
    assert kinds(await changes(world, row.session_id)) == ["child_spawned", "run_completed"]
