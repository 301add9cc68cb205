"""What a start makes of open requests, and who may end the wait of a turn by writing."""

from __future__ import annotations

from dataclasses import replace

import pytest

from netclaw.core.authority import Authority
from netclaw.core.session import consent, sentences
from netclaw.core.session.commands import Advance, BeginOutput, TimerKind
from netclaw.core.session.consent_events import (
    ConsentAnswered,
    ConsentWithdrawn,
    Withdrawal,
)
from netclaw.core.session.effects import CallModel, RecheckCall
from netclaw.core.session.events import (
    CrashRecorded,
    InputJoined,
    ToolBatchStarted,
    ToolResultRecorded,
    TurnFailed,
    TurnOutcome,
    TurnRecorded,
    TurnStarted,
)
from netclaw.core.session.outputs import ConsentUpdateOutput, OutputFilter, TurnCompletedOutput
from netclaw.core.session.phase import Phase
from netclaw.core.tool_call import OutcomeCategory, ToolResult
from netclaw.testing.matchers import like
from netclaw.testing.people import ALICE, BOB, OPERATOR, REMINDER, STRANGER, WEBHOOK
from netclaw.testing.story import NEEDS_CONSENT, SHELL, Story
from tests.core.session.consents import (
    asked,
    kinds,
    outcomes,
    parked,
    passivated,
    phase_of,
    recovered,
)

ABANDONED = ["ConsentWithdrawn", "ToolResultRecorded", "TurnRecorded", "TurnStarted"]


# What a start makes of it


@pytest.mark.requirement("consent.heal")
@pytest.mark.parametrize("dies", [False, True])
def test_open_requests_stay_parked_over_a_start(dies: bool) -> None:
    story = parked(2)
    if not dies:
        passivated(story)
    decision = story.crash().start()
    assert decision.events == ()
    assert decision.outputs == ()
    assert phase_of(story) is Phase.READY
    assert consent.is_parked(story.state)
    assert not [item for item in decision.effects if isinstance(item, CallModel | RecheckCall)]


@pytest.mark.requirement("consent.heal")
def test_launched_siblings_are_interrupted_and_finished_ones_kept() -> None:
    story = asked()
    story.ask_consent(1, beside=2)
    story.when(story.tool_ended(0))
    decision = story.crash().start()
    lost = story.call_id(2)
    assert decision.events == (
        like(
            ToolResultRecorded,
            result=like(ToolResult, call_id=lost, text=sentences.CALL_INTERRUPTED),
        ),
    )
    assert outcomes(story) == [None, OutcomeCategory.SUCCESS, OutcomeCategory.INTERRUPTED]
    assert phase_of(story) is Phase.READY


@pytest.mark.requirement("consent.heal")
def test_text_that_reached_the_person_ends_no_turn_that_waits_for_them() -> None:
    story = asked(interest=OutputFilter.ALL)
    story.when(BeginOutput(token=story.model_token))
    call = replace(SHELL, ruling=NEEDS_CONSENT)
    story.when(story.answered("May I?", calls=(call, SHELL)))
    assert story.state.turn is not None
    assert story.state.turn.has_text_out
    for _ in range(3):
        story.crash().start()
        assert consent.is_parked(story.state)
    story.choose("refuse", by=ALICE)
    assert story.last.effects[-1] == like(CallModel, round=1)


@pytest.mark.requirement("consent.heal")
def test_the_batch_ends_under_the_authority_of_its_turn_over_many_wakes() -> None:
    story = parked(3)
    turn = story.state.turn
    assert turn is not None
    for position in range(3):
        passivated(story)
        story.start()
        story.choose("once", by=ALICE, call=story.call_id(position))
        story.judge()
        story.finish_tools()
    assert story.last.effects[-1] == like(CallModel, turn_id=turn.turn_id, round=1)
    assert story.state.turn == like(type(turn), turn_id=turn.turn_id, authority=ALICE)
    assert story.answer().events == (like(TurnRecorded, turn_id=turn.turn_id, input_ids=("i1",)),)


@pytest.mark.requirement("consent.crash")
def test_an_approved_call_that_was_not_launched_is_judged_again_and_launched_once() -> None:
    story = parked()
    call_id = story.call_id()
    story.choose("once", by=ALICE)
    for _ in range(2):
        decision = story.crash().start()
        assert decision.events == ()
        assert decision.effects[-1] == like(RecheckCall, option="once")
        assert phase_of(story) is Phase.PROCESSING
    assert story.judge().events == (like(ToolBatchStarted, call_ids=(call_id,)),)


