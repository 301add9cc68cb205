"""The parent's record of its child runs, as part of the session's state."""

from __future__ import annotations

from dataclasses import dataclass

from netclaw.core.ids import CallId, RunId, TurnId
from netclaw.core.session.child_events import ChildAccepted, ChildEnded, ChildState, ParkKind
from netclaw.core.session.consent_events import ConsentRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRequest:
    """A consent request of a run that has no answer that was acted on yet."""

    request: ConsentRequest
    turn_id: TurnId
    """The child's turn."""
    asked_at: int
    answer: str | None = None
    """Key of the chosen option; None while it waits."""
    answerer: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChildRun:
    """One run: open from its acceptance until the turn that tells of its end is over (S3)."""

    accepted: ChildAccepted
    accepted_at: int
    state: ChildState = ChildState.ACCEPTED
    start: int = 1
    """Which start of its process this is; a report of an earlier one is old."""
    is_started: bool = False
    """Whether that process was seen at work; before, the answers it takes along stay here."""
    park: ParkKind | None = None
    requests: tuple[RunRequest, ...] = ()
    is_dispatch_closed: bool = False
    ended: ChildEnded | None = None
    ended_seq: int = 0
    """seq of its ChildEnded: its place among the waiting inputs."""
    delivered_in: TurnId | None = None
    """The turn that tells of its end; None before."""
    is_closed: bool = False

    @property
    def run_id(self) -> RunId:
        """The run's name."""
        return self.accepted.run_id

    @property
    def is_live(self) -> bool:
        """Whether it has a process, or is to have one at once."""
        return self.ended is None and self.park is None

    @property
    def is_waiting_for_consent(self) -> bool:
        """Whether it has no process until somebody answers."""
        return self.ended is None and self.park is ParkKind.CONSENT

    @property
    def unanswered(self) -> tuple[RunRequest, ...]:
        """The requests that wait for a person."""
        return tuple(item for item in self.requests if item.answer is None)

    @property
    def is_undelivered(self) -> bool:
        """Whether it has ended and no turn has taken its result."""
        return self.ended is not None and self.delivered_in is None

    def asks_for(self, call_id: CallId) -> RunRequest | None:
        """The open request of this call."""
        return next((item for item in self.requests if item.request.call_id == call_id), None)
