"""What has happened to a session, in the past tense: the journal's vocabulary.

Each class is one journal event of the protocol page's table. Payloads are stored as JSON under
the class name and a version; fields may be added with a default, never change meaning. `S` events
are authored by the supervisor, `P` events by the session process, `SP` by either.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from netclaw.core.authority import Audience, Authority, DeliveryTarget, Principal, SourceKind
from netclaw.core.context.token_estimate import RequestSize
from netclaw.core.errors import ErrorCategory
from netclaw.core.ids import CallId, InputId, SessionId, TurnId
from netclaw.core.messages import AssistantMessage, MediaRef, Usage
from netclaw.core.session.adoption_events import HistoryAdopted, SessionAdopted
from netclaw.core.session.child_events import (
    ChildAccepted,
    ChildCancelAdmitted,
    ChildClosed,
    ChildDispatchClosed,
    ChildEnded,
    ChildFrozen,
    ChildParked,
    ChildResultDelivered,
    ChildResumed,
    ChildStarted,
)
from netclaw.core.session.consent_events import (
    AnswerDismissed,
    ConsentAnswered,
    ConsentRequested,
    ConsentWithdrawn,
)
from netclaw.core.session.goal_events import GoalSet
from netclaw.core.session.job_events import JobEnded, JobReaped, JobReported, JobStarted
from netclaw.core.tool_call import Attachment, ToolResult


class SessionKind(StrEnum):
    """What a session row is."""

    MAIN = "main"
    CHILD = "child"


class TurnOutcome(StrEnum):
    """How a recorded turn ended."""

    COMPLETED = "completed"
    STOPPED = "stopped"
    """A person ended it at a safe point (decision 26)."""
    GUARD_ENDED = "guard-ended"


class ResetReason(StrEnum):
    """Why a life ended."""

    OPERATOR = "operator"
    RECREATED = "recreated"


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionCreated:
    """S: the first event of a session's journal."""

    session_id: SessionId
    kind: SessionKind
    channel: SourceKind
    audience: Audience
    life: int
    parent: SessionId | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionReset:
    """S: a life ended (decision 90): empty history, open work closed, seq goes on."""

    reason: ResetReason
    life: int


