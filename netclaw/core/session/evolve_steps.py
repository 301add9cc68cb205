"""What each event does to the state beside adding to the history; one function per event."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from netclaw.core.context import working_context
from netclaw.core.context.working_context import WorkingContext
from netclaw.core.ids import CallId, InputId, TurnId
from netclaw.core.session import exposure, loop_guard, own_run
from netclaw.core.session.compaction import shortened
from netclaw.core.session.events import (
    AnswerAdmitted,
    Compacted,
    CrashRecorded,
    DrainStopped,
    InputAdmitted,
    InputJoined,
    OutputStarted,
    Passivated,
    Recorded,
    Resumed,
    RoundRecorded,
    SessionCreated,
    SessionEvent,
    SessionReset,
    ToolBatchStarted,
    ToolResultRecorded,
    TurnFailed,
    TurnOutcome,
    TurnRecorded,
    TurnStarted,
)
from netclaw.core.session.evolve_children import close_delivered
from netclaw.core.session.evolve_jobs import drop_told
from netclaw.core.session.evolve_messages import (
    find_open,
    is_complete,
    with_result,
    without_inputs,
    without_notices,
)
from netclaw.core.session.loop_guard_state import GuardState
from netclaw.core.session.state import BufferedInput, CallState, OpenTurn, SessionState

RECENT_SOURCE_IDS = 256
"""How many source message ids the state remembers; the store remembers all of them."""


def session_created(state: SessionState, recorded: Recorded, event: SessionCreated) -> SessionState:
    """The session has its identity."""
    return replace(
        state,
        session_id=event.session_id,
        kind=event.kind,
        channel=event.channel,
        audience=event.audience,
        life=event.life,
        last_activity_at=recorded.at,
    )


def session_reset(state: SessionState, recorded: Recorded, event: SessionReset) -> SessionState:
    """A new life: everything but identity and the remembered source ids is forgotten."""
    return SessionState(
        session_id=state.session_id,
        kind=state.kind,
        channel=state.channel,
        audience=state.audience,
        life=event.life,
        recent_source_ids=state.recent_source_ids,
        last_activity_at=recorded.at,
    )


def input_admitted(state: SessionState, recorded: Recorded, event: InputAdmitted) -> SessionState:
    """The input waits at the end of the buffer."""
    item = BufferedInput(seq=recorded.seq, at=recorded.at, admitted=event)
    known = state.recent_source_ids
    if event.source_message_id is not None:
        known = (*known, event.source_message_id)[-RECENT_SOURCE_IDS:]
    return replace(
        state,
        buffered=(*state.buffered, item),
        recent_source_ids=known,
        last_activity_at=recorded.at,
    )


def answer_admitted(state: SessionState, recorded: Recorded, event: AnswerAdmitted) -> SessionState:
    """An answer waits until it is acted on or dismissed, whether or not its call is open."""
    return replace(state, answers=(*state.answers, event), last_activity_at=recorded.at)


def crash_recorded(state: SessionState, recorded: Recorded, event: CrashRecorded) -> SessionState:
    """The open turn has one crash more against it (decision 5)."""
    del recorded
    turn = _open(state, event.turn_id)
    if turn is None:
        return state
    return replace(state, turn=replace(turn, crashes=turn.crashes + 1))


def turn_started(state: SessionState, recorded: Recorded, event: TurnStarted) -> SessionState:
    """The named inputs leave the buffer and are the open turn's."""
    taken, left = _split(state.buffered, event.input_ids)
    return replace(
        state,
        buffered=left,
        in_turn=taken,
        turn=OpenTurn(
            turn_id=event.turn_id,
            authority=event.authority,
            input_ids=event.input_ids,
            started_at=recorded.at,
            working=WorkingContext(
                directory=state.working_directory, recent_files=state.recent_files
            ),
            is_aside=event.is_aside,
            notices=event.notices,
        ),
        last_activity_at=recorded.at,
    )


def input_joined(state: SessionState, recorded: Recorded, event: InputJoined) -> SessionState:
    """More inputs are the open turn's, on trial until the next recorded round.

    A person's word is a new start for the loop guard too (S0 "Loop guard").
    """
    turn = _open(state, event.turn_id)
    if turn is None:
        return state
    taken, left = _split(state.buffered, event.input_ids)
    is_person = any(item.admitted.authority.is_of_person for item in taken)
    return replace(
        state,
        buffered=left,
        in_turn=state.in_turn + taken,
        turn=replace(
            turn,
            input_ids=turn.input_ids + event.input_ids,
            joined_since_round=turn.joined_since_round + event.input_ids,
            guard=GuardState() if is_person else turn.guard,
        ),
        last_activity_at=recorded.at,
    )


