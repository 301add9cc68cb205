"""What a parked run holds: its conversation, folder, files and answers, over the daemon's death."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest

from tests.process.run_calls import NAME, add_agent, begin, in_state, result_of, shell, told
from tests.process.world import ASKING, World

pytestmark = pytest.mark.timeout(120)


def call(name: str, **arguments: str) -> str:
    """The directive for one call."""
    return f"[[tool:{name} {json.dumps(arguments)}]]"


@pytest.mark.requirement("run.park-holds")
@pytest.mark.requirement("children.own-process")
async def test_a_parked_run_goes_on_where_it_was_after_the_death_of_the_daemon() -> None:
    async with World(config=ASKING) as world:
        add_agent(world)
        await world.start()
        await world.peer.turn(NAME, "[[reply:hello]]")
        project = Path((await world.peer.detail(NAME)).storage_root) / "workspace" / "project"
        project.mkdir(parents=True)
        asking = shell('echo "$PWD" >> where.txt; echo "$TMPDIR" > tmp.txt')
        task = " [[next]] ".join(
            (
                call("set_working_directory", path=str(project)),
                call("file_write", path="notes.txt", content="noted"),
                asking,
                "[[reply:all of it]]",
            )
        )
        (row,) = await begin(world, task, is_attended=True)
        row = await in_state(world, row.run_id, "Parked")
        asked_before = len(world.model.requests)
        await world.kill()
        await world.start()
        (asked,) = await world.peer.approvals(NAME)
        key = next(item.key for item in asked.options if item.effect == "approve")
        await world.peer.answer(asked, key)
        row = await in_state(world, row.run_id, "Completed")
        await told(world, row.run_id)
        assert (project / "where.txt").read_text() == f"{project}\n", "run once, where it was"
        tmp = (project / "tmp.txt").read_text().strip()
        assert re.fullmatch(rf"/tmp/netclaw-{os.getuid()}/[0-9a-f]+/c[0-9a-f]{{8}}", tmp)
        assert f"- Wrote: {project}/notes.txt" in result_of(row)
        # It went on with the whole conversation: the one call of the model after the park shows it.
        last = next(r for r in list(world.model.requests)[asked_before:] if "noted" in str(r.body))
        assert str(project) in str(last.body["messages"])
        rows = await world.peer.journal(NAME)
        assert "WorkingDirectorySet" not in {item["type"] for item in rows}, "it was the run's own"
