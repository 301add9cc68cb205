"""Makes the outputs of stored events again, for a subscriber that comes late or fell behind.

Only durable facts come back: deltas, busy states and notices are gone. A replayed output equals
the one that was released when its event was committed, so a reader of `seq` sees no difference:
what a model says to a person is shown as it was said, arguments of calls are redacted (ADR 0025).
"""

from __future__ import annotations

from collections.abc import Callable

from netclaw.core.ids import CallId, TurnId
from netclaw.core.messages import AssistantMessage, Usage
from netclaw.core.redaction import shown_arguments
from netclaw.core.session import events as ev
from netclaw.core.session import outputs as out
from netclaw.core.session.call_results import file_output
from netclaw.core.session.consent import prompt_of
from netclaw.core.session.consent_answers import ENDS
from netclaw.core.session.consent_events import (
    ConsentAnswered,
    ConsentRequested,
    ConsentWithdrawn,
)
from netclaw.core.session.events import Recorded
from netclaw.core.session.outputs import Output
from netclaw.wire.replay_runs import SHOWN, RunReplay
from netclaw.wire.v1 import common_pb2 as pb

Redact = Callable[[str], str]
"""Removes secrets from a text that is about to be shown; the same as in a session process."""


def _as_it_is(text: str) -> str:
    return text


class Replay:
    """Feeds on the journal of one session in order; remembers names of calls and usage so far."""

    def __init__(self, *, context_window: int = 0, redact: Redact = _as_it_is) -> None:
        self._context_window = context_window
        self._redact = redact
        self._names: dict[CallId, str] = {}
        self._spent = Usage()
        self._round_number = 0
        self._runs = RunReplay()

    def feed(self, recorded: Recorded) -> tuple[Output, ...]:
        """The outputs of one event, in the order they were released."""
        match recorded.event:
            case ev.TurnStarted():
                self._spent = Usage()
                self._round_number = 0
                self._names.clear()
                return ()
            case ev.RoundRecorded() as event:
                return self._round(event)
            case ev.ToolResultRecorded() as event:
                return self._result(event)
            case ev.TurnRecorded() as event:
                return self._recorded(event)
            case ev.TurnFailed() as event:
                return _failed(event)
            case ConsentRequested() | ConsentAnswered() | ConsentWithdrawn() as event:
                return (_consent(event),)
            case ev.TitleSet(title=title):
                return (out.TitleOutput(title=title),)
            case ev.Compacted() as event:
                return (
                    out.CompactionOutput(
                        tokens_before=event.tokens_before,
                        tokens_after=event.tokens_after,
                        kept_messages=event.kept_messages + len(event.kept_input_ids),
                    ),
                )
            case event:
                return self._runs.of(event)

    def _round(self, event: ev.RoundRecorded) -> tuple[Output, ...]:
        self._round_number = event.round + 1
        outputs: list[Output] = []
        if event.message.text and event.is_text_released:
            outputs.append(
                out.TextOutput(
                    turn_id=event.turn_id,
                    text=event.message.text,
                    round=event.round,
                )
            )
        outputs.extend(self._calls(event.turn_id, event.message))
        self._spent = self._spent.plus(event.usage)
        outputs.append(self._usage(event.turn_id, self._spent, event.context_tokens))
        return tuple(outputs)

    def _calls(self, turn_id: TurnId, message: AssistantMessage) -> list[Output]:
        calls: list[Output] = []
        for call in message.calls:
            self._names[call.call_id] = call.name
            calls.append(
                out.ToolCallOutput(
                    turn_id=turn_id,
                    call_id=call.call_id,
                    name=call.name,
                    arguments=shown_arguments(call.arguments, self._redact),
                )
            )
        return calls

    def _result(self, event: ev.ToolResultRecorded) -> tuple[Output, ...]:
        result = event.result
        attached = result.receipt.attachment
        told = out.ToolResultOutput(
            turn_id=event.turn_id,
            call_id=result.call_id,
            name=self._names.get(result.call_id, ""),
            outcome=result.receipt.category,
            text=result.text,
            duration_ms=result.receipt.duration_ms,
        )
        return (told,) if attached is None else (told, file_output(event.turn_id, attached))

    def _recorded(self, event: ev.TurnRecorded) -> tuple[Output, ...]:
        if event.is_quiet:
            return ()
        outputs: list[Output] = []
        if event.message.text:
            outputs.append(
                out.TextOutput(
                    turn_id=event.turn_id,
                    text=event.message.text,
                    round=self._round_number,
                )
            )
        outputs.append(self._usage(event.turn_id, event.usage, event.context_tokens))
        outputs.append(
            out.TurnCompletedOutput(
                turn_id=event.turn_id,
                input_ids=event.input_ids,
                outcome=event.outcome,
                open_child_runs=event.open_child_runs,
            )
        )
        return tuple(outputs)

    def _usage(self, turn_id: TurnId, usage: Usage, context_tokens: int) -> Output:
        return out.UsageOutput(
            turn_id=turn_id,
            usage=usage,
            context_window=self._context_window,
            context_tokens=context_tokens,
        )


