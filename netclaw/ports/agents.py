"""Child runs as tools see them: accepted for a running call, looked at, cancelled.

The session keeps the record; who may see a run is decided there, by the authority of the call's
turn (ADR 0031).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from netclaw.core.agents import AgentBook
from netclaw.core.ids import RunId, SessionId
from netclaw.core.session.child_effects import SpawnRefusal
from netclaw.core.session.child_events import ChildState

CONTROL_TOOL = "check_agent_run"


class SpawnRefusedError(Exception):
    """No run was started."""

    def __init__(self, refusal: SpawnRefusal) -> None:
        super().__init__(refusal.value)
        self.refusal = refusal


@dataclass(frozen=True, slots=True, kw_only=True)
class AcceptedRun:
    """A run that is on record, by this call now or before."""

    run_id: RunId
    session_id: SessionId
    state: ChildState


@dataclass(frozen=True, slots=True, kw_only=True)
class RunView:
    """A run as of now."""

    run_id: RunId
    agent: str
    state: ChildState
    reason: str
    is_cancel_admitted: bool
    is_dispatch_closed: bool
    log_path: str
    artifact_dir: str
    result_path: str
    """Empty until the run is over."""


class Agents(Protocol):
    """The child runs of a session, for one call."""

    async def book(self) -> AgentBook:
        """The agents there are now."""

    async def spawn(self, *, agent: str, task: str, digest: str) -> AcceptedRun:
        """Have a run accepted; returns once that is durable, whatever becomes of the run.

        Raises `SpawnRefusedError`.
        """

    async def look(self, run_id: RunId) -> RunView | None:
        """A run, None for one that does not exist or that this call may not see."""

    async def cancel(self, run_id: RunId) -> bool:
        """Admit a cancel; returns once that is durable, not when the run is over.

        False for a run that does not exist or that this call may not see.
        """


class NoAgents:
    """Where no run can be: the context of a call that is only judged."""

    async def book(self) -> AgentBook:
        """See `Agents`."""
        return AgentBook()

    async def spawn(self, *, agent: str, task: str, digest: str) -> AcceptedRun:
        """See `Agents`."""
        del agent, task, digest
        raise SpawnRefusedError(SpawnRefusal.NOT_RUNNING)

    async def look(self, run_id: RunId) -> RunView | None:
        """See `Agents`."""
        del run_id
        return None

    async def cancel(self, run_id: RunId) -> bool:
        """See `Agents`."""
        del run_id
        return False


NO_AGENTS = NoAgents()
