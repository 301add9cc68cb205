"""Which journal events are signals, and what they do to watchers' notices.

Each is looked at before the event changes the tables of `projections`, so that what was so before
it is still there. The store alone does this: no session process can forget or forge a signal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Generic, TypeVar, cast

from netclaw.core.ids import RunId, SessionId, TurnId
from netclaw.core.session import goals
from netclaw.core.session.child_events import ChildAccepted, ChildEnded
from netclaw.core.session.events import (
    Compacted,
    InputJoined,
    NoticeMark,
    RoundRecorded,
    SessionEvent,
    SessionReset,
    TurnFailed,
    TurnRecorded,
    TurnStarted,
)
from netclaw.core.session.goal_events import GoalSet, GoalStatus
from netclaw.core.session.goals import Goal
from netclaw.core.session.run_outcomes import outcome_of
from netclaw.core.signals import custody, events
from netclaw.core.signals.custody import Watch
from netclaw.core.signals.events import SYSTEM, Actor, ActorType
from netclaw.ports.journal import JournalRow
from netclaw.store import signal_log, watch_table
from netclaw.store.rows import PendingInput, SessionRow
from netclaw.store.scope import WriteScope
from netclaw.store.signal_book import SignalBook

E = TypeVar("E", bound=SessionEvent)

_END_LINK = "DELETE FROM session_upstream_links WHERE session_key = ?"
_CHILD_OF_RUN = (
    "SELECT child FROM child_runs WHERE session = ? AND run_id = ? AND ended_seq IS NULL"
)


def _always(row: SessionRow) -> bool:
    del row
    return True


def _has_told(row: SessionRow) -> bool:
    return row.told_notices > 0


@dataclass(frozen=True, slots=True, kw_only=True)
class SignalProjection(Generic[E]):
    """What to record for one event type, and whether it can matter to a session at all."""

    apply: Callable[[WriteScope, SessionRow, JournalRow, E], None]
    is_needed: Callable[[SessionRow], bool] = _always


def _turn_started(scope: WriteScope, row: SessionRow, new: JournalRow, event: TurnStarted) -> None:
    if event.notices:
        _acknowledge(scope, row, event.turn_id, event.notices)
    if not event.is_aside:
        _people_spoke(scope, row, new, event.input_ids)


def _input_joined(scope: WriteScope, row: SessionRow, new: JournalRow, event: InputJoined) -> None:
    _people_spoke(scope, row, new, event.input_ids)


def _acknowledge(
    scope: WriteScope, row: SessionRow, turn: TurnId, marks: Iterable[NoticeMark]
) -> None:
    """The turn tells of these; a savepoint of its own, so that no failing event takes it along."""
    watcher = SessionId(row.key)

    def work(book: SignalBook) -> None:
        told: list[Watch] = []
        for mark in marks:
            before = watch_table.find(scope.db, watcher, mark.target)
            after = None if before is None else custody.tell(before, mark.mark, turn)
            if after is not None and after is not before:
                told.append(after)
                book.tell(custody.change(before, after))
        watch_table.save(scope.db, told, at=scope.now)
        row.told_notices += len(told)

    signal_log.attempt(scope, work)


def _people_spoke(
    scope: WriteScope, row: SessionRow, new: JournalRow, inputs: Iterable[str]
) -> None:
    """What persons wrote, once each: a turn that returned its inputs began with them already."""
    spoken = [
        (input_id, known)
        for input_id in inputs
        if (known := row.pending.get(input_id)) is not None and known.person is not None
    ]
    if not spoken:
        return
    target = SessionId(row.key)

    def work(book: SignalBook) -> None:
        if not _has_audience(scope, row):
            return
        for input_id, known in spoken:
            message = events.human_message(target, _person(known), channel=known.channel, at=new.at)
            once = replace(message, dedupe_key=f"human:{target}:{input_id}")
            signal_log.record(scope, book, once)

    signal_log.attempt(scope, work)


def _person(known: PendingInput) -> Actor:
    return Actor(type=ActorType.HUMAN, id=known.person or "")


def _has_audience(scope: WriteScope, row: SessionRow) -> bool:
    """Whether anybody could ever be told: the spawn parent, or a watcher."""
    if row.parent is not None:
        return signal_log.parent_of(scope, row) is not None
    found = scope.db.row(
        "SELECT 1 FROM session_watch_cursors WHERE target_session_key = ? LIMIT 1", (row.key,)
    )
    return found is not None


def _turn_is_worth_it(
    scope: WriteScope, row: SessionRow, new: JournalRow, event: RoundRecorded | TurnRecorded
) -> None:
    """The first round, or an end with an answer: what the turn told of is told for good."""
    del new
    _close_told(scope, row, event.turn_id, custody.settle)


def _turn_failed(scope: WriteScope, row: SessionRow, new: JournalRow, event: TurnFailed) -> None:
    """It came to nothing before its first round: its notices are open again, in one write."""
    del new
    _close_told(scope, row, event.turn_id, custody.give_back)


def _close_told(
    scope: WriteScope, row: SessionRow, turn: TurnId, close: Callable[[Watch], Watch]
) -> None:
    watcher = SessionId(row.key)

    def work(book: SignalBook) -> None:
        after = []
        for watch in watch_table.told_by(scope.db, watcher):
            if watch.told_turn == turn:
                after.append(close(watch))
                book.tell(custody.change(watch, after[-1]))
        watch_table.save(scope.db, after, at=scope.now)
        row.told_notices = 0

    signal_log.attempt(scope, work)


def _goal_set(scope: WriteScope, row: SessionRow, new: JournalRow, event: GoalSet) -> None:
    before = Goal(text=row.goal, status=GoalStatus(row.goal_status))
    if goals.of_event(event) != before:
        _goal_changed(scope, row, event, event.actor, at=new.at)


def _goal_changed(
    scope: WriteScope, row: SessionRow, event: GoalSet, actor: Actor, *, at: int
) -> None:
    before = Goal(text=row.goal, status=GoalStatus(row.goal_status)) if row.goal else Goal()
    signal = events.goal_changed(
        SessionId(row.key),
        actor,
        step=goals.step_of(before, event),
        status=event.status.value,
        at=at,
    )

    def work(book: SignalBook) -> None:
        if not signal_log.is_orphan(scope, row):
            signal_log.record(scope, book, signal)

    signal_log.attempt(scope, work)


def _compacted(scope: WriteScope, row: SessionRow, new: JournalRow, event: Compacted) -> None:
    del event
    target = SessionId(row.key)
    # A seq is of one event for ever, and what a deleted session recorded is gone.
    signal = events.compacted(target, operation=f"{target}:{new.seq}", at=new.at)

    def work(book: SignalBook) -> None:
        if not signal_log.is_orphan(scope, row):
            signal_log.record(scope, book, signal)

    signal_log.attempt(scope, work)


def _child_ended(scope: WriteScope, row: SessionRow, new: JournalRow, event: ChildEnded) -> None:
    """Recorded for the run's own session, whether or not that still has a journal."""

    def work(book: SignalBook) -> None:
        found = scope.db.row(_CHILD_OF_RUN, (row.id, event.run_id))
        if found is not None:
            _run_ended(scope, book, SessionId(cast("str", found[0])), event, at=new.at)

    signal_log.attempt(scope, work)


