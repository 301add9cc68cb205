"""A turn that waits on consent alone: it rests, winds down, is stopped, and is compacted."""

from __future__ import annotations

import pytest

from netclaw.core.errors import ErrorCategory
from netclaw.core.messages import AssistantMessage, ToolMessage, Usage
from netclaw.core.session import consent, sentences
from netclaw.core.session.after_drain import AfterDrain
from netclaw.core.session.commands import (
    Advance,
    Compact,
    FinishNotes,
    Passivate,
    StopTurn,
    TimerKind,
)
from netclaw.core.session.consent_events import ConsentAnswered, ConsentWithdrawn, Withdrawal
from netclaw.core.session.effects import CallModel, CancelTool, Emit, RunTool
from netclaw.core.session.events import (
    Compacted,
    Passivated,
    ResetReason,
    SessionReset,
    TurnFailed,
    TurnOutcome,
    TurnRecorded,
)
from netclaw.core.session.outputs import (
    ConsentEnd,
    ConsentUpdateOutput,
    ErrorOutput,
    NoticeOutput,
    ProcessingOutput,
)
from netclaw.core.session.phase import Phase
from netclaw.core.supervision import poison_events, stop_event
from netclaw.core.tool_call import OutcomeCategory, ToolResult
from netclaw.testing.matchers import like
from netclaw.testing.people import ALICE, BOB
from netclaw.testing.story import Story
from tests.core.session.consents import asked, kinds, outcomes, parked, passivated, phase_of
from tests.core.session.histories import settings_of

STOP = StopTurn(actor="U1")
WAYS = [AfterDrain.DAEMON_RESTART, AfterDrain.DAEMON_STOP, AfterDrain.SESSION_RESTART]


@pytest.mark.requirement("consent.passivates")
@pytest.mark.parametrize("way", ["idle", "room"])
def test_it_passivates_like_any_session_that_rests(way: str) -> None:
    story = parked()
    if way == "room":
        story.when(Passivate(reason="room"))
    else:
        story.fire(TimerKind.IDLE)
    assert phase_of(story) is Phase.PASSIVATING
    decision = story.fire(TimerKind.PASSIVATION_GRACE)
    assert decision.events == (like(Passivated),)
    assert decision.needs_snapshot
    assert consent.is_parked(decision.states[-1]), "the turn and its requests are in the snapshot"


@pytest.mark.requirement("consent.passivates")
def test_whoever_waits_behind_it_is_counted() -> None:
    story = parked()
    shown = like(ProcessingOutput, phase=Phase.READY, buffered_inputs=1)
    assert story.admit("and me?", by=BOB).effects == (like(Emit, output=shown),)
    assert story.when(Advance()).effects == ()


@pytest.mark.requirement("consent.passive")
def test_an_answer_rehydrates_it_and_resumes_the_batch() -> None:
    story = passivated(parked())
    story.given(story.choice("once", by=ALICE))
    assert kinds(story.start().events) == ["ConsentAnswered"]
    assert kinds(story.judge().events) == ["ToolBatchStarted"]
    story.finish_tools()
    assert story.answer().events == (like(TurnRecorded, outcome=TurnOutcome.COMPLETED),)


@pytest.mark.requirement("consent.rest")
def test_a_parked_session_has_nothing_to_start_for_until_somebody_acts() -> None:
    story = parked()
    assert consent.is_at_rest(story.state)
    story.given(story.choice("once", by=ALICE))
    assert not consent.is_at_rest(story.state)
    story.when(Advance())
    assert not consent.is_at_rest(story.state), "approved and not launched"


@pytest.mark.requirement("consent.rest")
def test_a_sibling_that_ran_when_the_process_died_is_work() -> None:
    story = asked()
    story.ask_consent(beside=1)
    assert not consent.is_at_rest(story.state)
    story.crash().start()
    assert consent.is_at_rest(story.state)


@pytest.mark.requirement("consent.drain")
@pytest.mark.parametrize("then", WAYS)
def test_an_idle_drain_stops_at_once_without_a_notice(then: AfterDrain) -> None:
    story = parked()
    decision = story.drain(then)
    assert decision.events == ()
    assert decision.outputs == ()
    assert decision.outbox == ()
    assert phase_of(story) is Phase.PASSIVATING
    assert story.fire(TimerKind.PASSIVATION_GRACE).events == (like(Passivated),)
    assert consent.is_at_rest(story.state)


@pytest.mark.requirement("consent.stays-parked")
def test_a_stopped_session_keeps_its_parked_turn() -> None:
    story = parked()
    decision = story.drain(AfterDrain.NOTHING)
    assert decision.events == ()
    assert decision.outputs == ()
    story.fire(TimerKind.PASSIVATION_GRACE)
    assert consent.is_parked(story.state)
    assert stop_event(story.state, "ref") is None
    story.crash()
    story.given(story.choice("refuse", by=ALICE))
    assert kinds(story.start().events) == ["ConsentAnswered", "ToolResultRecorded"]


