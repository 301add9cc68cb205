"""The start and the ends of a turn; one turn at a time, always (S0 Lifecycle)."""

from __future__ import annotations

from dataclasses import replace

from netclaw.core.context import modality
from netclaw.core.errors import ErrorCategory
from netclaw.core.ids import CallId, InputId, TurnId
from netclaw.core.messages import AssistantMessage, Usage
from netclaw.core.session import (
    asides,
    compacting,
    consent,
    deliveries,
    open_work,
    own_run,
    passivation,
    replies,
    sentences,
    titles,
    watches,
)
from netclaw.core.session.commands import FinishRound
from netclaw.core.session.consent_events import Withdrawal
from netclaw.core.session.draft import Draft
from netclaw.core.session.effects import Log
from netclaw.core.session.events import TurnFailed, TurnOutcome, TurnRecorded, TurnStarted
from netclaw.core.session.loop_guard import GuardEnding
from netclaw.core.session.open_work import Delivery
from netclaw.core.session.outputs import (
    ErrorOutput,
    TextOutput,
    TurnCompletedOutput,
    UsageOutput,
)
from netclaw.core.session.phase import Phase
from netclaw.core.session.state import BufferedInput, OpenTurn

REFERENCE_LENGTH = 8

_GUARD_NOTES = {
    GuardEnding.REPEATS: sentences.NOTE_REPEATED,
    GuardEnding.FAILURES: sentences.NOTE_FAILING,
}


def start_next(draft: Draft, *, first: BufferedInput | None = None) -> None:
    """Start the next turn from Ready if anything may run, unless the session is draining.

    Inputs and results run in journal order; `first` is the one a preempted turn makes way for.
    """
    if own_run.is_over(draft.state.run):
        _turn_away(draft)
        return
    if draft.runtime.drain is not None:
        return
    item = _next(draft, first)
    while isinstance(item, BufferedInput) and _end_at_once(draft, item):
        if draft.runtime.is_compaction_wanted and _shorten(draft, first):
            return
        item = _next(draft, first)
    if item is None:
        return
    turn_id = TurnId(draft.make_id())
    marks = watches.take_notices(draft)
    if isinstance(item, Delivery):
        deliveries.begin(draft, turn_id, item, marks)
    else:
        draft.record(
            TurnStarted(
                turn_id=turn_id,
                input_ids=(item.admitted.input_id,),
                authority=item.admitted.authority,
                notices=marks,
            )
        )
    if marks:
        draft.say(watches.said_of(marks, item))
    draft.move(Phase.PROCESSING)
    draft.call_model_early(turn_id)


def _turn_away(draft: Draft) -> None:
    """Tell whoever wrote into a run that it was over before it read that; nothing waits for ever.

    Also in a drain: the run's journal goes with it.
    """
    for item in draft.state.buffered:
        if not asides.answer(draft, item):
            unread = asides.open_turn(draft, item)
            category = ErrorCategory.INTERRUPTED
            _record_failure(draft, unread, category=category, sentence=sentences.RUN_OVER)


def _next(draft: Draft, first: BufferedInput | None) -> BufferedInput | Delivery | None:
    """What comes next: `first` while it waits, behind what its sender wrote before it."""
    if first is None or first not in draft.state.buffered:
        return open_work.next_up(draft.state)
    sender = first.admitted.authority
    own = (i for i in draft.state.buffered if i.admitted.authority.is_same_sender(sender))
    return next(own, first)


def _end_at_once(draft: Draft, item: BufferedInput) -> bool:
    """Answer an input that needs no model, stop one that its sender called off meanwhile or that
    has nothing to tell any more, or refuse what the model cannot take (decision 24).

    It was judged before it was admitted; the model may be another one by now.
    """
    draft.rest_anew()
    if asides.answer(draft, item):
        return True
    if asides.is_called_off(draft.state, item):
        _record_stop(draft, asides.open_turn(draft, item))
        return True
    if watches.is_needless(draft, item):
        wake = asides.open_turn(draft, item, is_aside=True)
        event = _unfinished(draft, wake, note="")
        draft.record(replace(event, open_child_runs=open_work.open_run_ids(draft.state)))
        return True
    sentence = modality.refused_by(item.admitted.media, draft.settings.main_model)
    if not sentence:
        return False
    refused = asides.open_turn(draft, item)
    category = ErrorCategory.INPUT_COMPATIBILITY
    _record_failure(draft, refused, category=category, sentence=sentence)
    return True


