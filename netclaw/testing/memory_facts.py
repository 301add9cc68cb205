"""Which journal events of a session in memory are signals, and what they do to notices.

Looked at before the event changes the session, and done once the write has succeeded.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from netclaw.core.ids import InputId, RunId, SessionId, TurnId
from netclaw.core.session import goals
from netclaw.core.session.child_events import ChildEnded, ChildState
from netclaw.core.session.events import NoticeMark
from netclaw.core.session.goal_events import GoalSet, GoalStatus
from netclaw.core.session.run_outcomes import outcome_of
from netclaw.core.signals import custody, events
from netclaw.core.signals.events import SYSTEM, Actor, ActorType, Signal
from netclaw.ports.journal import JournalRow
from netclaw.testing.memory_json import Json, number_of, object_of, objects_of, text_of, texts_of
from netclaw.testing.memory_signals import MemorySignals

if TYPE_CHECKING:
    from netclaw.testing.memory_session import MemorySession


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a fact becomes true."""

    log: MemorySignals
    parent_of: Callable[[SessionId], SessionId | None]
    """The spawn parent of a session, while there is one."""
    is_orphan: Callable[[SessionId], bool]
    now: int

    def record(self, signal: Signal) -> None:
        """Record one change of a session that is somebody's."""
        if not self.is_orphan(signal.target):
            self.log.record(signal, self.parent_of(signal.target), self.now)


Fact = Callable[[Place], None]


def facts_of(session: MemorySession, row: JournalRow, content: Json) -> list[Fact]:
    """What an event that is about to change the session is to the signal log."""
    key = session.new.session_id
    match row.type:
        case "TurnStarted":
            told = _told(key, content)
            return told if content.get("is_aside") else [*told, *_spoken(session, row, content)]
        case "InputJoined":
            return _spoken(session, row, content)
        case "RoundRecorded" | "TurnRecorded":
            return [_closing(key, content, custody.settle)]
        case "TurnFailed":
            return [_closing(key, content, custody.give_back)]
        case "GoalSet":
            return _goal_set(session, row, content)
        case "Compacted":
            compacted = events.compacted(key, operation=f"{key}:{row.seq}", at=row.at)
            return [lambda place: place.record(compacted)]
        case "ChildEnded":
            return _run_ended(session, row, content)
        case "SessionReset":
            return _reset(session, row)
    return []


def _told(key: SessionId, content: Json) -> list[Fact]:
    turn = TurnId(text_of(content, "turn_id"))
    named = objects_of(content, "notices") if "notices" in content else ()
    marks = tuple(
        NoticeMark(target=SessionId(text_of(item, "target")), mark=number_of(item, "mark"))
        for item in named
    )
    return [lambda place: place.log.tell(key, marks, turn, place.now)] if marks else []


def _spoken(session: MemorySession, row: JournalRow, content: Json) -> list[Fact]:
    key = session.new.session_id
    found: list[Signal] = []
    for input_id in texts_of(content, "input_ids"):
        item = session.inputs.get(InputId(input_id))
        if item is None or not item.is_open or item.person is None:
            continue
        actor = Actor(type=ActorType.HUMAN, id=item.person)
        message = events.human_message(key, actor, channel=item.source, at=row.at)
        found.append(replace(message, dedupe_key=f"human:{key}:{input_id}"))

    def speak(place: Place) -> None:
        if place.parent_of(key) is not None or (
            session.new.parent is None and place.log.holders(key)
        ):
            for signal in found:
                place.record(signal)

    return [speak] if found else []


def _closing(
    key: SessionId, content: Json, close: Callable[[custody.Watch], custody.Watch]
) -> Fact:
    turn = TurnId(text_of(content, "turn_id"))
    return lambda place: place.log.close(key, turn, close, place.now)


def _goal_set(session: MemorySession, row: JournalRow, content: Json) -> list[Fact]:
    actor = object_of(content, "actor")
    event = GoalSet(
        text=text_of(content, "text"),
        status=GoalStatus(text_of(content, "status")),
        actor=Actor(type=ActorType(text_of(actor, "type")), id=text_of(actor, "id")),
    )
    if goals.of_event(event) == session.goal:
        return []
    return [_goal_changed(session, row, event)]


def _goal_changed(session: MemorySession, row: JournalRow, event: GoalSet) -> Fact:
    signal = events.goal_changed(
        session.new.session_id,
        event.actor,
        step=goals.step_of(session.goal, event),
        status=event.status.value,
        at=row.at,
    )
    return lambda place: place.record(signal)


def _run_ended(session: MemorySession, row: JournalRow, content: Json) -> list[Fact]:
    run = session.runs.by_id.get(text_of(content, "run_id"))
    if run is None or run.ended_at is not None:
        return []
    event = ChildEnded(
        run_id=RunId(run.run_id),
        state=ChildState(text_of(content, "state")),
        reason=text_of(content, "reason"),
    )
    signal = events.run_ended(run.child, run_id=event.run_id, outcome=outcome_of(event), at=row.at)
    return [lambda place: place.record(signal)]


def _reset(session: MemorySession, row: JournalRow) -> list[Fact]:
    key = session.new.session_id
    found: list[Fact] = []
    if session.goal.text:
        cleared = GoalSet(text="", status=GoalStatus.ACTIVE, actor=SYSTEM)
        found.append(_goal_changed(session, row, cleared))
    found.append(lambda place: _forget_watches(place, key))
    return found


def _forget_watches(place: Place, key: SessionId) -> None:
    place.log.forget(lambda watcher, _target: watcher == key)