def output_started(state: SessionState, recorded: Recorded, event: OutputStarted) -> SessionState:
    """Text may have reached a person from here on."""
    del recorded
    turn = _open(state, event.turn_id)
    if turn is None:
        return state
    return replace(state, turn=replace(turn, has_text_out=True))


def round_recorded(state: SessionState, recorded: Recorded, event: RoundRecorded) -> SessionState:
    """The open batch is this round's calls, none of them launched."""
    turn = _open(state, event.turn_id)
    if turn is None:
        return state
    reported = event.context_tokens or event.usage.input_tokens
    meter = state.meter.learned(event.request_size, reported)
    return replace(
        state,
        turn=replace(
            turn,
            rounds=event.round + 1,
            batch=tuple(CallState(call=call) for call in event.message.calls),
            has_text_out=turn.has_text_out or event.is_text_released,
            joined_since_round=(),
            usage=turn.usage.plus(event.usage),
            resume_until=0,
        ),
        last_input_tokens=reported or meter.tokens(event.request_size.total),
        meter=meter,
        leases=exposure.use(
            state.leases, (call.name for call in event.message.calls), at=recorded.seq
        ),
        last_activity_at=recorded.at,
    )


def tool_batch_started(
    state: SessionState, recorded: Recorded, event: ToolBatchStarted
) -> SessionState:
    """These calls are launched: from here on each has a result or is Interrupted."""
    del recorded
    turn = _open(state, event.turn_id)
    if turn is None:
        return state
    started = frozenset(event.call_ids)
    batch = tuple(
        replace(item, is_launched=True) if item.call.call_id in started else item
        for item in turn.batch
    )
    return replace(
        state,
        turn=replace(turn, batch=batch, has_launched=True, resume_until=0),
        answers=_answers_left(state, started),
    )


def tool_result_recorded(
    state: SessionState, recorded: Recorded, event: ToolResultRecorded
) -> SessionState:
    """The call has its one result; a second one changes nothing."""
    turn = _open(state, event.turn_id)
    if turn is None or find_open(state, event.result.call_id) is None:
        return state
    batch = with_result(turn, event.result)
    guard = loop_guard.observe(turn.guard, batch) if is_complete(batch) else turn.guard
    return replace(
        state,
        turn=replace(turn, batch=batch, guard=guard),
        answers=_answers_left(state, frozenset({event.result.call_id})),
        recent_files=working_context.with_activity(state.recent_files, event.result.receipt),
        run=own_run.with_files(state.run, event.result.receipt),
        leases=exposure.load(state.leases, event.result.loaded_tool, at=recorded.seq),
        last_activity_at=recorded.at,
    )


def turn_recorded(state: SessionState, recorded: Recorded, event: TurnRecorded) -> SessionState:
    """The turn is over and its inputs are consumed."""
    is_completed = event.outcome is TurnOutcome.COMPLETED
    after = _consume(state, event.turn_id, event.input_ids, is_completed=is_completed)
    meter = state.meter.learned(event.request_size, event.context_tokens)
    tokens = event.context_tokens or meter.tokens(event.request_size.total)
    return replace(
        after,
        turns=state.turns + 1,
        last_input_tokens=tokens or state.last_input_tokens,
        meter=meter,
        run=own_run.with_end(state.run, event, crashes=state.crashes),
        last_activity_at=recorded.at,
    )


def turn_failed(state: SessionState, recorded: Recorded, event: TurnFailed) -> SessionState:
    """The turn is over; listed inputs are consumed, its other inputs wait again."""
    returned = _returned(state, event)
    untold = event.turn_id if _is_untold(state, event) else None
    after = _consume(state, event.turn_id, event.input_ids, is_completed=False)
    return replace(
        after,
        answers=_answers_left(state, frozenset(event.closed_call_ids)),
        history=without_notices(without_inputs(state.history, returned), untold),
        turns=state.turns + 1,
        run=own_run.with_end(state.run, event, crashes=state.crashes),
        last_activity_at=recorded.at,
    )


