"""Who answers for a notice while a turn tells of it."""

from __future__ import annotations

import pytest

from netclaw.core.ids import TurnId
from netclaw.core.signals import custody
from netclaw.core.signals.cursors import Cursor, Notice, NoticeChange
from netclaw.core.signals.custody import Watch
from tests.core.signals.people import C, D, P

TURN = TurnId("t1")


def row(seen: int, notified: int, material: int, **more: object) -> Watch:
    cursor = Cursor(watcher=P, target=C, seen=seen, notified=notified, material=material)
    return Watch(cursor=cursor, **more)  # type: ignore[arg-type]


OPEN = row(12, 13, 20)
TOLD = row(13, 20, 20, told_turn=TURN, told_since=12)


@pytest.mark.requirement("signals.given-back")
def test_a_turn_takes_a_notice_on() -> None:
    assert custody.tell(OPEN, 13, TURN) == TOLD
    assert custody.tell(TOLD, 13, TurnId("t2")) is TOLD, "it was consumed before"


@pytest.mark.requirement("signals.given-back")
def test_a_turn_that_comes_to_something_is_done_with_it() -> None:
    assert custody.settle(TOLD) == row(13, 20, 20)


@pytest.mark.requirement("signals.given-back")
def test_a_turn_that_comes_to_nothing_gives_it_back_and_it_counts() -> None:
    back = custody.give_back(TOLD)
    assert back == row(12, 20, 20, reopened=1)
    assert back.failures == 1
    again = custody.tell(back, 20, TURN)
    assert again.failures == 0, "the notice that opened meanwhile has none yet"
    assert custody.give_back(again) == row(12, 20, 20, reopened=2)
    assert custody.settle(again).reopened == 0


@pytest.mark.requirement("signals.given-back")
def test_an_event_leaves_it_with_its_turn() -> None:
    later = Cursor(watcher=P, target=C, seen=13, notified=20, material=30)
    assert custody.moved(TOLD, later) == row(13, 20, 30, told_turn=TURN, told_since=12)
    assert custody.moved(None, later) == row(13, 20, 30)


@pytest.mark.requirement("signals.frozen-mark")
def test_a_watcher_is_told_of_each_change_of_its_notice_alone() -> None:
    assert custody.change(None, OPEN) == NoticeChange(
        watcher=P, target=C, notice=Notice(target=C, since=12, mark=13)
    )
    assert custody.change(OPEN, row(12, 13, 99)) is None
    assert custody.change(OPEN, row(13, 13, 13)) == custody.closed(OPEN)
    assert custody.change(None, row(3, 3, 3)) is None
    assert custody.told(custody.give_back(TOLD)).reopened == 1
    assert custody.closed(OPEN) == NoticeChange(watcher=P, target=C, notice=None)


@pytest.mark.requirement("signals.lines-of-a-turn")
def test_open_notices_are_listed_oldest_mark_first() -> None:
    other = Watch(cursor=Cursor(watcher=P, target=D, seen=1, notified=2, material=2))
    listed = custody.notices((OPEN, row(3, 3, 3), other))
    assert [(notice.target, notice.mark) for notice in listed] == [(D, 2), (C, 13)]