@pytest.mark.requirement("consent.crash")
def test_an_answer_that_was_not_acted_on_is_taken_up() -> None:
    story = parked()
    story.given(story.choice("once", by=ALICE))
    assert kinds(story.crash().start().events) == ["ConsentAnswered"]
    assert story.runtime.rechecking == (story.call_id(),)


@pytest.mark.requirement("consent.heal")
def test_however_late_the_answer_a_turn_that_was_stopped_before_goes_on() -> None:
    story = asked()
    story.call_tools()
    story.finish_tools()
    story.drain()
    story.ask_consent()
    story.crash().start()
    story.judge(NEEDS_CONSENT)
    story.clock.advance(86_400)
    story.crash().start()
    story.choose("refuse", by=ALICE)
    assert kinds(story.crash().start().events) == ["Resumed"]


@pytest.mark.requirement("consent.crash")
def test_a_launched_call_is_interrupted_like_any_although_a_person_approved_it() -> None:
    story = parked()
    story.choose("once", by=ALICE)
    story.judge()
    turn = story.state.turn
    assert turn is not None
    story.given(CrashRecorded(exit_status=-9, turn_id=turn.turn_id, attempt=1))
    decision = story.crash().start()
    assert kinds(decision.events) == ["ToolResultRecorded", "TurnFailed"]
    assert not [item for item in decision.effects if isinstance(item, RecheckCall)]


@pytest.mark.requirement("consent.crash")
def test_a_call_that_nobody_judged_before_the_crash_is_judged_beside_a_request() -> None:
    story = asked()
    story.drain()
    story.call_tools(2)
    story.crash().start()
    first, second = story.runtime.rechecking
    story.judge(NEEDS_CONSENT, call=first)
    assert not consent.is_at_rest(story.state)
    decision = story.crash().start()
    assert decision.effects[-1] == like(RecheckCall, option=None)
    assert story.runtime.rechecking == (second,)
    story.judge(NEEDS_CONSENT)
    assert phase_of(story) is Phase.READY
    assert consent.is_at_rest(story.state)


# Who may end the wait


@pytest.mark.requirement("consent.joins")
def test_a_message_of_the_same_person_waits_for_the_boundary_if_this_process_asked() -> None:
    story = parked()
    assert story.admit("and another thing", by=ALICE).events == ()
    assert phase_of(story) is Phase.READY
    decision = story.choose("refuse", by=ALICE)
    assert decision.events[-1] == like(InputJoined, input_ids=("i2",))
    assert story.answer().events == (like(TurnRecorded, input_ids=("i1", "i2")),)


@pytest.mark.requirement("consent.abandoned")
def test_a_message_of_the_same_person_abandons_a_recovered_request() -> None:
    story = recovered()
    decision = story.admit("never mind", by=ALICE)
    assert kinds(decision.events) == ABANDONED
    assert decision.events[0] == like(ConsentWithdrawn, reason=Withdrawal.SUPERSEDED)
    assert decision.events[2] == like(
        TurnRecorded,
        outcome=TurnOutcome.STOPPED,
        input_ids=("i1",),
        note=sentences.NOTE_ABANDONED,
    )
    assert decision.events[3] == like(TurnStarted, input_ids=("i2",), authority=ALICE)
    assert like(ConsentUpdateOutput) in decision.outputs
    assert like(TurnCompletedOutput, outcome=TurnOutcome.STOPPED) in decision.outputs
    assert [item.text for item in story.messages[2:]] == [
        sentences.CALL_NOT_STARTED,
        sentences.NOTE_ABANDONED,
        "never mind",
    ]


@pytest.mark.requirement("consent.abandoned")
def test_a_message_found_waiting_at_the_start_abandons_it_too() -> None:
    story = parked()
    story.admit("never mind", by=ALICE)
    assert kinds(story.crash().start().events) == ABANDONED


@pytest.mark.requirement("consent.abandoned")
@pytest.mark.parametrize("timer", [TimerKind.IDLE, TimerKind.PASSIVATION_GRACE])
def test_a_timer_that_meets_the_message_gives_way_to_it(timer: TimerKind) -> None:
    story = recovered()
    if timer is TimerKind.PASSIVATION_GRACE:
        story.fire(TimerKind.IDLE)
    story.given(story.input("never mind", by=ALICE))
    assert kinds(story.fire(timer).events) == ABANDONED


