"""Waits for the turn that tells of a run or a job, and says what there is instead of it."""

from __future__ import annotations

import asyncio
from typing import Any

from tests.process.checks import CLOSING, Row, check_journal
from tests.process.world import World

LOG_CHARACTERS = 12_000


async def until_told(
    world: World, name: str, event: dict[str, str], *, limit_s: float
) -> tuple[Row, list[Row]]:
    """The row that ends the turn that tells so, and the journal; bounded.

    `event` is the row's type and the id it is about. There must be one such row.
    """
    rows: list[Row] = []
    try:
        async with asyncio.timeout(limit_s):
            while True:
                rows = await world.peer.journal(name)
                found = [row for row in rows if is_about(row, event)]
                turns = {row["payload"]["turn_id"] for row in found}
                ends = [row for row in rows if is_end_of(row, turns)]
                if ends:
                    assert len(found) == 1
                    check_journal(rows)
                    return ends[0], rows
                await asyncio.sleep(0.02)
    except TimeoutError:
        raise AssertionError(await _instead(world, name, event, rows)) from None


def is_about(row: Row, event: dict[str, str]) -> bool:
    """Whether a row of a journal is this event."""
    payload: dict[str, Any] = {**row["payload"], "type": row["type"]}
    return all(payload.get(key) == value for key, value in event.items())


def is_end_of(row: Row, turns: set[str]) -> bool:
    """Whether a row ends one of these turns."""
    return row["type"] in CLOSING and row["payload"]["turn_id"] in turns


async def _instead(world: World, name: str, event: dict[str, str], rows: list[Row]) -> str:
    """The journal, the sessions and the logs."""
    journal = (
        f"  {row['seq']} incarnation {row['incarnation']} {row['type']} {row['payload']}"
        for row in rows
    )
    sessions = (await world.peer.rows()).values()
    return "\n".join(
        (
            f"no turn of {name} tells {event}; its journal:",
            *journal,
            *(f"session: {row}" for row in sessions),
            world.daemon_log[-LOG_CHARACTERS:],
            world.tell(),
        )
    )
