"""What each event changes beside the journal: open turn, inputs, answers, title, counters.

Only these few event types are decoded when they are written; all others are stored as they came.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Generic, TypeVar, cast

from netclaw.core.session.child_events import (
    ChildAccepted,
    ChildCancelAdmitted,
    ChildEnded,
    ChildParked,
    ChildResultDelivered,
    ChildResumed,
    ChildStarted,
)
from netclaw.core.session.consent_events import (
    AnswerDismissed,
    ConsentAnswered,
    ConsentRequested,
    ConsentWithdrawn,
)
from netclaw.core.session.events import (
    AnswerAdmitted,
    Compacted,
    InputJoined,
    SessionEvent,
    SessionReset,
    TitleSet,
    ToolBatchStarted,
    ToolResultRecorded,
    TurnFailed,
    TurnOutcome,
    TurnRecorded,
    TurnStarted,
)
from netclaw.core.session.goal_events import GoalSet, GoalStatus
from netclaw.core.session.job_events import JobEnded, JobReaped, JobReported, JobStarted
from netclaw.store import job_table, open_consents, run_table, send_table
from netclaw.store.connection import Value
from netclaw.store.rows import PendingInput, SessionRow
from netclaw.store.scope import WriteScope

WAITING = "waiting"
RUNNING = "running"
FAILED = "failed"
CLOSED = "closed"

E = TypeVar("E", bound=SessionEvent)

_UPDATE_INPUT = "UPDATE inputs SET outcome = ?, turn = ? WHERE session = ? AND seq = ?"


def _always(row: SessionRow) -> bool:
    del row
    return True


def _has_answers(row: SessionRow) -> bool:
    return bool(row.answers)


def _is_asking(row: SessionRow) -> bool:
    return bool(row.answers or row.consents)


def _is_asking_or_sending(row: SessionRow) -> bool:
    return bool(row.answers or row.consents or row.sent)


@dataclass(frozen=True, slots=True, kw_only=True)
class Projection(Generic[E]):
    """What to do for one event type, and whether it can matter to a session at all."""

    apply: Callable[[WriteScope, SessionRow, int, E], None]
    is_needed: Callable[[SessionRow], bool] = _always


def _turn_started(scope: WriteScope, row: SessionRow, seq: int, event: TurnStarted) -> None:
    del seq
    row.open_turn = event.turn_id
    _run_inputs(scope, row, event.turn_id, event.input_ids)
    if not event.is_aside:
        job_table.list_reaped(scope, row, event.turn_id)


def _input_joined(scope: WriteScope, row: SessionRow, seq: int, event: InputJoined) -> None:
    del seq
    _run_inputs(scope, row, event.turn_id, event.input_ids)


def _run_inputs(scope: WriteScope, row: SessionRow, turn: str, inputs: Iterable[str]) -> None:
    pending = dict(row.pending)
    changes: list[tuple[Value, ...]] = []
    for input_id in inputs:
        known = pending.get(input_id)
        if known is not None:
            pending[input_id] = replace(known, turn=turn)
            changes.append((RUNNING, turn, row.id, known.seq))
    row.set_pending(pending)
    scope.db.run_many(_UPDATE_INPUT, changes)


def _turn_recorded(scope: WriteScope, row: SessionRow, seq: int, event: TurnRecorded) -> None:
    row.turns += 1
    row.turns_recorded += 1
    row.context_tokens = event.context_tokens or row.context_tokens
    _end_turn(scope, row, event.turn_id, event.input_ids, event.outcome.value)
    run_table.end_turn(scope, row, event.turn_id, seq)
    is_completed = event.outcome is TurnOutcome.COMPLETED
    job_table.end_turn(scope, row, event.turn_id, seq, is_completed=is_completed)
    send_table.turn_ended(scope, row, event)


def _turn_failed(scope: WriteScope, row: SessionRow, seq: int, event: TurnFailed) -> None:
    row.turns_failed += 1
    _end_turn(scope, row, event.turn_id, event.input_ids, FAILED)
    run_table.end_turn(scope, row, event.turn_id, seq)
    job_table.end_turn(scope, row, event.turn_id, seq, is_completed=False)
    send_table.turn_ended(scope, row, event)
    _forget_answers(scope, row, event.closed_call_ids)


def _end_turn(
    scope: WriteScope, row: SessionRow, turn: str, consumed: Iterable[str], outcome: str
) -> None:
    """Consume what the turn names; an input that joined it and is not named waits again."""
    pending: dict[str, PendingInput] = dict(row.pending)
    changes: list[tuple[Value, ...]] = []
    for input_id in consumed:
        known = pending.pop(input_id, None)
        if known is not None:
            changes.append((outcome, turn, row.id, known.seq))
    for input_id, known in pending.items():
        if known.turn == turn:
            pending[input_id] = replace(known, turn=None)
            changes.append((WAITING, None, row.id, known.seq))
    row.set_pending(pending)
    scope.db.run_many(_UPDATE_INPUT, changes)
    row.open_turn = None
    open_consents.close_turn(scope, row, turn)


def _compacted(scope: WriteScope, row: SessionRow, seq: int, event: Compacted) -> None:
    del scope, seq
    row.context_tokens = event.tokens_after


def _goal_set(scope: WriteScope, row: SessionRow, seq: int, event: GoalSet) -> None:
    del scope, seq
    row.goal = event.text
    row.goal_status = event.status.value


def _title_set(scope: WriteScope, row: SessionRow, seq: int, event: TitleSet) -> None:
    del scope, seq
    row.title = event.title


def _answer_admitted(scope: WriteScope, row: SessionRow, seq: int, event: AnswerAdmitted) -> None:
    scope.db.run(
        "INSERT OR REPLACE INTO answers (session, call_id, option, answerer, seq)"
        " VALUES (?, ?, ?, ?, ?)",
        (row.id, event.call_id, event.option, event.answerer, seq),
    )
    others = tuple(call for call in row.answers if call != event.call_id)
    row.set_answers((*others, event.call_id))
    open_consents.answer_admitted(scope, row, seq, event)


def _batch_started(scope: WriteScope, row: SessionRow, seq: int, event: ToolBatchStarted) -> None:
    del seq
    _forget_answers(scope, row, event.call_ids)


def _result_recorded(
    scope: WriteScope, row: SessionRow, seq: int, event: ToolResultRecorded
) -> None:
    del seq
    _forget_answers(scope, row, (event.result.call_id,))
    open_consents.close_call(scope, row, event.result.call_id)
    send_table.result_recorded(scope, row, event)


def _consent_answered(scope: WriteScope, row: SessionRow, seq: int, event: ConsentAnswered) -> None:
    del seq
    _forget_answers(scope, row, (event.call_id,))
    open_consents.consent_answered(scope, row, event)


def _consent_withdrawn(
    scope: WriteScope, row: SessionRow, seq: int, event: ConsentWithdrawn
) -> None:
    del seq
    _forget_answers(scope, row, (event.call_id,))
    open_consents.close_call(scope, row, event.call_id)


def _answer_dismissed(scope: WriteScope, row: SessionRow, seq: int, event: AnswerDismissed) -> None:
    """Forget this very answer: another one for the same call may have come meanwhile."""
    del seq
    last = scope.db.row(
        "SELECT option, answerer FROM answers WHERE session = ? AND call_id = ?",
        (row.id, event.call_id),
    )
    if last == (event.option, event.answerer):
        _forget_answers(scope, row, (event.call_id,))
    open_consents.answer_dismissed(scope, row, event)


def _child_ended(scope: WriteScope, row: SessionRow, seq: int, event: ChildEnded) -> None:
    open_consents.child_ended(scope, row, seq, event)
    run_table.run_ended(scope, row, seq, event)


def _forget_answers(scope: WriteScope, row: SessionRow, calls: Iterable[str]) -> None:
    gone = set(calls) & set(row.answers)
    if gone:
        scope.db.run_many(
            "DELETE FROM answers WHERE session = ? AND call_id = ?",
            [(row.id, call) for call in sorted(gone)],
        )
        row.set_answers(tuple(call for call in row.answers if call not in gone))


def _session_reset(scope: WriteScope, row: SessionRow, seq: int, event: SessionReset) -> None:
    """End a life: nothing of it is open any more (decision 90); files and binding stay."""
    row.life = event.life
    row.title = row.goal = ""
    row.goal_status = GoalStatus.ACTIVE.value
    row.turns = 0
    row.context_tokens = 0
    row.open_turn = None
    scope.db.run_many(
        _UPDATE_INPUT,
        [(CLOSED, known.turn, row.id, known.seq) for known in row.pending.values()],
    )
    row.set_pending({})
    row.untold_jobs = 0
    _forget_answers(scope, row, row.answers)
    open_consents.forget_all(scope, row)
    job_table.end_life(scope, row, seq)
    run_table.end_life(scope, row, seq)
    send_table.life_ended(scope, row)


# Each entry pairs an event's name with the function that takes that event, so the cast is safe.
PROJECTIONS: Mapping[str, Projection[SessionEvent]] = {
    event.__name__: cast("Projection[SessionEvent]", projection)
    for event, projection in (
        (TurnStarted, Projection(apply=_turn_started)),
        (InputJoined, Projection(apply=_input_joined)),
        (TurnRecorded, Projection(apply=_turn_recorded)),
        (TurnFailed, Projection(apply=_turn_failed)),
        (Compacted, Projection(apply=_compacted)),
        (TitleSet, Projection(apply=_title_set)),
        (GoalSet, Projection(apply=_goal_set)),
        (AnswerAdmitted, Projection(apply=_answer_admitted)),
        (ToolBatchStarted, Projection(apply=_batch_started, is_needed=_has_answers)),
        (ToolResultRecorded, Projection(apply=_result_recorded, is_needed=_is_asking_or_sending)),
        (ConsentRequested, Projection(apply=open_consents.consent_requested)),
        (ConsentAnswered, Projection(apply=_consent_answered, is_needed=_is_asking)),
        (ConsentWithdrawn, Projection(apply=_consent_withdrawn, is_needed=_is_asking)),
        (AnswerDismissed, Projection(apply=_answer_dismissed, is_needed=_is_asking)),
        (ChildAccepted, Projection(apply=run_table.run_accepted)),
        (ChildStarted, Projection(apply=run_table.run_started)),
        (ChildParked, Projection(apply=run_table.run_parked)),
        (ChildResumed, Projection(apply=run_table.run_resumed)),
        (ChildCancelAdmitted, Projection(apply=run_table.cancel_admitted)),
        (ChildEnded, Projection(apply=_child_ended)),
        (ChildResultDelivered, Projection(apply=run_table.run_delivered)),
        (JobStarted, Projection(apply=job_table.job_started)),
        (JobEnded, Projection(apply=job_table.job_ended)),
        (JobReaped, Projection(apply=job_table.job_reaped)),
        (JobReported, Projection(apply=job_table.job_reported)),
        (SessionReset, Projection(apply=_session_reset)),
    )
}
"""Event type to what it changes."""
