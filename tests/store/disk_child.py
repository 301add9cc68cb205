"""Meets a full disk on purpose, in a process of its own, and reports what happened as JSON.

    python -m tests.store.disk_child FOLDER tmpfs      (a small file system of its own)
    python -m tests.store.disk_child FOLDER limit      (the process's limit of file size)

`tmpfs` mounts over FOLDER in the mount namespace it was started in, which ends with it.
"""

from __future__ import annotations

import asyncio
import json
import resource
import subprocess
import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path

from netclaw.core.errors import NetclawError
from netclaw.core.settings import DaemonSettings, StorageSettings
from netclaw.store.store import SqliteJournalStore
from tests.contracts.journal_world import SESSION, SqliteWorld, started

SIZE_BYTES = 4 * 1024 * 1024
BALLAST_BYTES = 2 * 1024 * 1024
LIMITS = DaemonSettings(pending_inputs_max=100_000, pending_bytes_max=1 << 40)
SETTINGS = StorageSettings(free_space_floor_bytes=0)


@dataclass
class Report:
    """What the parent test judges."""

    acknowledged: list[str] = field(default_factory=list)
    codes: list[str] = field(default_factory=list)
    probe: str = ""
    append: str = ""
    readable: int = 0
    open_on_full: str = ""
    resumed: str = ""
    stored: list[str] = field(default_factory=list)
    heads_fit: bool = False
    integrity: str | None = "not checked"


class World(SqliteWorld):
    """A store with room for many inputs and no floor."""

    async def open(self) -> None:
        self.journal = await SqliteJournalStore.open(self.path, SETTINGS, LIMITS)
        self.journal.set_listener(self.listen)


async def ending(work: Awaitable[object]) -> str:
    """The error code that an awaitable ends with, or an empty text."""
    try:
        await work
    except NetclawError as error:
        return str(error.code)
    return ""


async def fill(world: World, report: Report) -> None:
    """Admit inputs, several at once, until the disk is full a few times over."""
    number = 0
    while len(report.codes) < 12:
        names = [f"m{number + offset}" for offset in range(4)]
        number += 4
        answers = await asyncio.gather(
            *[world.admit("x" * 4000, message=name) for name in names], return_exceptions=True
        )
        for name, answer in zip(names, answers, strict=True):
            if isinstance(answer, NetclawError):
                report.codes.append(str(answer.code))
            elif isinstance(answer, BaseException):
                raise answer
            else:
                report.acknowledged.append(name)


async def scenario(path: Path, make_room: Callable[[], None], *, is_disk: bool) -> Report:
    """Fill, look around while full, make room, go on, reopen, compare."""
    report = Report()
    world = World(path)
    await world.open()
    await world.create()
    start = await world.start()
    await fill(world, report)
    report.probe = await ending(world.journal.probe_write())
    huge = started("t" * 4_000_000)
    report.append = await ending(world.append(start, huge))
    report.readable = len(await world.journal.read_journal(SESSION, since=0, limit=100_000))
    if is_disk:
        report.open_on_full = await ending(World(path.with_name("second.db")).open())
    make_room()
    report.resumed = await ending(world.admit("after", message="after"))
    report.acknowledged.append("after")
    await world.journal.close()
    await world.open()
    for entry in await world.journal.ledger(SESSION, limit=100_000):
        report.stored.append(entry.source_message_id or "")
    rows = await world.journal.read_journal(SESSION, since=0, limit=100_000)
    report.heads_fit = [row.seq for row in rows] == list(range(1, (await world.record()).head + 1))
    report.integrity = await world.journal.check_integrity(is_full=True)
    await world.journal.close()
    return report


def on_tmpfs(folder: Path) -> Report:
    """A real file system that is full."""
    command = ["mount", "-t", "tmpfs", "-o", f"size={SIZE_BYTES}", "tmpfs", str(folder)]
    subprocess.run(command, check=True)
    ballast = folder / "ballast"
    ballast.write_bytes(b"\1" * BALLAST_BYTES)
    return asyncio.run(scenario(folder / "netclaw.db", ballast.unlink, is_disk=True))


def under_limit(folder: Path) -> Report:
    """Files of this process may not grow beyond a size."""
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)

    def limit(size: int) -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))

    limit(BALLAST_BYTES)
    return asyncio.run(scenario(folder / "netclaw.db", lambda: limit(hard), is_disk=False))


def main() -> None:
    """Run one way and print the report."""
    folder, way = Path(sys.argv[1]), sys.argv[2]
    report = {"tmpfs": on_tmpfs, "limit": under_limit}[way](folder)
    sys.stdout.write(json.dumps(vars(report)))


if __name__ == "__main__":
    main()
