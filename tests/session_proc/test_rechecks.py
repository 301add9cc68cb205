"""What a process without an authorizer answers when a call is to be judged before its launch."""

from __future__ import annotations

import pytest

from netclaw.core.ids import CallId, TurnId
from netclaw.core.session.commands import FinishRecheck, SessionCommand
from netclaw.core.session.effects import RecheckCall
from netclaw.core.session.rulings import ALLOWED, CallRuling, Outcome
from netclaw.core.tool_call import ToolCall
from netclaw.session_proc.rechecks import Rechecks

CALL = ToolCall(call_id=CallId("c1"), provider_call_id="p", name="shell_execute", arguments="{}")


def judged(option: str | None) -> CallRuling:
    posted: list[SessionCommand] = []
    Rechecks(posted.append).judge(RecheckCall(turn_id=TurnId("t"), call=CALL, option=option))
    (command,) = posted
    assert isinstance(command, FinishRecheck)
    assert command.call_id == CALL.call_id
    return command.ruling


@pytest.mark.requirement("consent.no-authorizer")
def test_consent_launches_nothing_where_nobody_can_judge_the_call() -> None:
    ruling = judged("once")
    assert ruling.outcome is Outcome.DENIED
    assert "consent" in ruling.text


@pytest.mark.requirement("consent.no-authorizer")
def test_a_call_that_was_not_launched_yet_is_let_through_as_it_was_proposed() -> None:
    assert judged(None) == ALLOWED
