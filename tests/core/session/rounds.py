"""Plays rounds of tool calls against the loop guard alone: what is asked, what comes of it.

turn = Rounds()
turn.play(call("ls"))                       # runs, with the usual outcome
turn.play(call("ls"), call("cat"))          # a batch of two
assert turn.refused == ("ls",)
"""

from __future__ import annotations

from dataclasses import dataclass

from netclaw.core.ids import CallId
from netclaw.core.session import loop_guard
from netclaw.core.session.loop_guard import GuardEnding
from netclaw.core.session.loop_guard_state import GuardState
from netclaw.core.session.state import CallState
from netclaw.core.tool_call import OutcomeCategory, ToolCall, ToolReceipt, ToolResult


@dataclass(frozen=True)
class Asked:
    """A call, and what comes of it if it runs."""

    name: str
    arguments: str = "{}"
    text: str = "done"
    category: OutcomeCategory = OutcomeCategory.SUCCESS
    is_still_running: bool = False


def call(name: str, text: str = "done", *, arguments: str = "{}") -> Asked:
    """A call that succeeds with this text."""
    return Asked(name, arguments, text)


def failing(
    name: str, category: OutcomeCategory = OutcomeCategory.FAILURE, *, text: str = "no"
) -> Asked:
    """A call that fails."""
    return Asked(name, text=text, category=category)


def poll(text: str, *, arguments: str = '{"job_id":"j1"}', is_still_running: bool = True) -> Asked:
    """A question after a background job."""
    return Asked(loop_guard.POLL_TOOL, arguments, text, is_still_running=is_still_running)


class Rounds:
    """One turn's rounds in order; what the last one came to is in its fields."""

    def __init__(self) -> None:
        self.guard = GuardState()
        self.ending: GuardEnding | None = None
        self.ran: tuple[str, ...] = ()
        self.refused: tuple[str, ...] = ()
        self.corrections: tuple[str, ...] = ()
        self.note = ""
        self._calls = 0

    def play(self, *asked: Asked) -> Rounds:
        """One response of the model and, unless it ends the turn, its whole batch."""
        calls = tuple(self._call(item) for item in asked)
        verdict = loop_guard.judge(self.guard, calls)
        self.ending = verdict.ending
        self.ran = self.refused = self.corrections = ()
        self.note = ""
        if verdict.ending is not None:
            return self
        refusals = {item.call_id: item for item in verdict.refusals}
        self.refused = tuple(item.name for item in calls if item.call_id in refusals)
        self.ran = tuple(item.name for item in calls if item.call_id not in refusals)
        self.corrections = tuple(item.text for item in verdict.refusals)
        batch = tuple(
            _finished(made, item, refusals.get(made.call_id))
            for made, item in zip(calls, asked, strict=True)
        )
        self.note = loop_guard.failure_note(self.guard, batch)
        self.guard = loop_guard.observe(self.guard, batch)
        return self

    @property
    def score(self) -> int:
        """The failure score so far."""
        return loop_guard.failure_score(self.guard.failures)

    def _call(self, asked: Asked) -> ToolCall:
        self._calls += 1
        return ToolCall(
            call_id=CallId(f"call{self._calls:012}"),
            provider_call_id=f"p{self._calls % 2}",
            name=asked.name,
            arguments=asked.arguments,
        )


def _finished(made: ToolCall, asked: Asked, refusal: ToolResult | None) -> CallState:
    if refusal is not None:
        return CallState(call=made, result=refusal)
    result = ToolResult(
        call_id=made.call_id,
        text=asked.text.replace("CALL_ID", made.call_id),
        receipt=ToolReceipt(category=asked.category, is_still_running=asked.is_still_running),
    )
    return CallState(call=made, is_launched=True, result=result)
