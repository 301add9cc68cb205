"""Stopping at a safe point because the process has to end (S0 "Recovery and restart")."""

from __future__ import annotations

from dataclasses import replace

from netclaw.core.errors import ErrorCategory
from netclaw.core.session import (
    call_results,
    child_control,
    consent,
    passivation,
    replies,
    sentences,
    turn,
)
from netclaw.core.session.after_drain import AfterDrain
from netclaw.core.session.commands import Drain, TimerKind
from netclaw.core.session.draft import Draft
from netclaw.core.session.effects import CancelModel, CancelTimer, CancelTool, StartTimer
from netclaw.core.session.events import DrainStopped, SessionKind
from netclaw.core.session.outputs import NoticeOutput
from netclaw.core.session.phase import Phase
from netclaw.core.session.state import CallState, DrainState, OpenTurn, SessionState
from netclaw.core.tool_call import UNREAL

MODEL_WAIT_S = 2.0
"""A model call that a restart can simply repeat gets this long to end by itself."""

RESUME_WITHIN_MS = 600_000
"""How long after its first stop a turn may still go on by itself; a second stop in a row does not
give it more. A turn that launched nothing has no such limit: it is as good as a waiting input."""

BUDGET_MARGIN_S = 1.0
"""Kept of the budget for writing down where the turn stopped."""

CHILD_EXTRA_S = 18.0
"""What every budget of a stop has more when a child run is at work (decision 12)."""


def may_resume(state: SessionState) -> bool:
    """Whether the open turn goes on after a start (protocol "Recovery, exactly").

    Not if text reached a person. Otherwise a turn that launched nothing simply runs again, and
    one that did goes on only if nothing else waits and every launched call has a real result.
    """
    open_turn = state.turn
    if open_turn is None:
        return False
    # Nobody is waiting for a run's words, and nobody's word ends it.
    is_run = state.kind is SessionKind.CHILD
    if open_turn.has_text_out and not is_run:
        return False
    if not open_turn.has_launched:
        return True
    if not is_run and (state.buffered or open_turn.joined_since_round):
        return False
    return all(has_real_result(item) for item in open_turn.batch if item.is_launched)


def is_too_late(state: SessionState, now_ms: int) -> bool:
    """Whether a stopped turn waited too long for its next start to go on by itself.

    A run is resumed after a restart, however long that took (glossary "drain park").
    """
    open_turn = state.turn
    if open_turn is None or state.kind is SessionKind.CHILD:
        return False
    is_over = 0 < open_turn.resume_until <= now_ms
    return open_turn.is_stopped and open_turn.has_launched and is_over


def has_real_result(item: CallState) -> bool:
    """Whether it is known what became of the call."""
    return item.result is not None and item.result.receipt.category not in UNREAL


def begin(draft: Draft, command: Drain) -> None:
    """Take no new work; stop now, or at the next safe point within the budget.

    The last drain says what follows, except that a stop of this session stays one.
    """
    if _then(draft) is not AfterDrain.NOTHING:
        draft.runtime = replace(draft.runtime, drain=DrainState(then=command.then))
    child_control.begin_drain(draft, max(0.0, command.budget_s - BUDGET_MARGIN_S))
    if draft.runtime.phase in (Phase.PROCESSING, Phase.COMPACTING):
        _wait_for_safe_point(draft, command.budget_s)
    elif draft.runtime.phase in (Phase.READY, Phase.PASSIVATING):
        leave(draft)


def leave(draft: Draft) -> None:
    """Exit from rest; a turn that is open and that nothing would take up is ended first.

    One that waits on consent alone stays as it is: an answer takes it up, whatever follows.
    """
    open_turn = draft.state.turn
    is_kept = _then(draft) is not AfterDrain.NOTHING or consent.is_parked(draft.state)
    if open_turn is None or is_kept:
        passivation.leave(draft)
        return
    if draft.runtime.phase is Phase.PASSIVATING:
        passivation.abort(draft)
    draft.move(Phase.PROCESSING)
    _end_here(draft, open_turn)


def _then(draft: Draft) -> AfterDrain | None:
    drain = draft.runtime.drain
    return None if drain is None else drain.then


