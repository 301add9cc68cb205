"""What is done to child runs: cancelled, drained, taken up again, and by whom (S3 "requester")."""

from __future__ import annotations

from dataclasses import replace

from netclaw.core.authority import Authenticity, Authority, Principal, Requester, SourceKind
from netclaw.core.ids import RunId
from netclaw.core.session import consent, open_work, passivation, turn
from netclaw.core.session.after_drain import AfterDrain
from netclaw.core.session.child_commands import CancelChild, EndChild
from netclaw.core.session.child_effects import (
    AnswerChildCancel,
    CancelAnswer,
    ChildAnswer,
    CloseChild,
    DrainChild,
    KillChild,
    StartChild,
    WatchChild,
)
from netclaw.core.session.child_events import (
    ChildCancelAdmitted,
    ChildDispatchClosed,
    ChildEnded,
    ChildResumed,
    ChildState,
)
from netclaw.core.session.child_state import ChildRun
from netclaw.core.session.commands import TimerKind
from netclaw.core.session.consent_events import Withdrawal
from netclaw.core.session.draft import Draft
from netclaw.core.session.effects import StartTimer
from netclaw.core.session.outputs import ChildOutput
from netclaw.core.session.own_run import OWNER_RESTARTED
from netclaw.core.session.phase import Phase
from netclaw.core.session.state import SessionState

CANCELLED_BY_PARENT = "CancelledByParent"

_KEEPS_FILES = frozenset({ChildState.COMPLETED, ChildState.PARTIAL})
"""Ends whose files were confirmed."""


def find(state: SessionState, run_id: RunId) -> ChildRun | None:
    """The run of this name, open or lately closed."""
    return next((run for run in state.children if run.run_id == run_id), None)


def may_control(run: ChildRun, asking: Authority | None) -> bool:
    """Whether a turn may see and cancel a run (S3 "requester"); None is the host's operator.

    The same requester may. A reminder turn and any other turn of the session manage each other's
    runs: then sender and principal do not count, and everything else does.
    """
    if asking is None:
        return True
    owner = run.accepted.authority
    if _is_reminder(owner) or _is_reminder(asking):
        return _place(owner.requester) == _place(asking.requester)
    return owner.requester == asking.requester


def _is_reminder(authority: Authority) -> bool:
    """A webhook may call itself a reminder; only this process can make one."""
    origin = authority.provenance
    return (
        authority.requester.principal is Principal.AUTOMATION
        and origin.source_kind is SourceKind.REMINDER
        and origin.authenticity is Authenticity.LOCAL_PROCESS
    )


def _place(requester: Requester) -> Requester:
    return replace(requester, sender_id=None, principal=Principal.AUTOMATION)


# Cancel and end


def cancel(draft: Draft, command: CancelChild) -> None:
    """Admit a cancel and close the run's gate; its end is a report of its own.

    A run without a process is over at once. Whoever may not cancel it learns nothing of it.
    """
    run = find(draft.state, command.run_id)
    answer = CancelAnswer.ADMITTED
    if run is None or not may_control(run, command.authority):
        answer = CancelAnswer.NOT_FOUND
    elif run.ended is not None or run.state is ChildState.CANCELLING:
        answer = CancelAnswer.ALREADY
    else:
        _cancel(draft, run, command.actor)
    draft.perform(AnswerChildCancel(run_id=command.run_id, actor=command.actor, answer=answer))


def _cancel(draft: Draft, run: ChildRun, actor: str) -> None:
    _withdraw_requests(draft, run)
    draft.record(ChildCancelAdmitted(run_id=run.run_id, actor=actor))
    show(draft, run.run_id)
    if run.is_live:
        draft.perform(CloseChild(run_id=run.run_id))
    else:
        end_cancelled(draft, run)
    settle(draft)


def end_as_reported(draft: Draft, run: ChildRun, command: EndChild) -> None:
    """Record the end that the run's process, or the supervisor in its stead, reports."""
    state = command.state if command.state.is_terminal else ChildState.FAILED
    _end(
        draft,
        run,
        ChildEnded(
            run_id=run.run_id,
            state=state,
            reason=command.reason,
            result_path=command.result_path,
            files=command.files if state in _KEEPS_FILES else (),
        ),
    )


