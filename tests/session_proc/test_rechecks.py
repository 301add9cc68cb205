"""Calls are judged before the rules see them, and once more before they are launched."""

from __future__ import annotations

import pytest

from netclaw.core.session.consent_events import ConsentEffect, ConsentOption
from netclaw.core.session.events import AnswerAdmitted, ToolResultRecorded
from netclaw.core.session.rulings import ALLOWED, CallRuling, Outcome
from netclaw.core.tool_call import OutcomeCategory, ToolCall, ToolResult
from netclaw.ports.tool import GivenConsent
from netclaw.session_proc import judging
from netclaw.wire.v1.session_host_pb2 import Committed, ToSession
from tests.session_proc.conftest import Start
from tests.session_proc.host import ScriptedHost
from tests.session_proc.journal import local_authority
from tests.session_proc.tools import ScriptedTools

ASKED = CallRuling(
    outcome=Outcome.REQUIRES_CONSENT,
    display="say aloud",
    candidates=("say",),
    options=(
        ConsentOption(key="approve_once", label="Once", effect=ConsentEffect.APPROVE),
        ConsentOption(key="deny", label="Deny", effect=ConsentEffect.REFUSE),
    ),
    cwd="/work/here",
)
PROMPT = '[[tool:say {"key":"a"}]] [[reply:done]]'


def answer(host: ScriptedHost, option: str) -> None:
    """The person whose turn it is answers the open request."""
    (prompt,) = host.seen.of_type("consent_request")
    requester = local_authority().requester
    event = AnswerAdmitted(
        call_id=prompt.call_id,  # type: ignore[arg-type]
        option=option,
        answerer=requester.sender_id or "",
        boundary=requester.boundary,
        principal=requester.principal,
    )
    host.send(ToSession(committed=Committed(rows=host.journal.commit((event,)))))


def only_result(host: ScriptedHost) -> ToolResult:
    """The one result that was recorded."""
    (event,) = (item for item in host.journal.events() if isinstance(item, ToolResultRecorded))
    return event.result


async def ask_unless_given(_call: ToolCall, given: GivenConsent | None) -> CallRuling:
    return ASKED if given is None else ALLOWED


@pytest.mark.requirement("judging.attempt")
async def test_an_attempt_keeps_its_id_from_the_proposal_to_the_launch(
    host: ScriptedHost, start: Start, tools: ScriptedTools
) -> None:
    tools.rule = ask_unless_given
    launched: list[ToolCall] = []
    tools.on_start = launched.append
    start()
    host.admit(PROMPT)
    await host.until(lambda seen: bool(seen.of_type("consent_request")))
    assert not tools.started
    answer(host, "approve_once")
    await host.turn_completed()
    (first, _, none), (second, _, given) = tools.judged
    assert first.attempt_id.startswith("auth-")
    assert second.attempt_id == first.attempt_id == launched[0].attempt_id
    assert none is None
    assert given is not None
    assert (given.option, given.request.cwd) == ("approve_once", "/work/here")
    assert given.request.attempt_id == first.attempt_id
    assert tools.started == {"a": 1}


@pytest.mark.requirement("judging.attempt")
async def test_every_call_of_a_model_has_an_attempt_of_its_own(
    host: ScriptedHost, start: Start, tools: ScriptedTools
) -> None:
    start()
    host.admit('[[tool:say {"key":"a"}]] [[tool:say {"key":"a"}]] [[reply:done]]')
    await host.turn_completed()
    assert len({call.attempt_id for call, _, _ in tools.judged}) == len(tools.judged) == 2


@pytest.mark.requirement("judging.attempt")
async def test_a_ruling_is_the_result_of_a_call_that_does_not_run(
    host: ScriptedHost, start: Start, tools: ScriptedTools
) -> None:
    async def refuse(_call: ToolCall, _given: GivenConsent | None) -> CallRuling:
        return CallRuling(
            outcome=Outcome.DENIED,
            text="No.",
            category=OutcomeCategory.INVALID_INPUT,
            remediation="UseNativeTool",
        )

    tools.rule = refuse
    start()
    host.admit(PROMPT)
    await host.turn_completed()
    result = only_result(host)
    assert (result.text, result.receipt.category) == ("No.", OutcomeCategory.INVALID_INPUT)
    assert result.receipt.remediation == "UseNativeTool"
    assert not tools.started


@pytest.mark.requirement("judging.bounded")
async def test_a_judgement_that_does_not_end_denies_its_call(
    host: ScriptedHost, start: Start, tools: ScriptedTools, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def hang(_call: ToolCall, _given: GivenConsent | None) -> CallRuling:
        await tools.gate("never").wait()
        return ALLOWED

    monkeypatch.setattr(judging, "JUDGE_S", 0.05)
    tools.rule = hang
    start()
    host.admit(PROMPT)
    await host.turn_completed()
    result = only_result(host)
    assert result.receipt.category is OutcomeCategory.ACCESS_DENIED
    assert "could not be judged" in result.text
    assert not tools.started
