"""Holds what a tree may use: the gate sets rlimits, a cgroup or a sampler the rest.

Decision 84. No RLIMIT_AS (runtimes reserve far more than they use) and no RLIMIT_NPROC (it counts
all processes of a user and does not bind root). Where a memory and a pids cgroup can be made they
hold the tree exactly; elsewhere `measure` is sampled every quarter of a second.
"""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Iterable
from dataclasses import dataclass

from netclaw.ports.shell_runner import ShellEnd, ShellLimits
from netclaw.sandbox import process_tree

READY = b"\x06"
"""The byte the gate prints when everything is set up and only the permission to run is missing."""

REFUSED_STATUS = 125
"""Exit status of a gate whose runner went away without opening it."""

OOM_SCORE = "600"
"""Tools die before the daemon when the machine runs out of memory."""

OUT_OF_MEMORY = "The command used more memory than it may."

_CGROUPS = "/sys/fs/cgroup"
_STORM_SAMPLES = 8


def gate(argv: Iterable[str], limits: ShellLimits, umask: int) -> list[str]:
    """Wraps a command: set limits, say ready, wait for one line on stdin, then become the command.

    `umask` is the operator's, because the daemon's own would make the files of a project private.
    End of file instead of the line means that the session is gone: the command never runs.
    `exec` hands over the argv untouched, so what runs is what was judged.
    """
    script = ["ulimit -c 0"]
    if limits.file_size_mib:
        script.append(f"ulimit -f {limits.file_size_mib * 2048}")
    if limits.cpu_seconds:
        script.append(f"ulimit -t {limits.cpu_seconds}")
    script = [f"{line} 2>/dev/null" for line in script]
    script.append(f"umask {umask & 0o777:04o}")
    script += ["printf '\\006'", f"read -r x || exit {REFUSED_STATUS}", 'exec "$@" </dev/null']
    return ["/bin/sh", "-c", "\n".join(script), "sh", *argv]


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """What a tree holds at one moment."""

    processes: int
    memory_kib: int


def measure(root: int, limits: ShellLimits) -> Usage:
    """Counts a tree and its memory; looks at exact shares only when the cheap sum is too high."""
    at_most = limits.processes or 1 << 20
    pids = process_tree.descendants(root, at_most=at_most)
    if len(pids) > at_most:
        return Usage(processes=len(pids), memory_kib=0)
    memory = sum(map(process_tree.resident_kib, pids))
    if limits.memory_mib and memory > limits.memory_mib * 1024:
        memory = sum(map(process_tree.proportional_kib, pids))
    return Usage(processes=len(pids), memory_kib=memory)


def exceeded(usage: Usage, limits: ShellLimits) -> ShellEnd | None:
    """Which limit the tree passed, if any."""
    if limits.processes and usage.processes > limits.processes:
        return ShellEnd.PROCESSES
    if limits.memory_mib and usage.memory_kib > limits.memory_mib * 1024:
        return ShellEnd.MEMORY
    return None


def _own_cgroups() -> dict[str, str]:
    """Folder of this process's cgroup by version 1 controller; `unified` for version 2."""
    found = {}
    for line in process_tree.read_text("/proc/self/cgroup").splitlines():
        _, names, path = line.split(":", 2)
        bases = [f"{_CGROUPS}/{name}" for name in names.split(",")]
        keys = names.split(",")
        if not names:
            keys, bases = ["unified"], [_CGROUPS]
            if not os.access(f"{_CGROUPS}/cgroup.controllers", os.R_OK):
                bases = [f"{_CGROUPS}/unified"]
        for key, base in zip(keys, bases, strict=True):
            if key in {"memory", "pids", "unified"} and os.access(base, os.R_OK):
                found[key] = f"{base}{path}".rstrip("/")
    return found


def _places() -> tuple[list[str], bool]:
    """Folders in which a tree's cgroups can be made, and whether they are version 2.

    A process may not share its own cgroup with controlled children, so beside the own folder the
    parent is tried: below a user's service manager it is delegated. Raises `FileNotFoundError`
    where neither version offers both controllers.
    """
    own = _own_cgroups()
    unified = own.get("unified", "")
    for place in (unified, unified.rpartition("/")[0]):
        enabled = process_tree.read_text(f"{place}/cgroup.subtree_control").split()
        if {"memory", "pids"} <= set(enabled) and os.access(place, os.W_OK):
            return [place], True
    if "memory" in own and "pids" in own:
        return [own["memory"], own["pids"]], False
    raise FileNotFoundError("no memory and pids controllers for this process")


