"""What follows from an answer, in every phase, and who may give it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from netclaw.core.authority import Authority
from netclaw.core.ids import CallId
from netclaw.core.session import sentences
from netclaw.core.session.commands import Advance, FinishRecheck, TimerKind
from netclaw.core.session.consent_events import (
    AnswerDismissed,
    ConsentAnswered,
    ConsentRequested,
    Dismissal,
)
from netclaw.core.session.effects import CallModel, CancelTimer, RecheckCall
from netclaw.core.session.events import (
    AnswerAdmitted,
    RoundRecorded,
    ToolBatchStarted,
    ToolResultRecorded,
    TurnRecorded,
)
from netclaw.core.session.outputs import ConsentEnd, ConsentUpdateOutput, NoticeOutput
from netclaw.core.session.phase import Phase
from netclaw.core.session.rulings import CallRuling, Outcome
from netclaw.core.tool_call import OutcomeCategory, ToolResult
from netclaw.testing.matchers import containing, like
from netclaw.testing.people import ALICE, BOB, OPERATOR, REMINDER, STRANGER, WEBHOOK
from netclaw.testing.story import NEEDS_CONSENT, Story
from tests.core.session.consents import asked, kinds, outcomes, parked, phase_of

DENIED = CallRuling(outcome=Outcome.DENIED, text="A rule was added meanwhile.")
NAMELESS = replace(ALICE, requester=replace(ALICE.requester, sender_id=None))
NAMESAKE = replace(ALICE, requester=replace(ALICE.requester, boundary="slack:T2/C9"))


@pytest.mark.requirement("consent.approved")
def test_an_approved_call_is_judged_again_and_launched_as_a_batch_of_its_own() -> None:
    story = parked()
    call_id = story.call_id()
    decision = story.choose("once", by=ALICE)
    assert decision.events == (like(ConsentAnswered, call_id=call_id, option="once"),)
    assert decision.outputs == (
        like(ConsentUpdateOutput, call_id=call_id, end=ConsentEnd.APPROVED, answerer="U1"),
    )
    assert decision.effects[-1] == like(RecheckCall, option="once")
    assert phase_of(story) is Phase.PROCESSING
    assert story.state.answers == ()
    decision = story.judge()
    assert decision.events == (like(ToolBatchStarted, call_ids=(call_id,)),)
    assert decision.outputs == ()
    assert [item.call.call_id for item in story.launched] == [call_id]
    story.finish_tools()
    assert story.last.effects == (like(CallModel, round=1),)
    assert story.answer().events == (like(TurnRecorded),)


@pytest.mark.requirement("consent.approved")
def test_consent_that_is_still_required_was_just_given() -> None:
    story = parked()
    story.choose("once", by=ALICE)
    assert kinds(story.judge(NEEDS_CONSENT).events) == ["ToolBatchStarted"]


@pytest.mark.requirement("consent.approved")
@pytest.mark.parametrize(
    "other",
    [
        replace(NEEDS_CONSENT, display="ls; rm x", candidates=("ls", "rm")),
        replace(NEEDS_CONSENT, cwd="/another/folder"),
    ],
    ids=["more commands", "another folder"],
)
def test_consent_does_not_stand_for_what_nobody_was_asked_for(other: CallRuling) -> None:
    story = parked()
    first = story.call_id()
    story.choose("once", by=ALICE)
    decision = story.judge(other)
    assert kinds(decision.events) == ["ConsentRequested"], "asked anew, and not launched"
    assert phase_of(story) is Phase.READY
    story.choose("once", by=ALICE)
    assert kinds(story.judge(other, call=first).events) == ["ToolBatchStarted"]


@pytest.mark.requirement("consent.approved")
def test_what_the_last_judgement_denies_does_not_run_though_a_person_approved() -> None:
    story = parked()
    story.choose("once", by=ALICE)
    decision = story.judge(DENIED)
    assert decision.events == (like(ToolResultRecorded, result=like(ToolResult, text=DENIED.text)),)
    assert outcomes(story) == [OutcomeCategory.ACCESS_DENIED]
    assert decision.effects == (like(CallModel, round=1),)


@pytest.mark.requirement("consent.refused")
def test_a_refused_call_has_a_result_that_names_a_person() -> None:
    story = parked()
    decision = story.choose("refuse", by=ALICE)
    assert decision.events == (
        like(ConsentAnswered, option="refuse", answerer="U1"),
        like(ToolResultRecorded, result=like(ToolResult, text=containing("a person"))),
    )
    assert outcomes(story) == [OutcomeCategory.ACCESS_DENIED]
    assert decision.outputs[0] == like(ConsentUpdateOutput, end=ConsentEnd.REFUSED)
    assert decision.effects[-1] == like(CallModel, round=1)
    assert phase_of(story) is Phase.PROCESSING


@pytest.mark.requirement("consent.own-call")
def test_an_answer_settles_its_own_call_and_the_others_wait_on() -> None:
    story = parked(2)
    first, second = story.call_id(0), story.call_id(1)
    story.choose("refuse", by=ALICE, call=second)
    assert phase_of(story) is Phase.READY
    story.choose("once", by=ALICE, call=first)
    story.judge()
    assert phase_of(story) is Phase.PROCESSING
    story.finish_tools()
    assert outcomes(story) == [OutcomeCategory.SUCCESS, OutcomeCategory.ACCESS_DENIED]
    assert story.last.effects == (like(CallModel, round=1),)


@pytest.mark.requirement("consent.own-call")
def test_while_a_sibling_runs_an_answer_resolves_its_call_only() -> None:
    story = asked()
    story.ask_consent(beside=1)
    waiting = story.call_id(0)
    story.choose("once", by=ALICE)
    assert phase_of(story) is Phase.PROCESSING
    assert kinds(story.judge().events) == ["ToolBatchStarted"]
    assert len(story.runtime.running) == 2
    story.when(story.tool_ended(0))
    assert not [item for item in story.last.effects if isinstance(item, CallModel)]
    story.when(story.tool_ended(0))
    assert story.last.effects == (like(CallModel, round=1),)
    assert waiting not in [item.call_id for item in story.runtime.running]


@pytest.mark.requirement("consent.passivating")
def test_an_answer_aborts_an_idle_passivation() -> None:
    story = parked()
    story.fire(TimerKind.IDLE)
    assert phase_of(story) is Phase.PASSIVATING
    decision = story.choose("once", by=ALICE)
    assert kinds(decision.events) == ["ConsentAnswered"]
    assert like(CancelTimer, timer=TimerKind.PASSIVATION_GRACE) in decision.effects
    assert phase_of(story) is Phase.PROCESSING


@pytest.mark.requirement("consent.passivating")
@pytest.mark.parametrize("timer", [TimerKind.IDLE, TimerKind.PASSIVATION_GRACE])
def test_a_timer_that_meets_an_answer_gives_way_to_it(timer: TimerKind) -> None:
    story = parked()
    if timer is TimerKind.PASSIVATION_GRACE:
        story.fire(TimerKind.IDLE)
    story.given(story.choice("once", by=ALICE))
    assert kinds(story.fire(timer).events) == ["ConsentAnswered"]
    assert phase_of(story) is Phase.PROCESSING


@pytest.mark.requirement("consent.drain")
@pytest.mark.parametrize("running", [0, 1])
def test_in_a_drain_an_answer_stays_admitted_for_the_next_start(running: int) -> None:
    story = asked()
    story.ask_consent(beside=running)
    story.drain()
    assert story.choose("once", by=ALICE).events == ()
    story.finish_tools()
    story.fire(TimerKind.PASSIVATION_GRACE)
    assert len(story.state.answers) == 1
    decision = story.crash().start()
    assert kinds(decision.events) == ["ConsentAnswered"]
    assert story.runtime.rechecking == (story.call_id(),)


@pytest.mark.requirement("consent.drain")
def test_in_a_drain_a_judgement_launches_nothing_and_is_made_again() -> None:
    story = parked()
    story.choose("once", by=ALICE)
    story.drain()
    assert story.judge().events == ()
    assert phase_of(story) is Phase.PASSIVATING
    story.fire(TimerKind.PASSIVATION_GRACE)
    story.crash().start()
    assert kinds(story.judge().events) == ["ToolBatchStarted"]


@pytest.mark.requirement("consent.prompt-closed")
@pytest.mark.parametrize("phase", [Phase.READY, Phase.PROCESSING, Phase.PASSIVATING])
def test_an_answer_that_no_call_waits_for_is_dropped_with_a_word(phase: Phase) -> None:
    story = Story()
    story.start()
    if phase is Phase.PROCESSING:
        story.admit()
    elif phase is Phase.PASSIVATING:
        story.fire(TimerKind.IDLE)
    decision = story.choose(call=CallId("nobody"))
    assert decision.events == (
        AnswerDismissed(
            call_id=CallId("nobody"),
            option="once",
            answerer="operator",
            reason=Dismissal.NOT_OPEN,
        ),
    )
    assert decision.outputs == (NoticeOutput(sentence=sentences.PROMPT_CLOSED, kind="consent"),)
    assert story.state.answers == ()
    assert not [item for item in decision.effects if isinstance(item, CallModel)]
    assert story.when(Advance()).events == ()


@pytest.mark.requirement("consent.prompt-closed")
def test_an_option_that_was_not_offered_leaves_the_prompt_open() -> None:
    story = parked()
    decision = story.choose("always", by=ALICE)
    assert decision.events == (like(AnswerDismissed, reason=Dismissal.NOT_OFFERED),)
    assert decision.outputs == (NoticeOutput(sentence=sentences.PROMPT_CLOSED, kind="consent"),)
    assert phase_of(story) is Phase.READY
    assert kinds(story.choose("once", by=ALICE).events) == ["ConsentAnswered"]


@pytest.mark.requirement("consent.prompt-closed")
def test_a_call_that_was_not_asked_for_cannot_be_answered() -> None:
    story = asked()
    story.call_tools()
    decision = story.choose("once", by=ALICE)
    assert decision.events == (like(AnswerDismissed, reason=Dismissal.NOT_OPEN),)


@pytest.mark.requirement("consent.first-answer")
@pytest.mark.parametrize("first", ["once", "refuse"])
def test_of_two_answers_the_first_counts(first: str) -> None:
    story = parked(2)
    second = "refuse" if first == "once" else "once"
    story.given(story.choice(first, by=ALICE), story.choice(second, by=ALICE))
    decision = story.when(Advance())
    answers = [item for item in decision.events if isinstance(item, ConsentAnswered)]
    assert answers == [like(ConsentAnswered, option=first)]
    assert decision.events[-1] == like(AnswerDismissed, option=second)
    assert bool(story.runtime.rechecking) is (first == "once")


@pytest.mark.requirement("consent.who")
@pytest.mark.parametrize(
    ("asker", "answerer", "option", "counts"),
    [
        (ALICE, ALICE, "once", True),
        (ALICE, BOB, "once", False),
        (ALICE, BOB, "refuse", False),
        (ALICE, OPERATOR, "once", False),
        (ALICE, OPERATOR, "refuse", True),
        (ALICE, NAMESAKE, "once", False),
        (ALICE, WEBHOOK, "refuse", False),
        (OPERATOR, OPERATOR, "once", True),
        (STRANGER, STRANGER, "once", True),
        (REMINDER, BOB, "once", True),
        (REMINDER, STRANGER, "refuse", True),
        (REMINDER, WEBHOOK, "once", False),
        (NAMELESS, BOB, "once", True),
    ],
)
def test_who_may_answer(asker: Authority, answerer: Authority, option: str, counts: bool) -> None:
    story = parked(by=asker, is_attended=True)
    decision = story.choose(option, by=answerer)
    if counts:
        assert decision.events[0] == like(ConsentAnswered, option=option)
    else:
        assert decision.events == (like(AnswerDismissed, reason=Dismissal.NOT_THEIRS),)
        assert decision.outputs == (
            NoticeOutput(sentence=sentences.NOT_YOUR_PROMPT, kind="consent"),
        )
        assert phase_of(story) is Phase.READY
    assert story.state.answers == ()


@pytest.mark.requirement("consent.who")
@pytest.mark.parametrize("option", ["once", "refuse"])
def test_whoever_is_not_known_to_be_a_person_answers_nothing(option: str) -> None:
    story = parked(by=NAMELESS)
    story.given(AnswerAdmitted(call_id=story.call_id(), option=option, answerer="U1"))
    assert story.when(Advance()).events == (like(AnswerDismissed, reason=Dismissal.NOT_THEIRS),)


@pytest.mark.requirement("consent.who")
def test_a_wrong_answer_does_not_take_the_right_one_with_it() -> None:
    story = parked()
    story.given(story.choice("once", by=BOB), story.choice("once", by=ALICE))
    decision = story.when(Advance())
    assert kinds(decision.events) == ["AnswerDismissed", "ConsentAnswered"]
    assert story.runtime.rechecking == (story.call_id(),)


@pytest.mark.requirement("consent.who")
def test_a_wrong_answer_does_not_take_one_with_it_that_comes_while_it_is_dismissed() -> None:
    story = parked()
    story.given(story.choice("once", by=NAMESAKE))
    dismissing = story.ask(Advance())
    assert kinds(dismissing.events) == ["AnswerDismissed"]
    story.given(story.choice("once", by=ALICE), *dismissing.events)
    assert [item.boundary for item in story.state.answers] == [ALICE.requester.boundary]
    assert kinds(story.when(Advance()).events) == ["ConsentAnswered"]


@pytest.mark.requirement("consent.approved")
def test_a_judgement_that_nobody_waits_for_changes_nothing() -> None:
    story = parked()
    late = FinishRecheck(call_id=story.call_id(), ruling=NEEDS_CONSENT)
    assert story.when(late).events == ()
    story.choose("once", by=ALICE)
    story.judge()
    assert story.when(late).events == ()
    assert len(story.runtime.running) == 1


@pytest.mark.requirement("consent.request")
def test_a_later_round_asks_anew() -> None:
    story = parked()
    story.choose("once", by=ALICE)
    story.judge()
    story.finish_tools()
    decision = story.ask_consent()
    assert decision.events == (like(RoundRecorded, round=1), like(ConsentRequested))
    assert phase_of(story) is Phase.READY
