"""What tests of background jobs do again and again."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from pathlib import Path
from typing import Any

from netclaw.wire.v1 import admin_pb2
from tests.process.telling import until_told
from tests.process.world import World

NAME = "works"
WAIT_S = 30.0


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
    row = None
    try:
        async with asyncio.timeout(WAIT_S):
            while True:
                (row,) = [row for row in await listed(world) if row.job_id == job_id]
                if row.state in states:
                    return row
                await asyncio.sleep(0.02)
    except TimeoutError:
        printed = log_of(row) if row is not None else ""
        raise AssertionError(f"never {states}: {row}\n{printed}") from None


async def begin(world: World, command: str, name: str = NAME, **more: object) -> admin_pb2.JobRow:
    """A turn that begins a job, which is then listed."""
    before = {row.job_id for row in await listed(world)}
    turn = await world.peer.turn(name, f"{job(command, **more)} [[results]]")
    (row,) = [row for row in await listed(world) if row.job_id not in before]
    assert f"Background job {row.job_id}" in turn.text, turn.text
    return row


async def told(world: World, name: str, job_id: str) -> dict[str, Any]:
    """The journal's row of the turn that told of a job, once that turn is over; bounded."""
    event = {"type": "JobReported", "job_id": job_id}
    try:
        end, _ = await until_told(world, name, event, limit_s=WAIT_S)
    except AssertionError as failure:
        failure.add_note("\n".join(f"job: {row}" for row in await listed(world)))
        raise
    return end


def is_of(row: dict[str, Any], kind: str, job_id: str) -> bool:
    """Whether a row of a journal is this event of this job."""
    return bool(row["type"] == kind and row["payload"]["job_id"] == job_id)


def log_of(row: admin_pb2.JobRow) -> str:
    """What a job printed, as far as it is written."""
    return Path(row.log_path).read_text()


async def pid_of(world: World, name: str = NAME) -> int:
    """The pid of a session's process."""
    return int((await world.peer.wait_row(name, lambda row: bool(row.pid))).pid)


async def workspace(world: World, name: str = NAME) -> Path:
    """The folder that a session's commands run in."""
    await world.peer.ensure(name)
    folder = Path((await world.peer.detail(name)).storage_root) / "workspace"
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    return folder


def waits(name: str) -> str:
    """A command that ends once `let_go` was called with its name."""
    return f"until [ -e go-{name} ]; do sleep 0.03; done; echo {name} is done"


async def let_go(world: World, name: str, session: str = NAME) -> None:
    """End what `waits` under this name."""
    (await workspace(world, session) / f"go-{name}").touch()


async def count(world: World, kind: str, name: str = NAME) -> int:
    """How often something happened in a session."""
    return sum(row["type"] == kind for row in await world.peer.journal(name))


async def until_counted(world: World, kind: str, number: int, name: str = NAME) -> None:
    """Return once this happened so often in a session; bounded.

    A model is called while the start of its turn is still being committed.
    """
    async with asyncio.timeout(WAIT_S):
        while await count(world, kind, name) < number:
            await asyncio.sleep(0.01)


async def until_jobs_told(world: World, name: str) -> None:
    """Wait until no job of a session runs and every end that is on record was told of; bounded."""
    async with asyncio.timeout(WAIT_S):
        while any(
            row.state in {"Running", "Pending"} or (row.state != "Reaped" and not row.told_at_ms)
            for row in await listed(world, name)
        ):
            await asyncio.sleep(0.05)


def check_jobs(rows: list[dict[str, Any]]) -> None:
    """Assert what holds for every job of a journal: one end at most, told of once."""

    def count_of(kind: str) -> Counter[str]:
        return Counter(row["payload"]["job_id"] for row in rows if row["type"] == kind)

    started, ended, reaped, told_of = map(
        count_of, ("JobStarted", "JobEnded", "JobReaped", "JobReported")
    )
    assert set(started.values()) <= {1}, "a job began twice"
    assert set((ended + reaped).values()) <= {1}, "a job ended twice"
    assert set(ended) | set(reaped) <= set(started), "a job ended that never began"
    assert told_of == ended, "the end of a job was not told of once"
