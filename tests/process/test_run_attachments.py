"""Files and runs: a run sends none, its session sends what it kept, people send it some."""

from __future__ import annotations

import base64
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.process.run_calls import NAME, add_agent, begin, in_state, result_of, shell, told
from tests.process.test_context import PNG, send_media, upload
from tests.process.world import World

pytestmark = pytest.mark.timeout(90)

SEEING = {"Models": {"Definitions": {"main": {"InputModalities": ["Image"]}}}}


@pytest.fixture
async def world() -> AsyncIterator[World]:
    """A daemon with an agent, whose model sees pictures."""
    async with World(config=SEEING) as world:
        add_agent(world)
        await world.start()
        yield world


def attach(path: str | Path) -> str:
    """The directive for one file."""
    return f"[[tool:attach_file {json.dumps({'path': str(path)})}]]"


def content(path: str | Path) -> bytes:
    """What is in a file."""
    return Path(path).read_bytes()


@pytest.mark.requirement("agents.tools")
async def test_a_run_attaches_nothing(world: World) -> None:
    task = f"{shell('echo secret > note.txt')} [[next]] {attach('note.txt')} [[next]] [[results]]"
    (row,) = await begin(world, task)
    row = await in_state(world, row.run_id, "Completed")
    assert "There is no such tool" in result_of(row)
    assert not (Path(row.folder) / "artifacts" / "attached").exists()
    await told(world, row.run_id)


@pytest.mark.requirement("agents.artifacts")
async def test_a_session_attaches_what_its_run_kept(world: World) -> None:
    command = 'mkdir -p "../artifacts" && echo kept > "../artifacts/report.txt"'
    (row,) = await begin(world, f"{shell(command)} [[next]] [[reply:it is in report.txt]]")
    row = await in_state(world, row.run_id, "Completed")
    await told(world, row.run_id)
    kept = Path(row.folder) / "artifacts" / "report.txt"
    for path in (kept, row.result_path):
        turn = await world.peer.turn(NAME, f"{attach(path)} [[reply:here it is]]")
        (file,) = (output for output in turn.outputs if output.type == "file")
        assert content(file.path) == content(path)
        assert file.path != str(path), "an attachment is a copy"


@pytest.mark.requirement("run.people")
async def test_a_picture_that_a_person_sends_into_a_run_is_shown_to_it(world: World) -> None:
    (row,) = await begin(world, f"[[gate:first]] {shell('echo one')} [[next]] [[reply:done]]")
    await world.model.gates.wait_for_arrival("first")
    staged = await upload(world, row.session_id, PNG, "image/png")
    sent = await send_media(world, row.session_id, staged)
    world.model.gates.open("first")
    assert (await world.peer.follow(row.session_id, sent)).text == "nice"
    await in_state(world, row.run_id, "Completed")
    await told(world, row.run_id)
    encoded = base64.b64encode(PNG)
    assert [encoded in request.raw for request in world.model.requests].count(True) == 1
