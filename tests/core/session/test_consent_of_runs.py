"""Answers to the consent requests of child runs: the parent's record is the truth for them."""

from __future__ import annotations

import pytest

from netclaw.core.ids import CallId
from netclaw.core.session.commands import Advance, TimerKind
from netclaw.core.session.consent_events import (
    AnswerDismissed,
    ConsentAnswered,
    ConsentWithdrawn,
    Dismissal,
    Withdrawal,
)
from netclaw.core.session.outputs import ConsentEnd, ConsentUpdateOutput
from netclaw.core.session.phase import Phase
from netclaw.testing.matchers import like
from netclaw.testing.people import ALICE, BOB, OPERATOR
from tests.core.session.consents import kinds, phase_of
from tests.core.session.runs import park, resting, run_of

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