def _consent(event: ConsentRequested | ConsentAnswered | ConsentWithdrawn) -> Output:
    """A prompt, or its end: a reader who comes late sees both and knows which are open."""
    if isinstance(event, ConsentRequested):
        return prompt_of(event)
    end, answerer = out.ConsentEnd.WITHDRAWN, ""
    if isinstance(event, ConsentAnswered):
        end, answerer = ENDS[event.effect], event.answerer
    return out.ConsentUpdateOutput(
        turn_id=event.turn_id,
        call_id=event.call_id,
        end=end,
        answerer=answerer,
        run_id=event.run_id,
    )


def _failed(event: ev.TurnFailed) -> tuple[Output, ...]:
    completed = out.TurnCompletedOutput(
        turn_id=event.turn_id,
        input_ids=event.input_ids,
        outcome=None,
        open_child_runs=event.open_child_runs,
    )
    if not event.is_person_told:
        return (completed,)
    error = out.ErrorOutput(
        turn_id=event.turn_id,
        category=event.category,
        sentence=event.note,
        reference=event.reference,
        input_ids=event.input_ids,
    )
    return error, completed


_BORN_IN: dict[str, frozenset[str]] = {
    "text": frozenset({"RoundRecorded", "TurnRecorded"}),
    "tool_call": frozenset({"RoundRecorded", "TurnRecorded"}),
    "usage": frozenset({"RoundRecorded", "TurnRecorded"}),
    "tool_result": frozenset({"ToolResultRecorded"}),
    "file": frozenset({"ToolResultRecorded"}),
    "error": frozenset({"TurnFailed"}),
    "turn_completed": frozenset({"TurnRecorded", "TurnFailed"}),
    "title": frozenset({"TitleSet"}),
    "compaction": frozenset({"Compacted"}),
    "consent_request": frozenset({"ConsentRequested"}),
    "consent_update": frozenset({"ConsentAnswered", "ConsentWithdrawn"}),
    "child": SHOWN,
}
"""Wire word of a durable output to the events that can have made it."""
_ONE_EACH = frozenset({"tool_result", "consent_request", "consent_update", "child"})
"""Kinds of which each event makes exactly one."""


def number_outputs(outputs: list[pb.Output], rows: tuple[tuple[int, str], ...]) -> None:
    """Give outputs released by a commit the seq that a replay would give them.

    `rows` are (seq, event type) of the commit. Several outputs of one kind take the seqs of their
    rows in order, the last row for the rest. What no event of the commit explains (a notice, a
    busy state) keeps seq 0: it is ephemeral.
    """
    used: dict[str, int] = {}
    for output in outputs:
        births = _BORN_IN.get(output.type)
        if births is None:
            continue
        places = [seq for seq, type_ in rows if type_ in births]
        if not places:
            continue
        if output.type in _ONE_EACH:
            output.seq = places[min(used.get(output.type, 0), len(places) - 1)]
            used[output.type] = used.get(output.type, 0) + 1
        elif output.type == "file":  # stands right after the result that it belongs to
            output.seq = places[min(max(used.get("tool_result", 1), 1), len(places)) - 1]
        else:
            output.seq = places[-1]
