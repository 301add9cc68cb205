"""Writes to a store until it is killed, reporting what was acknowledged.

    python -m tests.store.crash_child DATABASE

For each line on its input it forks a writer that opens the store, and prints the writer's pid; the
writer prints one line for each acknowledged write. Once the writer is dead it prints `dead`.
"""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

from netclaw.core.ids import SessionId, TurnId
from netclaw.core.session.events import OutputStarted
from netclaw.core.settings import DaemonSettings, StorageSettings
from netclaw.ports.journal import StartPoint
from netclaw.store.store import SqliteJournalStore
from tests.contracts.journal_world import SqliteWorld

SESSIONS = tuple(SessionId(f"cli/{number}") for number in range(6))
LIMITS = DaemonSettings(pending_inputs_max=1_000_000, pending_bytes_max=1 << 40)


class World(SqliteWorld):
    """A store with room for many inputs."""

    async def open(self) -> None:
        self.journal = await SqliteJournalStore.open(self.path, StorageSettings(), LIMITS)


def say(*words: object) -> None:
    """Print a line in one write, so that a kill never cuts one."""
    os.write(1, (" ".join(map(str, words)) + "\n").encode())


async def admit_for_ever(world: World, session_id: SessionId, mark: str) -> None:
    """Admit inputs of growing size."""
    number = 0
    while True:
        message = f"{mark}-{number}"
        answer = await world.admit("x" * (number % 3000), message=message, session_id=session_id)
        say("admitted", session_id, message, answer.seq)
        number += 1


async def append_for_ever(world: World, start: StartPoint) -> None:
    """Append as the session's process; only inputs come in between."""
    head = start.record.head
    event = OutputStarted(turn_id=TurnId("t1"), round=0)
    while True:
        rows = await world.append(start, event, event, head=head)
        head = rows[-1].seq
        say("appended", start.record.session_id, rows[0].cause, head)


async def write_for_ever(path: Path) -> None:
    """What the writer does."""
    world = World(path)
    await world.open()
    async with asyncio.TaskGroup() as tasks:
        for session_id in SESSIONS:
            await world.create(session_id)
            start = await world.start(session_id)
            tasks.create_task(append_for_ever(world, start))
            for writer in range(3):
                mark = f"{os.getpid()}-{writer}"
                tasks.create_task(admit_for_ever(world, session_id, mark))


def main() -> None:
    """Fork one writer for each line."""
    for _ in sys.stdin:
        pid = os.fork()
        if pid == 0:
            try:
                asyncio.run(write_for_ever(Path(sys.argv[1])))
            finally:
                os._exit(1)
        say("writer", pid)
        os.waitpid(pid, 0)
        say("dead")


if __name__ == "__main__":
    main()
