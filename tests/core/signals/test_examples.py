"""The worked examples of state awareness, each as the history of a log.

P is the parent of C, Q another session that watches C. Sequences are global, so the examples begin
where they begin by letting other sessions write first.
"""

from __future__ import annotations

import pytest

from netclaw.core.ids import RunId, SessionId, TurnId
from netclaw.core.session.events import NoticeMark
from netclaw.core.signals import custody, events, notices
from netclaw.core.signals.cursors import Cursor
from netclaw.core.signals.events import RunOutcome, Signal, SignalEvent
from netclaw.core.signals.history import Head
from netclaw.ports.signals import SignalLimits
from netclaw.testing.memory_signals import MemorySignals
from tests.core.signals.people import RUN, C, D, P, Q, agent, goal, human

DAY_MS = 24 * 3_600_000


class History:
    """A log in which P spawned C at sequence 12, and what its watchers are told."""

    def __init__(self) -> None:
        self.log = MemorySignals()
        self.turns = 0
        self.parents = {C: P}
        self.until(11)
        self.spawn()

    def until(self, sequence: int) -> None:
        """Let other sessions write up to this sequence."""
        while self.log.newest < sequence:
            self.record(events.compacted(D, operation=str(self.log.newest), at=0))

    def spawn(self, run: str = RUN) -> SignalEvent:
        event = self.record(events.child_spawned(C, parent=P, run_id=RunId(run), at=0))
        self.log.seed(P, event, 0)
        return event

    def record(self, signal: Signal) -> SignalEvent:
        return self.log.record(signal, self.parents.get(signal.target), signal.occurred_at)

    def marks(self, watcher: SessionId = P) -> tuple[int, int, int]:
        cursor = self.cursor(watcher)
        return (cursor.seen, cursor.notified, cursor.material)

    def cursor(self, watcher: SessionId = P) -> Cursor:
        return self.log.watches[(watcher, C)].cursor

    def turn(self, watcher: SessionId = P) -> list[int]:
        """The watcher takes a turn that comes to something; the versions of its lines."""
        self.turns += 1
        turn = TurnId(f"t{self.turns}")
        due = notices.due(self.log.open_notices(watcher))
        marks = tuple(NoticeMark(target=n.target, mark=n.mark, since=n.since) for n in due)
        self.log.tell(watcher, marks, turn, 0)
        self.log.close(watcher, turn, custody.settle, 0)
        return [notice.since for notice in due]

    def since(self, version: int) -> list[int]:
        return [event.sequence for event in self.log.changes(C, version, 200).events]


@pytest.mark.requirement("signals.seed")
@pytest.mark.requirement("signals.follow-up")
def test_1_the_first_event() -> None:
    told = History()
    assert told.marks() == (12, 12, 12)
    assert told.turn() == []
    assert told.record(human(C)).sequence == 13
    assert told.marks() == (12, 13, 13)
    assert told.turn() == [12]


@pytest.mark.requirement("signals.follow-up")
@pytest.mark.parametrize("size", [2, 3, 20, 200])
def test_2_a_burst_of_any_size_is_two_lines_in_two_turns(size: int) -> None:
    told = History()
    for _ in range(size):
        told.record(human(C))
    last = 12 + size
    assert told.marks() == (12, 13, last)
    assert told.turn() == [12]
    assert told.since(12) == list(range(13, last + 1)), "looking back moves nothing"
    assert told.marks() == (13, last, last)
    assert told.turn() == [13]
    assert told.marks() == (last, last, last)
    assert told.turn() == []


@pytest.mark.requirement("signals.follow-up")
def test_3_an_event_between_opening_and_consuming() -> None:
    told = History()
    told.record(goal(C))
    told.record(events.run_ended(C, run_id=RUN, outcome=RunOutcome.COMPLETED, at=0))
    told.record(human(C))
    assert told.marks() == (12, 13, 15)
    assert told.turn() == [12]
    assert told.marks() == (13, 15, 15)
    assert told.turn() == [13]
    assert told.marks() == (15, 15, 15)


