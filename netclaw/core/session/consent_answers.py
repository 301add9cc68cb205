"""What follows from an answer to a consent request, and how an open batch that waits goes on.

An answer is durable before the rules see it (protocol "Answers") and the first one for a request
counts. An approval launches nothing by itself: the call is judged once more, with the facts of
that moment, and the launch is recorded as a batch of its own. So a crash between the two leaves a
call that was never started, and the next process judges it again.
"""

from __future__ import annotations

from dataclasses import replace

from netclaw.core.ids import RunId, TurnId
from netclaw.core.session import call_results, consent, passivation, sentences, tool_batch, turn
from netclaw.core.session.commands import FinishRecheck
from netclaw.core.session.consent_events import (
    AnswerDismissed,
    ConsentAnswered,
    ConsentEffect,
    ConsentRequest,
    Dismissal,
)
from netclaw.core.session.draft import Draft
from netclaw.core.session.effects import RecheckCall
from netclaw.core.session.events import AnswerAdmitted
from netclaw.core.session.evolve_consent import find_call
from netclaw.core.session.outputs import ConsentEnd, ConsentUpdateOutput, NoticeOutput
from netclaw.core.session.phase import Phase
from netclaw.core.session.rulings import Outcome

ENDS = {ConsentEffect.APPROVE: ConsentEnd.APPROVED, ConsentEffect.REFUSE: ConsentEnd.REFUSED}
"""How a prompt ends by an option of this effect."""


def go_on(draft: Draft) -> None:
    """Act on answers, judge what has to be judged, and see whether the batch goes on.

    While draining nothing is acted on: answers stay admitted for the next start.
    """
    open_turn = draft.state.turn
    is_open = open_turn is not None and bool(turn.open_call_ids(open_turn))
    if draft.runtime.drain is None:
        for answer in draft.state.answers:
            _act_on(draft, answer)
        _recheck_unlaunched(draft)
    if is_open:
        tool_batch.pass_boundary_if_reached(draft)


def is_due(draft: Draft) -> bool:
    """Whether an answer waits, or an input that ends the wait of a parked turn."""
    state = draft.state
    is_parked = consent.is_parked(state)
    return bool(state.answers) or (
        is_parked and consent.overtaker(state, asked=draft.runtime.asked) is not None
    )


def wake(draft: Draft) -> None:
    """Act on what is due, also out of a passivation; in the other phases it is kept."""
    if draft.runtime.phase is Phase.PASSIVATING:
        passivation.abort(draft)
    if draft.runtime.phase in (Phase.READY, Phase.PROCESSING):
        go_on(draft)


def finish_recheck(draft: Draft, command: FinishRecheck) -> None:
    """Launch the call that was judged, ask for it, or record why it does not run.

    Consent that is still required and was just given is no reason to ask again (reference "launch
    re-check"); what nobody was asked for is. In a drain nothing is launched, and the next start
    judges the call anew.
    """
    if command.call_id not in draft.runtime.rechecking:
        return
    rest = tuple(item for item in draft.runtime.rechecking if item != command.call_id)
    draft.runtime = replace(draft.runtime, rechecking=rest)
    open_turn = draft.state.turn
    found = find_call(draft.state, command.call_id)
    is_open = found is not None and found.result is None
    if open_turn is not None and found is not None and is_open and draft.runtime.drain is None:
        is_given = found.consent is not None and consent.covers(
            found.consent.request, command.ruling
        )
        result = consent.unruled(draft.state, found.call, command.ruling, is_given=is_given)
        if found.consent is None:
            tool_batch.show_call(draft, open_turn, found.call)
        if result is not None:
            call_results.record(draft, open_turn, result, name=found.call.name)
        elif is_given or command.ruling.outcome is Outcome.ALLOWED:
            tool_batch.start(draft, open_turn, (found.call,))
        else:
            consent.ask(draft, open_turn, found.call, command.ruling)
    tool_batch.pass_boundary_if_reached(draft)


