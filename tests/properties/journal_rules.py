"""What must hold of any session's journal, checked row by row without the code under test."""

from __future__ import annotations

from dataclasses import dataclass, field

from netclaw.core.authority import SourceKind
from netclaw.core.errors import ErrorCategory
from netclaw.core.messages import AssistantMessage, Message, ToolMessage
from netclaw.core.session import events as ev
from netclaw.core.session.consent_events import (
    ConsentAnswered,
    ConsentRequested,
    ConsentWithdrawn,
)
from netclaw.core.session.events import Recorded
from netclaw.core.tool_call import OutcomeCategory

_PEOPLE = {SourceKind.CLI, SourceKind.SLACK}
_SESSIONS = {SourceKind.SESSION, SourceKind.SIGNAL}


@dataclass
class OpenTurn:
    """The checker's own idea of a turn."""

    turn_id: str
    inputs: list[str]
    joined: list[str] = field(default_factory=list)
    rounds: int = 0
    asked: list[str] = field(default_factory=list)
    has_text_out: bool = False


class JournalRules:
    """Raises AssertionError at the first row that breaks a promise."""

    def __init__(self) -> None:
        self.head = 0
        self.waiting: list[str] = []
        self.consumed: dict[str, str] = {}
        self.turn: OpenTurn | None = None
        self.launched: set[str] = set()
        self.results: dict[str, OutcomeCategory] = {}
        self.passivated_by = 0
        self.attended: set[str] = set()
        self.of_people: set[str] = set()
        self.of_sessions: set[str] = set()
        self.requests: dict[str, str] = {}
        """What became of each consent request: open, withdrawn, or the option that was chosen."""

    def check(self, row: Recorded) -> None:
        """Take the next row."""
        assert row.seq == self.head + 1
        self.head = row.seq
        event = row.event
        if not isinstance(event, ev.SUPERVISOR_ONLY):
            assert row.incarnation > self.passivated_by, "a process wrote after Passivated"
        handler = getattr(self, f"_{type(event).__name__}", None)
        if handler is not None:
            handler(event)
        if isinstance(event, ev.Passivated):
            self.passivated_by = row.incarnation

    def _open(self, turn_id: str) -> OpenTurn:
        assert self.turn is not None
        assert self.turn.turn_id == turn_id
        return self.turn

    def _unanswered(self, turn: OpenTurn) -> list[str]:
        return [call for call in turn.asked if call not in self.results]

    def _take(self, input_ids: tuple[str, ...]) -> None:
        for input_id in input_ids:
            assert input_id in self.waiting, "an input ran that does not wait"
            self.waiting.remove(input_id)

    def _InputAdmitted(self, event: ev.InputAdmitted) -> None:
        self.waiting.append(event.input_id)
        if event.attended:
            self.attended.add(event.input_id)
        if event.authority.provenance.source_kind in _PEOPLE:
            self.of_people.add(event.input_id)
        elif event.authority.provenance.source_kind in _SESSIONS:
            self.of_sessions.add(event.input_id)

    def _TurnStarted(self, event: ev.TurnStarted) -> None:
        assert self.turn is None, "two turns at a time"
        self._take(event.input_ids)
        self.turn = OpenTurn(event.turn_id, list(event.input_ids))

    def _InputJoined(self, event: ev.InputJoined) -> None:
        turn = self._open(event.turn_id)
        assert turn.rounds, "an input joined before any batch"
        assert not self._unanswered(turn), "an input joined within a batch"
        assert self.of_people >= set(event.input_ids), "a machine joined a turn"
        self._take(event.input_ids)
        turn.joined += event.input_ids

    def _OutputStarted(self, event: ev.OutputStarted) -> None:
        self._open(event.turn_id).has_text_out = True

    def _RoundRecorded(self, event: ev.RoundRecorded) -> None:
        turn = self._open(event.turn_id)
        assert event.round == turn.rounds
        assert event.message.calls, "a round without calls"
        assert not self._unanswered(turn), "a round before the last one's results"
        turn.rounds += 1
        turn.inputs += turn.joined
        turn.joined = []
        turn.asked = [call.call_id for call in event.message.calls]
        turn.has_text_out |= event.is_text_released

    def _ToolBatchStarted(self, event: ev.ToolBatchStarted) -> None:
        turn = self._open(event.turn_id)
        for call_id in event.call_ids:
            assert call_id in turn.asked
            assert call_id not in self.launched, "a call was launched twice"
            assert call_id not in self.results, "a call was launched after its result"
            assert self.requests.get(call_id, "once") == "once", "launched without consent"
            self.launched.add(call_id)

    def _ToolResultRecorded(self, event: ev.ToolResultRecorded) -> None:
        turn = self._open(event.turn_id)
        call_id = event.result.call_id
        assert call_id in turn.asked
        assert call_id not in self.results, "a call has two results"
        is_refusal = event.result.receipt.remediation == "BreakToolCycle"
        assert not (is_refusal and call_id in self.launched), "a refused call was launched"
        assert self.requests.get(call_id) != "open", "a call that waits has a result"
        self.results[call_id] = event.result.receipt.category

    def _TurnRecorded(self, event: ev.TurnRecorded) -> None:
        turn = self._open(event.turn_id)
        assert not self._unanswered(turn)
        assert list(event.input_ids) == turn.inputs + turn.joined
        self._close(turn, event.input_ids, event.outcome.value)

    def _TurnFailed(self, event: ev.TurnFailed) -> None:
        turn = self._open(event.turn_id)
        is_poison = event.category is ErrorCategory.INTERNAL
        for call_id in event.closed_call_ids:
            assert call_id not in self.results
            assert is_poison or call_id not in self.launched, "a lost call has no Interrupted"
            self.results[call_id] = OutcomeCategory.CANCELLED
            assert is_poison or self.requests.get(call_id) != "open", "a prompt outlives its turn"
            self.requests.pop(call_id, None)
        assert not self._unanswered(turn), "a failed turn left a call open"
        assert set(turn.inputs) <= set(event.input_ids) <= {*turn.inputs, *turn.joined}
        if is_poison or event.category is ErrorCategory.INTERRUPTED:
            assert list(event.input_ids) == turn.inputs, "a late joiner did not return"
        self._close(turn, event.input_ids, "failed")

    def _Resumed(self, event: ev.Resumed) -> None:
        turn = self._open(event.turn_id)
        assert not turn.has_text_out, "a turn went on after text reached a person"
        for call_id in turn.asked:
            is_real = self.results.get(call_id) not in (
                None,
                OutcomeCategory.INTERRUPTED,
                OutcomeCategory.CANCELLED,
            )
            assert is_real or call_id not in self.launched, "a turn went on past a lost call"
        self._wait_again(turn.joined)
        turn.joined = []

    def _ConsentRequested(self, event: ConsentRequested) -> None:
        if event.run_id is not None:
            return
        turn = self._open(event.turn_id)
        call_id = event.request.call_id
        assert call_id in self._unanswered(turn), "asked for a call that is not open"
        assert call_id not in self.launched, "asked for a call that runs"
        assert call_id not in self.requests, "asked twice"
        inputs = {*turn.inputs, *turn.joined}
        assert not inputs or inputs & self.attended, "asked where nobody can answer"
        assert not inputs or not inputs & self.of_sessions, "asked in a session's name"
        self.requests[call_id] = "open"

    def _ConsentAnswered(self, event: ConsentAnswered) -> None:
        if event.run_id is not None:
            return
        self._open(event.turn_id)
        assert self.requests[event.call_id] == "open", "an answer counted twice"
        self.requests[event.call_id] = event.option

    def _ConsentWithdrawn(self, event: ConsentWithdrawn) -> None:
        if event.run_id is not None:
            return
        self._open(event.turn_id)
        assert self.requests[event.call_id] == "open"
        self.requests[event.call_id] = "withdrawn"

    def _DrainStopped(self, event: ev.DrainStopped) -> None:
        self._open(event.turn_id)

    def _close(self, turn: OpenTurn, input_ids: tuple[str, ...], how: str) -> None:
        for input_id in input_ids:
            assert input_id not in self.consumed, "an input was consumed twice"
            self.consumed[input_id] = how
        self._wait_again([item for item in turn.inputs + turn.joined if item not in input_ids])
        self.turn = None

    def _wait_again(self, input_ids: list[str]) -> None:
        self.waiting = sorted({*self.waiting, *input_ids}, key=lambda item: int(item[1:]))


def check_pairs(messages: tuple[Message, ...]) -> None:
    """Every call is followed at once by exactly one result, in order; no result stands alone."""
    expected: list[str] = []
    for message in messages:
        if isinstance(message, ToolMessage):
            assert expected, "a result without a call"
            assert message.call_id == expected.pop(0)
            continue
        assert not expected, "a call without a result"
        if isinstance(message, AssistantMessage):
            assert not message.thinking
            expected = [call.call_id for call in message.calls]
    assert not expected, "a call without a result"