def remove_stale_cgroups() -> None:
    """Removes the empty cgroups that sessions killed in mid-call left behind."""
    try:
        places, _ = _places()
        names = [(place, name) for place in places for name in os.listdir(place)]
    except OSError:
        return
    for place, name in names:
        if _is_orphan(name):
            with contextlib.suppress(OSError):  # the kernel keeps one that is not empty
                os.rmdir(f"{place}/{name}")


def _pid_space() -> int:
    """Names the PID namespace of this process, in which alone its pid means anything."""
    return os.stat("/proc/self/ns/pid").st_ino


def _is_orphan(name: str) -> bool:
    """Whether a cgroup was made by a process of this PID namespace that is dead.

    Another namespace may share the folder, a container beside its host: its pids say nothing here,
    and a cgroup that it has just made and not filled yet would look abandoned.
    """
    prefix, _, rest = name.partition("-")
    space, _, rest = rest.partition("-")
    maker, _, _ = rest.partition("-")
    if prefix != "netclaw" or space != str(_pid_space()) or not maker.isdecimal():
        return False
    try:
        os.kill(int(maker), 0)
    except ProcessLookupError:
        return True
    except (OSError, OverflowError):
        return False  # it lives and is somebody else's
    return False


def _write(path: str, value: str) -> None:
    fd = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
    try:
        os.write(fd, value.encode())
    finally:
        os.close(fd)


def _name() -> str:
    return f"netclaw-{_pid_space()}-{os.getpid()}-{secrets.token_hex(4)}"


class Cgroup:
    """A memory and a pids cgroup made for one tree, removed with it."""

    def __init__(self, limits: ShellLimits) -> None:
        """Makes the folders. Raises `OSError` where the host does not let this user do so."""
        self._folders: list[str] = []
        self._storm = 0
        self._refusals = 0
        try:
            self._make(limits, _name())
        except OSError:
            self.remove()
            raise

    def _make(self, limits: ShellLimits, name: str) -> None:
        places, self._is_v2 = _places()
        for place in places:
            os.mkdir(f"{place}/{name}", 0o755)
            self._folders.append(f"{place}/{name}")
        self.memory, self.pids = self._folders[0], self._folders[-1]
        self._limit(limits)

    def _limit(self, limits: ShellLimits) -> None:
        size = str(limits.memory_mib * 1024 * 1024)
        if limits.memory_mib:
            _write(
                f"{self.memory}/{'memory.max' if self._is_v2 else 'memory.limit_in_bytes'}", size
            )
            swap = "memory.swap.max" if self._is_v2 else "memory.memsw.limit_in_bytes"
            if os.access(f"{self.memory}/{swap}", os.W_OK):
                _write(f"{self.memory}/{swap}", "0" if self._is_v2 else size)
        if limits.processes:
            _write(f"{self.pids}/pids.max", str(limits.processes))

    def place(self, pids: Iterable[int]) -> None:
        """Moves processes in; one that is gone already is no error."""
        for folder in self._folders:
            inside = process_tree.read_text(f"{folder}/cgroup.procs").split()
            for pid in pids:
                if str(pid) not in inside:
                    try:
                        _write(f"{folder}/cgroup.procs", str(pid))
                    except ProcessLookupError:
                        continue

    def exceeded(self) -> ShellEnd | None:
        """Whether the kernel had to kill for memory, or keeps refusing new processes."""
        events = "memory.events" if self._is_v2 else "memory.oom_control"
        if _counter(f"{self.memory}/{events}", "oom_kill") > 0:
            return ShellEnd.MEMORY
        refusals = _counter(f"{self.pids}/pids.events", "max")
        self._storm = self._storm + 1 if refusals > self._refusals else 0
        self._refusals = refusals
        return ShellEnd.PROCESSES if self._storm >= _STORM_SAMPLES else None

    def remove(self) -> bool:
        """Removes the folders; False while a dying process is still inside."""
        left = []
        for folder in self._folders:
            try:
                os.rmdir(folder)
            except FileNotFoundError:
                continue
            except OSError:
                left.append(folder)
        self._folders = left
        return not left


def _counter(path: str, name: str) -> int:
    for line in process_tree.read_text(path).splitlines():
        key, _, value = line.partition(" ")
        if key == name:
            return int(value)
    return 0


def can_make_cgroup() -> bool:
    """Whether a tree can be held by cgroups here, found out by making one."""
    try:
        return Cgroup(ShellLimits()).remove()
    except OSError:
        return False
