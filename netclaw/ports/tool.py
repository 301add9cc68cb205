"""How a session process runs tools: definitions out, calls in, bounded results back."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Protocol

from netclaw.core.authority import Authority
from netclaw.core.ids import CallId, SessionId, TurnId
from netclaw.core.session.consent_events import ConsentEffect, ConsentRequest
from netclaw.core.session.rulings import CallRuling
from netclaw.core.settings import SessionStorage, ToolSettings
from netclaw.core.tool_call import ToolCall, ToolDefinition, ToolResult
from netclaw.ports.agents import NO_AGENTS, Agents
from netclaw.ports.channels import NO_CHANNELS, Channels
from netclaw.ports.consents import ConsentSource
from netclaw.ports.jobs import NO_JOBS, Jobs
from netclaw.ports.sessions import NO_SESSIONS, Sessions


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionFacts:
    """What `session_status` may tell the model about its own session."""

    session_id: SessionId
    title: str
    phase: str
    audience: str
    channel: str
    turns: int
    life: int
    head_seq: int
    buffered_inputs: int
    last_input_tokens: int
    context_window: int
    model: str
    working_directory: str


class ToolTrees(Protocol):
    """Tells the supervisor which process trees exist, so that none outlives its session."""

    async def opened(self, call_id: CallId, pid: int, start_ticks: int) -> None:
        """Return once the supervisor acknowledged it; the tree must not run before."""

    async def closed(self, call_id: CallId) -> None:
        """The tree is known to be gone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolContext:
    """What one call may rely on; frozen for the call."""

    session_id: SessionId
    turn_id: TurnId
    authority: Authority
    is_attended: bool
    storage: SessionStorage
    settings: ToolSettings
    working_directory: str
    """Declared project directory, or empty."""
    trees: ToolTrees
    facts: Callable[[], SessionFacts]
    consents: ConsentSource
    """Asked anew at every judgement; nothing of it is kept between two."""
    redact: Callable[[str], str]
    """Removes known secrets and token shapes; applied before bounding and spilling.

    Holds the interpreter for no longer than decision 86 allows, however long the text is."""
    on_item: Callable[[], None]
    """Called at the first result and each streamed item: resets the execution watchdog."""
    jobs: Jobs = NO_JOBS
    """The session's background jobs, as this call may use them."""
    agents: Agents = NO_AGENTS
    """The session's child runs, as this call may use them."""
    sessions: Sessions = NO_SESSIONS
    """All sessions, as this call may see them."""
    channels: Channels = NO_CHANNELS
    """All channels, as this call may write to them."""
    loaded: tuple[str, ...] = ()
    """Deferred tools that the model call was shown which made this call (see `exposure`)."""
    round_index: int = 0
    """The turn's round whose calls are judged, or the next one; a result is read in a later one."""
    silence_s: float = 90.0
    """Session.ToolExecutionTimeoutSeconds: how long a tool may give nothing (decision 30)."""
    max_inline_chars: int = 12_000
    """Session.Tuning.MaxInlineToolResultChars: the rest of a result is spilled (decision 15)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenConsent:
    """A person's answer that counts: the option, and what they were shown when they chose it."""

    option: str
    request: ConsentRequest

    @property
    def is_approval(self) -> bool:
        """Whether the option was offered and lets the call run."""
        chosen = self.request.option(self.option)
        return chosen is not None and chosen.effect is ConsentEffect.APPROVE


class ToolRunner(Protocol):
    """The dispatcher, as the session process sees it."""

    async def recall(self, loaded: tuple[str, ...]) -> None:
        """Learn again of tools that were loaded in an earlier process; waits a bounded time.

        Comes before `definitions`, which shows what is known.
        """

    def definitions(
        self, authority: Authority, settings: ToolSettings, loaded: tuple[str, ...] = ()
    ) -> tuple[ToolDefinition, ...]:
        """The tools the model may see in this turn, in a stable order: core ones, then `loaded`."""

    def native(self, authority: Authority, settings: ToolSettings) -> tuple[str, ...]:
        """Names of netclaw's own tools that a model may come to see, at first or by loading."""

    def restrict(self, names: Iterable[str]) -> None:
        """Know none of netclaw's own tools but these from now on: a run's frozen tool set."""

    async def judge(
        self, call: ToolCall, context: ToolContext, *, given: GivenConsent | None = None
    ) -> CallRuling:
        """Decide whether a call may run, without running anything (glossary "decision").

        `call.attempt_id` names the evaluation; it is the same when the call is judged again.
        What a given consent adds to the stored ones is durable when this returns. Never raises
        for what a model wrote. Cancelling it leaves nothing.
        """

    async def run(self, call: ToolCall, context: ToolContext) -> ToolResult:
        """Judge once more with the facts of this moment, run, redact, bound, spill.

        A call that this runner did not judge as allowed is refused. Never raises for what a tool
        does: every fault becomes a result with its receipt.
        Cancelling it kills the whole process tree before it returns `CancelledError`.
        """
