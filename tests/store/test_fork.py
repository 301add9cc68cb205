"""A forked child never uses, closes or damages the database of its parent."""

from __future__ import annotations

import asyncio
import gc
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from netclaw.core.errors import ProgrammingError
from netclaw.core.settings import DaemonSettings, StorageSettings
from netclaw.store.store import SqliteJournalStore
from tests.contracts.journal_world import SESSION

REFUSED = 42

# Opens a store, forks, and lets the child try every way in; prints what the child's end was.
PROGRAM = """
import asyncio, sys
from pathlib import Path
from tests.store.test_fork import scenario
asyncio.run(scenario(Path(sys.argv[1])))
"""


def in_child(use: Callable[[], object]) -> int:
    """Run something in a forked child; its exit status says whether it was refused."""
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            use()
            gc.collect()
        except ProgrammingError:
            status = REFUSED
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def step(store: SqliteJournalStore, name: str) -> Callable[[], object]:
    """Run a coroutine of the store up to its first wait, as a child without a loop can."""
    ways = {
        "write": lambda: store.probe_write().send(None),
        "read": lambda: store.get_session(SESSION).send(None),
        "close": lambda: store._writer.close().send(None),
    }
    return ways[name]


def report(name: str, value: object) -> None:
    """Tell the test."""
    sys.stdout.write(f"{name} {value}\n")
    sys.stdout.flush()


async def scenario(path: Path) -> None:
    """What the program does."""
    loop = asyncio.get_running_loop()
    store = await SqliteJournalStore.open(path, StorageSettings(), DaemonSettings(), loop)
    await store.get_session(SESSION)
    for name in ("write", "read", "close"):
        report(name, in_child(step(store, name)))
    for _ in range(3):
        await store.probe_write()
    report("integrity", await store.check_integrity(is_full=True))
    await store.close()


@pytest.mark.requirement("store.fork-guard")
def test_a_forked_child_is_refused_and_the_parent_goes_on(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "ignore::DeprecationWarning", "-c", PROGRAM, str(tmp_path / "n.db")],
        capture_output=True,
        text=True,
        timeout=15,
        check=True,
    )
    expected = f"write {REFUSED}\nread {REFUSED}\nclose {REFUSED}\nintegrity None\n"
    assert done.stdout == expected, done.stderr
