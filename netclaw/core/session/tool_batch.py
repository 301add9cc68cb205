"""A round's tool calls: pairing, launching, results, and the batch boundary.

A call is launched by a ToolBatchStarted that names it and never again; it has one result. The
boundary is reached when every call of the batch has a durable result. Until then a batch in which
nothing runs is parked: its turn waits for people, in phase Ready.
"""

from __future__ import annotations

from dataclasses import replace

from netclaw.core.errors import ErrorCategory
from netclaw.core.ids import CallId
from netclaw.core.messages import AssistantMessage, Usage
from netclaw.core.session import (
    call_results,
    compacting,
    compaction,
    consent,
    drain,
    loop_guard,
    sentences,
    turn,
    turn_join,
)
from netclaw.core.session.commands import FinishRound, FinishTool
from netclaw.core.session.compaction import TooLarge
from netclaw.core.session.compaction_state import Trigger
from netclaw.core.session.consent_events import Withdrawal
from netclaw.core.session.draft import Draft
from netclaw.core.session.effects import RunTool
from netclaw.core.session.events import RoundRecorded, ToolBatchStarted
from netclaw.core.session.outputs import (
    OutputFilter,
    TextOutput,
    ToolCallOutput,
)
from netclaw.core.session.phase import Phase
from netclaw.core.session.rulings import CallRuling, Outcome
from netclaw.core.session.state import OpenTurn, RunningTool
from netclaw.core.text import storable
from netclaw.core.tool_call import OutcomeCategory, ToolCall, ToolReceipt, ToolResult

SHOWS_TEXT = OutputFilter.TEXT | OutputFilter.TEXT_STREAMING
"""Filters whose subscribers see a preamble: whole, or as deltas that ride in the append."""


def begin(draft: Draft, open_turn: OpenTurn, command: FinishRound) -> None:
    """Record the round and launch its calls in one append, unless the loop guard ends the turn.

    A call that does not run by its ruling has its result at once; one that needs consent is asked
    for and waits, and the others run meanwhile. While draining nothing is launched or asked for:
    the calls are judged again at the next start, and the preamble stays unreleased so that the
    turn can go on then.
    """
    calls = _named(draft, command)
    verdict = loop_guard.judge(open_turn.guard, calls)
    if verdict.ending is not None:
        person = turn_join.preemptor(draft.state)
        turn.end_by_guard(draft, open_turn, command, verdict.ending, first=person)
        return
    _record_round(draft, open_turn, command, calls)
    refused = {result.call_id: result for result in verdict.refusals}
    admitted: list[tuple[ToolCall, CallRuling]] = []
    for call, proposed in zip(calls, command.calls, strict=True):
        ruling = proposed.ruling
        result = (
            refused.get(call.call_id)
            or _fault_of(call)
            or consent.unruled(draft.state, call, ruling)
        )
        if result is None:
            admitted.append((call, ruling))
        else:
            show_call(draft, open_turn, call)
            call_results.record(draft, open_turn, result, name=call.name)
    if draft.runtime.drain is None:
        _launch_or_ask(draft, open_turn, admitted)
    pass_boundary_if_reached(draft)


def _launch_or_ask(
    draft: Draft, open_turn: OpenTurn, admitted: list[tuple[ToolCall, CallRuling]]
) -> None:
    allowed = tuple(call for call, ruling in admitted if ruling.outcome is Outcome.ALLOWED)
    for call, _ in admitted:
        show_call(draft, open_turn, call)
    if allowed:
        start(draft, open_turn, allowed)
    for call, ruling in admitted:
        if ruling.outcome is Outcome.REQUIRES_CONSENT:
            consent.ask(draft, open_turn, call, ruling)


def _named(draft: Draft, command: FinishRound) -> tuple[ToolCall, ...]:
    """The calls of a response under ids of our own."""
    return tuple(
        ToolCall(
            call_id=CallId(draft.make_id()),
            provider_call_id=storable(call.provider_call_id),
            name=storable(call.name),
            arguments=storable(call.arguments),
            argument_fault=call.fault,
            attempt_id=call.ruling.attempt_id,
        )
        for call in command.calls
    )


def _record_round(
    draft: Draft, open_turn: OpenTurn, command: FinishRound, calls: tuple[ToolCall, ...]
) -> None:
    is_draining = draft.runtime.drain is not None
    has_text = bool(command.text.strip())
    is_seen = has_text and not is_draining and bool(draft.runtime.interest & SHOWS_TEXT)
    message = AssistantMessage(
        text=command.text if has_text else "",
        at=draft.now_ms,
        turn_id=open_turn.turn_id,
        thinking=command.thinking,
        calls=calls,
    )
    usage = draft.runtime.spent.plus(command.usage)
    draft.record(
        RoundRecorded(
            turn_id=open_turn.turn_id,
            round=open_turn.rounds,
            message=message,
            usage=usage,
            model=command.model,
            is_text_released=is_seen,
            context_tokens=command.usage.input_tokens,
            request_size=command.request_size,
        )
    )
    draft.runtime = replace(draft.runtime, nudges=0, nudge="", continuity="", spent=Usage())
    if is_seen:
        draft.say(TextOutput(turn_id=open_turn.turn_id, text=command.text, round=open_turn.rounds))
    so_far = open_turn.usage.plus(usage)
    tokens = command.usage.input_tokens
    draft.say(turn.usage_output(draft, open_turn.turn_id, so_far, context_tokens=tokens))


