"""Watchdog arithmetic of model calls and tool calls (S0 "What ends or stalls a turn").

Pure: the shell reports what it saw and when, asks whether a limit is passed and when to look
again. Times are milliseconds of any clock that never goes back; limits are seconds.

A model call has four limits:

- *prefill*: from the start to the first delta; a keepalive starts it anew, because a queued call
  that says so is alive.
- *token gap*: silence between deltas once the first has arrived; keepalives do not count.
- *no progress*: no real output (text or a tool call) since the first sign of life; keepalives do
  not count, so a backend that sends nothing else is still cut off. A silent backend is judged by
  the prefill limit alone, which may well be longer.
- *thinking only*: as long as it thinks, no progress is measured against three times that limit.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from netclaw.core.settings import TurnTimeouts

TURN_LLM_DEFAULT_S = 180.0
"""Default of the legacy Session.TurnLlmTimeoutSeconds."""


class Limit(StrEnum):
    """Which limit a call passed; the value is its setting's name."""

    PREFILL = "Session.PrefillTimeoutSeconds"
    SILENCE = "Session.FirstTokenTimeoutSeconds"
    NO_PROGRESS = "Session.NoProgressTimeoutSeconds"
    THINKING_ONLY = "Session.NoProgressTimeoutSeconds (thinking only)"
    TOOL_EXECUTION = "Session.ToolExecutionTimeoutSeconds"
    TOOL_TOTAL = "timeout_seconds"


_SENTENCES = {
    Limit.PREFILL: "The model sent nothing for {s} s",
    Limit.SILENCE: "The model fell silent for {s} s in the middle of its reply",
    Limit.NO_PROGRESS: "The model kept the connection alive for {s} s without any output",
    Limit.THINKING_ONLY: "The model did nothing but think for {s} s",
    Limit.TOOL_EXECUTION: "The tool gave no result for {s} s",
    Limit.TOOL_TOTAL: "The tool was still running after the {s} s it was given",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Expiry:
    """A limit that was passed, with its length in seconds."""

    limit: Limit
    limit_s: float

    @property
    def sentence(self) -> str:
        """What a person is told: the limit, its seconds and its setting's name."""
        return f"{_SENTENCES[self.limit].format(s=f'{self.limit_s:g}')} ({self.limit.value})."


@dataclass(slots=True, kw_only=True)
class ModelWatch:
    """What is known of a model call in flight; a delta costs it a few assignments."""

    started_at: int
    alive_at: int | None = None
    """Last keepalive."""
    first_life_at: int | None = None
    """First keepalive or delta."""
    delta_at: int | None = None
    """Last delta of any kind."""
    output_at: int | None = None
    """Last text or tool call delta."""
    is_thinking: bool = False
    """Whether the last delta was reasoning."""

    def saw_keepalive(self, now_ms: int) -> None:
        """The connection is alive; nothing was said."""
        self.alive_at = now_ms
        if self.first_life_at is None:
            self.first_life_at = now_ms

    def saw_thinking(self, now_ms: int) -> None:
        """More reasoning arrived: a delta, but no output."""
        self.delta_at = now_ms
        self.is_thinking = True
        if self.first_life_at is None:
            self.first_life_at = now_ms

    def saw_output(self, now_ms: int) -> None:
        """More text, or more of a tool call, arrived."""
        self.delta_at = self.output_at = now_ms
        self.is_thinking = False
        if self.first_life_at is None:
            self.first_life_at = now_ms


@dataclass(slots=True, kw_only=True)
class ToolWatch:
    """What is known of a running tool call.

    `total_s` is the total the model asked for, already clamped; None means no total.
    """

    started_at: int
    item_at: int | None = None
    total_s: float | None = None

    def saw_item(self, now_ms: int) -> None:
        """A streamed item resets the clock (S0)."""
        self.item_at = now_ms


@dataclass(frozen=True, slots=True, kw_only=True)
class _Due:
    at: float
    expiry: Expiry


def model_expiry(watch: ModelWatch, now_ms: int, timeouts: TurnTimeouts) -> Expiry | None:
    """The limit that the call has passed, if any."""
    due = _model_due(watch, timeouts)
    return due.expiry if now_ms >= due.at else None


def model_next_check(watch: ModelWatch, timeouts: TurnTimeouts) -> int:
    """When to look again if nothing is seen until then."""
    return _whole(_model_due(watch, timeouts).at)


def tool_expiry(watch: ToolWatch, now_ms: int, timeouts: TurnTimeouts) -> Expiry | None:
    """The limit that the tool call has passed, if any."""
    due = _tool_due(watch, timeouts)
    return due.expiry if now_ms >= due.at else None


def tool_next_check(watch: ToolWatch, timeouts: TurnTimeouts) -> int:
    """When to look again if no item is seen until then."""
    return _whole(_tool_due(watch, timeouts).at)


def clamp_tool_total(requested_s: float | None, max_s: float) -> float | None:
    """The total a model may ask for one call (decision 30); nonsense counts as not asked."""
    if requested_s is None or not requested_s > 0:
        return None
    return min(requested_s, max_s)


def effective_token_gap(first_token_s: float | None, turn_llm_s: float) -> float:
    """The silence limit between tokens, with the legacy fallback (S0).

    `first_token_s` is None when the setting is absent. Then a Session.TurnLlmTimeoutSeconds away
    from 180 takes its place.
    """
    if first_token_s is not None:
        return first_token_s
    return TurnTimeouts().token_gap_s if turn_llm_s == TURN_LLM_DEFAULT_S else turn_llm_s


def _model_due(watch: ModelWatch, timeouts: TurnTimeouts) -> _Due:
    """The limit that comes first if nothing more is seen."""
    if watch.delta_at is None:
        dues = [_due(_first(watch.alive_at, watch.started_at), Limit.PREFILL, timeouts.prefill_s)]
    else:
        dues = [_due(watch.delta_at, Limit.SILENCE, timeouts.token_gap_s)]
    since = watch.output_at if watch.output_at is not None else watch.first_life_at
    if since is not None:
        factor = timeouts.thinking_factor if watch.is_thinking else 1.0
        limit = Limit.THINKING_ONLY if watch.is_thinking else Limit.NO_PROGRESS
        dues.append(_due(since, limit, timeouts.no_progress_s * factor))
    return min(dues, key=lambda due: due.at)


def _tool_due(watch: ToolWatch, timeouts: TurnTimeouts) -> _Due:
    since = _first(watch.item_at, watch.started_at)
    due = _due(since, Limit.TOOL_EXECUTION, timeouts.tool_execution_s)
    if watch.total_s is None:
        return due
    total = _due(watch.started_at, Limit.TOOL_TOTAL, watch.total_s)
    return min(due, total, key=lambda item: item.at)


def _due(since_ms: int, limit: Limit, limit_s: float) -> _Due:
    return _Due(at=since_ms + limit_s * 1000.0, expiry=Expiry(limit=limit, limit_s=limit_s))


def _first(known: int | None, other: int) -> int:
    return other if known is None else known


def _whole(at: float) -> int:
    return int(at) if at == int(at) else int(at) + 1
