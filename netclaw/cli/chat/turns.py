"""Follows the turns of a session and finds the one that answers a given input."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from netclaw.cli.app import JsonRow, compact
from netclaw.cli.rows import parsed, usage_row

if TYPE_CHECKING:
    from netclaw.wire.v1.common_pb2 import Output, Usage


@dataclass(slots=True)
class Call:
    """One tool call and, later, its result."""

    call_id: str
    name: str
    arguments: str
    outcome: str = ""
    result: str = ""

    def row(self) -> JsonRow:
        """As `chat -p --json` shows it."""
        return compact(
            {
                "callId": self.call_id,
                "toolName": self.name,
                "arguments": parsed(self.arguments),
                "outcome": self.outcome or None,
                "result": self.result if self.outcome else None,
            }
        )


@dataclass(slots=True)
class Failure:
    """Why a turn failed."""

    category: str
    sentence: str
    reference: str


@dataclass(slots=True)
class Turn:
    """What is known of one turn."""

    turn_id: str
    texts: dict[int, str] = field(default_factory=dict)
    """Final text by round; the last one is the answer."""
    calls: dict[str, Call] = field(default_factory=dict)
    usage: Usage | None = None
    failure: Failure | None = None
    outcome: str = ""

    @property
    def response(self) -> str:
        """The answer: the text of the last round that had one."""
        return self.texts[max(self.texts)] if self.texts else ""


class TurnFollower:
    """Feeds on outputs until the input's turn is over.

    A turn that still has open child runs is not the end: the one that reports none is (S3,
    decision 71). Turns that deliver those runs count as the input's, too; turns of other inputs
    are followed as well, because only its end says which inputs a turn took.
    """

    def __init__(self) -> None:
        self._turns: dict[str, Turn] = {}
        self._input_id = ""
        self._mine: list[Turn] = []
        self._completed: list[tuple[Turn, frozenset[str], frozenset[str]]] = []
        self._ended: set[str] = set()
        self._awaited: frozenset[str] = frozenset()
        self.is_done = False

    def expect(self, input_id: str) -> None:
        """Name the input whose turn is wanted; completed turns seen before count."""
        self._input_id = input_id
        completed, self._completed = self._completed, []
        for turn, inputs, runs in completed:
            self._complete(turn, inputs, runs)

    @property
    def mine(self) -> list[Turn]:
        """The input's turn, and those that its child runs led to."""
        return self._mine

    @property
    def awaited(self) -> frozenset[str]:
        """Child runs whose results the input's turn was over without; empty before its end."""
        return frozenset() if self.is_done else self._awaited

    def is_mine(self, turn_id: str) -> bool:
        """Whether a turn that is over was the input's or delivered its child runs."""
        return any(turn.turn_id == turn_id for turn in self._mine)

    def turn(self, turn_id: str) -> Turn:
        """The turn of an id, made at its first output."""
        return self._turns.setdefault(turn_id, Turn(turn_id))

    def feed(self, output: Output) -> None:
        """Take one output in."""
        if output.type == "error":
            self._error(output)
            return
        if not output.turn_id:
            return
        turn = self.turn(output.turn_id)
        match output.type:
            case "text":
                turn.texts[output.round] = output.text
            case "tool_call":
                turn.calls[output.call_id] = Call(
                    output.call_id, output.tool_name, output.arguments
                )
            case "tool_result":
                call = turn.calls.setdefault(
                    output.call_id, Call(output.call_id, output.tool_name, "")
                )
                call.outcome, call.result = output.outcome, output.text
            case "usage":
                turn.usage = output.usage
            case "turn_completed":
                turn.outcome = output.outcome or "failed"
                if turn.turn_id not in self._ended:  # else it is shown once more by a replay
                    self._ended.add(turn.turn_id)
                    runs = frozenset(output.open_child_runs)
                    self._complete(turn, frozenset(output.input_ids), runs)

    @property
    def suspicions(self) -> int:
        """Turns seen to fail without the end that should have followed at once."""
        return sum(turn.failure is not None and not turn.outcome for turn in self._turns.values())

    def fail(self, turn_id: str) -> bool:
        """End the wait if this turn, the input's own, was seen to fail without an end."""
        turn = self._turns.get(turn_id)
        if turn is None or turn.failure is None or turn.outcome:
            return False
        self._end(turn)
        return True

    def _error(self, output: Output) -> None:
        """An error that names the input ends the wait, with or without a turn.

        One that names only its turn is followed by the turn's end, unless the end could not be
        recorded: then `fail` is told whose turn it was.
        """
        failure = Failure(output.category, output.text, output.reference)
        turn = self.turn(output.turn_id) if output.turn_id else Turn("")
        turn.failure = failure
        if not output.seq and self._input_id and self._input_id in output.input_ids:
            self._end(turn)

    def _end(self, turn: Turn) -> None:
        turn.outcome = "failed"
        self._mine.append(turn)
        self.is_done = True

    def _complete(self, turn: Turn, inputs: frozenset[str], runs: frozenset[str]) -> None:
        if not self._input_id:
            self._completed.append((turn, inputs, runs))
            return
        if not self._mine and self._input_id not in inputs:
            return
        if not self._mine or self._awaited - runs:  # it is the input's, or delivers what it began
            self._mine.append(turn)
            self._awaited = runs
        self.is_done = not runs

    def result(self, session_id: str) -> JsonRow:
        """The turn as `chat -p --json` shows it, without times and error."""
        turns = self._mine
        calls = [call.row() for turn in turns for call in turn.calls.values()]
        answered = [turn.response for turn in turns if turn.response]
        return compact(
            {
                "sessionId": session_id,
                "turnId": (turns[0].turn_id or None) if turns else None,
                "response": answered[-1] if answered else "",
                "outcome": turns[-1].outcome if turns else None,
                "toolCalls": list(calls),
                "usage": self._usage(),
            }
        )

    def usage(self) -> Usage | None:
        """What the turns used together; None if no service reported anything."""
        found = [turn.usage for turn in self._mine if turn.usage is not None]
        if not found:
            return None
        total = type(found[0])()
        for usage in found:
            total.input_tokens += usage.input_tokens
            total.output_tokens += usage.output_tokens
            total.cached_input_tokens += usage.cached_input_tokens
            total.reasoning_tokens += usage.reasoning_tokens
        return total

    def _usage(self) -> JsonRow | None:
        total = self.usage()
        return usage_row(total) if total is not None else None
