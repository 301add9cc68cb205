"""Says from a stored journal alone whether the promises were kept; knows no code of the core."""

from __future__ import annotations

import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

Row = dict[str, Any]

UNPRIVILEGED = ("setpriv", "--bounding-set=-all", "--inh-caps=-all")
"""Starts a program without capabilities, which would let root look into everything."""

CLOSING = {"TurnRecorded", "TurnFailed"}


def consumed_inputs(rows: list[Row]) -> Counter[str]:
    """How often each input was consumed."""
    counts: Counter[str] = Counter()
    for row in rows:
        if row["type"] in CLOSING:
            counts.update(row["payload"]["input_ids"])
    return counts


def launches(rows: list[Row]) -> Counter[str]:
    """How often each tool call was launched."""
    counts: Counter[str] = Counter()
    for row in rows:
        if row["type"] == "ToolBatchStarted":
            counts.update(row["payload"]["call_ids"])
    return counts


def check_journal(rows: list[Row], *, is_settled: bool = True) -> None:
    """Assert the invariants of one session's journal.

    seq has no gaps; incarnations never fall; one turn at a time; every input is consumed at most
    once, and exactly once when `is_settled`; no call is launched twice; each launched call of a
    closed turn has exactly one result.
    """
    assert [row["seq"] for row in rows] == list(range(1, len(rows) + 1)), "seq has gaps"
    incarnations = [row["incarnation"] for row in rows]
    assert incarnations == sorted(incarnations), "an old incarnation wrote"
    _check_turns(rows)
    admitted = [row["payload"]["input_id"] for row in rows if row["type"] == "InputAdmitted"]
    consumed = consumed_inputs(rows)
    assert set(consumed) <= set(admitted), "something was consumed that was never admitted"
    assert not [i for i, n in consumed.items() if n > 1], "an input was consumed twice"
    if is_settled:
        missing = set(admitted) - set(consumed)
        assert not missing, f"admitted and never answered or reported: {missing}"
    assert not [c for c, n in launches(rows).items() if n > 1], "a call was launched twice"
    results = Counter(
        row["payload"]["result"]["call_id"] for row in rows if row["type"] == "ToolResultRecorded"
    )
    assert not [c for c, n in results.items() if n > 1], "a call has two results"
    if is_settled:
        closed = {
            call
            for row in rows
            if row["type"] == "TurnFailed"
            for call in row["payload"].get("closed_call_ids", [])
        }
        open_calls = set(launches(rows)) - set(results) - closed
        assert not open_calls, f"launched without a result: {open_calls}"


def _check_turns(rows: list[Row]) -> None:
    current: str | None = None
    for row in rows:
        if row["type"] == "TurnStarted":
            assert current is None, "a turn began while another was open"
            current = row["payload"]["turn_id"]
        elif row["type"] in CLOSING:
            assert row["payload"]["turn_id"] == current, "a turn ended that was not open"
            current = None


def processes_with(marker: str) -> list[int]:
    """Pids of live processes whose command line holds `marker`."""
    found = []
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit():
            continue
        try:
            line = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            state = (folder / "stat").read_text().rpartition(")")[2].split()[0]
        except (FileNotFoundError, ProcessLookupError):
            continue
        if marker in line and state != "Z":
            found.append(int(folder.name))
    return found


def describe(pid: int) -> str:
    """What a process is and waits for, for a failure's text."""
    parts = []
    for name in ("stat", "wchan", "cmdline"):
        try:
            parts.append(Path(f"/proc/{pid}/{name}").read_bytes().decode(errors="replace")[:300])
        except OSError as fault:
            parts.append(str(fault))
    return " | ".join(part.replace("\0", " ") for part in parts)


def is_alive(pid: int) -> bool:
    """Whether a process exists and is no zombie."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"


def wait_gone(pids: list[int], *, limit_s: float = 10.0) -> None:
    """Wait until none of `pids` is alive; fails beyond the limit."""
    deadline = time.monotonic() + limit_s
    while left := [pid for pid in pids if is_alive(pid)]:
        assert time.monotonic() < deadline, f"still alive: {left}"
        time.sleep(0.01)


def can_be_traced(pid: int) -> bool:
    """Whether a process of the same user, without privileges, may look into `pid`.

    Asked by a child that gave its capabilities up, since root may look into everything.
    """
    script = f"open('/proc/{pid}/environ').read()"
    done = subprocess.run(
        [*UNPRIVILEGED, sys.executable, "-c", script],
        capture_output=True,
        check=False,
    )
    return done.returncode == 0