@pytest.mark.requirement("consent.stays-parked")
def test_a_stop_waits_for_siblings_and_then_keeps_the_turn_parked() -> None:
    story = asked()
    story.ask_consent(beside=1)
    story.drain(AfterDrain.NOTHING)
    assert phase_of(story) is Phase.PROCESSING
    decision = story.finish_tools()
    assert kinds(decision.events) == ["ToolResultRecorded"]
    assert phase_of(story) is Phase.PASSIVATING
    assert consent.is_parked(story.state)


@pytest.mark.requirement("consent.drain")
@pytest.mark.parametrize("then", AfterDrain)
def test_a_sibling_cut_by_the_budget_is_interrupted_and_the_prompt_stays(
    then: AfterDrain,
) -> None:
    story = asked()
    story.ask_consent(beside=1)
    story.drain(then)
    decision = story.fire(TimerKind.DRAIN_SAFE_POINT)
    assert kinds(decision.events) == ["ToolResultRecorded"]
    assert outcomes(story) == [None, OutcomeCategory.INTERRUPTED]
    assert like(CancelTool, call_id=story.call_id(1)) in decision.effects
    assert not [item for item in decision.outputs if isinstance(item, NoticeOutput | ErrorOutput)]
    assert consent.is_parked(story.state)


@pytest.mark.requirement("consent.drain")
@pytest.mark.parametrize("then", WAYS)
def test_an_approved_call_that_a_drain_overtook_waits_for_the_next_start(
    then: AfterDrain,
) -> None:
    story = parked()
    story.choose("once", by=ALICE)
    story.drain(then)
    decision = story.fire(TimerKind.DRAIN_SAFE_POINT)
    assert decision.events == ()
    assert decision.outputs == ()
    story.fire(TimerKind.PASSIVATION_GRACE)
    assert not consent.is_at_rest(story.state)
    story.crash().start()
    assert kinds(story.judge().events) == ["ToolBatchStarted"]


@pytest.mark.requirement("consent.stays-parked")
def test_where_nothing_would_launch_an_approved_call_its_turn_ends() -> None:
    story = parked(2)
    story.choose("once", by=ALICE)
    story.drain(AfterDrain.NOTHING)
    decision = story.fire(TimerKind.DRAIN_SAFE_POINT)
    assert decision.events == (
        like(ConsentWithdrawn, reason=Withdrawal.TURN_ENDED),
        like(TurnFailed, category=ErrorCategory.INTERRUPTED),
    )
    assert story.state.turn is None


@pytest.mark.requirement("consent.stop-turn")
@pytest.mark.parametrize("phase", [Phase.READY, Phase.PASSIVATING])
def test_a_person_ends_a_parked_turn(phase: Phase) -> None:
    story = parked(2)
    if phase is Phase.PASSIVATING:
        story.fire(TimerKind.IDLE)
    decision = story.when(STOP)
    assert kinds(decision.events) == [
        *["ConsentWithdrawn"] * 2,
        *["ToolResultRecorded"] * 2,
        "TurnRecorded",
    ]
    assert decision.events[0] == like(ConsentWithdrawn, reason=Withdrawal.TURN_STOPPED)
    assert decision.events[-1] == like(TurnRecorded, outcome=TurnOutcome.STOPPED)
    assert decision.outputs[:2] == (like(ConsentUpdateOutput, end=ConsentEnd.WITHDRAWN),) * 2
    assert phase_of(story) is Phase.READY
    assert not [item for item in decision.effects if isinstance(item, CallModel)]


@pytest.mark.requirement("consent.stop-turn")
def test_stopping_withdraws_at_once_and_waits_for_what_runs() -> None:
    story = asked()
    story.ask_consent(2, beside=1)
    judged = story.call_id(0)
    story.choose("once", by=ALICE, call=judged)
    decision = story.when(STOP)
    assert kinds(decision.events) == ["ConsentWithdrawn", *["ToolResultRecorded"] * 2]
    assert like(CancelTool, call_id=story.call_id(2)) in decision.effects
    assert story.judge(call=judged).events == (), "what is closed is not launched any more"
    decision = story.when(story.tool_ended(category=OutcomeCategory.CANCELLED))
    assert decision.events[-1] == like(TurnRecorded, outcome=TurnOutcome.STOPPED)


@pytest.mark.requirement("consent.stop-turn")
def test_a_stop_cannot_end_a_turn_in_a_process_that_leaves_already() -> None:
    story = parked()
    story.drain()
    assert story.when(STOP).events == ()
    assert consent.is_parked(story.state)


