"""Calls are judged before the rules see them, and once more before they are launched."""

from __future__ import annotations

import asyncio

import pytest

from netclaw.core.errors import OperationTimeoutError, StorageFullError
from netclaw.core.exit_codes import ExitCode
from netclaw.core.session.consent_events import ConsentEffect, ConsentOption
from netclaw.core.session.events import AnswerAdmitted, ToolResultRecorded
from netclaw.core.session.rulings import ALLOWED, CallRuling, Outcome
from netclaw.core.tool_call import OutcomeCategory, ToolCall, ToolResult
from netclaw.ports.tool import GivenConsent, ToolContext
from netclaw.session_proc import asks, judging
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
    cwd="/srv/here",
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
    assert (given.option, given.request.cwd) == ("approve_once", "/srv/here")
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


class Held:
    """Judging that a test lets go on."""

    def __init__(self, tools: ScriptedTools) -> None:
        self.began = asyncio.Event()
        self.go_on = asyncio.Event()
        self.was_cancelled = asyncio.Event()
        tools.rule = self.rule

    async def rule(self, _call: ToolCall, _given: GivenConsent | None) -> CallRuling:
        self.began.set()
        try:
            await self.go_on.wait()
        except asyncio.CancelledError:
            self.was_cancelled.set()
            raise
        return ALLOWED


@pytest.mark.requirement("judging.judged-first")
async def test_a_turn_that_is_stopped_while_a_call_is_judged_runs_nothing(
    host: ScriptedHost, start: Start, tools: ScriptedTools
) -> None:
    held = Held(tools)
    start()
    host.admit(PROMPT)
    await held.began.wait()
    host.command("stop_turn", actor="me")
    await host.turn_completed()
    await held.was_cancelled.wait()
    assert not tools.started
    assert "ToolBatchStarted" not in host.journal.names()


@pytest.mark.requirement("judging.judged-first")
async def test_a_drain_while_a_call_is_judged_leaves_it_to_the_next_process(
    host: ScriptedHost, start: Start, tools: ScriptedTools
) -> None:
    held = Held(tools)
    process = start()
    host.admit(PROMPT)
    await held.began.wait()
    host.command("drain", then="daemon_restart", is_restart=True, budget_s=5.0)
    await host.settled()
    held.go_on.set()
    assert await process is ExitCode.PASSIVATED
    assert not tools.started
    start()
    await host.turn_completed()
    assert tools.started == {"a": 1}
    first, again = tools.judged
    assert again[0].attempt_id == first[0].attempt_id


@pytest.mark.requirement("judging.judged-first")
async def test_a_model_that_answers_before_its_turn_is_recorded_has_its_calls_judged(
    host: ScriptedHost, start: Start, tools: ScriptedTools
) -> None:
    held = Held(tools)
    start()
    await host.until(lambda seen: "ready" in seen.phases)
    host.hold_appends.clear()
    host.admit(PROMPT)
    await held.began.wait()
    (_, context, _) = tools.judged[0]
    assert context.is_attended
    host.hold_appends.set()
    held.go_on.set()
    await host.turn_completed()
    assert tools.started == {"a": 1}
    assert tools.contexts[0].turn_id == context.turn_id


@pytest.mark.requirement("judging.store-unavailable")
async def test_questions_are_answered_by_number_and_errors_keep_their_code(
    host: ScriptedHost, start: Start, tools: ScriptedTools
) -> None:
    heard: list[object] = []

    async def look(context: ToolContext) -> None:
        host.consents.store_fault = "broken"
        heard.append((await context.consents.read()).store.fault)
        host.consents.read_error = StorageFullError("No space.")
        try:
            await context.consents.read()
        except StorageFullError as error:
            heard.append(error.sentence)

    async def rule(_call: ToolCall, _given: GivenConsent | None) -> CallRuling:
        await look(tools.judged[-1][1])
        return ALLOWED

    tools.rule = rule
    start()
    host.admit(PROMPT)
    await host.turn_completed()
    assert heard == ["broken", "No space."]


@pytest.mark.requirement("judging.bounded")
async def test_a_question_that_nobody_answers_is_given_up(
    host: ScriptedHost, start: Start, tools: ScriptedTools, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(asks.Asks.ask, "__kwdefaults__", {"limit_s": 0.05})
    host.answers_asks = False
    heard: list[str] = []

    async def rule(_call: ToolCall, _given: GivenConsent | None) -> CallRuling:
        try:
            await tools.judged[-1][1].consents.read()
        except OperationTimeoutError as error:
            heard.append(error.sentence)
        return ALLOWED

    tools.rule = rule
    start()
    host.admit(PROMPT)
    await host.turn_completed()
    assert "no answer" in heard[0]
