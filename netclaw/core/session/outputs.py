"""What subscribers see of a session, and the filter each of them chooses (S0 delivery)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntFlag, StrEnum

from netclaw.core.errors import ErrorCategory
from netclaw.core.ids import CallId, InputId, JobId, RunId, TurnId
from netclaw.core.messages import Usage
from netclaw.core.session.child_events import ChildState
from netclaw.core.session.consent_events import ConsentOption
from netclaw.core.session.events import TurnOutcome
from netclaw.core.session.job_events import JobState
from netclaw.core.session.phase import Phase
from netclaw.core.tool_call import OutcomeCategory


class OutputFilter(IntFlag):
    """A subscriber's choice; lifecycle outputs arrive whatever it is."""

    TEXT = 1
    TEXT_STREAMING = 2
    THINKING = 4
    TOOL_CALLS = 8
    USAGE = 16
    FILES = 32
    PROCESSING_STATE = 64
    ALL = 127


@dataclass(frozen=True, slots=True, kw_only=True)
class TextOutput:
    """A final assembled assistant text: a round's preamble, or the answer."""

    turn_id: TurnId
    text: str
    round: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TextDelta:
    """Incremental text of the round in flight; ephemeral."""

    turn_id: TurnId
    text: str
    round: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ThinkingDelta:
    """Incremental reasoning of the round in flight; ephemeral."""

    turn_id: TurnId
    text: str
    round: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCallOutput:
    """A call the model asked for; arguments are redacted JSON text."""

    turn_id: TurnId
    call_id: CallId
    name: str
    arguments: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResultOutput:
    """The result of one call, bounded and redacted."""

    turn_id: TurnId
    call_id: CallId
    name: str
    outcome: OutcomeCategory
    text: str
    duration_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageOutput:
    """Token counts of the turn so far, and how full the context is.

    `context_tokens` are the input tokens of the newest request as the model's service counted
    them, measured against `context_window`; 0 if it counted none.
    """

    turn_id: TurnId
    usage: Usage
    context_window: int
    context_tokens: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class FileOutput:
    """An attachment made by the model or a tool."""

    turn_id: TurnId
    path: str
    media_type: str
    size_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessingOutput:
    """The session's phase changed; drives typing indicators."""

    phase: Phase
    buffered_inputs: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryOutput:
    """A model call failed before it said anything and is made again; ephemeral, like a phase."""

    turn_id: TurnId
    sentence: str
    wait_s: float
    """Seconds until the next attempt; 0 when another model is asked at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TitleOutput:
    """Lifecycle: the title changed."""

    title: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorOutput:
    """Lifecycle: a turn failed, or the session has something to say about its health."""

    turn_id: TurnId | None
    category: ErrorCategory
    sentence: str
    reference: str
    input_ids: tuple[InputId, ...] = ()
    """Inputs whose wait this ends; empty for what ends none, as a compaction that was given up."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NoticeOutput:
    """Lifecycle: a line for the person that is no error (stopping, restarting, resumed)."""

    sentence: str
    kind: str
    input_ids: tuple[InputId, ...] = ()
    """Inputs that are kept and that nothing will answer until somebody acts: no end of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactionOutput:
    """Lifecycle: the history was shortened."""

    tokens_before: int
    tokens_after: int
    kept_messages: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsentRequestOutput:
    """Lifecycle: a call waits for a person; `run_id` names a child's run."""

    turn_id: TurnId
    call_id: CallId
    tool: str
    display: str
    candidates: tuple[str, ...]
    options: tuple[ConsentOption, ...]
    sender_id: str
    """Who may approve; empty if anybody may."""
    run_id: RunId | None = None
    cwd: str = ""
    """Folder in which a shell command would run; empty for other tools."""
    adopted_speakers: tuple[str, ...] = ()
    """Others whose words the turn was shown; they may have led to the call (reference 5)."""


class ConsentEnd(StrEnum):
    """How a consent prompt ended."""

    APPROVED = "approved"
    REFUSED = "refused"
    WITHDRAWN = "withdrawn"


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsentUpdateOutput:
    """Lifecycle: a consent prompt is over."""

    turn_id: TurnId
    call_id: CallId
    end: ConsentEnd
    answerer: str = ""
    run_id: RunId | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ChildOutput:
    """A child run changed its state (ToolCalls filter)."""

    run_id: RunId
    agent: str
    state: ChildState
    reason: str = ""
    result_path: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobOutput:
    """A background job changed its state (ToolCalls filter); `command` is redacted."""

    job_id: JobId
    state: JobState
    command: str
    log_path: str
    exit_code: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnCompletedOutput:
    """Lifecycle: the only turn boundary; lists the inputs it consumed."""

    turn_id: TurnId
    input_ids: tuple[InputId, ...]
    outcome: TurnOutcome | None
    """None when the turn failed; an ErrorOutput then precedes it, unless a stop notice already
    told the person."""
    open_child_runs: tuple[str, ...] = ()


Output = (
    TextOutput
    | TextDelta
    | ThinkingDelta
    | ToolCallOutput
    | ToolResultOutput
    | UsageOutput
    | FileOutput
    | ProcessingOutput
    | RetryOutput
    | TitleOutput
    | ErrorOutput
    | NoticeOutput
    | CompactionOutput
    | ConsentRequestOutput
    | ConsentUpdateOutput
    | ChildOutput
    | JobOutput
    | TurnCompletedOutput
)

FILTER_OF: dict[type[Output], OutputFilter | None] = {
    TextOutput: OutputFilter.TEXT,
    TextDelta: OutputFilter.TEXT_STREAMING,
    ThinkingDelta: OutputFilter.THINKING,
    ToolCallOutput: OutputFilter.TOOL_CALLS,
    ToolResultOutput: OutputFilter.TOOL_CALLS,
    UsageOutput: OutputFilter.USAGE,
    FileOutput: OutputFilter.FILES,
    ProcessingOutput: OutputFilter.PROCESSING_STATE,
    RetryOutput: OutputFilter.PROCESSING_STATE,
    TitleOutput: None,
    ErrorOutput: None,
    NoticeOutput: None,
    CompactionOutput: None,
    ConsentRequestOutput: None,
    ConsentUpdateOutput: None,
    ChildOutput: OutputFilter.TOOL_CALLS,
    JobOutput: OutputFilter.TOOL_CALLS,
    TurnCompletedOutput: None,
}
"""The bit that admits each output; None is lifecycle, always delivered."""


def admits(chosen: OutputFilter, output_type: type[Output]) -> bool:
    """Whether a subscriber with this filter receives outputs of this type."""
    needed = FILTER_OF[output_type]
    return needed is None or bool(chosen & needed)
