"""What tests of child runs do again and again."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import grpc

from netclaw.wire.v1 import admin_pb2
from tests.process.telling import until_told
from tests.process.world import World

NAME = "boss"
AGENT = "helper"
WAIT_S = 40.0
TERMINAL = ("Completed", "Partial", "Failed", "Cancelled", "Lost")

LOADING = '[[tool:load_tool {"name":"spawn_agent"}]] [[next]]'
"""What comes before the first spawn of a turn: the tool is deferred."""

DEFINITION = f"""---
name: {AGENT}
description: Does what it is told.
modelRole: Main
---
Do what you are told.
"""


def add_agent(world: World) -> None:
    """Define the agent that all these tests use."""
    folder = world.home / "agents"
    folder.mkdir(mode=0o700, exist_ok=True)
    (folder / f"{AGENT}.md").write_text(DEFINITION)


def spawn(task: str) -> str:
    """The directive for one run."""
    return f"[[tool:spawn_agent {json.dumps({'agent': AGENT, 'task': task})}]]"


def shell(command: str) -> str:
    """The directive for a command."""
    return f"[[tool:shell_execute {json.dumps({'command': command})}]]"


async def runs(world: World, session_id: str = "") -> list[admin_pb2.RunRow]:
    """What `netclaw runs list` shows."""
    request = admin_pb2.ListRunsRequest(session_id=session_id)
    response = await world.peer.admin.ListRuns(request, metadata=world.peer.metadata)
    return list(response.runs)


async def begin(
    world: World, *tasks: str, name: str = NAME, is_attended: bool = False
) -> list[admin_pb2.RunRow]:
    """A turn that hands these tasks to runs, which are then listed, in the order of the tasks.

    The calls of one batch run beside each other: their runs are accepted in any order.
    """
    before = {row.run_id for row in await runs(world, name)} if await is_there(world, name) else {}
    text = f"{LOADING} {' '.join(map(spawn, tasks))} [[reply:handed over]]"
    sent = await world.peer.send(name, text, is_attended=is_attended)
    await world.peer.follow(name, sent)
    calls = [
        call["call_id"]
        for row in await world.peer.journal(name)
        if row["type"] == "RoundRecorded"
        for call in row["payload"]["message"]["calls"]
    ]
    started = [row for row in await runs(world, name) if row.run_id not in before]
    return sorted(started, key=lambda row: calls.index(row.call_id))


async def is_there(world: World, name: str) -> bool:
    """Whether there is such a session."""
    return name in await world.peer.rows()


async def in_state(world: World, run_id: str, *states: str) -> admin_pb2.RunRow:
    """The run once it is in one of these states; bounded."""
    row = admin_pb2.RunRow()
    try:
        async with asyncio.timeout(WAIT_S):
            while True:
                (row,) = [row for row in await runs(world) if row.run_id == run_id]
                if row.state in states:
                    return row
                await asyncio.sleep(0.02)
    except TimeoutError:
        raise AssertionError(f"run {run_id} stays {row.state} {row.reason}") from None


async def told(world: World, run_id: str, name: str = NAME) -> dict[str, Any]:
    """The journal's row of the turn that told of a run, once that is over; bounded."""
    event = {"type": "ChildResultDelivered", "run_id": run_id}
    try:
        end, rows = await until_told(world, name, event, limit_s=WAIT_S)
    except AssertionError as failure:
        failure.add_note("\n".join(f"run: {row}" for row in await runs(world)))
        raise
    assert sum(is_of(row, "ChildEnded", run_id) for row in rows) == 1
    return end


def is_of(row: dict[str, Any], kind: str, run_id: str) -> bool:
    """Whether a row of a journal is this event of this run."""
    return bool(row["type"] == kind and row["payload"]["run_id"] == run_id)


def result_of(row: admin_pb2.RunRow) -> str:
    """What a run brought back."""
    return Path(row.result_path).read_text()


async def pid_of(world: World, run_id: str) -> int:
    """The pid of a run's process, once it has one; bounded."""
    async with asyncio.timeout(WAIT_S):
        while True:
            (row,) = [row for row in await runs(world) if row.run_id == run_id]
            if row.pid:
                return row.pid
            assert row.state not in TERMINAL, f"the run is over: {row.state} {row.reason}"
            await asyncio.sleep(0.02)


def kill(pid: int) -> None:
    """SIGKILL; no error if it is gone."""
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


async def journal_of(world: World, row: admin_pb2.RunRow) -> list[dict[str, Any]]:
    """The journal of a run's own session; empty before there is one."""
    try:
        return await world.peer.journal(row.session_id)
    except grpc.aio.AioRpcError as error:
        if error.code() is not grpc.StatusCode.NOT_FOUND:
            raise
        return []


async def launched(world: World, row: admin_pb2.RunRow, count: int = 1) -> None:
    """Return once the run has launched so many calls; bounded."""
    async with asyncio.timeout(WAIT_S):
        while True:
            found = await journal_of(world, row)
            if sum(item["type"] == "ToolBatchStarted" for item in found) >= count:
                return
            await asyncio.sleep(0.02)


async def until(is_met: Callable[[], Awaitable[bool]]) -> None:
    """Wait for something that has to be asked for; bounded."""
    async with asyncio.timeout(WAIT_S):
        while not await is_met():
            await asyncio.sleep(0.02)


async def until_purged(world: World, row: admin_pb2.RunRow) -> None:
    """Return once the run's own journal is gone; bounded."""
    await until(lambda: _is_purged(world, row))


async def _is_purged(world: World, row: admin_pb2.RunRow) -> bool:
    detail = await world.peer.detail(row.parent)
    return row.session_id not in detail.children
