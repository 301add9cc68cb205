"""What a compaction is begun for on request or on overflow, and what follows its end."""

from __future__ import annotations

from dataclasses import replace

from netclaw.core.ids import InputId
from netclaw.core.session import (
    compacting,
    consent,
    consent_answers,
    drain,
    passivation,
    sentences,
    tool_batch,
    turn,
)
from netclaw.core.session.commands import Compact, FailNotes, FinishNotes, TimerKind
from netclaw.core.session.compaction_state import CompactionPlan, CompactionRun, Trigger
from netclaw.core.session.consent_events import Withdrawal
from netclaw.core.session.draft import Draft
from netclaw.core.session.effects import CancelSidecar, CancelTimer, Log
from netclaw.core.session.outputs import NoticeOutput
from netclaw.core.session.phase import Phase
from netclaw.core.session.state import BufferedInput, OpenTurn


def request(draft: Draft, command: Compact) -> None:
    """Shorten the history of a resting session now, of a busy one after its turn."""
    runtime = draft.runtime
    if runtime.drain is not None or runtime.phase is Phase.COMPACTING:
        return
    draft.perform(Log(level="info", text=f"compaction asked for by {command.actor}"))
    if runtime.phase is Phase.PASSIVATING:
        passivation.abort(draft)
    if draft.runtime.phase is not Phase.READY:
        draft.runtime = replace(runtime, is_compaction_wanted=True)
    elif not isinstance(compacting.begin(draft, Trigger.MANUAL), CompactionPlan):
        draft.say(NoticeOutput(sentence=sentences.NOTHING_TO_COMPACT, kind="compaction"))


def replay(draft: Draft, open_turn: OpenTurn) -> bool:
    """The provider found the request too long: shorten the history and make the call again.

    Same turn, same inputs, same authority. False when there is no history to shorten.
    """
    if draft.runtime.drain is not None:
        drain.stop_here(draft, open_turn, point="model-call")
        return True
    return tool_batch.shorten(draft, Trigger.OVERFLOW)


def finish(draft: Draft, command: FinishNotes) -> None:
    """The notes are there, or it is sure that there are none."""
    run = draft.runtime.compaction
    if run is None or run.token != command.token:
        return
    missing = _missing(run.plan, command.text)
    compacting.commit(draft, run, command, failure=missing)
    _go_on(draft, run)


def fail(draft: Draft, command: FailNotes) -> None:
    """No notes: what the cut left stands by itself (S0 Compaction)."""
    run = draft.runtime.compaction
    if run is not None and run.token == command.token:
        compacting.commit(draft, run, _without_notes(run), failure=command.sentence)
        _go_on(draft, run)


def cut_short(draft: Draft, run: CompactionRun) -> None:
    """The budget of a drain is over: finish without notes."""
    draft.perform(CancelSidecar(token=run.token))
    compacting.commit(draft, run, _without_notes(run))
    _go_on(draft, run)


def stop(draft: Draft, open_turn: OpenTurn, run: CompactionRun) -> None:
    """A person ends the turn whose history is being shortened: nothing is shortened."""
    draft.perform(CancelSidecar(token=run.token))
    draft.runtime = replace(draft.runtime, compaction=None)
    draft.move(Phase.PROCESSING)
    consent.close_unlaunched(draft, open_turn, Withdrawal.TURN_STOPPED)
    turn.stop(draft, open_turn)


def _go_on(draft: Draft, run: CompactionRun) -> None:
    """Back to the turn it interrupted, else to Ready and to whoever waits."""
    open_turn = draft.state.turn
    if open_turn is not None:
        draft.move(Phase.PROCESSING)
        _go_on_in_turn(draft, open_turn)
        return
    draft.move(Phase.READY)
    if draft.runtime.drain is not None:
        draft.runtime = replace(draft.runtime, drain_token="")
        draft.perform(CancelTimer(timer=TimerKind.DRAIN_SAFE_POINT))
        passivation.leave(draft)
    else:
        consent_answers.go_on(draft)
        turn.start_next(draft, first=_waiting(draft, run.next_input))


def _go_on_in_turn(draft: Draft, open_turn: OpenTurn) -> None:
    """The boundary is decided once more, because people may have written meanwhile.

    So is what a parked turn waits for: people may have answered.
    """
    if turn.open_call_ids(open_turn):
        consent_answers.go_on(draft)
    elif open_turn.batch:
        tool_batch.pass_boundary_if_reached(draft)
    elif draft.runtime.drain is not None:
        drain.stop_here(draft, open_turn, point="compaction")
    else:
        draft.call_model(open_turn)


def _without_notes(run: CompactionRun) -> FinishNotes:
    return FinishNotes(token=run.token, text="")


def _missing(plan: CompactionPlan, text: str) -> str:
    """Why there are no notes on what was dropped; empty where none are missing."""
    if not plan.dropped or (plan.notes_characters and text.strip()):
        return ""
    return sentences.NOTES_EMPTY if plan.notes_characters else sentences.NOTES_WITHOUT_ROOM


def _waiting(draft: Draft, input_id: InputId | None) -> BufferedInput | None:
    found = (item for item in draft.state.buffered if item.admitted.input_id == input_id)
    return next(found, None)
