"""What the shell must do after a decision was committed, as verb and noun.

Order matters: the shell performs effects in the order given, after the events of the same
decision are committed (`early` ones as soon as the append was sent; see `Decision`).
"""

from __future__ import annotations

from dataclasses import dataclass

from netclaw.core.authority import Audience
from netclaw.core.ids import CallId, DispatchToken, SessionId, TurnId
from netclaw.core.messages import Message
from netclaw.core.session.child_effects import ChildEffect
from netclaw.core.session.commands import TimerKind
from netclaw.core.session.events import OutboxRow, SessionEvent
from netclaw.core.session.job_effects import JobEffect
from netclaw.core.session.outputs import Output
from netclaw.core.session.state import Runtime, SessionState
from netclaw.core.tool_call import ToolCall


@dataclass(frozen=True, slots=True, kw_only=True)
class CallModel:
    """Start a model call over the history as of the state after this decision."""

    token: DispatchToken
    turn_id: TurnId
    round: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CancelModel:
    """Cancel the model call of this token; its late results are dropped by the token."""

    token: DispatchToken


@dataclass(frozen=True, slots=True, kw_only=True)
class CallNotes:
    """Ask for the notes of a compaction; without messages none are wanted: answer at once."""

    token: DispatchToken
    system_prompt: str
    messages: tuple[Message, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CallTitle:
    """Ask for a title; its end is one FinishTitle or FailTitle, which nothing waits for."""

    token: DispatchToken
    system_prompt: str
    messages: tuple[Message, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DistilMemory:
    """Offer a conversation that rests to memory; its end is one FinishDistillation."""

    token: DispatchToken
    session_id: SessionId
    life: int
    audience: Audience
    up_to_seq: int
    """Head of the journal that `messages` come from."""
    messages: tuple[Message, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueCheckpoint:
    """Hand the new notes of a compaction to memory; nothing is reported back."""

    checkpoint_id: str
    """The same for the same notes, however often they are handed over."""
    session_id: SessionId
    life: int
    audience: Audience
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CancelSidecar:
    """Cancel the notes call, title call or distillation of this token; nothing is reported."""

    token: DispatchToken


@dataclass(frozen=True, slots=True, kw_only=True)
class RunTool:
    """Launch one call; its ToolBatchStarted is committed."""

    token: DispatchToken
    turn_id: TurnId
    call: ToolCall


@dataclass(frozen=True, slots=True, kw_only=True)
class RecheckCall:
    """Judge a call before its launch; the end is one FinishRecheck with its `call_id`.

    `option` is the key of the option that a person chose, None for a call that was never judged
    by this process: it was recorded by an earlier one and not launched.
    """

    turn_id: TurnId
    call: ToolCall
    option: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CancelTool:
    """Kill the whole tree of a launched call; it still reports one FinishTool."""

    token: DispatchToken
    call_id: CallId


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseDeltas:
    """The deltas held for this call may leave; its OutputStarted is committed."""

    token: DispatchToken


@dataclass(frozen=True, slots=True, kw_only=True)
class Emit:
    """Send an output that needs no commit (processing state, notices)."""

    output: Output


@dataclass(frozen=True, slots=True, kw_only=True)
class StartTimer:
    """Fire `FireTimer(timer, token)` after `after_s`; replaces a timer of the same kind."""

    timer: TimerKind
    token: str
    after_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class CancelTimer:
    """Forget a timer."""

    timer: TimerKind


@dataclass(frozen=True, slots=True, kw_only=True)
class ExitProcess:
    """End this process on purpose, after all sent frames are flushed."""

    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Log:
    """Write one line to the session log."""

    level: str
    text: str


Effect = (
    CallModel
    | CancelModel
    | CallNotes
    | CallTitle
    | DistilMemory
    | QueueCheckpoint
    | CancelSidecar
    | RunTool
    | RecheckCall
    | CancelTool
    | ReleaseDeltas
    | Emit
    | StartTimer
    | CancelTimer
    | ExitProcess
    | Log
    | ChildEffect
    | JobEffect
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """The whole answer to one command.

    `events` become one append; `outputs` and `outbox` ride in it and are released by the
    supervisor on commit. `early` starts while the append is in flight and is cancelled if it is
    refused (only a CallModel beside its TurnStarted may). `effects` follow the commit. `runtime`
    replaces the process-local part of the state once the append is committed. `needs_snapshot`
    asks the shell to put a snapshot into the same append. `states` are the states after each
    event, true if they are committed right behind the head that was decided on.
    """

    runtime: Runtime
    events: tuple[SessionEvent, ...] = ()
    states: tuple[SessionState, ...] = ()
    outputs: tuple[Output, ...] = ()
    outbox: tuple[OutboxRow, ...] = ()
    early: tuple[CallModel, ...] = ()
    effects: tuple[Effect, ...] = ()
    needs_snapshot: bool = False
