"""What becomes of proposed calls by their rulings, and when a person is asked."""

from __future__ import annotations

from dataclasses import replace

import pytest

from netclaw.core.session import sentences
from netclaw.core.session.commands import ProposedCall, TimerKind
from netclaw.core.session.consent_events import ConsentRequest, ConsentRequested
from netclaw.core.session.effects import CallModel, RunTool, StartTimer
from netclaw.core.session.events import RoundRecorded, ToolBatchStarted, ToolResultRecorded
from netclaw.core.session.outputs import ConsentRequestOutput, ToolCallOutput, ToolResultOutput
from netclaw.core.session.phase import Phase
from netclaw.core.session.rulings import CallRuling, Outcome
from netclaw.core.tool_call import OutcomeCategory, ToolReceipt, ToolResult
from netclaw.testing.matchers import containing, like
from netclaw.testing.people import ALICE, REMINDER
from netclaw.testing.story import NEEDS_CONSENT, SHELL, Story
from tests.core.session.consents import asked, kinds, outcomes, parked, phase_of

DENIED = CallRuling(outcome=Outcome.DENIED, text="That folder is off limits.")
CORRECTION = CallRuling(outcome=Outcome.REQUIRES_CORRECTION, text="Name one file.")


def proposed(*rulings: CallRuling) -> tuple[ProposedCall, ...]:
    return tuple(replace(SHELL, ruling=ruling) for ruling in rulings)


@pytest.mark.requirement("consent.not-run")
@pytest.mark.parametrize(
    ("ruling", "category"),
    [
        (DENIED, OutcomeCategory.ACCESS_DENIED),
        (CORRECTION, OutcomeCategory.RECOVERABLE_CORRECTION),
    ],
)
def test_a_call_that_may_not_run_has_its_result_at_once(
    ruling: CallRuling, category: OutcomeCategory
) -> None:
    story = asked()
    decision = story.when(story.answered(calls=proposed(ruling)))
    receipt = ToolReceipt(category=category)
    assert decision.events == (
        like(RoundRecorded),
        like(ToolResultRecorded, result=like(ToolResult, text=ruling.text, receipt=receipt)),
    )
    assert decision.effects == (like(CallModel, round=1),)


@pytest.mark.requirement("consent.request")
def test_a_call_that_needs_consent_is_asked_for_and_its_siblings_run() -> None:
    story = asked()
    rulings = (NEEDS_CONSENT, SHELL.ruling, DENIED)
    decision = story.when(story.answered(calls=proposed(*rulings)))
    waiting, running, denied = (story.call_id(n) for n in range(3))
    turn = story.state.turn
    assert turn is not None
    assert decision.events == (
        like(RoundRecorded),
        like(ToolResultRecorded, result=like(ToolResult, call_id=denied)),
        like(ToolBatchStarted, call_ids=(running,)),
        ConsentRequested(
            turn_id=turn.turn_id,
            request=ConsentRequest(
                call_id=waiting,
                tool="shell_execute",
                display="ls",
                candidates=("ls",),
                options=NEEDS_CONSENT.options,
                requester=ALICE.requester,
            ),
        ),
    )
    assert [item.call.call_id for item in story.launched] == [running]
    assert decision.outputs[1:] == (
        like(ToolCallOutput, call_id=denied),
        like(ToolResultOutput, call_id=denied),
        like(ToolCallOutput, call_id=waiting),
        like(ToolCallOutput, call_id=running),
        like(ConsentRequestOutput, call_id=waiting, sender_id="U1", display="ls"),
    )
    assert phase_of(story) is Phase.PROCESSING


@pytest.mark.requirement("consent.request")
def test_a_call_is_recorded_and_launched_in_one_append_if_nobody_is_asked() -> None:
    story = asked()
    assert kinds(story.call_tools(2).events) == ["RoundRecorded", "ToolBatchStarted"]


@pytest.mark.requirement("consent.request")
def test_a_request_is_storable_whatever_authorization_shows() -> None:
    story = asked()
    odd = replace(NEEDS_CONSENT, display="\ud800", candidates=("\udcff",))
    story.when(story.answered(calls=proposed(odd, replace(DENIED, text="\ud800"))))
    for event in story.events():
        assert "\\ud" not in repr(event)


