"""Answers to the consent requests of child runs: the parent's record is the truth for them."""

from __future__ import annotations

import pytest

from netclaw.core.authority import Authority
from netclaw.core.ids import CallId
from netclaw.core.session.child_effects import ChildAnswer, StartChild
from netclaw.core.session.commands import (
    Advance,
    Compact,
    FailNotes,
    FinishNotes,
    SessionCommand,
    StopTurn,
    TimerKind,
)
from netclaw.core.session.consent_events import (
    AnswerDismissed,
    ConsentAnswered,
    ConsentWithdrawn,
    Dismissal,
    Withdrawal,
)
from netclaw.core.session.outputs import ConsentEnd, ConsentRequestOutput, ConsentUpdateOutput
from netclaw.core.session.phase import Phase
from netclaw.testing.matchers import like
from netclaw.testing.people import ALICE, BOB, OPERATOR, REMINDER
from netclaw.testing.story import Story
from tests.core.session.compactions import in_tool_loop
from tests.core.session.compactions import run_of as compaction_of
from tests.core.session.consents import kinds, phase_of
from tests.core.session.histories import settings_of
from tests.core.session.runs import park, parking, resting, run_of, spawn

FIRST, SECOND = CallId("c1"), CallId("c2")


@pytest.mark.requirement("consent.runs")
@pytest.mark.parametrize(
    ("option", "end"), [("once", ConsentEnd.APPROVED), ("refuse", ConsentEnd.REFUSED)]
)
def test_an_answer_goes_to_the_record_of_its_run(option: str, end: ConsentEnd) -> None:
    story = resting()
    park(story, FIRST, SECOND)
    run = run_of(story)
    decision = story.choose(option, call=FIRST, by=ALICE)
    assert decision.events == (
        like(ConsentAnswered, call_id=FIRST, option=option, run_id=run.run_id, turn_id="ct"),
    )
    assert decision.outputs == (like(ConsentUpdateOutput, end=end, run_id=run.run_id),)
    assert [item.answer for item in run_of(story).requests] == [option, None]
    assert story.state.answers == ()
    assert phase_of(story) is Phase.READY


@pytest.mark.requirement("consent.runs")
def test_the_rule_of_answering_is_the_same_for_runs() -> None:
    story = resting()
    park(story, FIRST, SECOND)
    for by, option, call, reason in (
        (BOB, "once", FIRST, Dismissal.NOT_THEIRS),
        (ALICE, "always", FIRST, Dismissal.NOT_OFFERED),
        (ALICE, "once", CallId("c9"), Dismissal.NOT_OPEN),
    ):
        decision = story.choose(option, call=call, by=by)
        assert decision.events == (like(AnswerDismissed, reason=reason),)
    assert kinds(story.choose("refuse", call=FIRST, by=OPERATOR).events) == ["ConsentAnswered"]
    late = story.choose("once", call=FIRST, by=ALICE)
    assert late.events == (like(AnswerDismissed, reason=Dismissal.NOT_OPEN),)


@pytest.mark.requirement("consent.runs")
def test_an_answer_for_a_run_is_kept_in_a_drain_and_wakes_a_session_that_winds_down() -> None:
    story = resting()
    park(story, FIRST, SECOND)
    story.fire(TimerKind.IDLE)
    assert phase_of(story) is Phase.PASSIVATING
    assert kinds(story.choose("once", call=FIRST, by=ALICE).events) == ["ConsentAnswered"]
    assert phase_of(story) is Phase.READY
    story.drain()
    assert story.choose("once", call=SECOND, by=ALICE).events == ()
    assert len(story.state.answers) == 1
    assert kinds(story.crash().start().events)[0] == "ConsentAnswered"


def _compacting_at_rest() -> Story:
    """A session with a parked run shortens its history between turns."""
    story = resting(settings=settings_of())
    park(story, FIRST)
    for _ in range(6):
        story.admit("x" * 1500, by=ALICE)
        story.answer("y" * 1500)
    story.when(Compact(actor="U1"))
    return story


def _compacting_in_a_turn() -> Story:
    """The same inside a turn."""
    story = in_tool_loop()
    spawn(story)
    park(story, FIRST)
    story.finish_tools()
    return story


@pytest.mark.requirement("consent.runs")
@pytest.mark.parametrize("is_in_turn", [False, True])
@pytest.mark.parametrize("end", [FinishNotes, FailNotes, StopTurn])
def test_an_answer_that_comes_while_the_history_is_shortened_is_due_at_the_end(
    end: type[SessionCommand], is_in_turn: bool
) -> None:
    story = _compacting_in_a_turn() if is_in_turn else _compacting_at_rest()
    by = run_of(story).accepted.authority
    assert story.choose(call=FIRST, by=by).events == (), "one thing after the other"
    if end is StopTurn:
        story.when(StopTurn(actor="U1"))
    token = compaction_of(story).token
    if end is FailNotes:
        decision = story.when(FailNotes(token=token, sentence="No."))
    else:
        decision = story.when(FinishNotes(token=token, text="notes"))
    answers = (ChildAnswer(call_id=FIRST, option="once", answerer=by.requester.sender_id or ""),)
    assert like(StartChild, start=2, answers=answers) in decision.effects
    assert story.state.answers == ()


@pytest.mark.requirement("consent.runs")
@pytest.mark.parametrize("claimed", [REMINDER, BOB])
def test_whose_run_asks_is_said_by_the_record_and_not_by_the_run(claimed: Authority) -> None:
    story = resting(by=ALICE)
    decision = story.when(parking(story, FIRST, by=claimed))
    assert run_of(story).requests[0].request.requester == ALICE.requester
    assert like(ConsentRequestOutput, sender_id="U1") in decision.outputs
    story.choose(call=FIRST, by=BOB)
    assert run_of(story).unanswered
    story.choose(call=FIRST, by=ALICE)
    assert not run_of(story).unanswered


@pytest.mark.requirement("consent.runs")
def test_a_withdrawn_request_of_a_run_takes_the_answer_that_was_on_its_way_with_it() -> None:
    story = resting()
    park(story, FIRST)
    run = run_of(story)
    story.given(
        story.choice("once", call=FIRST, by=ALICE),
        ConsentWithdrawn(
            turn_id=run.requests[0].turn_id,
            call_id=FIRST,
            reason=Withdrawal.RUN_ENDED,
            run_id=run.run_id,
        ),
    )
    assert story.state.answers == ()
    assert story.when(Advance()).events[:1] != (like(ConsentAnswered),)
