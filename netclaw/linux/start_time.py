"""When a process started: together with its pid, a name that is never given twice."""

from __future__ import annotations

from pathlib import Path

_FIELD = 19
"""Place of the start time in /proc/<pid>/stat after the command name, which may hold anything."""


def start_ticks(pid: int) -> int:
    """Start of a process in clock ticks since boot, 0 if it is gone."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return 0
    return int(stat.rpartition(b")")[2].split()[_FIELD])