def finish_call(draft: Draft, command: FinishTool) -> None:
    """Record the result of a launched call of this process; anything else is stale."""
    open_turn = draft.state.turn
    running = RunningTool(token=command.token, call_id=command.result.call_id)
    if open_turn is None or running not in draft.runtime.running:
        return
    rest = tuple(tool for tool in draft.runtime.running if tool != running)
    draft.runtime = replace(draft.runtime, running=rest)
    result = replace(command.result, text=storable(command.result.text))
    call_results.record(draft, open_turn, result, name=command.name)
    pass_boundary_if_reached(draft)


def pass_boundary_if_reached(draft: Draft) -> None:
    """Decide at the boundary: stop, drain, preemption, joining, compaction, next model call."""
    open_turn = draft.state.turn
    if open_turn is None:
        return
    if turn.open_call_ids(open_turn):
        _rest_if_nothing_runs(draft, open_turn)
        return
    person = turn_join.preemptor(draft.state)
    if draft.runtime.is_stop_requested:
        turn.stop(draft, open_turn)
    elif draft.runtime.drain is not None:
        drain.stop_here(draft, open_turn, point="batch-boundary")
    elif person is not None:
        turn.preempt(draft, open_turn, person)
    else:
        turn_join.join(draft, open_turn)
        _follow_up(draft, open_turn)


def _rest_if_nothing_runs(draft: Draft, open_turn: OpenTurn) -> None:
    """Park a batch that only people can bring on; whoever may end that wait does so at once."""
    runtime = draft.runtime
    if runtime.running or runtime.rechecking:
        return
    if runtime.drain is not None:
        drain.stop_here(draft, open_turn, point="before-batch")
        return
    person = consent.overtaker(draft.state, asked=runtime.asked)
    if person is None:
        draft.move(Phase.READY)
        return
    consent.close_unlaunched(draft, open_turn, Withdrawal.SUPERSEDED)
    if open_turn.authority.is_of_person:
        turn.abandon(draft, open_turn)
    else:
        turn.preempt(draft, open_turn, person)


def _follow_up(draft: Draft, open_turn: OpenTurn) -> None:
    """The next model call, over a shortened history if the last one passed the threshold."""
    is_due = compaction.is_due(draft.state, draft.settings)
    if not (is_due and shorten(draft, Trigger.THRESHOLD)):
        draft.call_model(open_turn)


def shorten(draft: Draft, trigger: Trigger) -> bool:
    """Begin a compaction inside the open turn, or end the turn because none would help.

    False when there is nothing to gain: the turn goes on as it is.
    """
    open_turn = draft.state.turn
    begun = compacting.begin(draft, trigger)
    if open_turn is not None and isinstance(begun, TooLarge):
        turn.fail(
            draft,
            open_turn,
            category=ErrorCategory.INPUT_COMPATIBILITY,
            sentence=begun.sentence,
        )
    return begun is not None


def look_again(draft: Draft, open_turn: OpenTurn) -> None:
    """Decide once more what comes before the next model call: inputs were committed meanwhile.

    Whatever was committed before the append that passed the boundary counts at that boundary; the
    decision itself was made before it was known.
    """
    if open_turn.batch:
        pass_boundary_if_reached(draft)
    else:
        draft.call_model(open_turn)


def start(draft: Draft, open_turn: OpenTurn, calls: tuple[ToolCall, ...]) -> None:
    """Launch these calls, which may run."""
    call_ids = tuple(call.call_id for call in calls)
    draft.record(ToolBatchStarted(turn_id=open_turn.turn_id, call_ids=call_ids))
    for call in calls:
        token = draft.token()
        draft.perform(RunTool(token=token, turn_id=open_turn.turn_id, call=call))
        draft.runtime = replace(
            draft.runtime,
            running=(*draft.runtime.running, RunningTool(token=token, call_id=call.call_id)),
        )


def _fault_of(call: ToolCall) -> ToolResult | None:
    """The result of a call whose arguments cannot be used."""
    if call.argument_fault is None:
        return None
    return ToolResult(
        call_id=call.call_id,
        text=sentences.bad_arguments(call.argument_fault),
        receipt=ToolReceipt(category=OutcomeCategory.INVALID_INPUT),
    )


def show_call(draft: Draft, open_turn: OpenTurn, call: ToolCall) -> None:
    """Show a call to subscribers: once, when it is first known what becomes of it."""
    draft.say(
        ToolCallOutput(
            turn_id=open_turn.turn_id,
            call_id=call.call_id,
            name=call.name,
            arguments=draft.redact(call.arguments),
        )
    )
