"""Knows, measures and ends process trees by what the kernel says: `/proc` and pidfds.

A pid alone names nothing for long; a pidfd does. Everything here is a plain blocking call of well
under a millisecond per process, except `proportional_kib`, which belongs into a thread.
"""

from __future__ import annotations

import os
import signal
from dataclasses import dataclass

from netclaw.linux.start_time import start_ticks

PAGE_KIB = os.sysconf("SC_PAGE_SIZE") // 1024


def read_text(path: str) -> str:
    """A small file of `/proc` or a cgroup, or empty if it is gone or refused."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return ""
    try:
        return os.read(fd, 1 << 16).decode("utf-8", "replace")
    except OSError:
        return ""
    finally:
        os.close(fd)


def _stat_fields(pid: int) -> list[str]:
    """Fields of `/proc/<pid>/stat` from the state on (the name before may hold anything)."""
    return read_text(f"/proc/{pid}/stat").rpartition(")")[2].split()


def parent_of(pid: int) -> int:
    """The parent's pid, 0 if the process is gone."""
    fields = _stat_fields(pid)
    return int(fields[1]) if len(fields) > 1 else 0


def children(pid: int) -> list[int]:
    """Pids of the children of every thread of a process, at this moment."""
    try:
        tasks = os.listdir(f"/proc/{pid}/task")
    except OSError:
        return []
    found: list[int] = []
    for task in tasks:
        found += map(int, read_text(f"/proc/{pid}/task/{task}/children").split())
    return found


def descendants(root: int, *, at_most: int) -> list[int]:
    """`root` and everything below it, breadth first; stops once more than `at_most` were seen.

    Complete only where orphans cannot leave the tree: below the init of a PID namespace and below
    a subreaper.
    """
    seen = [root]
    for pid in seen:
        seen.extend(children(pid))
        if len(seen) > at_most:
            break
    return seen


def resident_kib(pid: int) -> int:
    """Resident memory, shared pages counted in full: cheap, and never less than the real share."""
    fields = read_text(f"/proc/{pid}/statm").split()
    return int(fields[1]) * PAGE_KIB if len(fields) > 1 else 0


def proportional_kib(pid: int) -> int:
    """Memory with shared pages divided among their users (PSS); slow on large processes."""
    for line in read_text(f"/proc/{pid}/smaps_rollup").splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1])
    return resident_kib(pid)


@dataclass(slots=True, kw_only=True)
class ProcessHandle:
    """One process held by pidfd, so that a signal never reaches a successor of its pid."""

    pid: int
    fd: int
    ticks: int

    @classmethod
    def open(cls, pid: int) -> ProcessHandle:
        """Raises `ProcessLookupError` if there is no such process."""
        fd = os.pidfd_open(pid)
        return cls(pid=pid, fd=fd, ticks=start_ticks(pid))

    def signal(self, number: int = signal.SIGKILL) -> None:
        """Sends a signal; a process that is gone already is no error."""
        if self.fd >= 0:
            try:
                signal.pidfd_send_signal(self.fd, number)
            except ProcessLookupError:
                return

    def close(self) -> None:
        """Lets go of the pidfd."""
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1