@pytest.mark.requirement("consent.turn-failed")
def test_a_failure_of_the_turn_closes_its_requests() -> None:
    story = parked(2)
    first, second = story.call_id(0), story.call_id(1)
    assert poison_events(story.state, "ref") == (), "nobody works on it"
    story.given(story.choice("once", call=second, by=ALICE))
    story.given(*poison_events(story.state, "ref"))
    assert story.state.turn is None
    results = [item.text for item in story.messages if isinstance(item, ToolMessage)]
    assert results == [sentences.CALL_NOT_STARTED] * 2
    story.given(story.choice("once", call=first, by=ALICE))
    assert kinds(story.crash().start().events) == ["AnswerDismissed"]


@pytest.mark.requirement("consent.reset")
def test_a_reset_leaves_no_request() -> None:
    story = parked()
    call_id = story.call_id()
    story.given(story.choice("once", by=ALICE), SessionReset(reason=ResetReason.OPERATOR, life=2))
    assert story.state.turn is None
    assert story.state.answers == ()
    story.crash().start()
    assert kinds(story.choose(call=call_id, by=ALICE).events) == ["AnswerDismissed"]


def compactable(count: int = 1, *, beside: int = 0) -> Story:
    """A parked turn at the end of a conversation that can be shortened."""
    story = Story(settings=settings_of(window=3000))
    story.start()
    for _ in range(6):
        story.admit("x" * 400, by=ALICE)
        story.answer("y" * 400)
    story.admit("question", by=ALICE)
    story.ask_consent(count, beside=beside)
    story.finish_tools()
    assert phase_of(story) is Phase.READY
    return story


@pytest.mark.requirement("consent.compacting")
def test_a_compaction_of_a_parked_session_keeps_the_calls_of_its_open_batch() -> None:
    story = compactable(2, beside=1)
    story.when(Compact(actor="operator"))
    assert phase_of(story) is Phase.COMPACTING
    decision = story.when(finished(story))
    assert decision.events == (like(Compacted),)
    assert phase_of(story) is Phase.READY
    assert consent.is_parked(story.state)
    calls = story.messages[-4]
    assert isinstance(calls, AssistantMessage)
    assert len(calls.calls) == len(story.messages[-3:]) == 3
    for position in range(2):
        story.choose("refuse", by=ALICE, call=story.call_id(position))
    assert story.last.effects[-1] == like(CallModel, round=1)
    results = [item.text for item in story.messages if isinstance(item, ToolMessage)]
    assert results == [sentences.CONSENT_REFUSED] * 2 + ["done"]


@pytest.mark.requirement("consent.compacting")
def test_an_answer_during_a_compaction_is_taken_up_after_it() -> None:
    story = compactable()
    story.when(Compact(actor="operator"))
    assert story.choose("once", by=ALICE).events == ()
    assert len(story.state.answers) == 1
    decision = story.when(finished(story))
    assert decision.events == (like(Compacted), like(ConsentAnswered, option="once"))
    assert phase_of(story) is Phase.PROCESSING
    assert [item.call.call_id for item in story.last.effects if isinstance(item, RunTool)] == []
    story.judge()
    assert len(story.launched) == 1


@pytest.mark.requirement("consent.compacting")
def test_an_answer_to_nobody_during_a_compaction_is_dropped_after_it() -> None:
    story = compactable()
    story.choose("refuse", by=ALICE)
    call_id = story.call_id()
    story.answer()
    story.when(Compact(actor="operator"))
    story.choose("once", call=call_id, by=ALICE)
    assert kinds(story.when(finished(story)).events) == ["Compacted", "AnswerDismissed"]
    assert phase_of(story) is Phase.READY


@pytest.mark.requirement("consent.compacting")
def test_a_parked_turn_is_stopped_in_the_middle_of_a_compaction() -> None:
    story = compactable()
    story.when(Compact(actor="operator"))
    decision = story.when(STOP)
    assert kinds(decision.events) == ["ConsentWithdrawn", "ToolResultRecorded", "TurnRecorded"]
    assert story.runtime.compaction is None
    assert phase_of(story) is Phase.READY


@pytest.mark.requirement("consent.compacting")
def test_a_drain_during_the_compaction_of_a_parked_session_leaves_it_parked() -> None:
    story = compactable()
    story.when(Compact(actor="operator"))
    story.drain()
    decision = story.when(finished(story))
    assert kinds(decision.events) == ["Compacted"]
    assert phase_of(story) is Phase.PASSIVATING
    assert consent.is_parked(story.state)


def finished(story: Story) -> FinishNotes:
    """The notes of the compaction that runs are there."""
    assert story.runtime.compaction is not None
    return FinishNotes(
        token=story.runtime.compaction.token, text="Notes.", usage=Usage(), model="m"
    )


@pytest.mark.requirement("consent.refused")
def test_refusals_are_evidence_for_the_loop_guard() -> None:
    story = asked()
    for _ in range(2):
        story.ask_consent()
        story.choose("refuse", by=ALICE)
    decision = story.ask_consent()
    assert kinds(decision.events) == ["RoundRecorded", "ToolResultRecorded"]
    assert decision.events[-1].result == like(  # type: ignore[union-attr]
        ToolResult, text=sentences.REPEATED
    )
