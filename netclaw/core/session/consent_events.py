"""What has happened to consent requests: asked, answered, withdrawn (P; glossary "consent").

One vocabulary for the session's own calls and for those of its child runs: a request of a child
carries the run's id, and the parent's journal is the truth for it (decision 69).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from netclaw.core.authority import Requester
from netclaw.core.ids import CallId, RunId, TurnId


class ConsentEffect(StrEnum):
    """What choosing an option does to the call that waits."""

    APPROVE = "approve"
    REFUSE = "refuse"


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsentOption:
    """One answer that the operator can choose; `key` is what travels and is stored."""

    key: str
    label: str
    effect: ConsentEffect


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsentRequest:
    """Asks for the uncovered candidates of one call; it never expires (S0).

    `display` has its secrets removed. `requester` is the one whose turn made the call: only they
    may approve (decision 48).
    """

    call_id: CallId
    tool: str
    display: str
    candidates: tuple[str, ...]
    options: tuple[ConsentOption, ...]
    requester: Requester
    attempt_id: str = ""
    cwd: str = ""
    """Folder in which a shell command would run; empty for other tools."""
    adopted_speakers: tuple[str, ...] = ()
    """Everybody whose words the turn was shown beside the requester's (glossary "adopted
    context"); they never originate a request."""

    def option(self, key: str) -> ConsentOption | None:
        """The option of this key; an answer that was not offered is none."""
        return next((item for item in self.options if item.key == key), None)


class Withdrawal(StrEnum):
    """Why a request ended without an answer."""

    SUPERSEDED = "superseded"
    """A person's new message abandoned the batch, or ended the automated turn it belongs to."""
    TURN_STOPPED = "turn-stopped"
    """A person ended the turn."""
    TURN_ENDED = "turn-ended"
    """The turn failed or was ended while the request was open."""
    RUN_ENDED = "run-ended"
    """The child run was cancelled or is over (decision 49)."""


class Dismissal(StrEnum):
    """Why nothing follows from an answer."""

    NOT_OPEN = "not-open"
    """No call waits for it: unknown, answered before, withdrawn."""
    NOT_OFFERED = "not-offered"
    """The request has no such option."""
    NOT_THEIRS = "not-theirs"
    """It is another person's to give (decision 48)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsentRequested:
    """P: a call waits for a person; precedes the prompt. `run_id` names a child's run."""

    turn_id: TurnId
    request: ConsentRequest
    run_id: RunId | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsentAnswered:
    """P: the chosen option counts; precedes the launch, which is judged once more."""

    turn_id: TurnId
    call_id: CallId
    option: str
    answerer: str
    run_id: RunId | None = None
    effect: ConsentEffect = ConsentEffect.REFUSE
    """What the option does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsentWithdrawn:
    """P: the request is closed and its prompt is dead."""

    turn_id: TurnId
    call_id: CallId
    reason: Withdrawal
    run_id: RunId | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerDismissed:
    """P: nothing follows from this answer, and it is looked at no more; a request stays open."""

    call_id: CallId
    option: str
    answerer: str
    reason: Dismissal
