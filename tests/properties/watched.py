"""Sessions that the state machine's session watches, and what it must have told of them.

The log and the watcher's rows follow the journal as the store does; the promises are checked on
the journal alone: what was told of each target, line by line, without the rows.
"""

from __future__ import annotations

from dataclasses import dataclass

from netclaw.core.ids import SessionId
from netclaw.core.messages import Message, NoteKind, NoteMessage
from netclaw.core.session import events as ev
from netclaw.core.session.state import OpenTurn
from netclaw.core.signals import custody, events, notices
from netclaw.core.signals.cursors import Notice, NoticeChange
from netclaw.core.signals.events import Actor, ActorType
from netclaw.testing.memory_signals import MemorySignals
from netclaw.testing.people import SESSION

TARGETS = (SessionId("cli/one"), SessionId("cli/two"), SessionId("cli/three"))
ADA = Actor(type=ActorType.HUMAN, id="ada")
SELF = Actor(type=ActorType.AGENT, id=SESSION)


@dataclass
class Told:
    """The notices of the turn that is open, and whether it came to something by now."""

    turn_id: str
    marks: tuple[ev.NoticeMark, ...]


class Watched:
    """The signal log of a world; raises AssertionError where a promise is broken."""

    def __init__(self) -> None:
        self.log = MemorySignals()
        for target in TARGETS:
            self.log.watch(SESSION, target, 0)
        self.seen: dict[SessionId, int] = dict.fromkeys(TARGETS, 0)
        """Up to where the session was told of each target, by turns that came to something."""
        self.due: dict[SessionId, int] = dict.fromkeys(TARGETS, 0)
        """The last change of each target that it has to be told of."""
        self.lines: dict[SessionId, str] = {}
        """The line of each notice that is open."""
        self.told: Told | None = None

    def change(self, target: SessionId, *, by_itself: bool = False) -> tuple[NoticeChange, ...]:
        """Somebody, or the session itself, changes a target; what its process must know."""
        actor = SELF if by_itself else ADA
        signal = events.goal_changed(
            target, actor, step=events.GoalStep.REWORDED, status="active", at=0
        )
        sequence = self.log.record(signal, None, 0).sequence
        if not by_itself:
            self.due[target] = sequence
        return self._take()

    def follow(self, event: ev.SessionEvent) -> tuple[NoticeChange, ...]:
        """Move the watcher's rows by an event of its journal."""
        match event:
            case ev.TurnStarted() if event.notices:
                self._check_told(event)
                self.told = Told(turn_id=event.turn_id, marks=event.notices)
                self.log.tell(SESSION, event.notices, event.turn_id, 0)
            case ev.RoundRecorded() | ev.TurnRecorded():
                self.log.close(SESSION, event.turn_id, custody.settle, 0)
                self._came_to_something(event.turn_id)
            case ev.TurnFailed():
                self.log.close(SESSION, event.turn_id, custody.give_back, 0)
                self.told = None
            case _:
                pass
        return self._take()

    @property
    def open(self) -> tuple[Notice, ...]:
        """What the session has to be told."""
        return self.log.open_notices(SESSION)

    def check_request(self, turn: OpenTurn, messages: tuple[Message, ...]) -> None:
        """The first request of a turn holds its lines, each once."""
        if turn.rounds or turn.is_aside:
            return
        texts = [
            item.text
            for item in messages
            if isinstance(item, NoteMessage)
            and item.kind is NoteKind.NOTICES
            and item.turn_id == turn.turn_id
        ]
        lines = [notices.line(mark.target, mark.since) for mark in turn.notices]
        assert texts == (["\n".join(lines)] if lines else []), "a line is missing or doubled"

    def check_rest(self) -> None:
        """With nothing left to do, everything was told."""
        assert self.open == ()
        assert self.seen == self.due, "something was never told"

    def _take(self) -> tuple[NoticeChange, ...]:
        committed = self.log.take()
        changes = committed.notices if committed is not None else ()
        for change in changes:
            if change.notice is None:
                self.lines.pop(change.target, None)
                continue
            line = notices.line(change.target, change.notice.since)
            known = self.lines.setdefault(change.target, line)
            is_given_back = change.reopened > 0
            is_next = self.told is not None
            assert known == line or is_given_back or is_next, "a line changed while it was open"
            self.lines[change.target] = line
        return changes

    def _check_told(self, event: ev.TurnStarted) -> None:
        assert not event.is_aside, "netclaw's own answer took a notice"
        for mark in event.notices:
            assert mark.since == self.seen[mark.target], "a change was told twice or passed over"
            assert self.seen[mark.target] < mark.mark <= self.due[mark.target]
            assert self.lines[mark.target] == notices.line(mark.target, mark.since)

    def _came_to_something(self, turn_id: str) -> None:
        if self.told is not None and self.told.turn_id == turn_id:
            for mark in self.told.marks:
                self.seen[mark.target] = mark.mark
            self.told = None
