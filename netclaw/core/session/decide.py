"""Answers a command with events and effects; only looks up which rule does so.

`decide` is total: a stale or unexpected command changes nothing. Only an illegal phase move
raises, because that is a fault of this program.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar, cast

from netclaw.core.ids import IdMaker
from netclaw.core.redaction import redact_shapes
from netclaw.core.session import (
    asides,
    child_control,
    child_runs,
    compaction_end,
    consent,
    consent_answers,
    drain,
    ending,
    heal,
    jobs,
    memories,
    open_work,
    passivation,
    titles,
    tool_batch,
    turn,
    watches,
)
from netclaw.core.session import child_commands as child
from netclaw.core.session import commands as c
from netclaw.core.session import job_commands as job
from netclaw.core.session.child_effects import ReportGateClosed
from netclaw.core.session.commands import SessionCommand, TimerKind
from netclaw.core.session.consent_events import Withdrawal
from netclaw.core.session.draft import Draft
from netclaw.core.session.effects import CancelSidecar, Decision, Log, ReleaseDeltas
from netclaw.core.session.events import OutputStarted
from netclaw.core.session.outputs import OutputFilter
from netclaw.core.session.phase import Phase
from netclaw.core.session.state import Runtime, SessionState
from netclaw.core.settings import SessionSettings

_Command = TypeVar("_Command", bound=SessionCommand)
_Rule = Callable[[Draft, SessionCommand], None]


def decide(
    state: SessionState,
    runtime: Runtime,
    command: SessionCommand,
    *,
    now_ms: int,
    make_id: IdMaker,
    settings: SessionSettings,
    redact: Callable[[str], str] = redact_shapes,
) -> Decision:
    """What follows from this command now; the caller commits and performs it.

    `redact` is applied to arguments that subscribers see. Raises `IllegalTransitionError` only
    if a rule is wrong.
    """
    if runtime.is_exiting:
        return Decision(runtime=runtime)
    draft = Draft(state, runtime, now_ms=now_ms, make_id=make_id, settings=settings, redact=redact)
    RULES[type(command)](draft, command)
    return draft.decision()


def _recover(draft: Draft, command: c.Recover) -> None:
    del command
    if draft.runtime.phase is Phase.RECOVERING:
        heal.recover(draft)
        _go_on(draft)


def _advance(draft: Draft, command: c.Advance) -> None:
    del command
    stop = asides.asked_to_stop(draft.state)
    if stop is not None:
        _stop(draft, stop.admitted.authority.requester.sender_id or "/stop")
    _go_on(draft)


def _go_on(draft: Draft) -> None:
    """Take up what may go on by now: a batch that waited for people, else the next turn.

    Answers that come while the history is shortened are due at its end, whatever that end is.
    """
    if draft.runtime.drain is not None:
        return
    if consent_answers.is_due(draft):
        consent_answers.wake(draft)
    child_control.settle(draft)


def _has_work(draft: Draft) -> bool:
    """Whether anything may go on by now, or keeps the session up until it can."""
    if open_work.holds_session(draft.state):
        return True
    return consent_answers.is_due(draft) or open_work.next_up(draft.state) is not None


def _finish_round(draft: Draft, command: c.FinishRound) -> None:
    open_turn = draft.state.turn
    if open_turn is not None and command.token == draft.runtime.model_token:
        draft.runtime = replace(draft.runtime, model_token=None)
        ending.classify(draft, open_turn, command)


def _fail_round(draft: Draft, command: c.FailRound) -> None:
    open_turn = draft.state.turn
    if open_turn is not None and command.token == draft.runtime.model_token:
        draft.runtime = replace(draft.runtime, model_token=None)
        if command.is_context_overflow and compaction_end.replay(draft, open_turn):
            return
        turn.fail(
            draft,
            open_turn,
            category=command.category,
            sentence=command.sentence,
            reference=command.reference,
        )


def _begin_output(draft: Draft, command: c.BeginOutput) -> None:
    open_turn = draft.state.turn
    is_seen = bool(draft.runtime.interest & OutputFilter.TEXT_STREAMING)
    if open_turn is None or command.token != draft.runtime.model_token or not is_seen:
        return
    if not open_turn.has_text_out:
        draft.record(OutputStarted(turn_id=open_turn.turn_id, round=open_turn.rounds))
    draft.perform(ReleaseDeltas(token=command.token))


def _finish_tool(draft: Draft, command: c.FinishTool) -> None:
    tool_batch.finish_call(draft, command)


def _finish_recheck(draft: Draft, command: c.FinishRecheck) -> None:
    consent_answers.finish_recheck(draft, command)


def _look_again(draft: Draft, command: c.LookAgain) -> None:
    open_turn = draft.state.turn
    if open_turn is not None and command.token == draft.runtime.model_token:
        draft.runtime = replace(draft.runtime, model_token=None)
        tool_batch.look_again(draft, open_turn)


def _stop_turn(draft: Draft, command: c.StopTurn) -> None:
    _stop(draft, command.actor)
    _go_on(draft)


def _stop(draft: Draft, actor: str) -> None:
    open_turn, runtime = draft.state.turn, draft.runtime
    if open_turn is not None and runtime.compaction is not None:
        compaction_end.stop(draft, open_turn, runtime.compaction)
        return
    is_at_work = runtime.phase is Phase.PROCESSING and not runtime.is_stop_requested
    is_at_rest = runtime.phase in (Phase.READY, Phase.PASSIVATING) and runtime.drain is None
    if open_turn is None or not (is_at_work or is_at_rest):
        return
    draft.perform(Log(level="info", text=f"turn stopped by {actor}"))
    if runtime.phase is Phase.PASSIVATING:
        passivation.abort(draft)
    drain.cancel_all(draft)
    consent.close_unlaunched(draft, open_turn, Withdrawal.TURN_STOPPED)
    if runtime.running:
        draft.runtime = replace(draft.runtime, is_stop_requested=True)
    else:
        turn.stop(draft, open_turn)


def _drain(draft: Draft, command: c.Drain) -> None:
    drain.begin(draft, command)


def _compact(draft: Draft, command: c.Compact) -> None:
    compaction_end.request(draft, command)


def _finish_notes(draft: Draft, command: c.FinishNotes) -> None:
    compaction_end.finish(draft, command)
    _go_on(draft)


def _fail_notes(draft: Draft, command: c.FailNotes) -> None:
    compaction_end.fail(draft, command)
    _go_on(draft)


def _passivate(draft: Draft, command: c.Passivate) -> None:
    if draft.runtime.drain is not None or _has_work(draft):
        return
    if draft.runtime.phase in (Phase.READY, Phase.PASSIVATING):
        passivation.begin(draft, reason=command.reason, grace_s=0.0)


def _fire_timer(draft: Draft, command: c.FireTimer) -> None:
    timer, token, runtime = command.timer, command.token, draft.runtime
    if timer is TimerKind.IDLE and token and token == runtime.idle_token:
        _on_idle(draft)
    elif timer is TimerKind.PASSIVATION_GRACE and token and token == runtime.grace_token:
        _on_grace(draft)
    elif timer is TimerKind.DRAIN_SAFE_POINT and token and token == runtime.drain_token:
        _on_drain_budget(draft)
    elif timer is TimerKind.CHILD_DRAIN and token and token == runtime.child_drain_token:
        child_control.give_up(draft)


def _on_drain_budget(draft: Draft) -> None:
    run = draft.runtime.compaction
    if run is not None:
        compaction_end.cut_short(draft, run)
    else:
        drain.stop_by_force(draft)


def _on_idle(draft: Draft) -> None:
    draft.runtime = replace(draft.runtime, idle_token="")
    if _has_work(draft):
        _go_on(draft)
    else:
        passivation.begin(draft, reason="idle", grace_s=draft.settings.tuning.passivation_grace_s)


def _on_grace(draft: Draft) -> None:
    """An input that came meanwhile aborts, unless the daemon drains (S0 Lifecycle)."""
    if draft.runtime.drain is None and _has_work(draft):
        passivation.abort(draft)
        _go_on(draft)
    else:
        passivation.commit(draft)


def _close_gate(draft: Draft, command: child.CloseGate) -> None:
    """A cancelled run: no model, no tool, no answer from here on (S3 "check_agent_run")."""
    del command
    drain.cancel_all(draft)
    notes = draft.runtime.compaction
    if notes is not None:
        draft.perform(CancelSidecar(token=notes.token))
    draft.runtime = replace(draft.runtime, is_exiting=True)
    draft.perform(ReportGateClosed())


def _change_interest(draft: Draft, command: c.ChangeInterest) -> None:
    draft.runtime = replace(draft.runtime, interest=command.interest)


def _rule(
    kind: type[_Command], rule: Callable[[Draft, _Command], None]
) -> tuple[type[SessionCommand], _Rule]:
    return cast("tuple[type[SessionCommand], _Rule]", (kind, rule))


RULES: dict[type[SessionCommand], _Rule] = dict(
    (
        _rule(c.Recover, _recover),
        _rule(c.Advance, _advance),
        _rule(c.FinishRound, _finish_round),
        _rule(c.FailRound, _fail_round),
        _rule(c.BeginOutput, _begin_output),
        _rule(c.FinishTool, _finish_tool),
        _rule(c.FinishRecheck, _finish_recheck),
        _rule(c.LookAgain, _look_again),
        _rule(c.StopTurn, _stop_turn),
        _rule(c.Drain, _drain),
        _rule(c.Compact, _compact),
        _rule(c.FinishNotes, _finish_notes),
        _rule(c.FailNotes, _fail_notes),
        _rule(c.FinishTitle, titles.finish),
        _rule(c.FailTitle, titles.fail),
        _rule(c.FinishDistillation, memories.finish_distillation),
        _rule(c.Passivate, _passivate),
        _rule(c.FireTimer, _fire_timer),
        _rule(c.ChangeInterest, _change_interest),
        _rule(c.NoticesChanged, watches.change_notices),
        _rule(child.AcceptChild, child_runs.accept),
        _rule(child.BeginChild, child_runs.begin),
        _rule(child.ParkChild, child_runs.park),
        _rule(child.CloseChildDispatch, child_runs.close_dispatch),
        _rule(child.EndChild, child_runs.end),
        _rule(child.CancelChild, child_control.cancel),
        _rule(child.CloseGate, _close_gate),
        _rule(job.StartJob, jobs.start),
        _rule(job.EndJob, jobs.end),
        _rule(job.CancelJob, jobs.cancel),
    )
)
"""The rule of each command."""