@dataclass(frozen=True, slots=True, kw_only=True)
class InputAdmitted:
    """S: an input is durable, with its original authority; precedes every acknowledgement."""

    input_id: InputId
    source_message_id: str | None
    text: str
    authority: Authority
    attended: bool
    """Whether a person can answer consent prompts while its turn runs."""
    media: tuple[MediaRef, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerAdmitted:
    """S: a consent answer is durable; precedes its acknowledgement."""

    call_id: CallId
    option: str
    answerer: str
    """Sender id, which means something within its `boundary` alone."""
    boundary: str = ""
    principal: Principal = Principal.AUTOMATION
    """Of whom it is not known what they are is no person, and answers nothing (decision 56)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CrashRecorded:
    """S: a session process died unasked; `exit_status` is negative for a signal."""

    exit_status: int
    turn_id: TurnId | None
    attempt: int


@dataclass(frozen=True, slots=True, kw_only=True)
class NoticeMark:
    """A rendered state-awareness notice: its target, frozen mark, and the version seen before."""

    target: SessionId
    mark: int
    since: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnStarted:
    """P: one turn began; it consumes nothing yet and keeps this authority to its end."""

    turn_id: TurnId
    input_ids: tuple[InputId, ...]
    authority: Authority
    notices: tuple[NoticeMark, ...] = ()
    is_aside: bool = False
    """netclaw answers the input itself: neither it nor the answer becomes history."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InputJoined:
    """P: buffered inputs of the same requester joined the turn at a batch boundary."""

    turn_id: TurnId
    input_ids: tuple[InputId, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputStarted:
    """P: text of this round may have reached a person; committed before the first delta."""

    turn_id: TurnId
    round: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundRecorded:
    """P: a model call ended with tool calls; its message is history now."""

    turn_id: TurnId
    round: int
    message: AssistantMessage
    usage: Usage
    model: str
    is_text_released: bool = False
    """Whether the round's preamble text was handed to subscribers on commit."""
    context_tokens: int = 0
    """Input tokens of the model call that was recorded, without those that were asked again."""
    request_size: RequestSize = field(default_factory=RequestSize)


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolBatchStarted:
    """P: exactly these calls are launched now; without a result they are Interrupted later."""

    turn_id: TurnId
    call_ids: tuple[CallId, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResultRecorded:
    """P: one call has its durable result (possibly one never launched: refused, interrupted)."""

    turn_id: TurnId
    result: ToolResult


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnRecorded:
    """P: the turn is complete and has consumed its inputs."""

    turn_id: TurnId
    message: AssistantMessage
    outcome: TurnOutcome
    usage: Usage
    """The whole turn: every model call of it."""
    model: str
    input_ids: tuple[InputId, ...]
    open_child_runs: tuple[str, ...] = ()
    context_tokens: int = 0
    """Input tokens of the last model call alone, what compaction measures."""
    note: str = ""
    """What the model is told later about an end without an answer; empty for an answer."""
    request_size: RequestSize = field(default_factory=RequestSize)

    @property
    def is_quiet(self) -> bool:
        """Whether nobody is told of the turn: a wake that had nothing to tell any more."""
        return self.outcome is TurnOutcome.STOPPED and not self.note


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnFailed:
    """SP: the turn ended without an answer and has consumed its inputs.

    `note` is what the person is told; `is_person_told` is false when a stop notice already was.
    Inputs of the turn that are not listed return to the buffer. `closed_call_ids` are the open
    calls it closes; a supervisor's TurnFailed (poison turn) closes all of them.
    """

    turn_id: TurnId
    category: ErrorCategory
    reference: str
    note: str
    input_ids: tuple[InputId, ...]
    closed_call_ids: tuple[CallId, ...] = ()
    is_person_told: bool = True
    open_child_runs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TitleSet:
    """P: the session has a (new) title; an empty one leaves the choice to the model again."""

    title: str
    actor: str
    """Who set it: `model`, or the person (`operator`, a sender id)."""
    usage: Usage = field(default_factory=Usage)
    """What the model call that made it cost; no turn counts it."""
    model: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkingDirectorySet:
    """P: the project directory changed; empty means none."""

    path: str
    actor: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Compacted:
    """P: the history was shortened to notes and what was kept; carries a snapshot.

    What stays, in this order: the notes, the inputs named, the newest messages. Of these the
    results of the calls named are placeholders.
    """

    kept_from_seq: int
    """seq of the InputAdmitted of the first message that stays; 0 when none of them is an input."""
    notes: str
    tokens_before: int
    tokens_after: int
    trigger: str
    kept_messages: int = 0
    """How many of the newest messages stayed."""
    kept_input_ids: tuple[InputId, ...] = ()
    """Inputs older than those that stayed too."""
    cleared_call_ids: tuple[CallId, ...] = ()
    notes_usage: Usage = field(default_factory=Usage)
    """What the notes call cost; no turn counts it, and no threshold is measured by it."""
    notes_model: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class DrainStopped:
    """P: a drain stopped the turn at a safe point; it may go on after the restart."""

    turn_id: TurnId
    point: str
    is_restart: bool
    is_person_told: bool
    deadline_at: int = 0
    """Epoch ms after which the turn does not go on by itself; 0: without a limit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Resumed:
    """P: an open turn goes on after a start, under its own turn id."""

    turn_id: TurnId


@dataclass(frozen=True, slots=True, kw_only=True)
class Passivated:
    """P: the process ends on purpose; carries a snapshot, and needs the exact head."""

    snapshot_seq: int


SessionEvent = (
    SessionCreated
    | SessionReset
    | InputAdmitted
    | AnswerAdmitted
    | CrashRecorded
    | TurnStarted
    | InputJoined
    | OutputStarted
    | RoundRecorded
    | ToolBatchStarted
    | ToolResultRecorded
    | TurnRecorded
    | TurnFailed
    | TitleSet
    | WorkingDirectorySet
    | GoalSet
    | SessionAdopted
    | HistoryAdopted
    | Compacted
    | DrainStopped
    | Resumed
    | Passivated
    | ConsentRequested
    | ConsentAnswered
    | ConsentWithdrawn
    | AnswerDismissed
    | ChildAccepted
    | ChildStarted
    | ChildParked
    | ChildResumed
    | ChildCancelAdmitted
    | ChildDispatchClosed
    | ChildEnded
    | ChildResultDelivered
    | ChildFrozen
    | ChildClosed
    | JobStarted
    | JobEnded
    | JobReaped
    | JobReported
)

SUPERVISOR_ONLY: tuple[type[SessionEvent], ...] = (
    SessionCreated,
    SessionReset,
    InputAdmitted,
    AnswerAdmitted,
    CrashRecorded,
    GoalSet,
    SessionAdopted,
    HistoryAdopted,
)
"""What a session process may never author; the store refuses it in an Append."""

MAY_INTERLEAVE: tuple[type[SessionEvent], ...] = (InputAdmitted, AnswerAdmitted, GoalSet)
"""Foreign events that may lie between an append's expected head and the real one (protocol)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """One journal row: the event with its place, time (epoch ms), author process and cause."""

    seq: int
    at: int
    incarnation: int
    cause: str
    event: SessionEvent


@dataclass(frozen=True, slots=True, kw_only=True)
class OutboxRow:
    """A whole reply waiting for a channel; committed with the turn that made it (decision 7)."""

    target: DeliveryTarget
    text: str
    turn_id: TurnId
    input_ids: tuple[InputId, ...]
    file: Attachment | None = None
    """What is sent instead of a text; committed with the call that attached it."""
