"""Which calls wait for a person, who may answer them, and what closes a request without one.

A request belongs to one call and pauses that call alone. It is durable, never expires (S0) and
holds no process: a turn that waits on consent alone is *parked*, in phase Ready with its batch
open. What follows from an answer is decided in `consent_answers`. ADR 0030 holds what other
modules must obey.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from netclaw.core.authority import Principal
from netclaw.core.ids import CallId, RunId, TurnId
from netclaw.core.session import call_results, sentences
from netclaw.core.session.asides import asked_to_stop, command_of
from netclaw.core.session.consent_events import (
    ConsentEffect,
    ConsentRequest,
    ConsentRequested,
    ConsentWithdrawn,
    Withdrawal,
)
from netclaw.core.session.draft import Draft
from netclaw.core.session.events import AnswerAdmitted, SessionKind
from netclaw.core.session.open_work import is_attended
from netclaw.core.session.outputs import ConsentEnd, ConsentRequestOutput, ConsentUpdateOutput
from netclaw.core.session.rulings import CallRuling, Outcome
from netclaw.core.session.state import BufferedInput, CallState, OpenTurn, SessionState
from netclaw.core.session.turn_join import is_automated, preemptor
from netclaw.core.text import storable
from netclaw.core.tool_call import OutcomeCategory, ToolCall, ToolReceipt, ToolResult

_CATEGORIES = {
    Outcome.DENIED: OutcomeCategory.ACCESS_DENIED,
    Outcome.REQUIRES_CORRECTION: OutcomeCategory.RECOVERABLE_CORRECTION,
}

# What is known


def is_waiting(item: CallState) -> bool:
    """Whether the call waits for a person's answer."""
    return item.result is None and item.consent is not None and item.consent.answer is None


def is_held(turn: OpenTurn) -> bool:
    """Whether how the batch goes on is up to a person, or was and is not acted on yet.

    Such a turn is neither resumed nor ended by a start, whatever text reached the person.
    """
    return any(
        item.consent is not None and item.result is None and not item.is_launched
        for item in turn.batch
    )


def is_parked(state: SessionState) -> bool:
    """Whether the open turn waits on consent alone (protocol "Runnable work")."""
    turn = state.turn
    unfinished = [item for item in turn.batch if item.result is None] if turn else []
    return bool(unfinished) and all(is_waiting(item) for item in unfinished)


def is_at_rest(state: SessionState) -> bool:
    """Whether a parked session has nothing to do until somebody acts: no start is due.

    In a new process every request is a recovered one.
    """
    is_over = asked_to_stop(state) is not None or overtaker(state, asked=()) is not None
    return is_parked(state) and not (state.answers or is_over)


def overtaker(state: SessionState, *, asked: Iterable[CallId]) -> BufferedInput | None:
    """The waiting input that ends the wait of a parked turn, if there is one.

    The operator or a trusted person ends an automated turn (S0 "Who joins a turn"). The person
    whose turn it is ends it by writing anew while a *recovered* request is open: one that is not
    among those `asked` by this process (decision 28). Automation and other people wait.
    """
    turn = state.turn
    if state.kind is SessionKind.CHILD:
        # Its requests are its parent's to close.
        return None
    if turn is None or is_automated(turn):
        return preemptor(state)
    known = frozenset(asked)
    if all(item.call.call_id in known for item in turn.batch if is_waiting(item)):
        return None
    same = (
        item
        for item in state.buffered
        if item.admitted.authority.is_same_sender(turn.authority) and not command_of(item)
    )
    return next(same, None)


def may_answer(request: ConsentRequest, answer: AnswerAdmitted, effect: ConsentEffect) -> bool:
    """Whether this answer counts (decision 48).

    The recorded sender may approve and refuse; anybody may if the requester is automation or has
    no sender id; the local operator may refuse any request. Sender ids count within their trust
    boundary. A machine answers nothing.
    """
    requester = request.requester
    if not answer.principal.is_person:
        return False
    if effect is ConsentEffect.REFUSE and answer.principal is Principal.OPERATOR:
        return True
    if requester.sender_id is None or not requester.principal.is_person:
        return True
    return (answer.boundary, answer.answerer) == (requester.boundary, requester.sender_id)


# Rulings


