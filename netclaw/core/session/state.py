"""The state of a session: what the journal says, and apart from it what this process is doing.

`SessionState` is exactly `evolve` over the journal in commit order and is what a snapshot holds.
`Runtime` dies with the process: phase, calls in flight, timers, who is watching.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from netclaw.core.authority import Audience, Authority, SourceKind
from netclaw.core.context.token_estimate import TokenMeter
from netclaw.core.context.working_context import WorkingContext
from netclaw.core.ids import CallId, DispatchToken, InputId, JobId, RunId, SessionId, TurnId
from netclaw.core.messages import Message, Usage
from netclaw.core.session.after_drain import AfterDrain
from netclaw.core.session.child_state import ChildRun
from netclaw.core.session.compaction_state import CompactionRun
from netclaw.core.session.consent_events import ConsentRequest
from netclaw.core.session.events import AnswerAdmitted, InputAdmitted, NoticeMark, SessionKind
from netclaw.core.session.exposure import Lease
from netclaw.core.session.goals import NO_GOAL, Goal
from netclaw.core.session.job_state import JobRun
from netclaw.core.session.loop_guard_state import GuardState
from netclaw.core.session.outputs import OutputFilter
from netclaw.core.session.own_run import OwnRun
from netclaw.core.session.phase import Phase
from netclaw.core.signals.cursors import Notice
from netclaw.core.tool_call import ToolCall, ToolResult


@dataclass(frozen=True, slots=True, kw_only=True)
class BufferedInput:
    """An admitted input that is not consumed, with its seq and time."""

    seq: int
    at: int
    admitted: InputAdmitted


@dataclass(frozen=True, slots=True, kw_only=True)
class CallConsent:
    """The consent request of one call of the open batch, and its answer."""

    request: ConsentRequest
    asked_at: int
    answer: str | None = None
    """Key of the chosen option; None while the call waits for a person."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CallState:
    """One call of the open batch."""

    call: ToolCall
    is_launched: bool = False
    result: ToolResult | None = None
    consent: CallConsent | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenTurn:
    """A turn that is neither recorded nor failed."""

    turn_id: TurnId
    authority: Authority
    input_ids: tuple[InputId, ...]
    started_at: int
    rounds: int = 0
    """Rounds recorded so far; the model call in flight is round `rounds`."""
    batch: tuple[CallState, ...] = ()
    """Calls of the last recorded round; its boundary is passed when all have a result."""
    has_launched: bool = False
    has_text_out: bool = False
    """Text may have reached a person (OutputStarted, or a released preamble)."""
    joined_since_round: tuple[InputId, ...] = ()
    """Joined after the last RoundRecorded: these return to the buffer at a heal."""
    guard: GuardState = field(default_factory=GuardState)
    """What the loop guard has seen up to the last batch that is complete."""
    usage: Usage = field(default_factory=Usage)
    delivers: tuple[RunId, ...] = ()
    """Child runs whose end this turn tells the model of."""
    reports: tuple[JobId, ...] = ()
    """Background jobs whose end this turn tells the model of."""
    working: WorkingContext = field(default_factory=WorkingContext)
    """As it was when the turn began: all its model calls are told the same."""
    notices: tuple[NoticeMark, ...] = ()
    """What the turn tells the model of watched sessions: one note behind its first inputs."""
    is_aside: bool = False
    """netclaw answers it itself, and neither side of it is history (slash commands)."""
    crashes: int = 0
    is_person_told_of_stop: bool = False
    is_stopped: bool = False
    """A drain left it open and no start has taken it up since."""
    resume_until: int = 0
    """Epoch ms until which it may go on by itself, set by the first stop since it last got on (a
    round or a batch); 0: it was not stopped since."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionState:
    """Everything durable about one session; a pure function of its journal."""

    session_id: SessionId = SessionId("")
    kind: SessionKind = SessionKind.MAIN
    channel: SourceKind = SourceKind.CLI
    audience: Audience = Audience.PERSONAL
    life: int = 1
    head: int = 0
    """seq of the last event applied."""
    history: tuple[Message, ...] = ()
    buffered: tuple[BufferedInput, ...] = ()
    """Admitted, not consumed and not in the open turn; in admission order."""
    in_turn: tuple[BufferedInput, ...] = ()
    """The open turn's inputs, kept whole so that a heal can put them back."""
    turn: OpenTurn | None = None
    answers: tuple[AnswerAdmitted, ...] = ()
    children: tuple[ChildRun, ...] = ()
    """Child runs in the order of acceptance: the open ones and the last closed ones."""
    jobs: tuple[JobRun, ...] = ()
    """Background jobs that run or whose end the model was not told of."""
    recent_source_ids: tuple[str, ...] = ()
    title: str = ""
    title_actor: str = ""
    """Who set the title: `model`, or a person, whose title a model leaves alone."""
    title_set_at_turn: int = 0
    """`turns` when the title was set."""
    goal: Goal = NO_GOAL
    working_directory: str = ""
    recent_files: tuple[str, ...] = ()
    """Canonical paths that tools touched, newest first (see `working_context`)."""
    leases: tuple[Lease, ...] = ()
    """Deferred tools that model requests show (see `exposure`)."""
    turns: int = 0
    last_input_tokens: int = 0
    """Input of the last model call, as reported or else estimated; 0 after a compaction."""
    meter: TokenMeter = field(default_factory=TokenMeter)
    last_activity_at: int = 0
    is_passivated: bool = False
    """Whether the last event is Passivated."""
    run: OwnRun | None = None
    """The run that this session is, if it is one."""

    @property
    def crashes(self) -> int:
        """How often a process died in the open turn."""
        return self.turn.crashes if self.turn is not None else 0


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningTool:
    """A launched call of this process."""

    token: DispatchToken
    call_id: CallId


