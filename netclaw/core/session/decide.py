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
from netclaw.core.session import commands as c
from netclaw.core.session import (
    compaction_end,
    drain,
    ending,
    heal,
    memories,
    passivation,
    titles,
    tool_batch,
    turn,
)
from netclaw.core.session.commands import SessionCommand, TimerKind
from netclaw.core.session.draft import Draft
from netclaw.core.session.effects import Decision, Log, ReleaseDeltas
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


def _advance(draft: Draft, command: c.Advance) -> None:
    del command
    if draft.runtime.drain is not None or not draft.state.buffered:
        return
    if draft.runtime.phase is Phase.PASSIVATING:
        passivation.abort(draft)
    if draft.runtime.phase is Phase.READY:
        turn.start_next(draft)


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


def _look_again(draft: Draft, command: c.LookAgain) -> None:
    open_turn = draft.state.turn
    if open_turn is not None and command.token == draft.runtime.model_token:
        draft.runtime = replace(draft.runtime, model_token=None)
        tool_batch.look_again(draft, open_turn)


def _stop_turn(draft: Draft, command: c.StopTurn) -> None:
    open_turn, runtime = draft.state.turn, draft.runtime
    if open_turn is not None and runtime.compaction is not None:
        compaction_end.stop(draft, open_turn, runtime.compaction)
        return
    if open_turn is None or runtime.phase is not Phase.PROCESSING or runtime.is_stop_requested:
        return
    draft.perform(Log(level="info", text=f"turn stopped by {command.actor}"))
    drain.cancel_all(draft)
    if runtime.running:
        draft.runtime = replace(runtime, is_stop_requested=True)
    else:
        turn.stop(draft, open_turn)


def _drain(draft: Draft, command: c.Drain) -> None:
    drain.begin(draft, command)


def _compact(draft: Draft, command: c.Compact) -> None:
    compaction_end.request(draft, command)


def _finish_notes(draft: Draft, command: c.FinishNotes) -> None:
    compaction_end.finish(draft, command)


def _fail_notes(draft: Draft, command: c.FailNotes) -> None:
    compaction_end.fail(draft, command)


def _passivate(draft: Draft, command: c.Passivate) -> None:
    if draft.runtime.drain is not None or draft.state.buffered:
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


def _on_drain_budget(draft: Draft) -> None:
    run = draft.runtime.compaction
    if run is not None:
        compaction_end.cut_short(draft, run)
    else:
        drain.stop_by_force(draft)


def _on_idle(draft: Draft) -> None:
    if draft.state.buffered:
        turn.start_next(draft)
    else:
        passivation.begin(draft, reason="idle", grace_s=draft.settings.tuning.passivation_grace_s)


def _on_grace(draft: Draft) -> None:
    """An input that came meanwhile aborts, unless the daemon drains (S0 Lifecycle)."""
    if draft.state.buffered and draft.runtime.drain is None:
        passivation.abort(draft)
        turn.start_next(draft)
    else:
        passivation.commit(draft)


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
    )
)
"""The rule of each command."""
