"""Closes what the last process left open, in one append, before the session is Ready.

Exactly as protocol "Recovery, exactly": a launched call without a result gets an Interrupted one
and is never run again; an open turn goes on under its own id or ends with a notice. One whose
calls wait for people, or were approved and not launched, does neither: it stands as it was.
"""

from __future__ import annotations

from dataclasses import replace

from netclaw.core.session import (
    asides,
    child_control,
    consent,
    consent_answers,
    drain,
    jobs,
    sentences,
    tool_batch,
    turn,
)
from netclaw.core.session.consent_events import Withdrawal
from netclaw.core.session.draft import Draft
from netclaw.core.session.effects import Log
from netclaw.core.session.events import Resumed
from netclaw.core.session.phase import Phase
from netclaw.core.session.state import OpenTurn


def recover(draft: Draft) -> None:
    """Become Ready and take up whatever work is due."""
    draft.move(Phase.READY)
    jobs.reap(draft)
    child_control.heal(draft)
    if draft.runtime.drain is not None:
        drain.leave(draft)
        return
    open_turn = draft.state.turn
    if open_turn is None:
        consent_answers.go_on(draft)
        turn.take_up(draft)
    elif asides.asked_to_stop(draft.state) is not None:
        _stop(draft, open_turn)
    elif consent.is_held(open_turn):
        drain.close_lost_calls(draft, open_turn)
        consent_answers.go_on(draft)
    elif not drain.may_resume(draft.state):
        _end(draft, open_turn, sentences.INTERRUPTED_TURN)
    elif drain.is_too_late(draft.state, draft.now_ms):
        draft.perform(Log(level="warning", text=f"turn {open_turn.turn_id} waited too long"))
        _end(draft, open_turn, sentences.EXPIRED_TURN)
    else:
        _resume(draft, open_turn)


def _resume(draft: Draft, open_turn: OpenTurn) -> None:
    draft.record(Resumed(turn_id=open_turn.turn_id))
    draft.move(Phase.PROCESSING)
    if open_turn.resume_until and open_turn.has_launched:
        draft.runtime = replace(draft.runtime, continuity=sentences.CONTINUED)
    if turn.open_call_ids(open_turn):
        consent_answers.go_on(draft)
    elif open_turn.batch:
        tool_batch.pass_boundary_if_reached(draft)
    else:
        draft.call_model(open_turn)


def _stop(draft: Draft, open_turn: OpenTurn) -> None:
    """A person asked for the end of the turn while no process was there to hear it."""
    drain.close_lost_calls(draft, open_turn)
    consent.close_unlaunched(draft, draft.state.turn or open_turn, Withdrawal.TURN_STOPPED)
    turn.stop(draft, draft.state.turn or open_turn)


def _end(draft: Draft, open_turn: OpenTurn, why: str) -> None:
    draft.move(Phase.PROCESSING)
    sentence = sentences.with_warning(why, has_launched=open_turn.has_launched)
    drain.interrupt(draft, open_turn, sentence)
    if open_turn.resume_until:
        draft.runtime = replace(draft.runtime, continuity=sentences.STARTED_AGAIN)