def compacted(state: SessionState, recorded: Recorded, event: Compacted) -> SessionState:
    """Notes and what was kept are the history now; the token count starts anew (S0 Compaction)."""
    history = shortened(
        state.history,
        cleared_call_ids=event.cleared_call_ids,
        kept_messages=event.kept_messages,
        kept_input_ids=event.kept_input_ids,
        notes=event.notes,
        at=recorded.at,
    )
    return replace(state, history=history, last_input_tokens=0)


def drain_stopped(state: SessionState, recorded: Recorded, event: DrainStopped) -> SessionState:
    """The open turn waits for the next start; the person may know already."""
    del recorded
    turn = _open(state, event.turn_id)
    if turn is None:
        return state
    stopped = replace(
        turn,
        is_stopped=True,
        is_person_told_of_stop=event.is_person_told,
        resume_until=event.deadline_at,
    )
    return replace(state, turn=stopped)


def resumed(state: SessionState, recorded: Recorded, event: Resumed) -> SessionState:
    """The open turn goes on; inputs joined after its last round wait again (protocol)."""
    turn = _open(state, event.turn_id)
    if turn is None:
        return state
    returned = frozenset(turn.joined_since_round)
    back, kept = _split(state.in_turn, returned)
    return replace(
        state,
        history=without_inputs(state.history, returned),
        buffered=_in_order(state.buffered, back),
        in_turn=kept,
        turn=replace(
            turn,
            input_ids=tuple(item.admitted.input_id for item in kept),
            joined_since_round=(),
            is_stopped=False,
            is_person_told_of_stop=False,
        ),
        last_activity_at=recorded.at,
    )


def passivated(state: SessionState, recorded: Recorded, event: Passivated) -> SessionState:
    """Nothing but the mark that it was the last event (see `evolve`)."""
    del recorded, event
    return state


def _open(state: SessionState, turn_id: str | None) -> OpenTurn | None:
    turn = state.turn
    return turn if turn is not None and turn.turn_id == turn_id else None


def _answers_left(state: SessionState, call_ids: frozenset[CallId]) -> tuple[AnswerAdmitted, ...]:
    """The answers that still wait once these calls were launched or have a result."""
    if not state.answers:
        return ()
    return tuple(item for item in state.answers if item.call_id not in call_ids)


def _split(
    items: tuple[BufferedInput, ...], input_ids: Iterable[InputId]
) -> tuple[tuple[BufferedInput, ...], tuple[BufferedInput, ...]]:
    wanted = frozenset(input_ids)
    taken = tuple(item for item in items if item.admitted.input_id in wanted)
    left = tuple(item for item in items if item.admitted.input_id not in wanted)
    return taken, left


def _in_order(
    buffered: tuple[BufferedInput, ...], back: tuple[BufferedInput, ...]
) -> tuple[BufferedInput, ...]:
    if not back:
        return buffered
    return tuple(sorted((*buffered, *back), key=lambda item: item.seq))


def takes_messages_away(state: SessionState, event: SessionEvent) -> bool:
    """Whether the step of this event needs the whole history, not only to add to it."""
    if isinstance(event, TurnFailed):
        return bool(_returned(state, event)) or _is_untold(state, event)
    return isinstance(event, SessionReset | Compacted | Resumed)


def _returned(state: SessionState, event: TurnFailed) -> frozenset[InputId]:
    if _open(state, event.turn_id) is None:
        return frozenset()
    return frozenset(item.admitted.input_id for item in state.in_turn) - set(event.input_ids)


def _is_untold(state: SessionState, event: TurnFailed) -> bool:
    """Whether the turn had notices and came to nothing: they are open again (ADR 0045)."""
    turn = _open(state, event.turn_id)
    return turn is not None and bool(turn.notices) and turn.rounds == 0


def _consume(
    state: SessionState,
    turn_id: TurnId,
    input_ids: tuple[InputId, ...],
    *,
    is_completed: bool,
) -> SessionState:
    """Drop these inputs and close the turn: what it does not list waits again, in order."""
    _, waiting = _split(state.buffered, input_ids)
    turn = _open(state, turn_id)
    if turn is None:
        return replace(state, buffered=waiting)
    _, back = _split(state.in_turn, input_ids)
    return replace(
        state,
        buffered=_in_order(waiting, back),
        in_turn=(),
        turn=None,
        leases=state.leases if turn.is_aside else exposure.end_turn(state.leases),
        children=close_delivered(state.children, turn_id),
        jobs=drop_told(state.jobs, turn_id, are_listed=is_completed and not turn.is_aside),
    )