def end_cancelled(draft: Draft, run: ChildRun, *, result_path: str = "") -> None:
    """The end of a run whose cancel was admitted; it starts nothing any more from here on."""
    if not run.is_dispatch_closed:
        draft.record(ChildDispatchClosed(run_id=run.run_id))
    _end(
        draft,
        run,
        ChildEnded(
            run_id=run.run_id,
            state=ChildState.CANCELLED,
            reason=CANCELLED_BY_PARENT,
            result_path=result_path,
        ),
    )


def _end(draft: Draft, run: ChildRun, event: ChildEnded) -> None:
    _withdraw_requests(draft, run)
    draft.record(event)
    show(draft, run.run_id)


def _withdraw_requests(draft: Draft, run: ChildRun) -> None:
    """Decision 49: with the run end its open requests."""
    for item in _on_record(draft, run.run_id).unanswered:
        call_id = item.request.call_id
        consent.withdraw(draft, item.turn_id, call_id, Withdrawal.RUN_ENDED, run_id=run.run_id)


def show(draft: Draft, run_id: RunId) -> None:
    """Tell subscribers what has become of a run on record."""
    run = _on_record(draft, run_id)
    ended = run.ended
    draft.say(
        ChildOutput(
            run_id=run_id,
            agent=run.accepted.agent,
            state=run.state,
            reason=ended.reason if ended else "",
            result_path=ended.result_path if ended else "",
        )
    )


def _on_record(draft: Draft, run_id: RunId) -> ChildRun:
    """The run as this decision leaves it so far."""
    return next(run for run in draft.state.children if run.run_id == run_id)


# Going on


def settle(draft: Draft) -> None:
    """What a change of a run sets free: parked runs, whoever waits, or the exit of a drain.

    While draining no run is started anew: the next start of this session does it.
    """
    if draft.runtime.drain is None:
        _resume_parked(draft)
        turn.wake(draft)
    elif draft.runtime.phase is Phase.READY:
        passivation.leave(draft)


def _resume_parked(draft: Draft) -> None:
    """Start anew every parked run that waits for nobody: all answered, or parked by a drain."""
    for run in draft.state.children:
        if run.ended is None and run.park is not None and not run.unanswered:
            draft.record(ChildResumed(run_id=run.run_id))
            show(draft, run.run_id)
            _start(draft, run.run_id)


def _start(draft: Draft, run_id: RunId) -> None:
    """Have the run's process started, with the answers to its parked calls."""
    run = _on_record(draft, run_id)
    answers = tuple(
        ChildAnswer(call_id=item.request.call_id, option=item.answer or "", answerer=item.answerer)
        for item in run.requests
    )
    draft.perform(StartChild(run_id=run_id, start=run.start, answers=answers))


def heal(draft: Draft) -> None:
    """After a start: watch the runs that are at work, start those that were not seen yet."""
    if draft.runtime.drain is not None:
        return
    for run in open_work.awaited_runs(draft.state):
        if run.is_started:
            draft.perform(WatchChild(run_id=run.run_id, start=run.start))
        else:
            _start(draft, run.run_id)
        if run.state is ChildState.CANCELLING:
            draft.perform(CloseChild(run_id=run.run_id))
    _resume_parked(draft)


# Drain


def begin_drain(draft: Draft, wait_s: float) -> None:
    """Have the runs at work parked within this time (S0: a running sub-agent parks)."""
    runs = open_work.awaited_runs(draft.state)
    if not runs:
        return
    then = _after_drain(draft)
    draft.perform(
        *(
            DrainChild(run_id=run.run_id, start=run.start, budget_s=wait_s, then=then)
            for run in runs
        )
    )
    token = draft.make_id()
    draft.runtime = replace(draft.runtime, child_drain_token=token)
    draft.perform(StartTimer(timer=TimerKind.CHILD_DRAIN, token=token, after_s=wait_s))


def _after_drain(draft: Draft) -> AfterDrain:
    """What follows for a run: that its session alone is stopped does not end its turn."""
    drain = draft.runtime.drain
    if drain is None or drain.then is AfterDrain.NOTHING:
        return AfterDrain.PARENT_STOP
    return drain.then


def give_up(draft: Draft) -> None:
    """The time is over: a run that did not park ends, and its tools do not run again."""
    for run in open_work.awaited_runs(draft.state):
        draft.perform(KillChild(run_id=run.run_id))
        if run.state is ChildState.CANCELLING:
            end_cancelled(draft, run)
        else:
            lost = ChildEnded(run_id=run.run_id, state=ChildState.LOST, reason=OWNER_RESTARTED)
            _end(draft, run, lost)
    settle(draft)
