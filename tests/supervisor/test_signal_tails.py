"""Those who follow the signal log: in order, bounded, and told what they missed."""

from __future__ import annotations

import pytest

from netclaw.core.ids import SessionId
from netclaw.core.signals.cursors import Notice, NoticeChange
from netclaw.core.signals.events import SYSTEM, Signal, SignalEvent, SignalKind
from netclaw.supervisor.signal_tails import BATCH_EVENTS, SignalTail, SignalTails
from netclaw.wire.notices import notice_from_proto, notice_to_proto, put_into
from netclaw.wire.v1.session_host_pb2 import Welcome

ONE, TWO = SessionId("one"), SessionId("two")


def event(sequence: int, target: SessionId = ONE) -> SignalEvent:
    """One event of a session."""
    signal = Signal(
        target=target, kind=SignalKind.COMPACTED, actor=SYSTEM, occurred_at=1, summary="s"
    )
    return SignalEvent(sequence=sequence, signal=signal)


async def batch(tail: SignalTail) -> tuple[list[int], int]:
    """The sequences of the next message and what is missing behind them."""
    found = await tail.next()
    assert found is not None
    events, missed = found
    return [item.sequence for item in events], missed


@pytest.mark.requirement("signals.tail")
async def test_a_slow_reader_is_told_how_much_it_missed_and_goes_on() -> None:
    tail = SignalTail(None, limit=3)
    for number in range(1, 8):
        tail.push(event(number))

    assert await batch(tail) == ([1, 2, 3], 4)
    tail.push(event(8))
    assert await batch(tail) == ([8], 0)


@pytest.mark.requirement("signals.tail")
async def test_a_reader_of_one_session_sees_and_misses_nothing_of_others() -> None:
    tail = SignalTail(TWO, limit=1)
    tail.push(event(1, ONE))
    tail.push(event(2, TWO))
    tail.push(event(3, ONE))

    assert await batch(tail) == ([2], 0)


@pytest.mark.requirement("signals.tail")
async def test_what_a_replay_showed_is_not_shown_again() -> None:
    tail = SignalTail(None)
    for number in range(1, 5):
        tail.push(event(number))
    tail.skip_to(3)

    assert await batch(tail) == ([4], 0)


@pytest.mark.requirement("signals.tail")
async def test_a_message_holds_so_many_events_and_the_end_comes_behind_them() -> None:
    tails = SignalTails()
    tail = tails.open(None)
    tails.publish([event(number) for number in range(1, BATCH_EVENTS + 2)])
    tails.close()

    assert len((await batch(tail))[0]) == BATCH_EVENTS
    assert await batch(tail) == ([BATCH_EVENTS + 1], 0)
    assert await tail.next() is None
    assert await tails.open(None).next() is None
    tails.leave(tail)
    tails.publish([event(1)])
    assert await tail.next() is None


@pytest.mark.requirement("notices.pushed")
def test_a_welcome_holds_what_changed_since_its_start_point() -> None:
    old = [Notice(target=SessionId(name), since=1, mark=2) for name in ("a", "b", "c")]
    welcome = Welcome(notices=map(notice_to_proto, old))
    moved = Notice(target=SessionId("b"), since=2, mark=9)
    new = Notice(target=SessionId("d"), since=0, mark=7)
    changes = [
        NoticeChange(watcher=ONE, target=SessionId("a"), notice=None),
        NoticeChange(watcher=ONE, target=moved.target, notice=None),
        NoticeChange(watcher=ONE, target=new.target, notice=new),
        NoticeChange(watcher=ONE, target=moved.target, notice=moved),
    ]

    put_into(welcome, changes)

    assert {notice_from_proto(item) for item in welcome.notices} == {old[2], moved, new}
