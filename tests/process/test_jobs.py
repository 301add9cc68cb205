"""Background jobs in real processes: begun once, told of once, and dead with their session."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from netclaw.wire.v1 import admin_pb2
from tests.process.checks import check_journal
from tests.process.world import World

pytestmark = pytest.mark.timeout(120)

NAME = "works"
WAIT_S = 30.0


@pytest.fixture
async def world() -> AsyncIterator[World]:
    """A daemon whose commands ask nobody."""
    async with World() as world:
        await world.start()
        yield world


def job(command: str, **more: object) -> str:
    """The directive for one background call."""
    return f"[[tool:shell_execute {json.dumps({'command': command, 'background': True, **more})}]]"


def check(job_id: str, **more: object) -> str:
    """The directive for a look at a job."""
    return f"[[tool:check_background_job {json.dumps({'job_id': job_id, **more})}]]"


async def listed(world: World, session_id: str = "") -> list[admin_pb2.JobRow]:
    """What `netclaw jobs list` shows."""
    request = admin_pb2.ListJobsRequest(session_id=session_id)
    response = await world.peer.admin.ListJobs(request, metadata=world.peer.metadata)
    return list(response.jobs)


async def in_state(world: World, job_id: str, *states: str) -> admin_pb2.JobRow:
    """The job once it is in one of these states; bounded."""
    async with asyncio.timeout(WAIT_S):
        while True:
            (row,) = [row for row in await listed(world) if row.job_id == job_id]
            if row.state in states:
                return row
            await asyncio.sleep(0.02)


async def begin(world: World, command: str, name: str = NAME, **more: object) -> admin_pb2.JobRow:
    """A turn that begins a job, which is then listed."""
    before = {row.job_id for row in await listed(world)}
    turn = await world.peer.turn(name, f"{job(command, **more)} [[results]]")
    (row,) = [row for row in await listed(world) if row.job_id not in before]
    assert f"Background job {row.job_id}" in turn.text, turn.text
    return row


async def told(world: World, name: str, job_id: str) -> dict[str, Any]:
    """The journal's row of the turn that told of a job, once that turn is over; bounded."""
    async with asyncio.timeout(WAIT_S):
        while True:
            rows = await world.peer.journal(name)
            reports = [r for r in rows if is_of(r, "JobReported", job_id)]
            turns = {r["payload"]["turn_id"] for r in reports}
            ends = [
                r
                for r in rows
                if r["type"] in {"TurnRecorded", "TurnFailed"} and r["payload"]["turn_id"] in turns
            ]
            if ends:
                assert len(reports) == 1
                check_journal(rows)
                return ends[0]
            await asyncio.sleep(0.02)


def is_of(row: dict[str, Any], kind: str, job_id: str) -> bool:
    """Whether a row of a journal is this event of this job."""
    return row["type"] == kind and row["payload"]["job_id"] == job_id


def log_of(row: admin_pb2.JobRow) -> str:
    """What a job printed, as far as it is written."""
    return Path(row.log_path).read_text()


async def pid_of(world: World, name: str = NAME) -> int:
    """The pid of a session's process."""
    return int((await world.peer.wait_row(name, lambda row: bool(row.pid))).pid)


@pytest.mark.requirement("jobs.whole")
async def test_a_job_answers_at_once_and_its_end_is_a_turn_of_its_own(world: World) -> None:
    row = await begin(world, "echo first; read -r x < wait.fifo || true; echo last")
    assert row.state in {"Running", "Completed"}
    row = await in_state(world, row.job_id, "Completed")
    assert row.exit_code == 0
    await told(world, NAME, row.job_id)
    assert log_of(row).splitlines() == [
        "first",
        *[line for line in log_of(row).splitlines() if "wait.fifo" in line],
        "last",
        "[netclaw] The job ended with exit status 0.",
    ]
    rows = await world.peer.journal(NAME)
    kinds = [r["type"] for r in rows]
    assert kinds.index("JobStarted") < kinds.index("ToolResultRecorded")
    notes = [item.text for item in await world.peer.history(NAME) if item.role == "note"]
    assert any(f"Background job {row.job_id} ended: Completed" in note for note in notes)