@dataclass(frozen=True, slots=True, kw_only=True)
class DrainState:
    """A drain in progress."""

    then: AfterDrain


@dataclass(frozen=True, slots=True, kw_only=True)
class Runtime:
    """What this process is doing; never journaled."""

    phase: Phase = Phase.RECOVERING
    model_token: DispatchToken | None = None
    running: tuple[RunningTool, ...] = ()
    rechecking: tuple[CallId, ...] = ()
    """Calls that are being judged before their launch."""
    asked: tuple[CallId, ...] = ()
    """Calls of the open batch for whose consent this process asked; other requests are recovered
    ones."""
    notices: tuple[Notice, ...] = ()
    """The open notices, one for each target, that no turn of this process told of yet."""
    interest: OutputFilter = OutputFilter(0)
    drain: DrainState | None = None
    is_stop_requested: bool = False
    compaction: CompactionRun | None = None
    """The compaction that waits for its notes; set exactly in phase Compacting."""
    is_compaction_wanted: bool = False
    """Somebody asked for one while a turn ran: it follows that turn."""
    title_token: DispatchToken | None = None
    """The title call in flight; nothing waits for it."""
    title_asked_at_turn: int = 0
    """`turns` when this process asked for a title last, whatever became of it."""
    distillation_token: DispatchToken | None = None
    """The distillation that runs while the session winds down."""
    shown_waiting: int = 0
    """How many waiting inputs subscribers were told of last."""
    idle_token: str = ""
    grace_token: str = ""
    drain_token: str = ""
    child_drain_token: str = ""
    snapshot_seq: int = 0
    """seq of the last stored snapshot: the shell sets it from its Welcome, decisions that ask for
    a snapshot move it, and the shell moves it back when a periodic one was not stored."""
    snapshot_bytes: int = 0
    """Size of the last snapshot this process read or made; set by the shell (see `snapshots`)."""
    nudges: int = 0
    """Empty replies in a row that were asked again in this round."""
    nudge: str = ""
    """A line for the model at the end of the next request; never history."""
    continuity: str = ""
    """What the first round after a stop is told of it; never history."""
    spent: Usage = field(default_factory=Usage)
    """What the model calls of this round cost that left nothing in the journal."""
    exit_reason: str = ""
    """Why the process is passivating."""
    is_exiting: bool = False
    """Passivated is committed, or a run's gate is closed: nothing is decided any more."""