def wake(draft: Draft) -> None:
    """Start whatever may run by now, also out of a passivation that is not a drain's."""
    if draft.runtime.drain is not None or open_work.next_up(draft.state) is None:
        return
    if draft.runtime.phase is Phase.PASSIVATING:
        passivation.abort(draft)
    if draft.runtime.phase is Phase.READY:
        start_next(draft)


def complete(draft: Draft, turn: OpenTurn, command: FinishRound) -> None:
    """Record the model's answer as the end of the turn."""
    draft.say(TextOutput(turn_id=turn.turn_id, text=command.text, round=turn.rounds))
    _record_end(draft, turn, _last_reply(draft, turn, command))


def end_by_guard(
    draft: Draft,
    turn: OpenTurn,
    command: FinishRound,
    ending: GuardEnding,
    *,
    first: BufferedInput | None,
) -> None:
    """End the turn quietly with whatever text the model gave (S0 "Loop guard").

    No error is shown, and the calls of the reply are neither run nor history. `first` is the
    person that would have ended an automated turn at its next boundary.
    """
    text = command.text if command.text.strip() else ""
    event = _last_reply(draft, turn, replace(command, text=text))
    draft.perform(Log(level="info", text=f"turn ended by the loop guard: {ending.value}"))
    if text:
        draft.say(TextOutput(turn_id=turn.turn_id, text=text, round=turn.rounds))
    event = replace(event, outcome=TurnOutcome.GUARD_ENDED, note=_GUARD_NOTES[ending])
    _record_end(draft, turn, event, first=first)


def stop(draft: Draft, turn: OpenTurn) -> None:
    """End the turn because a person said so: no answer, no error (decision 26)."""
    _record_stop(draft, turn)
    _settle(draft)


def _record_stop(draft: Draft, turn: OpenTurn) -> None:
    """Every `/stop` that meant this turn is answered with its end, and means no other."""
    asking = asides.asking_to_stop(draft.state)
    _record(draft, turn, _unfinished(draft, turn, sentences.NOTE_STOPPED))
    for item in asking:
        asides.answer(draft, item)


def preempt(draft: Draft, turn: OpenTurn, person: BufferedInput) -> None:
    """End an automated turn after its batch and start the person's turn next (S0).

    It is recorded, not failed: an interrupted reminder counts as success.
    """
    _record_end(draft, turn, _unfinished(draft, turn, sentences.NOTE_PREEMPTED), first=person)


def abandon(draft: Draft, turn: OpenTurn) -> None:
    """Give the turn up because its person wrote anew while it waited for old consent.

    Decision 28. People keep their order: whoever of them wrote first is next.
    """
    people = (item for item in draft.state.buffered if item.admitted.authority.is_of_person)
    _record_end(
        draft, turn, _unfinished(draft, turn, sentences.NOTE_ABANDONED), first=next(people, None)
    )


def fail(
    draft: Draft,
    turn: OpenTurn,
    *,
    category: ErrorCategory,
    sentence: str,
    reference: str = "",
    returned: frozenset[InputId] = frozenset(),
) -> None:
    """End the turn without an answer; its inputs are consumed except those `returned`.

    The person is told unless a stop notice already did (protocol "Recovery, exactly").
    """
    _record_failure(
        draft, turn, category=category, sentence=sentence, reference=reference, returned=returned
    )
    _settle(draft)


def _record_failure(
    draft: Draft,
    turn: OpenTurn,
    *,
    category: ErrorCategory,
    sentence: str,
    reference: str = "",
    returned: frozenset[InputId] = frozenset(),
) -> None:
    consent.withdraw_all(draft, draft.state.turn or turn, Withdrawal.TURN_ENDED)
    watches.give_back(draft, turn)
    reference = reference or draft.make_id()[:REFERENCE_LENGTH]
    is_told = not turn.is_person_told_of_stop
    consumed = tuple(item for item in turn.input_ids if item not in returned)
    inputs = tuple(i for i in draft.state.in_turn if i.admitted.input_id not in returned)
    open_runs = open_work.open_run_ids(draft.state)
    draft.record(
        TurnFailed(
            turn_id=turn.turn_id,
            category=category,
            reference=reference,
            note=sentence,
            input_ids=consumed,
            closed_call_ids=open_call_ids(draft.state.turn or turn),
            is_person_told=is_told,
            open_child_runs=open_runs,
        )
    )
    if is_told:
        draft.say(
            ErrorOutput(
                turn_id=turn.turn_id,
                category=category,
                sentence=sentence,
                reference=reference,
                input_ids=consumed,
            )
        )
        text = f"{sentence} ({category.value}, reference {reference})"
        draft.post(replies.rows_for(inputs, turn, text=text))
    draft.say(
        TurnCompletedOutput(
            turn_id=turn.turn_id, input_ids=consumed, outcome=None, open_child_runs=open_runs
        )
    )


