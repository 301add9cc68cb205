"""What tests of signals, notices and wakes do again and again.

The watcher is `watcher`, the session that changes `target`; a person writes to the target.
"""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass
from typing import Any

from netclaw.wire.v1 import admin_pb2
from tests.fakes.model_record import Recorded
from tests.process.checks import Row, check_journal
from tests.process.world import World

WATCHER = "watcher"
TARGET = "target"
WAIT_S = 30.0
SLOW_WINDOW_S = 600.0
"""So long that no second wake of a watcher falls into a test."""

_LINE = re.compile(r'Session "([^"\n]*)" changed \(other actor\)[^\n]*')


def config(window_s: float, **signals: float | bool) -> dict[str, Any]:
    """The section with this window."""
    return {"Signals": {"WakeCoalesceSeconds": window_s, **signals}}


SLOW = config(SLOW_WINDOW_S)


def line(target: str, since: int) -> str:
    """What a watcher is told, to the byte (decision 59)."""
    return (
        f'Session "{target}" changed (other actor). Reconcile before acting:'
        f' session_status sessionKey "{target}" changesSince {since}.'
    )


def lines_in(request: Recorded) -> list[str]:
    """The notice lines of a request to the model, in order."""
    found: list[str] = []
    for message in request.messages:
        if message["role"] == "assistant":
            continue  # the scripted model repeats what it was told
        content = message.get("content") or ""
        if not isinstance(content, str):
            content = "\n".join(str(part.get("text", "")) for part in content)
        found += [match.group(0) for match in _LINE.finditer(content)]
    return found


async def pair(world: World, *, watcher: str = WATCHER, target: str = TARGET) -> None:
    """Two sessions, the first of which watches the second; both have answered a person."""
    await world.peer.turn(watcher, "[[reply:here]]")
    await world.peer.turn(target, "[[reply:there]]")
    await watch(world, watcher, target)


async def watch(world: World, watcher: str, target: str) -> bool:
    """`netclaw signals watch`."""
    response = await world.peer.admin.WatchSession(
        admin_pb2.WatchRequest(watcher=watcher, target=target), metadata=world.peer.metadata
    )
    return bool(response.watched)


async def unwatch(world: World, watcher: str, target: str) -> bool:
    """`netclaw signals unwatch`; whether there was a watch."""
    response = await world.peer.admin.UnwatchSession(
        admin_pb2.WatchRequest(watcher=watcher, target=target), metadata=world.peer.metadata
    )
    return bool(response.was_watched)


async def show(world: World, session_id: str, since: int = 0) -> admin_pb2.ShowSignalsResponse:
    """`netclaw signals show`."""
    response: admin_pb2.ShowSignalsResponse = await world.peer.admin.ShowSignals(
        admin_pb2.ShowSignalsRequest(session_id=session_id, since=since),
        metadata=world.peer.metadata,
    )
    return response


async def marks(world: World, watcher: str, target: str) -> tuple[int, int, int]:
    """Seen, notified and material of one watch."""
    response = await world.peer.admin.ListWatches(
        admin_pb2.ListWatchesRequest(session_id=watcher), metadata=world.peer.metadata
    )
    (row,) = [row for row in response.watches if (row.watcher, row.target) == (watcher, target)]
    return row.last_seen, row.notified, row.material


async def until_marks(
    world: World, watcher: str, target: str, wanted: tuple[int, int, int]
) -> None:
    """Poll a watch until it stands so; bounded."""
    found = (0, 0, 0)
    try:
        async with asyncio.timeout(WAIT_S):
            while (found := await marks(world, watcher, target)) != wanted:
                await asyncio.sleep(0.02)
    except TimeoutError:
        raise AssertionError(f"the watch of {target} stands at {found}, not {wanted}") from None


async def until_quiet(world: World, watcher: str, target: str) -> None:
    """Poll until the watcher has nothing open about the target and nothing to do; bounded."""
    found: object = None
    try:
        async with asyncio.timeout(WAIT_S):
            while True:
                seen, notified, _ = await marks(world, watcher, target)
                row = (await world.peer.rows())[watcher]
                found = (seen, notified, row.phase, row.pending_inputs)
                if seen == notified and row.pending_inputs == 0 and row.phase in QUIET:
                    return
                await asyncio.sleep(0.02)
    except TimeoutError:
        raise AssertionError(f"{watcher} does not come to rest: {found}") from None


QUIET = ("ready", "passive")


async def speak(world: World, target: str, text: str = "hm [[reply:yes]]") -> None:
    """A person writes to the target, and is answered."""
    await world.peer.turn(target, text)


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """One notice that a turn of a watcher told of."""

    turn_id: str
    target: str
    since: int
    mark: int

    @property
    def line(self) -> str:
        """As the model read it."""
        return line(self.target, self.since)


async def told(world: World, watcher: str = WATCHER) -> list[Told]:
    """What the watcher's turns told of for good, in order.

    Not what a turn told of that failed before the model's first answer was on record.
    """
    return told_in(await world.peer.journal(watcher))


def told_in(rows: list[Row]) -> list[Told]:
    """The same of a journal, of the session's life as it is now."""
    resets = [number for number, row in enumerate(rows) if row["type"] == "SessionReset"]
    if resets:
        rows = rows[resets[-1] :]
    else:
        check_journal(rows, is_settled=False)
    found: list[Told] = []
    answered = {row["payload"]["turn_id"] for row in rows if row["type"] in _ANSWERS}
    failed = {row["payload"]["turn_id"] for row in rows if row["type"] == "TurnFailed"}
    for row in rows:
        payload = row["payload"]
        if row["type"] != "TurnStarted" or payload["turn_id"] in failed - answered:
            continue
        found += [
            Told(
                turn_id=payload["turn_id"],
                target=notice["target"],
                since=notice["since"],
                mark=notice["mark"],
            )
            for notice in payload.get("notices", [])
        ]
    return found


_ANSWERS = frozenset({"RoundRecorded", "TurnRecorded"})


def wakes_in(rows: list[Row]) -> list[str]:
    """The source ids of a journal's wakes."""
    return [
        row["payload"]["source_message_id"]
        for row in rows
        if row["type"] == "InputAdmitted"
        and str(row["payload"].get("source_message_id") or "").startswith("signal:")
    ]


async def set_goal(
    world: World, session_id: str, text: str | None = None, *, status: str = ""
) -> admin_pb2.GoalRow:
    """`netclaw goal set`, a change that needs no turn of the session; None and no status clear."""
    request = admin_pb2.SetGoalRequest(session_id=session_id, text=text, status=status)
    request.clear = text is None and not status
    response: admin_pb2.GoalRow = await world.peer.admin.SetGoal(
        request, metadata=world.peer.metadata
    )
    return response


async def until_told(world: World, count: int, watcher: str = WATCHER) -> list[Told]:
    """What a watcher was told for good, once that is so much and it is at rest; bounded."""
    found: list[Told] = []
    try:
        async with asyncio.timeout(WAIT_S):
            while True:
                found = await told(world, watcher)
                row = (await world.peer.rows())[watcher]
                if len(found) >= count and row.phase in QUIET and row.pending_inputs == 0:
                    return found
                await asyncio.sleep(0.02)
    except TimeoutError:
        raise AssertionError(f"{watcher} was told {found}, not {count} times") from None
