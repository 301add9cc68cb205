"""What tests of state awareness do again and again.

What they ask for has the form in which the command line prints it: a program for each question
would take longer than all the rest (`test_signals_command_line` holds those to it).
"""

from __future__ import annotations

import asyncio
import json
import re
import sqlite3
from collections.abc import Awaitable, Callable
from contextlib import closing
from typing import Any

from netclaw.cli.signal_rows import changes_row, watch_row
from netclaw.wire.v1 import admin_pb2
from tests.process.run_calls import NAME, begin
from tests.process.world import World

Row = dict[str, Any]

WAIT_S = 30.0
WINDOW: dict[str, Any] = {"Signals": {"WakeCoalesceSeconds": 0.5}}
"""Wakes of a watcher are merged for half a second only."""
HELD = '[[gate:early]] [[tool:file_list {"path": "."}]] [[next]] [[gate:late]] [[reply:done]]'
"""A task that waits, takes up what was written to it meanwhile, and waits again."""
LINE = re.compile(
    r'Session "(?P<target>[^"]+)" changed \(other actor\)\. Reconcile before acting:'
    r' session_status sessionKey "(?P=target)" changesSince (?P<since>\d+)\.'
)
Told = list[tuple[str, int]]
"""Lines of one turn: of which session, since which version."""


async def person(world: World, name: str, text: str = "[[reply:yes]]") -> None:
    """A person's message, answered."""
    await world.peer.follow(name, await world.peer.send(name, text, sender="U1"))


async def call(world: World, name: str, tool: str, **arguments: object) -> Row:
    """What a session's model is answered to one tool call: JSON, and how the call ended."""
    found = await answers(world, name, f"{directive(tool, **arguments)} [[reply:ok]]")
    return found[-1]


async def answers(world: World, name: str, text: str) -> list[Row]:
    """The same of every call of a turn, which a person's message begins."""
    turn = await world.peer.turn(name, text)
    return [
        {**_parsed(output.text), "outcome": output.outcome}
        for output in turn.outputs
        if output.type == "tool_result"
    ]


def _parsed(text: str) -> Row:
    try:
        answer: Row = json.loads(text)
    except ValueError:
        return {"text": text}
    return answer


def directive(tool: str, **arguments: object) -> str:
    """Has the scripted model call a tool; all but `session_status` are loaded first."""
    asked = f"[[tool:{tool} {json.dumps(arguments)}]]"
    if tool == "session_status":
        return asked
    return f"[[tool:load_tool {json.dumps({'name': tool})}]] [[next]] {asked}"


async def changes(world: World, name: str, since: int = 0) -> Row:
    """What `signals show` prints: stateVersion, and what is in stateChanges."""
    request = admin_pb2.ShowSignalsRequest(session_id=name, since=since)
    found = await world.peer.admin.ShowSignals(request, metadata=world.peer.metadata)
    row: Row = changes_row(found)
    return {"stateVersion": row["stateVersion"], **row["stateChanges"]}


async def version(world: World, name: str) -> int:
    """The state version of a session."""
    return int((await changes(world, name))["stateVersion"])


def kinds(found: Row) -> list[str]:
    """The kinds of the events of an answer."""
    return [event["kind"] for event in found["events"]]


async def until_kind(world: World, name: str, kind: str, count: int = 1) -> Row:
    """The changes of a session once there are so many of a kind; bounded."""
    found: Row = {}

    async def is_there() -> bool:
        found.update(await changes(world, name))
        return kinds(found).count(kind) >= count

    await until(is_there, lambda: f"{name} has no {count} x {kind}: {found}")
    return found


async def watch(world: World, watcher: str, target: str) -> None:
    """Begin a watch."""
    request = admin_pb2.WatchRequest(watcher=watcher, target=target)
    await world.peer.admin.WatchSession(request, metadata=world.peer.metadata)


async def watches(world: World) -> dict[tuple[str, str], Row]:
    """Every watch by watcher and target; they fit on a page."""
    request = admin_pb2.ListWatchesRequest()
    page = await world.peer.admin.ListWatches(request, metadata=world.peer.metadata)
    assert not page.more
    return {(row.watcher, row.target): watch_row(row) for row in page.watches}


