"""kill -9 of the writing process at random points: nothing acknowledged is ever missing."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.store.crash_child import SESSIONS, World

KILLS = 5
"""For each seed; there are four."""


class Victim:
    """The process that forks writers."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._input = process.stdin
        self._output = process.stdout

    def run_and_kill(self, after: int) -> list[list[str]]:
        """Start a writer, kill it after so many acknowledgements, return all it reported."""
        self._input.write("go\n")
        self._input.flush()
        acknowledged: list[list[str]] = []
        pid = 0
        for line in self._output:
            words = line.split()
            if words[0] == "dead":
                break
            if words[0] == "writer":
                pid = int(words[1])
            else:
                acknowledged.append(words)
            if pid and len(acknowledged) == after:
                os.kill(pid, signal.SIGKILL)
        return acknowledged


@contextmanager
def victim(path: Path) -> Iterator[Victim]:
    """Start it, and end it whatever happens."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.store.crash_child", str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        yield Victim(process)
    finally:
        process.communicate(timeout=15)


async def check(path: Path, acknowledged: list[list[str]]) -> None:
    """Open what the dead left and hold it against what it had promised."""
    world = World(path)
    await world.open()
    assert not world.journal.was_clean
    assert await world.journal.check_integrity(is_full=True) is None
    for session_id in SESSIONS:
        record = await world.journal.get_session(session_id)
        rows = await world.journal.read_journal(session_id, since=0, limit=1_000_000)
        seqs = [row.seq for row in rows]
        assert seqs == list(range(1, len(rows) + 1)), "no gap, no double"
        assert (record.head if record else 0) == len(rows)
        entries = {
            entry.source_message_id: entry
            for entry in await world.journal.ledger(session_id, limit=1_000_000)
        }
        assert sum(row.type == "InputAdmitted" for row in rows) == len(entries)
        assert (record.pending_inputs if record else 0) == len(entries)
        for kind, name, what, seq in acknowledged:
            if name != session_id:
                continue
            assert int(seq) <= len(rows)
            if kind == "admitted":
                assert entries[what].seq == int(seq)
    await world.journal.close()


@pytest.mark.timeout(60)
@pytest.mark.requirement("store.kill-safe")
def test_whatever_was_acknowledged_survives_a_kill(short_tmp: Path, seed: int) -> None:
    path = short_tmp / "netclaw.db"
    chance = random.Random(seed)
    acknowledged: list[list[str]] = []
    with victim(path) as writers:
        for _ in range(KILLS):
            new = writers.run_and_kill(after=chance.choice([1, chance.randrange(1, 500)]))
            assert new
            acknowledged += new
            asyncio.run(check(path, acknowledged))