def stop_here(draft: Draft, open_turn: OpenTurn, *, point: str) -> None:
    """Leave the turn open for the next start, tell the person if it cannot go on, and exit.

    Where no start follows by itself the turn ends here: nobody may wait for one that never comes.
    """
    then = _then(draft) or AfterDrain.DAEMON_STOP
    draft.perform(CancelTimer(timer=TimerKind.DRAIN_SAFE_POINT))
    if consent.is_held(open_turn):
        _leave_held(draft, open_turn, then)
    elif then is AfterDrain.NOTHING:
        _end_here(draft, open_turn)
    else:
        _leave_open(draft, open_turn, then, point=point)


def _leave_held(draft: Draft, open_turn: OpenTurn, then: AfterDrain) -> None:
    """Leave a turn that is up to people without a word: its prompts stay open (S0 Passivation).

    What a person approved and nothing would launch ends with the turn.
    """
    close_lost_calls(draft, open_turn)
    if then is AfterDrain.NOTHING and not consent.is_parked(draft.state):
        _end_here(draft, draft.state.turn or open_turn)
        return
    turn.clear_turn(draft)
    draft.move(Phase.READY)
    passivation.leave(draft)


def _end_here(draft: Draft, open_turn: OpenTurn) -> None:
    has_launched = open_turn.has_launched
    sentence = sentences.stop_notice(AfterDrain.NOTHING, has_launched=has_launched)
    interrupt(draft, open_turn, sentence)


def interrupt(draft: Draft, open_turn: OpenTurn, sentence: str) -> None:
    """End the open turn as Interrupted, and with it the calls whose result will never be known.

    An input that joined after the last round returns to the buffer (protocol "Recovery, exactly").
    """
    close_lost_calls(draft, open_turn)
    turn.fail(
        draft,
        open_turn,
        category=ErrorCategory.INTERRUPTED,
        sentence=sentence,
        returned=frozenset(open_turn.joined_since_round),
    )


def close_lost_calls(draft: Draft, open_turn: OpenTurn) -> None:
    """Give each launched call its result whose own will never be known."""
    for item in open_turn.batch:
        if item.is_launched and item.result is None:
            result = call_results.interrupted(item)
            call_results.record(draft, open_turn, result, name=item.call.name)


def _leave_open(draft: Draft, open_turn: OpenTurn, then: AfterDrain, *, point: str) -> None:
    state = draft.state
    is_told = not may_resume(state)
    draft.record(
        DrainStopped(
            turn_id=open_turn.turn_id,
            point=point,
            is_restart=then.is_restart,
            is_person_told=is_told,
            deadline_at=open_turn.resume_until or draft.now_ms + RESUME_WITHIN_MS,
        )
    )
    if is_told:
        sentence = sentences.stop_notice(then, has_launched=open_turn.has_launched)
        kind = "restarting" if then.is_restart else "stopping"
        draft.say(NoticeOutput(sentence=sentence, kind=kind))
        draft.post(replies.rows_for(state.in_turn, open_turn, text=sentence))
    turn.clear_turn(draft)
    draft.move(Phase.READY)
    passivation.leave(draft)


def stop_by_force(draft: Draft) -> None:
    """The safe point did not come in time: cancel what runs and stop where it stands."""
    open_turn = draft.state.turn
    if open_turn is None:
        return
    is_model_call = draft.runtime.model_token is not None
    cancel_all(draft)
    stop_here(draft, open_turn, point="model-call" if is_model_call else "budget")


def cancel_all(draft: Draft) -> None:
    """Cancel the model call and every running tool."""
    if draft.runtime.model_token is not None:
        draft.perform(CancelModel(token=draft.runtime.model_token))
    for tool in draft.runtime.running:
        draft.perform(CancelTool(token=tool.token, call_id=tool.call_id))


def _wait_for_safe_point(draft: Draft, budget_s: float) -> None:
    wait_s = max(0.0, budget_s - BUDGET_MARGIN_S)
    if draft.runtime.model_token is not None and may_resume(draft.state):
        wait_s = min(wait_s, MODEL_WAIT_S)
    token = draft.make_id()
    draft.runtime = replace(draft.runtime, drain_token=token)
    draft.perform(StartTimer(timer=TimerKind.DRAIN_SAFE_POINT, token=token, after_s=wait_s))
