"""Says how much memory the daemon and its sessions take, for `netclaw status`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from netclaw.sandbox.process_tree import proportional_kib

SAMPLE = 64
"""Session processes that are measured; of more, the average of so many stands for all."""
KIB = 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryUse:
    """Memory in bytes, pages that processes share divided among them (PSS)."""

    daemon_bytes: int
    sessions_bytes: int


def measure(daemon: Sequence[int], sessions: Sequence[int]) -> MemoryUse:
    """Read it from the kernel; takes about half a millisecond a process, so call it in a thread.

    A process that ended meanwhile counts as nothing.
    """
    measured = sessions[:: max(1, len(sessions) // SAMPLE)][:SAMPLE]
    sampled = sum(proportional_kib(pid) for pid in measured)
    total = sampled * len(sessions) // len(measured) if measured else 0
    return MemoryUse(
        daemon_bytes=sum(proportional_kib(pid) for pid in daemon) * KIB,
        sessions_bytes=total * KIB,
    )
