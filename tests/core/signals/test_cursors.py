"""The arithmetic of one watcher's row."""

from __future__ import annotations

import pytest

from netclaw.core.signals import cursors, events
from netclaw.core.signals.cursors import Cursor, Notice
from netclaw.core.signals.events import SYSTEM, Actor, ActorType, Signal, SignalEvent
from tests.core.signals.people import ADA, RUN, C, P, Q, agent, goal, human


def row(seen: int, notified: int, material: int) -> Cursor:
    """P's row about C."""
    return Cursor(watcher=P, target=C, seen=seen, notified=notified, material=material)


def event(sequence: int, signal: Signal | None = None) -> SignalEvent:
    """A recorded change of C; a person's message if nothing is said."""
    return SignalEvent(sequence=sequence, signal=signal or human(C))


@pytest.mark.requirement("signals.order-of-marks")
@pytest.mark.parametrize("marks", [(2, 1, 1), (1, 1, 0), (0, 2, 1), (-1, 0, 0), (3, 2, 1)])
def test_no_row_ever_has_its_marks_out_of_order(marks: tuple[int, int, int]) -> None:
    with pytest.raises(ValueError, match="out of order"):
        row(*marks)


@pytest.mark.requirement("signals.seed")
def test_a_parent_watches_from_the_spawn_on() -> None:
    assert cursors.seed_at_spawn(P, C, 12) == row(12, 12, 12)
    assert not row(12, 12, 12).is_open


@pytest.mark.requirement("signals.watch")
def test_a_watch_begins_at_the_head_of_its_target() -> None:
    assert cursors.watch(None, P, C, 30) == row(30, 30, 30)
    assert cursors.watch(None, P, C, 0) == row(0, 0, 0)


@pytest.mark.requirement("signals.watch")
def test_a_watch_that_is_there_stays_as_it_is() -> None:
    assert cursors.watch(row(30, 31, 33), P, C, 40) == row(30, 31, 33)


@pytest.mark.requirement("signals.watch")
def test_nobody_watches_itself() -> None:
    assert not cursors.can_watch(P, P)
    assert cursors.can_watch(P, C)


def test_the_parent_and_all_holders_are_told_each_once() -> None:
    assert cursors.watchers_to_tell(P, (Q, P), ADA) == (P, Q)
    assert cursors.watchers_to_tell(None, (Q, P), ADA) == (Q, P)
    assert cursors.watchers_to_tell(None, (), ADA) == ()


@pytest.mark.requirement("signals.self-suppression")
def test_who_did_it_is_not_told() -> None:
    assert cursors.watchers_to_tell(P, (Q,), agent(P)) == (Q,)
    assert cursors.watchers_to_tell(P, (Q,), agent(Q)) == (P,)
    assert cursors.watchers_to_tell(P, (Q,), SYSTEM) == (P, Q)
    before = row(12, 12, 12)
    assert cursors.note_material(before, P, event(13, goal(C, agent(P)))) is before


@pytest.mark.requirement("signals.self-suppression")
def test_a_person_with_the_id_of_a_session_is_no_session() -> None:
    namesake = events.human_message(C, Actor(type=ActorType.HUMAN, id=P), channel="cli", at=0)
    assert cursors.note_material(row(1, 1, 1), P, event(2, namesake)) == row(1, 2, 2)


@pytest.mark.requirement("signals.frozen-mark")
def test_the_first_change_opens_a_notice_and_later_ones_leave_its_mark() -> None:
    opened = cursors.note_material(row(12, 12, 12), P, event(13))
    assert opened == row(12, 13, 13)
    assert cursors.notice_of(opened) == Notice(target=C, since=12, mark=13)
    later = cursors.note_material(opened, P, event(20))
    assert later == row(12, 13, 20)
    assert cursors.notice_of(later) == cursors.notice_of(opened)


def test_a_change_that_is_known_already_moves_nothing() -> None:
    for known in (12, 13):
        assert cursors.note_material(row(12, 13, 13), P, event(known)) == row(12, 13, 13)


def test_what_is_only_logged_moves_no_cursor() -> None:
    spawned = events.child_spawned(C, parent=Q, run_id=RUN, at=0)
    assert cursors.note_material(row(1, 1, 1), P, event(2, spawned)) == row(1, 1, 1)


def test_a_watcher_without_a_row_begins_at_zero() -> None:
    assert cursors.note_material(None, P, event(20)) == row(0, 20, 20)


@pytest.mark.requirement("signals.follow-up")
def test_a_consumed_notice_leaves_one_more_for_what_came_meanwhile() -> None:
    assert cursors.acknowledge(row(12, 13, 13), 13) == row(13, 13, 13)
    follow_up = cursors.acknowledge(row(12, 13, 32), 13)
    assert follow_up == row(13, 32, 32)
    assert cursors.acknowledge(follow_up, 32) == row(32, 32, 32)


@pytest.mark.requirement("signals.follow-up")
def test_a_notice_is_consumed_once() -> None:
    done = row(13, 32, 32)
    assert cursors.acknowledge(done, 13) is done
    assert cursors.acknowledge(done, 12) is done


def test_a_mark_from_before_a_sweep_consumes_what_was_shown_and_no_more() -> None:
    assert cursors.acknowledge(row(12, 15, 15), 13) == row(13, 15, 15)


def test_nothing_is_consumed_that_was_never_told() -> None:
    assert cursors.acknowledge(row(12, 13, 32), 99) == row(13, 32, 32)


@pytest.mark.requirement("signals.given-back")
@pytest.mark.parametrize(
    ("now", "expected"),
    [
        (row(13, 13, 13), row(12, 13, 13)),
        (row(13, 20, 25), row(12, 20, 25)),  # with the follow-up that opened meanwhile
        (row(20, 20, 20), row(20, 20, 20)),  # a later turn consumed more
        (row(12, 13, 13), row(12, 13, 13)),  # it was given back already
    ],
)
def test_what_came_to_nothing_is_told_again_with_its_line(now: Cursor, expected: Cursor) -> None:
    assert cursors.reopen(now, since=12, mark=13) == expected


def test_a_notice_that_told_nothing_is_not_opened() -> None:
    assert cursors.reopen(row(13, 13, 13), since=13, mark=13) == row(13, 13, 13)


@pytest.mark.requirement("signals.sweep")
def test_a_sweep_merges_what_is_left_into_the_open_notice() -> None:
    swept = cursors.sweep(row(12, 13, 15))
    assert swept == row(12, 15, 15)
    assert cursors.acknowledge(swept, 15) == row(15, 15, 15)


@pytest.mark.requirement("signals.sweep")
def test_a_sweep_leaves_what_has_nothing_to_add() -> None:
    for quiet in (row(12, 12, 12), row(12, 13, 13)):
        assert cursors.sweep(quiet) is quiet


def test_a_closed_row_has_no_notice() -> None:
    assert cursors.notice_of(row(3, 3, 3)) is None