@pytest.mark.requirement("consent.request")
def test_loop_guard_and_arguments_come_before_consent() -> None:
    story = asked()
    for _ in range(2):
        story.call_tools()
        story.finish_tools()
    decision = story.when(
        story.answered(
            calls=(
                replace(SHELL, ruling=NEEDS_CONSENT),
                replace(SHELL, arguments="{", fault="Nonsense.", ruling=NEEDS_CONSENT),
            )
        )
    )
    assert kinds(decision.events) == [
        "RoundRecorded",
        "ToolResultRecorded",
        "ToolResultRecorded",
    ]
    assert story.messages[-2].text == sentences.REPEATED
    assert story.messages[-1].text == containing("Nonsense.")


@pytest.mark.requirement("consent.unattended")
@pytest.mark.parametrize("by", [ALICE, REMINDER])
def test_consent_that_nobody_can_give_is_a_denial(by: object) -> None:
    story = asked(by=by, is_attended=False)  # type: ignore[arg-type]
    decision = story.ask_consent()
    assert kinds(decision.events) == ["RoundRecorded", "ToolResultRecorded"]
    assert outcomes(story) == [OutcomeCategory.ACCESS_DENIED]
    assert story.messages[-1].text == containing("approval_required_unattended")
    assert phase_of(story) is Phase.PROCESSING


@pytest.mark.requirement("consent.unattended")
def test_a_request_without_an_option_to_choose_is_a_denial() -> None:
    story = asked()
    story.when(story.answered(calls=proposed(replace(NEEDS_CONSENT, options=()))))
    assert outcomes(story) == [OutcomeCategory.ACCESS_DENIED]


@pytest.mark.requirement("consent.anybody")
def test_the_prompt_of_an_automated_turn_is_anybodys() -> None:
    story = parked(by=REMINDER)
    prompt = story.last.outputs[-1]
    assert prompt == like(ConsentRequestOutput, sender_id="")


@pytest.mark.requirement("consent.parked")
def test_a_turn_that_waits_on_consent_alone_is_ready_with_the_idle_timer_ticking() -> None:
    story = asked()
    decision = story.ask_consent(2)
    assert phase_of(story) is Phase.READY
    assert story.runtime.model_token is None
    assert like(StartTimer, timer=TimerKind.IDLE, after_s=3600.0) in decision.effects
    assert not [item for item in decision.effects if isinstance(item, RunTool | CallModel)]


@pytest.mark.requirement("consent.parked")
def test_the_turn_is_parked_when_its_last_sibling_ends() -> None:
    story = asked()
    story.ask_consent(beside=2)
    story.when(story.tool_ended())
    assert phase_of(story) is Phase.PROCESSING
    decision = story.when(story.tool_ended())
    assert phase_of(story) is Phase.READY
    assert kinds(decision.events) == ["ToolResultRecorded"]


@pytest.mark.requirement("consent.no-timeout")
def test_nothing_of_a_waiting_call_runs_so_no_tool_timeout_can_pass() -> None:
    story = asked()
    story.ask_consent(beside=1)
    assert [item.call_id for item in story.runtime.running] == [story.call_id(1)]
    story.finish_tools()
    story.clock.advance(1e6)
    story.choose("once", by=ALICE)
    assert story.runtime.running == ()
    decision = story.judge()
    assert [item.call.call_id for item in story.launched] == [story.call_id(0)]
    assert kinds(decision.events) == ["ToolBatchStarted"]


@pytest.mark.requirement("consent.drain")
def test_a_draining_session_asks_nobody_and_the_next_start_judges_the_call_again() -> None:
    story = asked()
    story.drain()
    decision = story.ask_consent()
    assert kinds(decision.events) == ["RoundRecorded", "DrainStopped"]
    story.fire(TimerKind.PASSIVATION_GRACE)
    story.crash().start()
    assert story.runtime.rechecking == (story.call_id(),)
    decision = story.judge(NEEDS_CONSENT)
    assert decision.events == (like(ConsentRequested),)
    assert decision.outputs == (like(ToolCallOutput), like(ConsentRequestOutput))
    assert phase_of(story) is Phase.READY


@pytest.mark.requirement("consent.unattended")
def test_a_call_that_is_judged_again_in_an_unattended_turn_fails_closed() -> None:
    story = asked(is_attended=False)
    story.drain()
    story.call_tools(2)
    story.crash().start()
    story.judge(NEEDS_CONSENT)
    story.judge(DENIED)
    assert outcomes(story) == [OutcomeCategory.ACCESS_DENIED, OutcomeCategory.ACCESS_DENIED]
    assert story.last.effects[-1] == like(CallModel, round=1)


def test_a_story_is_parked_as_its_name_says() -> None:
    assert Story().state.turn is None
    assert parked(3).state.turn is not None
