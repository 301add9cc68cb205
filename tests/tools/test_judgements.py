"""What is remembered of allowed calls: for their one start, and not for long."""

from __future__ import annotations

import pytest

from netclaw.core.authority import Audience
from netclaw.core.authz.requests import AuthorizationRequest, PlainCall
from netclaw.core.ids import TurnId
from netclaw.tools.authorization.judgements import MAX_TURNS, Judgement, Judgements

TURN = TurnId("turn")


def allowed(attempt_id: str) -> Judgement:
    """An allowed call."""
    request = AuthorizationRequest(
        attempt_id=attempt_id,
        tool="file_list",
        arguments="{}",
        audience=Audience.PERSONAL,
        call=PlainCall(),
        requester=None,
        is_attended=False,
    )
    return Judgement(request=request)


@pytest.mark.requirement("judging.judged-first")
def test_an_allowed_call_is_taken_once_and_in_its_own_turn() -> None:
    kept = Judgements()
    kept.keep(TURN, 0, allowed("a"))
    kept.keep(TURN, 0, allowed("b"))
    assert kept.take(TurnId("other"), "a") is None
    assert kept.take(TURN, "a") == allowed("a")
    assert kept.take(TURN, "a") is None
    assert kept.take(TURN, "b") == allowed("b")


@pytest.mark.requirement("judging.judged-first")
def test_calls_of_an_earlier_round_are_forgotten() -> None:
    kept = Judgements()
    kept.keep(TURN, 0, allowed("a"))
    kept.keep(TURN, 1, allowed("b"))
    assert kept.take(TURN, "a") is None
    assert kept.take(TURN, "b") == allowed("b")


@pytest.mark.requirement("judging.judged-first")
def test_turns_that_are_long_over_are_forgotten() -> None:
    kept = Judgements()
    for number in range(MAX_TURNS + 1):
        kept.keep(TurnId(f"turn{number}"), 0, allowed("a"))
    assert kept.take(TurnId("turn0"), "a") is None
    assert kept.take(TurnId("turn1"), "a") == allowed("a")
