"""A person writes into a run from a real terminal: answered there alone, or told why not."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from netclaw.wire.v1 import admin_pb2
from tests.cli.terminal import Terminal
from tests.process.lending import Lender
from tests.process.run_calls import NAME, add_agent, begin, in_state, result_of, shell, told
from tests.process.test_command_line import HASTY, Result, cli, finish
from tests.process.test_command_line import begin as begin_cli
from tests.process.world import ASKING, World

pytestmark = pytest.mark.timeout(120)

AT_WORK = f"[[gate:first]] {shell('echo one')} [[next]] [[reply:the result]]"
"""A run that waits in its first model call, and whose turn has a batch boundary after it."""
LAST_CALL = "[[gate:first]] [[reply:the result]]"
"""A run whose first model call is its last one: nobody joins it any more."""


@pytest.fixture
async def world(lender: Lender, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[World]:
    """A daemon with an agent, whose commands ask nobody."""
    async with lender.lend(prepare=add_agent) as world:
        monkeypatch.setenv("NETCLAW_HOME", str(world.home))
        yield world


async def at_the_gate(world: World, task: str) -> admin_pb2.RunRow:
    """A run that waits in its first model call."""
    (row,) = await begin(world, task)
    await world.model.gates.wait_for_arrival("first")
    return row


async def waiting(world: World, session_id: str) -> None:
    """Return once a message waits in a session that is at work; bounded."""
    async with asyncio.timeout(30):
        while True:
            entries = await world.peer.ledger(session_id)
            if [entry.outcome for entry in entries][1:] == ["waiting"]:
                return
            await asyncio.sleep(0.02)


def said_to(result: Result) -> str:
    """What a person was told, without the marks around it."""
    return " ".join(result.err.split())


@pytest.mark.requirement("run.people")
async def test_who_writes_into_a_run_with_p_is_answered_there_alone(world: World) -> None:
    row = await at_the_gate(world, AT_WORK)
    words = ("chat", "-p", "what now? [[reply:I look around.]]", "--resume", row.session_id)
    chat = await begin_cli(world, *words)
    await waiting(world, row.session_id)
    world.model.gates.open("first")
    result = await finish(chat)
    assert (result.code, result.out.splitlines()[-1]) == (0, "I look around."), result
    row = await in_state(world, row.run_id, "Completed")
    await told(world, row.run_id)
    assert "I look around." in result_of(row)
    history = "\n".join(item.text for item in await world.peer.history(NAME))
    assert "what now?" not in history
    assert "I look around." not in history


@pytest.mark.requirement("run.people")
async def test_a_person_at_a_terminal_talks_with_a_run(world: World) -> None:
    world.model.rule("where are you", "[[reply:In the **cellar**.]]")
    row = await at_the_gate(world, AT_WORK)
    with Terminal(["chat", "--resume", row.session_id], columns=110) as person:

        def talk() -> None:
            person.expect("| Ctrl-C stops the turn")  # the run is at work
            person.type("where are you\r")

        await asyncio.to_thread(talk)
        await waiting(world, row.session_id)
        world.model.gates.open("first")
        await asyncio.to_thread(person.expect, "In the cellar.")
        row = await in_state(world, row.run_id, "Completed")
        await told(world, row.run_id)


@pytest.mark.requirement("run.late-words")
async def test_who_writes_too_late_is_told_that_the_run_is_over(world: World) -> None:
    row = await at_the_gate(world, LAST_CALL)
    chat = await begin_cli(world, "chat", "-p", "one more thing", "--resume", row.session_id)
    await waiting(world, row.session_id)
    world.model.gates.open("first")
    result = await finish(chat)
    assert result.code == 1
    assert "This run was over before it read the message." in said_to(result)
    row = await in_state(world, row.run_id, "Completed")
    await told(world, row.run_id)
    assert "the result" in result_of(row)


@pytest.mark.requirement("run.late-words")
async def test_who_writes_into_a_run_that_is_cancelled_meanwhile_is_told_so(world: World) -> None:
    row = await at_the_gate(world, LAST_CALL)
    chat = await begin_cli(world, "chat", "-p", "one more thing", "--resume", row.session_id)
    await waiting(world, row.session_id)
    await cli(world, "runs", "cancel", row.run_id)
    result = await finish(chat)
    assert result.code == 1
    assert "The run was over before it answered the message." in said_to(result)
    world.model.gates.open("first")
    await told(world, row.run_id)


@pytest.mark.requirement("run.late-words")
async def test_a_run_that_is_over_takes_no_message(world: World) -> None:
    (row,) = await begin(world, "[[reply:quick]]")
    row = await in_state(world, row.run_id, "Completed")
    words = ("chat", "-p", "hello?", "--resume", row.session_id)
    result = await cli(world, *words, code=1)
    assert "[FAIL] chat" in result.err
    await told(world, row.run_id)


@pytest.mark.requirement("run.late-words")
async def test_who_writes_into_a_parked_run_is_told_that_it_waits(lender: Lender) -> None:
    async with lender.lend(ASKING, prepare=add_agent) as world:
        (row,) = await begin(world, f"{shell('echo hello > made')} [[reply:x]]", is_attended=True)
        await in_state(world, row.run_id, "Parked")
        words = ("chat", "-p", "hello?", "--resume", row.session_id)
        result = await cli(world, *words, code=1, program=HASTY)
    assert "The run is Parked and has no process; it reads the message" in said_to(result)
