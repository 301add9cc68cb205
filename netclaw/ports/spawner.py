"""Starting session processes: by fork from the zygote, by exec, later on other machines."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from netclaw.core.ids import SessionId

MAX_BOOTSTRAP_BYTES = 16 * 1024
"""Longest serialized Bootstrap; well below what a pipe or a seqpacket takes at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bootstrap:
    """All a session process knows before its Welcome; travels by pipe, never argv or env."""

    session_id: SessionId
    host_socket: str
    token: str
    """One-time; good for this session's stream only."""
    supervisor_pid: int
    memory_mib: int
    log_path: str
    """The session's log file; a hung process appends the stacks of its threads to it."""


class SessionProcess(Protocol):
    """One started process of a session, watched by its pidfd."""

    @property
    def pid(self) -> int:
        """Process id; never reused while this object watches it."""

    @property
    def is_alive(self) -> bool:
        """False once the pidfd said so."""

    async def wait(self) -> int:
        """Exit status (negative for a signal); many may wait."""

    def kill(self) -> None:
        """SIGKILL; no error if it is gone."""

    def dump_stacks(self) -> None:
        """Ask for a stack dump of every thread into its log (faulthandler)."""


class Spawner(Protocol):
    """Starts session processes; called from the main thread only (decision 82)."""

    async def spawn(self, bootstrap: Bootstrap) -> SessionProcess:
        """Start one; raises `InternalError` when neither zygote nor exec can."""

    @property
    def zygote_pid(self) -> int:
        """0 when sessions start by exec."""

    async def reap_strangers(self) -> int:
        """Kill and reap what dead sessions left to us; how many there were (decision 82)."""

    async def close(self) -> None:
        """End the zygote and wait for it."""