def _recheck_unlaunched(draft: Draft) -> None:
    """Have every call judged that no request holds back and nothing else has begun."""
    open_turn = draft.state.turn
    for item in open_turn.batch if open_turn else ():
        is_begun = item.is_launched or item.call.call_id in draft.runtime.rechecking
        if open_turn is None or item.result is not None or is_begun or consent.is_waiting(item):
            continue
        draft.move(Phase.PROCESSING)
        rechecking = (*draft.runtime.rechecking, item.call.call_id)
        draft.runtime = replace(draft.runtime, rechecking=rechecking)
        option = item.consent.answer if item.consent else None
        draft.perform(RecheckCall(turn_id=open_turn.turn_id, call=item.call, option=option))


def _act_on(draft: Draft, answer: AnswerAdmitted) -> None:
    """Take one answer for a call of the open batch or of a child run."""
    if not (_answer_own(draft, answer) or _answer_run(draft, answer)):
        _dismiss(draft, answer, Dismissal.NOT_OPEN)


def _answer_own(draft: Draft, answer: AnswerAdmitted) -> bool:
    """Whether a call of the open batch waits for this answer; its batch is then driven on."""
    open_turn = draft.state.turn
    found = find_call(draft.state, answer.call_id)
    if open_turn is None or found is None or found.consent is None:
        return False
    if not consent.is_waiting(found):
        return False
    effect = _effect_of(draft, found.consent.request, answer)
    if effect is not None:
        draft.move(Phase.PROCESSING)
        _record_answer(draft, open_turn.turn_id, answer, effect)
    if effect is ConsentEffect.REFUSE:
        call_results.record(draft, open_turn, consent.refused(found.call), name=found.call.name)
    return True


def _answer_run(draft: Draft, answer: AnswerAdmitted) -> bool:
    """Whether a child run waits for this answer; the run's record holds it from here on."""
    for run in draft.state.children:
        asked = run.asks_for(answer.call_id)
        if asked is None or asked.answer is not None:
            continue
        effect = _effect_of(draft, asked.request, answer)
        if effect is not None:
            _record_answer(draft, asked.turn_id, answer, effect, run_id=run.run_id)
        return True
    return False


def _effect_of(
    draft: Draft, request: ConsentRequest, answer: AnswerAdmitted
) -> ConsentEffect | None:
    """What the answer does to an open request; None if it does not count, which is said."""
    option = request.option(answer.option)
    if option is None:
        _dismiss(draft, answer, Dismissal.NOT_OFFERED)
        return None
    if not consent.may_answer(request, answer, option.effect):
        _dismiss(draft, answer, Dismissal.NOT_THEIRS)
        return None
    return option.effect


def _record_answer(
    draft: Draft,
    turn_id: TurnId,
    answer: AnswerAdmitted,
    effect: ConsentEffect,
    *,
    run_id: RunId | None = None,
) -> None:
    draft.record(
        ConsentAnswered(
            turn_id=turn_id,
            call_id=answer.call_id,
            option=answer.option,
            answerer=answer.answerer,
            run_id=run_id,
            effect=effect,
        )
    )
    draft.say(
        ConsentUpdateOutput(
            turn_id=turn_id,
            call_id=answer.call_id,
            end=ENDS[effect],
            answerer=answer.answerer,
            run_id=run_id,
        )
    )


def _dismiss(draft: Draft, answer: AnswerAdmitted, reason: Dismissal) -> None:
    """Nothing follows from the answer but a word about it."""
    draft.record(
        AnswerDismissed(
            call_id=answer.call_id, option=answer.option, answerer=answer.answerer, reason=reason
        )
    )
    is_theirs = reason is Dismissal.NOT_THEIRS
    sentence = sentences.NOT_YOUR_PROMPT if is_theirs else sentences.PROMPT_CLOSED
    draft.say(NoticeOutput(sentence=sentence, kind="consent"))