def unruled(
    state: SessionState, call: ToolCall, ruling: CallRuling, *, is_given: bool = False
) -> ToolResult | None:
    """The result of a call that does not run by this ruling; None if it runs or may be asked for.

    Consent that nobody can give is a denial: unattended turns fail closed, and so does a ruling
    without an option to choose. `is_given` says that a person has just approved the call.
    """
    if ruling.outcome is Outcome.ALLOWED:
        return None
    if ruling.outcome is not Outcome.REQUIRES_CONSENT:
        category = ruling.category or _CATEGORIES[ruling.outcome]
        return _not_run(call, category, storable(ruling.text), remediation=ruling.remediation)
    if is_given or (is_attended(state) and ruling.options):
        return None
    return _not_run(call, OutcomeCategory.ACCESS_DENIED, sentences.CONSENT_UNATTENDED)


def covers(request: ConsentRequest, ruling: CallRuling) -> bool:
    """Whether whoever approved this request was asked for all that the ruling asks for now.

    A command in another folder is another one: relative words mean other files there.
    """
    is_same_folder = request.cwd == storable(ruling.cwd)
    return is_same_folder and set(map(storable, ruling.candidates)) <= set(request.candidates)


def refused(call: ToolCall) -> ToolResult:
    """The result of a call that a person refused."""
    return _not_run(call, OutcomeCategory.ACCESS_DENIED, sentences.CONSENT_REFUSED)


def _not_run(
    call: ToolCall, category: OutcomeCategory, text: str, *, remediation: str | None = None
) -> ToolResult:
    receipt = ToolReceipt(category=category, remediation=remediation)
    return ToolResult(call_id=call.call_id, text=text, receipt=receipt)


# Requests


def ask(draft: Draft, open_turn: OpenTurn, call: ToolCall, ruling: CallRuling) -> None:
    """Ask for the consent that this ruling requires; the request precedes its prompt."""
    request = ConsentRequest(
        call_id=call.call_id,
        tool=call.name,
        display=storable(ruling.display),
        candidates=tuple(storable(item) for item in ruling.candidates),
        options=ruling.options,
        requester=open_turn.authority.requester,
        attempt_id=ruling.attempt_id,
        cwd=storable(ruling.cwd),
        adopted_speakers=open_turn.authority.adopted_context,
    )
    record_request(draft, open_turn.turn_id, request)
    draft.runtime = replace(draft.runtime, asked=(*draft.runtime.asked, call.call_id))


def record_request(
    draft: Draft, turn_id: TurnId, request: ConsentRequest, *, run_id: RunId | None = None
) -> None:
    """Make a request durable and prompt for it; `run_id` names the child run that asks."""
    event = ConsentRequested(turn_id=turn_id, request=request, run_id=run_id)
    draft.record(event)
    draft.say(prompt_of(event))


def prompt_of(event: ConsentRequested) -> ConsentRequestOutput:
    """What people are shown of a request; it names nobody whom anybody may stand in for."""
    request, requester = event.request, event.request.requester
    return ConsentRequestOutput(
        turn_id=event.turn_id,
        call_id=request.call_id,
        tool=request.tool,
        display=request.display,
        candidates=request.candidates,
        options=request.options,
        sender_id=(requester.sender_id or "") if requester.principal.is_person else "",
        run_id=event.run_id,
        cwd=request.cwd,
        adopted_speakers=request.adopted_speakers,
    )


def withdraw(
    draft: Draft,
    turn_id: TurnId,
    call_id: CallId,
    reason: Withdrawal,
    *,
    run_id: RunId | None = None,
) -> None:
    """Close a request without an answer; its prompt is dead."""
    draft.record(ConsentWithdrawn(turn_id=turn_id, call_id=call_id, reason=reason, run_id=run_id))
    draft.say(
        ConsentUpdateOutput(
            turn_id=turn_id, call_id=call_id, end=ConsentEnd.WITHDRAWN, run_id=run_id
        )
    )


def withdraw_all(draft: Draft, open_turn: OpenTurn, reason: Withdrawal) -> None:
    """Close every open request of the turn's own calls."""
    for item in open_turn.batch:
        if is_waiting(item):
            withdraw(draft, open_turn.turn_id, item.call.call_id, reason)


def close_unlaunched(draft: Draft, open_turn: OpenTurn, reason: Withdrawal) -> None:
    """Close what was never launched, requests included: no call of it will run."""
    withdraw_all(draft, open_turn, reason)
    for item in open_turn.batch:
        if item.result is None and not item.is_launched:
            result = _not_run(item.call, OutcomeCategory.CANCELLED, sentences.CALL_NOT_STARTED)
            call_results.record(draft, open_turn, result, name=item.call.name)
