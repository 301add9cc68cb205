"""The advice to use the run's own temporary folder: each repetition takes one of its own."""

from __future__ import annotations

from dataclasses import replace

import pytest

from netclaw.core.authz.requests import Consents, PlainCall
from netclaw.core.ids import TurnId
from netclaw.core.session.rulings import Outcome
from netclaw.tools.authorization.authorizer import Evaluation
from netclaw.tools.authorization.retries import MAX_CALLS, TemporaryRetries
from tests.authz.world import POLICY, Shell

FIRST, LATER = (TurnId("turn"), 0), (TurnId("turn"), 1)
TURN_AFTER = (TurnId("next"), 0)


def evaluation(command: str = "cp a.txt /tmp/b.txt", attempt_id: str = "auth-1") -> Evaluation:
    """A command as it is judged at first."""
    shell = Shell(command)
    request = replace(shell.request(), attempt_id=attempt_id, arguments=command)
    return Evaluation(request=request, policy=POLICY, consents=Consents(), decision=shell.decide())


def outcome(
    retries: TemporaryRetries,
    found: Evaluation,
    at: tuple[TurnId, int],
    *,
    is_consented: bool = False,
) -> Outcome:
    """What counts of an evaluation."""
    return retries.settle(found, at, is_consented=is_consented).decision.outcome


ADVICE, ASKED = Outcome.REQUIRES_CORRECTION, Outcome.REQUIRES_CONSENT


@pytest.mark.requirement("access.temporary-retry")
@pytest.mark.parametrize("later", [LATER, TURN_AFTER])
def test_a_repetition_in_a_later_round_is_asked_for(later: tuple[TurnId, int]) -> None:
    retries = TemporaryRetries()
    assert outcome(retries, evaluation(), FIRST) is ADVICE
    assert outcome(retries, evaluation(attempt_id="auth-2"), FIRST) is ADVICE
    assert outcome(retries, evaluation("cp b.txt /tmp/b.txt"), later) is ADVICE
    retry = evaluation(attempt_id="auth-3")
    for _ in range(3):  # when it is proposed, when it is launched, at its gate
        settled = retries.settle(retry, later, is_consented=False)
        assert settled.decision.outcome is ASKED
        assert [option.key for option in settled.decision.options] == ["approve_once", "deny"]
    assert outcome(retries, evaluation(attempt_id="auth-4"), later) is ADVICE


@pytest.mark.requirement("access.temporary-retry")
def test_nothing_else_is_changed() -> None:
    retries = TemporaryRetries()
    pushed = evaluation("git push")
    assert retries.settle(pushed, FIRST, is_consented=True) is pushed
    found = evaluation()
    odd = replace(found, request=replace(found.request, call=PlainCall()))
    assert retries.settle(odd, FIRST, is_consented=True) is odd
    assert outcome(TemporaryRetries(), found, FIRST, is_consented=True) is ASKED


@pytest.mark.requirement("access.temporary-retry")
def test_what_is_remembered_is_bounded() -> None:
    retries = TemporaryRetries()
    assert outcome(retries, evaluation(), FIRST) is ADVICE
    for number in range(MAX_CALLS):
        found = evaluation()
        other = replace(found, request=replace(found.request, arguments=f"{number}"))
        assert outcome(retries, other, FIRST) is ADVICE
    assert outcome(retries, evaluation(attempt_id="auth-2"), LATER) is ADVICE
