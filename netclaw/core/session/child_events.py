"""What has happened to child runs: the parent's run record and the child's own frame.

The parent's journal is the truth for acceptance, park, consent, cancel and result; the child's
journal holds what it was started with and that it is closed (decision 69).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from netclaw.core.authority import Authority
from netclaw.core.ids import CallId, RunId, SessionId, TurnId


class ChildState(StrEnum):
    """State of a child run; the values are those of `netclaw runs list`."""

    ACCEPTED = "Accepted"
    RUNNING = "Running"
    CANCELLING = "Cancelling"
    PARKED = "Parked"
    COMPLETED = "Completed"
    PARTIAL = "Partial"
    FAILED = "Failed"
    CANCELLED = "Cancelled"
    LOST = "Lost"

    @property
    def is_terminal(self) -> bool:
        """Whether the run is over."""
        return self in _TERMINAL


_TERMINAL = frozenset(
    {
        ChildState.COMPLETED,
        ChildState.PARTIAL,
        ChildState.FAILED,
        ChildState.CANCELLED,
        ChildState.LOST,
    }
)


class ParkKind(StrEnum):
    """Why a run has no process."""

    CONSENT = "consent"
    """It waits for the answers to its consent requests."""
    DRAIN = "drain"
    """Its process ended with the daemon; it goes on at the next start (zero requests)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChildAccepted:
    """P (parent): a run exists from here on; precedes its process and the accepted answer.

    `start_key` names the call that asked; `digest` what it asked for, so that the same start is
    the same run and another one under the same key is a conflict.
    """

    run_id: RunId
    session_id: SessionId
    agent: str
    task: str
    start_key: str
    digest: str
    turn_id: TurnId
    call_id: CallId
    authority: Authority
    is_attended: bool = False
    """Whether a person can answer its consent requests; else they are refused at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChildStarted:
    """P (parent): the run's process, the first or one after a park, was seen at work."""

    run_id: RunId


@dataclass(frozen=True, slots=True, kw_only=True)
class ChildParked:
    """P (parent): the run has no process; its open requests are in this record."""

    run_id: RunId
    kind: ParkKind


@dataclass(frozen=True, slots=True, kw_only=True)
class ChildResumed:
    """P (parent): a parked run goes on in a new process."""

    run_id: RunId


@dataclass(frozen=True, slots=True, kw_only=True)
class ChildCancelAdmitted:
    """P (parent): a cancel is durable; reported apart from the closing of the run's dispatch."""

    run_id: RunId
    actor: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ChildDispatchClosed:
    """P (parent): the cancelled run can start no model call and no tool any more."""

    run_id: RunId


@dataclass(frozen=True, slots=True, kw_only=True)
class ChildEnded:
    """P (parent): the run's terminal receipt; precedes the child's acknowledgement.

    `state` is terminal. `reason` is a stable word such as `owner_restarted`, `timeout`,
    `CancelledByParent`; empty for a completed run. `files` are those the child confirmed writing.
    """

    run_id: RunId
    state: ChildState
    reason: str = ""
    result_path: str = ""
    files: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ChildResultDelivered:
    """P (parent): this turn tells the model of the run's end; its end closes the run."""

    run_id: RunId
    turn_id: TurnId


@dataclass(frozen=True, slots=True, kw_only=True)
class ChildFrozen:
    """P (child): what the run was started with and keeps to its end."""

    run_id: RunId
    parent: SessionId
    agent: str
    system_prompt: str
    provider: str
    model: str
    tools: tuple[str, ...]
    project_instructions: str = ""
    operating_rules: str = ""
    wants_findings: bool = False
    timeout_s: float = 60.0
    """Without a sign of life for this long its model call is given up."""
    prefill_s: float = 0.0
    """How long its model may think before the first word; 0: as in every session."""
    working_directory: str = ""
    """The parent's project directory at the start."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChildClosed:
    """P (child): the last event of a child's journal, before the parent purges it."""

    run_id: RunId
    reason: str
