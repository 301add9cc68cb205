"""Kills itself (-9) right before or after the commit that begins a turn with a notice."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path

from tests.contracts.journal_world import SqliteWorld
from tests.contracts.signal_steps import C, begins_turn, open_notices, says, spawn


async def main(path: Path, step: str) -> None:
    """Go as far as asked, then die without any farewell."""
    world = SqliteWorld(path)
    await world.open()
    await spawn(world)
    await says(world, C)
    await open_notices(world)
    if step == "told":
        await begins_turn(world)
    os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), sys.argv[2]))
