"""What consent events do to the state: to calls of the open batch, and to the requests of runs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import chain

from netclaw.core.ids import CallId, RunId
from netclaw.core.session.child_state import ChildRun, RunRequest
from netclaw.core.session.consent_events import (
    AnswerDismissed,
    ConsentAnswered,
    ConsentRequested,
    ConsentWithdrawn,
)
from netclaw.core.session.events import Recorded
from netclaw.core.session.evolve_children import with_run
from netclaw.core.session.state import CallConsent, CallState, SessionState


def consent_requested(
    state: SessionState, recorded: Recorded, event: ConsentRequested
) -> SessionState:
    """The call waits for a person."""
    if event.run_id is not None:
        asked = RunRequest(request=event.request, turn_id=event.turn_id, asked_at=recorded.at)
        return with_run(
            state, event.run_id, lambda run: replace(run, requests=(*run.requests, asked))
        )
    consent = CallConsent(request=event.request, asked_at=recorded.at)
    return _with_consent(state, event.request.call_id, consent)


def consent_answered(
    state: SessionState, recorded: Recorded, event: ConsentAnswered
) -> SessionState:
    """The answer counts and waits no longer."""
    del recorded
    state = _without_answers(state, event.call_id)
    if event.run_id is not None:
        return _with_request(
            state,
            event.run_id,
            event.call_id,
            lambda asked: (replace(asked, answer=event.option, answerer=event.answerer),),
        )
    found = find_call(state, event.call_id)
    if state.turn is None or found is None or found.consent is None:
        return state
    # The turn got on: an earlier stop limits no longer how long it may go on by itself.
    state = replace(state, turn=replace(state.turn, resume_until=0))
    return _with_consent(state, event.call_id, replace(found.consent, answer=event.option))


def consent_withdrawn(
    state: SessionState, recorded: Recorded, event: ConsentWithdrawn
) -> SessionState:
    """Nobody is asked any more; an answer on its way is nobody's."""
    del recorded
    state = _without_answers(state, event.call_id)
    if event.run_id is not None:
        return _with_request(state, event.run_id, event.call_id, lambda _asked: ())
    return _with_consent(state, event.call_id, None)


def answer_dismissed(
    state: SessionState, recorded: Recorded, event: AnswerDismissed
) -> SessionState:
    """This answer waits no longer; the request it was for, and other answers, stay.

    Sender ids are equal in more than one place, and the answer that counts may have come while the
    other one was dismissed: answers are dismissed in their order, so the first like it is meant.
    """
    del recorded
    gone = (event.call_id, event.option, event.answerer)
    like_it = (
        place
        for place, item in enumerate(state.answers)
        if (item.call_id, item.option, item.answerer) == gone
    )
    place = next(like_it, len(state.answers))
    return replace(state, answers=state.answers[:place] + state.answers[place + 1 :])


def find_call(state: SessionState, call_id: CallId) -> CallState | None:
    """The call of the open batch, with or without a result."""
    batch = state.turn.batch if state.turn is not None else ()
    return next((item for item in batch if item.call.call_id == call_id), None)


def _with_consent(
    state: SessionState, call_id: CallId, consent: CallConsent | None
) -> SessionState:
    turn = state.turn
    if turn is None:
        return state
    batch = tuple(
        replace(item, consent=consent) if item.call.call_id == call_id else item
        for item in turn.batch
    )
    return replace(state, turn=replace(turn, batch=batch))


def _without_answers(state: SessionState, call_id: CallId) -> SessionState:
    return replace(state, answers=tuple(a for a in state.answers if a.call_id != call_id))


def _with_request(
    state: SessionState,
    run_id: RunId,
    call_id: CallId,
    change: Callable[[RunRequest], tuple[RunRequest, ...]],
) -> SessionState:
    """The state with the run's request of this call replaced by what `change` makes of it."""

    def changed(run: ChildRun) -> ChildRun:
        parts = (
            change(item) if item.request.call_id == call_id else (item,) for item in run.requests
        )
        return replace(run, requests=tuple(chain.from_iterable(parts)))

    return with_run(state, run_id, changed)
