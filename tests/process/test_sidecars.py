"""Titles in a real daemon: who sees them, and that nothing is lost with one in flight."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import time
from collections.abc import AsyncIterator
from typing import Any

import pytest

from netclaw.wire.v1 import admin_pb2
from tests.fakes.model import FakeModel, Outcome
from tests.process.checks import check_journal
from tests.process.lending import Lender
from tests.process.peer import LIFECYCLE
from tests.process.world import World

pytestmark = pytest.mark.timeout(60)

HELD = "[[gate:title]][[reply:A late title]]"


def name_giver(listener: socket.socket) -> FakeModel:
    """A model with a title for every conversation."""
    return FakeModel(title="[[reply:Small talk]]", listener=listener)


@pytest.fixture
async def world(lender: Lender) -> AsyncIterator[World]:
    """A daemon whose model names conversations."""
    async with lender.lend(make_model=name_giver) as made:
        yield made


async def titled(world: World, name: str, title: str) -> None:
    """Wait until the list of sessions shows this title."""
    await world.peer.wait_row(name, lambda row: row.title == title)


async def cli(world: World, *arguments: str) -> Any:
    """What a command of the command line answers with `--json`."""
    process = await asyncio.create_subprocess_exec(
        str(world.cli), *arguments, "--json",
        env=world.environment(), stdout=asyncio.subprocess.PIPE,
    )  # fmt: skip
    out, _ = await process.communicate()
    assert process.returncode == 0, out
    return json.loads(out)


def titles_of(rows: list[dict[str, Any]]) -> list[str]:
    """The titles in a journal."""
    return [row["payload"]["title"] for row in rows if row["type"] == "TitleSet"]


@pytest.mark.requirement("sidecars.title-listed")
async def test_the_title_reaches_every_subscriber_and_every_list(world: World) -> None:
    await world.peer.ensure("named")
    opened = asyncio.Event()

    async def watch() -> str:
        async for output in world.peer.attach("named", filter_bits=LIFECYCLE, opened=opened):
            if output.type == "title":
                assert output.seq > 0
                return output.text
        raise AssertionError("the stream ended without a title")

    watching = asyncio.create_task(watch())
    await opened.wait()
    await world.peer.turn("named", "hi [[reply:hello]]")
    async with asyncio.timeout(30):
        assert await watching == "Small talk"
    await titled(world, "named", "Small talk")
    assert (await world.peer.detail("named")).row.title == "Small talk"
    listed = await cli(world, "sessions", "list")
    assert [row["title"] for row in listed] == ["Small talk"]
    assert (await cli(world, "sessions", "show", "named"))["title"] == "Small talk"
    rows = await world.peer.journal("named")
    check_journal(rows)
    (payload,) = (row["payload"] for row in rows if row["type"] == "TitleSet")
    assert payload["actor"] == "model"
    assert payload["usage"]["input_tokens"] > 0

    await world.kill()
    await world.start()
    assert (await world.peer.rows())["named"].title == "Small talk"
    async for output in world.peer.attach("named", filter_bits=LIFECYCLE, after=0):
        if output.type == "title":
            assert output.text == "Small talk"
            break


@pytest.mark.requirement("sidecars.title-beside")
async def test_a_kill_with_a_title_in_flight_loses_nothing_and_the_next_turn_gets_it(
    world: World,
) -> None:
    world.model.enqueue_titles(HELD)
    await world.peer.turn("killed", "hi [[reply:hello]]")
    await world.at_gate("title")
    row = (await world.peer.rows())["killed"]
    os.kill(row.pid, signal.SIGKILL)
    await world.peer.wait_row("killed", lambda new: new.pid != row.pid)
    assert (await world.peer.turn("killed", "there? [[reply:yes]]")).text == "yes"
    await titled(world, "killed", "Small talk")
    rows = await world.peer.journal("killed")
    check_journal(rows)
    assert titles_of(rows) == ["Small talk"]


@pytest.mark.requirement("sidecars.title-beside")
async def test_a_stop_and_a_restart_do_not_wait_for_a_title(world: World) -> None:
    world.model.enqueue_titles(HELD)
    await world.peer.turn("stopped", "hi [[reply:hello]]")
    await world.at_gate("title")
    began = time.monotonic()
    await world.peer.stop_session("stopped")
    await world.peer.wait_row("stopped", lambda row: not row.pid)
    assert time.monotonic() - began < 60
    await world.model.wait_for_outcome(Outcome.DISCONNECTED, of_titles=True)

    world.model.enqueue_titles(HELD)
    await world.peer.turn("stopped", "again [[reply:hello]]")
    await world.model.wait_for_titles(2)
    began = time.monotonic()
    await world.restart()
    assert time.monotonic() - began < 60
    assert (await world.peer.turn("stopped", "and now? [[reply:fine]]")).text == "fine"
    await titled(world, "stopped", "Small talk")
    check_journal(await world.peer.journal("stopped"))


@pytest.mark.requirement("sidecars.title-late")
async def test_a_reset_ends_the_call_and_the_next_life_has_no_title_of_the_old_one(
    world: World,
) -> None:
    world.model.enqueue_titles(HELD)
    await world.peer.turn("reset", "hi [[reply:hello]]")
    await world.at_gate("title")
    await world.peer.admin.ResetSession(
        admin_pb2.SessionRef(session_id="reset"), metadata=world.peer.metadata
    )
    world.open_gate("title")
    await world.model.wait_for_outcome(Outcome.DISCONNECTED, of_titles=True)
    assert titles_of(await world.peer.journal("reset")) == []
    await world.peer.turn("reset", "a new life [[reply:yes]]")
    await titled(world, "reset", "Small talk")


@pytest.mark.requirement("sidecars.title-when")
async def test_an_interval_of_zero_makes_no_title(world: World) -> None:
    await world.stop()
    world.edit_config({"Session": {"Tuning": {"TitleGenerationInterval": 0}}})
    await world.start()
    for number in range(3):
        await world.peer.turn("bare", f"hi {number} [[reply:hello]]")
    assert world.model.title_count == 0
