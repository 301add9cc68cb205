"""The line of a notice, and which of them a turn tells."""

from __future__ import annotations

import pytest

from netclaw.core.ids import SessionId
from netclaw.core.signals import notices
from netclaw.core.signals.cursors import Notice
from tests.core.signals.people import C


@pytest.mark.requirement("signals.line")
def test_the_line_names_the_session_and_the_exact_call() -> None:
    assert notices.line(C, 12) == (
        'Session "cli/parent/sub/run1" changed (other actor). Reconcile before acting: '
        'session_status sessionKey "cli/parent/sub/run1" changesSince 12.'
    )


@pytest.mark.requirement("signals.lines-of-a-turn")
def test_a_turn_tells_of_the_fifty_oldest() -> None:
    many = [Notice(target=SessionId(f"s{n}"), since=n, mark=100 - n) for n in range(60)]
    due = notices.due(many)
    assert [notice.mark for notice in due] == list(range(41, 91))
    assert notices.due(many[:2]) == (many[1], many[0])
    assert notices.due(()) == ()