def _run_ended(
    scope: WriteScope, book: SignalBook, child: SessionId, event: ChildEnded, *, at: int
) -> None:
    outcome = outcome_of(event)
    signal_log.record(
        scope, book, events.run_ended(child, run_id=event.run_id, outcome=outcome, at=at)
    )


def _session_reset(
    scope: WriteScope, row: SessionRow, new: JournalRow, event: SessionReset
) -> None:
    """A new life wants nothing yet: no goal, it watches nobody, it goes on from no transcript."""
    del event
    if row.goal:
        cleared = GoalSet(text="", status=GoalStatus.ACTIVE, actor=SYSTEM)
        _goal_changed(scope, row, cleared, SYSTEM, at=new.at)

    def work(book: SignalBook) -> None:
        watch_table.remove(scope.db, book, watch_table.of_watcher(scope.db, SessionId(row.key)))
        row.told_notices = 0
        scope.db.run(_END_LINK, (row.key,))

    signal_log.attempt(scope, work)


def child_spawned(
    scope: WriteScope, accepted: ChildAccepted, parent: SessionId, *, at: int
) -> None:
    """The run's session was made: its parent watches it from here on (once per run)."""
    signal = events.child_spawned(
        accepted.session_id, parent=parent, run_id=RunId(accepted.run_id), at=at
    )

    def work(book: SignalBook) -> None:
        event = signal_log.record(scope, book, signal)
        if event in book.events:
            signal_log.seed(scope, book, parent, event)

    signal_log.attempt(scope, work)


# Each entry pairs an event's name with the function that takes that event, so the cast is safe.
SIGNALS: Mapping[str, SignalProjection[SessionEvent]] = {
    event.__name__: cast("SignalProjection[SessionEvent]", projection)
    for event, projection in (
        (TurnStarted, SignalProjection(apply=_turn_started)),
        (InputJoined, SignalProjection(apply=_input_joined)),
        (RoundRecorded, SignalProjection(apply=_turn_is_worth_it, is_needed=_has_told)),
        (TurnRecorded, SignalProjection(apply=_turn_is_worth_it, is_needed=_has_told)),
        (TurnFailed, SignalProjection(apply=_turn_failed, is_needed=_has_told)),
        (GoalSet, SignalProjection(apply=_goal_set)),
        (Compacted, SignalProjection(apply=_compacted)),
        (ChildEnded, SignalProjection(apply=_child_ended)),
        (SessionReset, SignalProjection(apply=_session_reset)),
    )
}
"""Event type to what it records."""
