"""What a pruning removes."""

from __future__ import annotations

import pytest

from netclaw.core.ids import SessionId
from netclaw.core.signals import retention
from netclaw.core.signals.retention import DAY_MS, KeptEvent
from tests.core.signals.people import C, D


def log(*rows: tuple[int, SessionId, int]) -> list[KeptEvent]:
    """Events by sequence, session and time."""
    return [KeptEvent(sequence=n, target=target, occurred_at=at) for n, target, at in rows]


def sequences(events: tuple[KeptEvent, ...]) -> list[int]:
    return [event.sequence for event in events]


@pytest.mark.requirement("signals.retention")
def test_what_is_too_old_goes_whatever_its_place_in_the_log() -> None:
    rows = log((1, C, 100), (2, D, 50), (3, C, 99), (4, D, 101))
    assert sequences(retention.doomed(rows, before=100, row_cap=10)) == [2, 3]


@pytest.mark.requirement("signals.retention")
def test_then_the_oldest_of_the_whole_log_go_until_it_fits() -> None:
    rows = log((4, D, 101), (1, C, 100), (3, C, 150), (2, D, 50))
    assert sequences(retention.doomed(rows, before=100, row_cap=2)) == [1, 2]
    assert sequences(retention.doomed(rows, before=0, row_cap=4)) == []
    assert sequences(retention.doomed(rows, before=0, row_cap=0)) == [1, 2, 3, 4]


@pytest.mark.requirement("signals.retention")
def test_each_session_is_stamped_with_the_last_it_loses() -> None:
    assert retention.stamps(log((7, C, 0), (9, D, 0), (8, C, 0), (2, C, 0))) == {C: 8, D: 9}
    assert retention.stamps(()) == {}


@pytest.mark.requirement("signals.retention")
def test_the_time_that_is_kept_counts_back_in_days() -> None:
    assert retention.too_old_before(40 * DAY_MS, 30) == 10 * DAY_MS
