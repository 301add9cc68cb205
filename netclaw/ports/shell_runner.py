"""How a judged command runs: confined, bounded, killed as a whole tree."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

from netclaw.core.settings import DEFAULT_UMASK


class Confinement(StrEnum):
    """The backend that really confines a command; proved by running `true` at start."""

    BUBBLEWRAP = "bubblewrap"
    UNSHARE = "unshare"
    LANDLOCK = "landlock"
    NONE = "none"
    """HostAllowed: no sandbox, tree kill by a subreaper."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxFacts:
    """What was proved on this machine; made once by the supervisor, sent to each session."""

    backend: Confinement | None
    """None: nothing works, shell is refused (`no_sandbox`)."""
    program: str
    """Path of the backend's program, or empty."""
    why: str
    """One sentence: why this one, and what each stronger one said when it was tried."""
    limits: str
    """`cgroup` or `rlimits`: how memory and process count are held."""
    bpf_path: str = ""
    """File holding the exported seccomp BPF, read-only."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxProfile:
    """The view one command gets (decisions 83 to 85); absolute, resolved paths."""

    home: str
    """The netclaw home, hidden whole; only the paths below are bound back."""
    writable: tuple[str, ...]
    named: tuple[str, ...] = ()
    """Writable because the command names them; left out in another home and among credentials."""
    readable: tuple[str, ...] = ()
    """Bound read-only inside a hidden place."""
    shown: tuple[str, ...] = ()
    """Seen because the command names them, where a backend would not show them; left out like
    `named`, where services keep sockets, and where it could not hide what lies inside."""
    credentials: tuple[str, ...] = ()
    """Not hidden although they hold what lets in elsewhere, and never writable; left out in and
    around every netclaw home. What else is hidden inside one stays hidden."""
    masked: tuple[str, ...] = ()
    """Protected files and folders, hidden last, whatever was bound before."""
    tmp: str = ""
    """The session's temp folder; the only thing a private /tmp holds."""
    has_network: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ShellLimits:
    """What a tree may use; 0 means no limit."""

    memory_mib: int = 2048
    processes: int = 512
    file_size_mib: int = 2048
    cpu_seconds: int = 600
    total_s: float = 0.0
    """Wall-clock limit of the whole command."""
    silence_s: float = 0.0
    """Limit until the first output and between outputs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShellRequest:
    """One command as it was judged: exec'd argv, never re-parsed."""

    argv: tuple[str, ...]
    cwd: str
    environment: dict[str, str] = field(default_factory=dict)
    profile: SandboxProfile | None
    """None only for HostAllowed."""
    limits: ShellLimits
    umask: int = DEFAULT_UMASK
    """In force for the command, whatever the daemon's own is."""
    room: asyncio.Event | None = None
    """Cleared while its output cannot be taken: it then waits at its full pipe. What is left in
    the pipe at its end is handed over all the same."""


class ShellEnd(StrEnum):
    """Why a command ended."""

    EXITED = "exited"
    SIGNALLED = "signalled"
    SILENCE = "silence"
    TOTAL_TIME = "total-time"
    MEMORY = "memory"
    PROCESSES = "processes"
    CANCELLED = "cancelled"
    FAILED_TO_START = "failed-to-start"


@dataclass(frozen=True, slots=True, kw_only=True)
class ShellOutcome:
    """How it ended; output went to the sink while it ran."""

    end: ShellEnd
    exit_code: int
    """Exit status, or the negative signal number."""
    duration_ms: int
    detail: str = ""
    is_tree_gone: bool = True
    """False if the kernel did not confirm the kill in time: the tree is then not `closed`."""


OutputSink = Callable[[bytes], None]
"""Receives merged stdout and stderr in pieces of at most 64 KiB; must not block."""


class ShellRunner(Protocol):
    """Runs one command; when `run` returns or is cancelled, no process of its tree is left."""

    async def run(
        self,
        request: ShellRequest,
        *,
        on_started: Callable[[int, int], Awaitable[None]],
        sink: OutputSink,
    ) -> ShellOutcome:
        """`on_started(pid, start_ticks)` is awaited when only the permission to run is missing.

        The command runs as soon as it returns, and never if it raises.
        """