def open_call_ids(turn: OpenTurn) -> tuple[CallId, ...]:
    """The calls of the last round that have no result."""
    return tuple(item.call.call_id for item in turn.batch if item.result is None)


def usage_output(
    draft: Draft, turn_id: TurnId, usage: Usage, *, context_tokens: int
) -> UsageOutput:
    """The turn's token counts, and its newest request against the main model's window."""
    model = draft.settings.main_model
    return UsageOutput(
        turn_id=turn_id,
        usage=usage,
        context_window=model.context_window if model else 0,
        context_tokens=context_tokens,
    )


def _unfinished(draft: Draft, turn: OpenTurn, note: str) -> TurnRecorded:
    return TurnRecorded(
        turn_id=turn.turn_id,
        message=AssistantMessage(text="", at=draft.now_ms, turn_id=turn.turn_id),
        outcome=TurnOutcome.STOPPED,
        usage=turn.usage.plus(draft.runtime.spent),
        model="",
        input_ids=turn.input_ids,
        note=note,
    )


def _last_reply(draft: Draft, turn: OpenTurn, command: FinishRound) -> TurnRecorded:
    usage = draft.runtime.spent.plus(command.usage)
    return TurnRecorded(
        turn_id=turn.turn_id,
        message=AssistantMessage(
            text=command.text,
            at=draft.now_ms,
            turn_id=turn.turn_id,
            thinking=command.thinking,
        ),
        outcome=TurnOutcome.COMPLETED,
        usage=turn.usage.plus(usage),
        model=command.model,
        input_ids=turn.input_ids,
        context_tokens=command.usage.input_tokens,
        request_size=command.request_size,
    )


def _record_end(
    draft: Draft, turn: OpenTurn, event: TurnRecorded, *, first: BufferedInput | None = None
) -> None:
    _record(draft, turn, event)
    _settle(draft, first=first)


def _record(draft: Draft, turn: OpenTurn, event: TurnRecorded) -> None:
    inputs = draft.state.in_turn
    event = replace(event, open_child_runs=open_work.open_run_ids(draft.state))
    draft.record(event)
    draft.say(
        usage_output(draft, turn.turn_id, event.usage, context_tokens=event.context_tokens),
        TurnCompletedOutput(
            turn_id=turn.turn_id,
            input_ids=event.input_ids,
            outcome=event.outcome,
            open_child_runs=event.open_child_runs,
        ),
    )
    draft.post(replies.rows_for(inputs, turn, text=event.message.text))
    titles.ask_if_due(draft, turn, event)


def _settle(draft: Draft, *, first: BufferedInput | None = None) -> None:
    """After a turn: Ready, then whatever is due, or the exit that a drain waits for."""
    clear_turn(draft)
    draft.move(Phase.READY)
    if own_run.is_over(draft.state.run):
        start_next(draft)
    if draft.runtime.drain is not None:
        passivation.leave(draft)
    else:
        take_up(draft, first=first)


def take_up(draft: Draft, *, first: BufferedInput | None = None) -> None:
    """From Ready: shorten the history if that is due, else start the next input's turn."""
    if own_run.is_over(draft.state.run) or not _shorten(draft, first):
        start_next(draft, first=first)


def _shorten(draft: Draft, first: BufferedInput | None) -> bool:
    """Whether a compaction begins that was due or asked for; `first` is next after it."""
    next_input = first.admitted.input_id if first else None
    return compacting.begin_after_turn(draft, next_input=next_input)


def clear_turn(draft: Draft) -> None:
    """Forget what this process was doing for the turn that is over."""
    draft.runtime = replace(
        draft.runtime,
        model_token=None,
        running=(),
        rechecking=(),
        asked=(),
        is_stop_requested=False,
        drain_token="",
        nudges=0,
        nudge="",
        continuity="",
        spent=Usage(),
    )