@pytest.mark.requirement("consent.abandoned")
def test_people_keep_their_order_when_a_turn_is_abandoned() -> None:
    story = recovered()
    for by in (REMINDER, BOB):
        assert story.admit(by=by).events == ()
    decision = story.admit("never mind", by=ALICE)
    assert decision.events[-1] == like(TurnStarted, input_ids=("i3",), authority=BOB)
    assert story.answer().events[-1] == like(TurnStarted, input_ids=("i2",))


@pytest.mark.requirement("consent.abandoned")
def test_an_answer_comes_before_the_message_that_would_abandon_its_request() -> None:
    story = parked()
    story.given(story.input("and this", by=ALICE), story.choice("once", by=ALICE))
    assert story.crash().start().events == (like(ConsentAnswered),)
    story.judge()
    decision = story.finish_tools()
    assert decision.events[-1] == like(InputJoined, input_ids=("i2",))


@pytest.mark.requirement("consent.abandoned")
def test_what_runs_by_consent_ends_before_the_rest_of_the_batch_is_abandoned() -> None:
    story = recovered(2)
    story.choose("once", by=ALICE)
    story.judge()
    assert story.admit("never mind", by=ALICE).events == ()
    decision = story.finish_tools()
    assert kinds(decision.events) == ["ToolResultRecorded", *ABANDONED]


@pytest.mark.requirement("consent.waits")
@pytest.mark.parametrize("is_recovered", [False, True])
@pytest.mark.parametrize("by", [REMINDER, WEBHOOK, BOB, OPERATOR, STRANGER])
def test_automation_and_other_people_close_no_prompt(by: Authority, is_recovered: bool) -> None:
    story = recovered() if is_recovered else parked()
    assert story.admit(by=by).events == ()
    assert phase_of(story) is Phase.READY
    assert consent.is_at_rest(story.state), "and it passivates all the same"
    story.fire(TimerKind.IDLE)
    decision = story.fire(TimerKind.PASSIVATION_GRACE)
    assert kinds(decision.events) == ["Passivated"]
    story.crash()
    story.given(story.choice("refuse", by=ALICE))
    story.start()
    decision = story.answer()
    assert decision.events == (
        like(TurnRecorded, input_ids=("i1",)),
        like(TurnStarted, input_ids=("i2",), authority=by),
    )


@pytest.mark.requirement("consent.preempted")
@pytest.mark.parametrize("is_recovered", [False, True])
@pytest.mark.parametrize("by", [OPERATOR, ALICE])
def test_a_trusted_person_ends_an_automated_turn_that_waits(
    by: Authority, is_recovered: bool
) -> None:
    make = recovered if is_recovered else parked
    story = make(by=REMINDER, is_attended=True)
    decision = story.admit("hello", by=by)
    assert kinds(decision.events) == ABANDONED
    assert decision.events[2] == like(
        TurnRecorded, outcome=TurnOutcome.STOPPED, note=sentences.NOTE_PREEMPTED
    )
    assert decision.events[3] == like(TurnStarted, input_ids=("i2",), authority=by)


@pytest.mark.requirement("consent.preempted")
def test_a_stranger_waits_behind_an_automated_turn_that_waits() -> None:
    story = recovered(by=REMINDER, is_attended=True)
    assert story.admit("hello", by=STRANGER).events == ()
    assert consent.is_at_rest(story.state)


@pytest.mark.requirement("consent.preempted")
def test_a_person_who_wrote_while_a_sibling_ran_preempts_when_it_is_done() -> None:
    story = asked(by=REMINDER, is_attended=True)
    story.ask_consent(beside=1)
    assert story.admit("hello", by=OPERATOR).events == ()
    assert kinds(story.finish_tools().events) == ["ToolResultRecorded", *ABANDONED]


@pytest.mark.requirement("consent.waits")
def test_only_a_parked_turn_is_overtaken() -> None:
    story = Story()
    story.start()
    assert not consent.is_at_rest(story.state)
    assert consent.overtaker(story.state, asked=()) is None
    story.admit(by=ALICE)
    story.given(story.input(by=ALICE))
    assert story.when(Advance()).events == ()
    assert not consent.is_at_rest(story.state)
    assert not [item for item in story.events() if isinstance(item, TurnFailed)]