@pytest.mark.requirement("signals.self-suppression")
def test_4_what_the_watcher_did_itself() -> None:
    told = History()
    told.record(goal(C, agent(P)))
    assert told.marks() == (12, 12, 12)
    assert told.log.head(C).last == 13
    assert told.turn() == []
    told.record(human(C))
    assert told.marks() == (12, 14, 14)
    assert told.turn() == [12]
    assert told.since(12) == [13, 14]


@pytest.mark.requirement("signals.sweep")
def test_5_a_restart_with_an_open_notice() -> None:
    told = History()
    told.record(human(C))
    told.record(human(D))
    told.record(human(C))
    assert told.marks() == (12, 13, 15)
    swept = told.log.sweep({P, C}, 0)
    assert [(change.notice and change.notice.since) for change in swept] == [12]
    assert told.marks() == (12, 15, 15)
    assert told.turn() == [12]
    assert told.marks() == (15, 15, 15)
    assert told.turn() == []


@pytest.mark.requirement("signals.watch")
def test_6_a_reset_of_the_watcher() -> None:
    told = History()
    told.log.watch(P, D, 0)
    told.log.forget(lambda watcher, _target: watcher == P)
    assert told.turn() == []
    told.until(19)
    assert told.record(human(C)).sequence == 20
    assert told.marks() == (0, 20, 20)
    told.record(human(D))
    assert told.turn() == [0], "a watch of one's own does not come back"


@pytest.mark.requirement("signals.exact-gap")
def test_7_a_deleted_target() -> None:
    told = History()
    told.log.watch(Q, C, 0)
    told.record(human(C))
    former = told.log.head(C)
    told.log.bury(C, is_child=False)
    assert told.log.watches == {}
    assert told.log.changes(C, 0, 200).state_version == 0
    told.log.heads[C] = former.of_next_life()
    told.until(20)
    again = told.record(human(C)).sequence
    assert again == 21
    changes = told.log.changes(C, 13, 200)
    assert [event.sequence for event in changes.events] == [21]
    assert changes.has_history_gap, "13 is a version of the former life"
    assert not told.log.changes(C, 20, 200).has_history_gap


@pytest.mark.requirement("signals.exact-gap")
@pytest.mark.requirement("signals.retention")
def test_8_a_pruning_past_a_cursor() -> None:
    told = History()
    told.record(human(C, at=0))
    told.until(39)
    assert told.record(human(C, at=40 * DAY_MS)).sequence == 40
    told.log.prune(SignalLimits(retention_days=30), 45 * DAY_MS)
    assert told.since(12) == [40]
    assert told.log.changes(C, 12, 200).has_history_gap
    assert not told.log.changes(C, 13, 200).has_history_gap
    assert told.log.changes(C, 13, 200).state_version == 40
    assert told.log.changes(C, 13, 200).earliest_available == 40


@pytest.mark.requirement("signals.self-suppression")
@pytest.mark.requirement("signals.follow-up")
def test_9_two_watchers() -> None:
    told = History()
    told.until(29)
    told.record(goal(C, agent(P)))
    told.log.watch(Q, C, 0)
    assert told.marks(Q) == (30, 30, 30)
    told.record(human(C))
    assert told.marks(P) == (12, 31, 31)
    assert told.marks(Q) == (30, 31, 31)
    assert told.turn(P) == [12]
    assert told.marks(Q) == (30, 31, 31), "the one's turn is not the other's"
    told.record(goal(C, agent(Q)))
    assert told.marks(P) == (31, 32, 32)
    assert told.marks(Q) == (30, 31, 31)
    assert told.turn(Q) == [30]
    assert told.turn(P) == [31]


@pytest.mark.requirement("signals.watch")
def test_10_another_watch_while_a_notice_is_open() -> None:
    told = History()
    told.until(30)
    told.log.heads[C] = Head(last=30)
    told.log.watch(Q, C, 0)
    told.record(human(C))
    told.log.watch(Q, C, 0)
    assert told.marks(Q) == (30, 31, 31)
    assert told.turn(Q) == [30]
    assert told.turn(Q) == []
