"""What a session process is asked to decide on, in the imperative: the mailbox's vocabulary.

Events of the journal authored elsewhere (an admitted input, an answer) are not commands: they
reach the state through evolve, and `Advance` then asks what follows from them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from netclaw.core.context.token_estimate import RequestSize
from netclaw.core.errors import ErrorCategory
from netclaw.core.ids import CallId, DispatchToken, SessionId
from netclaw.core.messages import Usage
from netclaw.core.session.after_drain import AfterDrain
from netclaw.core.session.child_commands import ChildCommand
from netclaw.core.session.job_commands import JobCommand
from netclaw.core.session.outputs import OutputFilter
from netclaw.core.session.rulings import CallRuling
from netclaw.core.signals.cursors import Notice
from netclaw.core.tool_call import ToolResult


class TimerKind(StrEnum):
    """The timers the rules ask for; the shell owns the clock."""

    IDLE = "idle"
    PASSIVATION_GRACE = "passivation-grace"
    DRAIN_SAFE_POINT = "drain-safe-point"
    CHILD_DRAIN = "child-drain"


class FinishReason(StrEnum):
    """Why a model call's stream ended."""

    STOP = "stop"
    TOOL_CALLS = "tool_calls"
    LENGTH = "length"
    CONTENT_FILTER = "content_filter"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposedCall:
    """A tool call as the model wrote it, judged, before netclaw gives it its own id."""

    provider_call_id: str
    name: str
    arguments: str
    ruling: CallRuling
    """What authorization decided, by the shell before the rules see the call."""
    fault: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Recover:
    """Heal what the last process left open, then become Ready; the first command of a process."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Advance:
    """Look whether committed facts call for work (an input to run, an answer to act on)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FinishRound:
    """A model call ended by itself."""

    token: DispatchToken
    text: str
    thinking: str
    calls: tuple[ProposedCall, ...]
    finish: FinishReason
    usage: Usage
    model: str
    are_tools_offered: bool = True
    """Whether the request showed any tool; calls to none are the model's fault."""
    request_size: RequestSize = field(default_factory=RequestSize)


@dataclass(frozen=True, slots=True, kw_only=True)
class FailRound:
    """A model call failed or a watchdog cut it; `sentence` is fit to show."""

    token: DispatchToken
    category: ErrorCategory
    sentence: str
    reference: str
    is_context_overflow: bool = False
    is_retryable_elsewhere: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class BeginOutput:
    """The model call in flight has text that was not released yet.

    Sent at its first text, and again when somebody who would see it stream appears later: with
    nobody to see it nothing is decided, and deltas stay held.
    """

    token: DispatchToken


@dataclass(frozen=True, slots=True, kw_only=True)
class FinishTool:
    """A launched call ended; `result` is bounded and redacted."""

    token: DispatchToken
    result: ToolResult
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FinishRecheck:
    """A call that was not launched yet has been judged (again), as `RecheckCall` asked."""

    call_id: CallId
    ruling: CallRuling


@dataclass(frozen=True, slots=True, kw_only=True)
class LookAgain:
    """Inputs were committed beneath the append whose model call (`token`) has not begun yet."""

    token: DispatchToken


@dataclass(frozen=True, slots=True, kw_only=True)
class StopTurn:
    """A person ends the turn at the next safe point (decision 26)."""

    actor: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Drain:
    """This process has to end: stop at the next safe point, within `budget_s`."""

    then: AfterDrain
    budget_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Compact:
    """Somebody wants the history shortened now, or after the turn that runs."""

    actor: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FinishNotes:
    """The notes call of a compaction ended; empty when none were wanted or none were written."""

    token: DispatchToken
    text: str
    usage: Usage = field(default_factory=Usage)
    model: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class FailNotes:
    """No model could make the notes in time; `sentence` is fit to show."""

    token: DispatchToken
    sentence: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FinishTitle:
    """The title call ended; `text` is what the model wrote, as it wrote it."""

    token: DispatchToken
    text: str
    usage: Usage = field(default_factory=Usage)
    model: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class FailTitle:
    """No model made a title in time."""

    token: DispatchToken
    sentence: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FinishDistillation:
    """Memory is done with the conversation it was offered, or gave up on it."""

    token: DispatchToken


@dataclass(frozen=True, slots=True, kw_only=True)
class Passivate:
    """End the process if nothing runs (idle, operator, or to make room)."""

    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FireTimer:
    """A timer asked for by the rules is due; stale ones carry an old token."""

    timer: TimerKind
    token: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeInterest:
    """The OR of all subscribers' filters changed."""

    interest: OutputFilter


@dataclass(frozen=True, slots=True, kw_only=True)
class NoticesChanged:
    """Of a watched session there is something to tell now (`notice`), or nothing any more (None).

    It starts nothing: what wakes a watcher is an input of its own.
    """

    target: SessionId
    notice: Notice | None


SessionCommand = (
    Recover
    | Advance
    | FinishRound
    | FailRound
    | BeginOutput
    | FinishTool
    | FinishRecheck
    | LookAgain
    | StopTurn
    | Drain
    | Compact
    | FinishNotes
    | FailNotes
    | FinishTitle
    | FailTitle
    | FinishDistillation
    | Passivate
    | FireTimer
    | ChangeInterest
    | NoticesChanged
    | ChildCommand
    | JobCommand
)
