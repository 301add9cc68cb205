"""What the shell must do about child runs after a decision was committed."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from netclaw.core.ids import CallId, DispatchToken, RunId
from netclaw.core.session.after_drain import AfterDrain
from netclaw.core.session.child_events import ChildState


class SpawnRefusal(StrEnum):
    """Why no run was accepted; the values are codes that the tool hands to the model."""

    NOT_RUNNING = "not_running"
    """The call that asks does not run (any more), so there is no turn to answer to."""
    START_CONFLICT = "start_conflict"
    """This call has started another run already."""
    CONSENT_PAUSE = "consent_pause"
    """A consent request of a run is open (S3 "child consent pause")."""
    CHILD_SESSION = "child_session"
    """A run starts no runs."""
    AUDIENCE = "audience"
    """The turn has no audience, or one that may not delegate."""
    STOPPING = "stopping"
    """The turn or the session is being stopped."""
    NAME_TOO_LONG = "name_too_long"
    """The run's session would have too long an id."""


class ReportKind(StrEnum):
    """Which report of a run is acknowledged."""

    BEGUN = "begun"
    PARKED = "parked"
    DISPATCH_CLOSED = "dispatch-closed"
    ENDED = "ended"


class CancelAnswer(StrEnum):
    """What became of the wish to cancel a run or a job."""

    ADMITTED = "admitted"
    ALREADY = "already"
    """It is being cancelled, or over."""
    NOT_FOUND = "not_found"
    """Nobody knows it, or it is somebody else's: the answer does not tell which."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfirmSpawn:
    """Answer the call: this run is accepted, now or by the same start before."""

    token: DispatchToken
    run_id: RunId
    state: ChildState


@dataclass(frozen=True, slots=True, kw_only=True)
class RefuseSpawn:
    """Answer the call: no run was started for it."""

    token: DispatchToken
    refusal: SpawnRefusal


@dataclass(frozen=True, slots=True, kw_only=True)
class ChildAnswer:
    """The answer to one parked call, which runs or is refused once."""

    call_id: CallId
    option: str
    answerer: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StartChild:
    """Have a process for this run. One that was told of the same `start` before is the same
    process: it is not started again, and it takes the answers once.
    """

    run_id: RunId
    start: int
    answers: tuple[ChildAnswer, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchChild:
    """Take reports of a run that was at work when the last process of this session ended, and
    have its process started where there is none.
    """

    run_id: RunId
    start: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CloseChild:
    """Close the run's gate: no model call, no tool, no consent; it reports that, then its end."""

    run_id: RunId


@dataclass(frozen=True, slots=True, kw_only=True)
class DrainChild:
    """Tell the run to stop at its next safe point and to park, within `budget_s`. A run without a
    process is parked: its report is made at once. `start` may never have been asked for.
    """

    run_id: RunId
    start: int
    budget_s: float
    then: AfterDrain
    """What follows for the run; never `NOTHING`, because its turn goes on some time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KillChild:
    """End the run's process: whatever it would still say is nobody's."""

    run_id: RunId


@dataclass(frozen=True, slots=True, kw_only=True)
class AcknowledgeChild:
    """Tell the run's process that its report is durable, or of no interest any more."""

    run_id: RunId
    start: int
    report: ReportKind


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerChildCancel:
    """Tell who asked what became of it; it is durable by now."""

    run_id: RunId
    actor: str
    answer: CancelAnswer


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportGateClosed:
    """In the run's own process: nothing starts any more. Report that, and the end once what ran
    is gone.
    """


ChildEffect = (
    ConfirmSpawn
    | RefuseSpawn
    | StartChild
    | WatchChild
    | CloseChild
    | DrainChild
    | KillChild
    | AcknowledgeChild
    | AnswerChildCancel
    | ReportGateClosed
)
