"""What a session process is asked about child runs: by a tool, by a run's process, by a person.

A report names the start of the run's process that it comes from. A process sends its reports in
order, and again until they are acknowledged, so every rule takes the same report twice.
"""

from __future__ import annotations

from dataclasses import dataclass

from netclaw.core.authority import Authority
from netclaw.core.ids import CallId, DispatchToken, RunId, TurnId
from netclaw.core.session.child_events import ChildState
from netclaw.core.session.consent_events import ConsentRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class AcceptChild:
    """A running call asks for a child run; `digest` stands for everything it asks for."""

    token: DispatchToken
    call_id: CallId
    agent: str
    task: str
    digest: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BeginChild:
    """Report: the run's process works."""

    run_id: RunId
    start: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ChildAsk:
    """One call of a run that needs consent, with the run's own turn."""

    turn_id: TurnId
    request: ConsentRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class ParkChild:
    """Report: the run's process stopped at a safe point and ends.

    What it asks for is what it waits for; a drain park asks nobody (S3 "parked child run").
    """

    run_id: RunId
    start: int
    asks: tuple[ChildAsk, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CloseChildDispatch:
    """Report: the cancelled run starts no model call and no tool any more."""

    run_id: RunId
    start: int


@dataclass(frozen=True, slots=True, kw_only=True)
class EndChild:
    """Report: the run is over; `state` is terminal. The supervisor sends it for a process that
    can no longer speak for itself.
    """

    run_id: RunId
    start: int
    state: ChildState
    reason: str = ""
    result_path: str = ""
    files: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CancelChild:
    """Somebody wants a run ended. `authority` is that of the turn that asks; None stands for the
    operator of this host, from outside every turn.
    """

    run_id: RunId
    actor: str
    authority: Authority | None


@dataclass(frozen=True, slots=True, kw_only=True)
class CloseGate:
    """To the run's own session: start nothing any more and end what runs. Nothing is recorded,
    because the parent's record says what became of the run.
    """


ChildCommand = (
    AcceptChild | BeginChild | ParkChild | CloseChildDispatch | EndChild | CancelChild | CloseGate
)
