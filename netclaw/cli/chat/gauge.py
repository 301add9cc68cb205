"""What a session is doing right now, read off its outputs, and that in one calm line."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from netclaw.cli.app import printable
from netclaw.cli.words import context_use, elapsed, tokens

if TYPE_CHECKING:
    from netclaw.wire.v1 import gateway_pb2
    from netclaw.wire.v1.common_pb2 import Output

_BUSY = {"processing": "Working", "compacting": "Compacting", "recovering": "Waking up"}
_REST = {"passivating": "Winding down", "backoff": "Recovering", "quarantined": "Quarantined"}
_TOLD_PHASES = {"recovering": "backoff", "quarantined": "quarantined", "stopped": "passive"}
"""Kinds of notices that say what became of a session whose process cannot say it any more."""
_NO_PROCESS = ("passive", "backoff")
WINDING_DOWN_S = 10.0
"""A process that winds down is gone after so long, and nothing tells of its end."""
ENDED_RUNS = ("Completed", "Partial", "Failed", "Cancelled", "Lost")
"""States of a child run that is over."""
SHOW_ELAPSED_FROM_S = 1.0
LEAST_NAME_WIDTH = 12
"""A title cut shorter than that says nothing and is left out."""


@dataclass(slots=True)
class Gauge:
    """Feeds on outputs; `clock` is monotonic, in seconds."""

    clock: Callable[[], float] = time.monotonic
    phase: str = "passive"
    title: str = ""
    waiting: int = 0
    """Inputs that are admitted and wait for their turn."""
    context_tokens: int = 0
    context_window: int = 0
    cached_tokens: int = 0
    _busy_since: float = 0.0
    _phase_since: float = 0.0
    _is_thinking: bool = False
    _consents: dict[str, str] = field(default_factory=dict)
    """Open requests by call, each with the turn whose end closes it; empty for a child run's."""
    _runs: set[str] = field(default_factory=set)

    @property
    def is_busy(self) -> bool:
        """Whether a turn runs, or what is as good as one."""
        return self.phase in _BUSY

    def begin(self, detail: gateway_pb2.SessionDetail) -> None:
        """Take over what the daemon says of the session before its outputs are watched."""
        row = detail.row
        self._enter(row.phase)
        self.title, self.waiting = row.title, row.pending_inputs
        self.context_tokens = detail.last_input_tokens
        self.context_window = detail.context_window
        self._consents = dict.fromkeys(detail.open_approvals, "")
        self._runs = set(detail.open_child_runs)

    def feed(self, output: Output) -> None:
        """Take one output in."""
        match output.type:
            case "processing":
                self._enter(output.phase)
                if output.phase not in _NO_PROCESS:  # nobody counts there what waits
                    self.waiting = output.buffered_inputs
            case "title":
                self.title = output.text
            case "notice":
                self._enter(_TOLD_PHASES.get(output.outcome, self.phase))
            case "usage":
                self._usage(output)
            case "compaction":
                self.context_tokens = output.tokens_after
            case "thinking_delta" | "text_delta" | "tool_call":
                self._is_thinking = output.type == "thinking_delta"
            case _:
                self._open_work(output)

    def _open_work(self, output: Output) -> None:
        """What waits for people, and which child runs are open."""
        match output.type:
            case "consent_request":
                self._consents[output.call_id] = "" if output.run_id else output.turn_id
            case "consent_update":
                self._consents.pop(output.call_id, None)
            case "child" if output.outcome not in ENDED_RUNS:
                self._runs.add(output.run_id)
            case "turn_completed":
                self._runs = set(output.open_child_runs)
                # A turn that the daemon gave up closes its prompts without a word about each.
                over = output.turn_id
                self._consents = {c: turn for c, turn in self._consents.items() if turn != over}

    def _enter(self, phase: str) -> None:
        if phase in _BUSY and not self.is_busy:
            self._busy_since = self.clock()
        if phase != self.phase:
            self._phase_since = self.clock()
        self.phase = phase
        self._is_thinking = False

    def _usage(self, output: Output) -> None:
        self.context_tokens = output.context_tokens or self.context_tokens
        self.context_window = output.context_window or self.context_window
        self.cached_tokens = output.usage.cached_input_tokens

    def line(
        self, session_id: str, *, is_connected: bool, unsent: int, hint: str, columns: int
    ) -> str:
        """The status line, at most so many columns wide: what matters least is left out first.

        `unsent` messages of this terminal count as queued; `hint` names a key.
        """
        queued = self.waiting + unsent
        parts = [
            self._state(is_connected=is_connected),
            f"Queued {queued}" if queued else "",
            f"Sub-agents {len(self._runs)}" if self._runs else "",
            f"context {context_use(self.context_tokens, self.context_window)}"
            if self.context_tokens
            else "",
            f"cached {tokens(self.cached_tokens)}" if self.cached_tokens else "",
            self.title or session_id,
            hint,
        ]
        return fit([printable(part) for part in parts], columns)

    def _state(self, *, is_connected: bool) -> str:
        if not is_connected:
            return "Disconnected"
        if self._consents:
            return "Decision needed"
        if not self.is_busy:
            is_gone = self.clock() - self._phase_since >= WINDING_DOWN_S
            is_over = self.phase == "passivating" and is_gone
            return "Ready" if is_over else _REST.get(self.phase, "Ready")
        word = "Thinking" if self._is_thinking else _BUSY[self.phase]
        busy_s = self.clock() - self._busy_since
        return f"{word} {elapsed(busy_s)}" if busy_s >= SHOW_ELAPSED_FROM_S else word


_STATE, _QUEUED, _RUNS, _CONTEXT, _CACHED, _NAME, _HINT = range(7)
_DROP_ORDER = (_CACHED, _HINT, _NAME, _RUNS, _CONTEXT, _QUEUED)
SEPARATOR = " | "


def fit(parts: list[str], columns: int) -> str:
    """The parts of a status line joined, without those that do not fit; the name may be cut."""
    kept = dict(enumerate(parts))
    for place in (None, *_DROP_ORDER):
        if place is not None:
            kept[place] = ""
        line = SEPARATOR.join(part for part in kept.values() if part)
        over = len(line) - columns
        if over <= 0:
            return line
        room = len(kept[_NAME]) - over
        if place is not None and place != _NAME and room >= LEAST_NAME_WIDTH:
            kept[_NAME] = f"{kept[_NAME][: room - 1]}\u2026"
            return SEPARATOR.join(part for part in kept.values() if part)
    return kept[_STATE][:columns]