def is_open(row: Row) -> bool:
    """Whether a watcher has something to be told; checks what always holds."""
    assert row["lastSeen"] <= row["notified"] <= row["material"], row
    return bool(row["notified"] > row["lastSeen"])


async def goal(world: World, name: str, text: str) -> None:
    """Set a goal: the change that costs no model call."""
    request = admin_pb2.SetGoalRequest(session_id=name, text=text)
    await world.peer.admin.SetGoal(request, metadata=world.peer.metadata)


async def told(world: World, watcher: str) -> list[Told]:
    """The lines that each turn of a watcher was given, turns without one left out."""
    rows = await world.peer.history(watcher)
    notes = [row.text for row in rows if row.role == "note"]
    return [found for found in map(lines_in, notes) if found]


def lines_in(text: str) -> Told:
    """The notices of a text, in their order."""
    return [(found["target"], int(found["since"])) for found in LINE.finditer(text)]


async def until_told(world: World, watcher: str, count: int = 1) -> list[Told]:
    """The same once so many turns were given lines and every message is answered; bounded."""
    found: list[Told] = []

    async def is_there() -> bool:
        found[:] = await told(world, watcher)
        return len(found) >= count and await is_quiet(world, watcher)

    await until(is_there, lambda: f"{watcher} was told {found}, not {count} times")
    return found


async def is_quiet(world: World, name: str) -> bool:
    """Whether nothing of a session waits or runs."""
    return all(
        entry.outcome not in {"waiting", "running"} for entry in await world.peer.ledger(name)
    )


async def wakes(world: World, name: str) -> list[str]:
    """What became of each wake of a session."""
    return [row.outcome for row in await world.peer.ledger(name) if row.source == "signal"]


async def until(is_met: Callable[[], Awaitable[bool]], tell: Callable[[], str]) -> None:
    """Wait for something that has to be asked for; `tell` says what is wrong after a while."""
    try:
        async with asyncio.timeout(WAIT_S):
            while not await is_met():
                await asyncio.sleep(0.05)
    except TimeoutError:
        raise AssertionError(tell()) from None


async def sessions(world: World, *names: str) -> None:
    """Sessions that each had a first turn."""
    await asyncio.gather(*(person(world, name) for name in names))


async def hold(world: World, name: str, gate: str = "busy") -> None:
    """Keep a session at work until its gate is opened; its turn says nothing more."""
    await world.peer.send(name, f"[[gate:{gate}]] [[reply:ok]]", sender="U1")
    await world.at_gate(gate)


async def held_run(world: World, name: str = NAME) -> admin_pb2.RunRow:
    """A child run that waits at its gate, handed over by a session in a turn of its own."""
    (row,) = await begin(world, HELD, name=name)
    await world.at_gate("early")
    return row


async def written_to(world: World, row: admin_pb2.RunRow, count: int = 1) -> None:
    """People write so often to a run that waits at its first gate, which opens; all is taken up."""
    for number in range(count):
        await world.peer.send(row.session_id, f"please look again, {number}", sender="U1")
    world.open_gate("early")
    await until_kind(world, row.session_id, "human_direct_message", count)


def database(world: World) -> closing[sqlite3.Connection]:
    """The daemon's own database, beside it."""
    return closing(sqlite3.connect(world.home / "netclaw.db", timeout=10, isolation_level=None))


def execute(world: World, *statements: str) -> None:
    """Change the database behind the daemon's back."""
    with database(world) as connection:
        for statement in statements:
            connection.execute(statement)


def log_text(world: World) -> str:
    """Everything that the tables of state awareness hold, as text."""
    tables = ("events", "heads")
    with database(world) as connection:
        rows = [
            row
            for table in (*(f"session_state_{name}" for name in tables), "session_watch_cursors")
            for row in connection.execute(f"SELECT * FROM {table}")  # noqa: S608 - named above
        ]
    return repr(rows)
