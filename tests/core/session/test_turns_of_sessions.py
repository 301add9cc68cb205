"""Turns of wakes and of other sessions beside those of people: who waits for whom."""

from __future__ import annotations

from dataclasses import replace

import pytest

from netclaw.core.authority import Authority
from netclaw.core.messages import UserMessage
from netclaw.core.session.events import TurnOutcome, TurnRecorded, TurnStarted
from netclaw.core.tool_call import OutcomeCategory, ToolReceipt, ToolResult
from netclaw.testing.matchers import like
from netclaw.testing.people import ALICE, OPERATOR, OTHER_SESSION, REMINDER, WAKE
from netclaw.testing.story import Story
from tests.core.session.watchers import D, opened, watching

FROM_A_PERSONS_SESSION = replace(OPERATOR, provenance=OTHER_SESSION.provenance)
"""Sent by another session in whose turn the operator is the requester."""


@pytest.mark.requirement("signals.wakes-wait")
@pytest.mark.requirement("signals.sessions-are-no-people")
@pytest.mark.parametrize("by", [WAKE, OTHER_SESSION, FROM_A_PERSONS_SESSION])
@pytest.mark.parametrize("person", [OPERATOR, ALICE])
def test_they_neither_join_nor_end_a_persons_turn(by: Authority, person: Authority) -> None:
    story = watching()
    story.admit("hello", by=person)
    story.call_tools()
    opened(story, D, 1, 2)
    story.admit("news", by=by)
    decision = story.finish_tools()
    assert not any(isinstance(event, TurnRecorded) for event in decision.events)
    assert [item.admitted.text for item in story.state.buffered] == ["news"]
    assert story.answer().events[-1] == like(TurnStarted, input_ids=("i2",))


@pytest.mark.requirement("signals.wakes-wait")
@pytest.mark.requirement("signals.sessions-are-no-people")
@pytest.mark.parametrize("by", [WAKE, OTHER_SESSION, FROM_A_PERSONS_SESSION])
def test_a_person_ends_their_turn_after_its_batch(by: Authority) -> None:
    story = watching()
    story.admit("news", by=by)
    story.call_tools()
    story.admit("hello", by=OPERATOR)
    decision = story.finish_tools()
    assert decision.events[-2:] == (
        like(TurnRecorded, outcome=TurnOutcome.STOPPED),
        like(TurnStarted, input_ids=("i2",)),
    )


@pytest.mark.requirement("signals.wakes-wait")
@pytest.mark.requirement("signals.sessions-are-no-people")
@pytest.mark.parametrize("by", [WAKE, OTHER_SESSION, FROM_A_PERSONS_SESSION, REMINDER])
def test_they_do_not_end_the_turns_of_machines(by: Authority) -> None:
    story = watching()
    story.admit("remember", by=REMINDER)
    story.call_tools()
    story.admit("news", by=by)
    assert not any(isinstance(event, TurnRecorded) for event in story.finish_tools().events)


@pytest.mark.requirement("signals.sessions-are-no-people")
@pytest.mark.parametrize("by", [OTHER_SESSION, FROM_A_PERSONS_SESSION])
def test_what_a_session_sends_is_never_a_command(by: Authority) -> None:
    story = Story()
    story.start()
    story.admit("hello", by=OPERATOR)
    story.admit("/stop", by=by)
    assert story.state.turn is not None
    story.answer()
    turn = story.state.turn
    assert turn is not None
    assert not turn.is_aside
    assert story.messages[-1] == like(UserMessage, text="/stop")


@pytest.mark.requirement("signals.sessions-are-no-people")
@pytest.mark.parametrize("by", [OTHER_SESSION, FROM_A_PERSONS_SESSION, WAKE])
def test_nobody_is_asked_for_consent_in_their_turns(by: Authority) -> None:
    story = watching()
    story.admit("news", by=by, attended=True)
    story.ask_consent()
    turn = story.state.turn
    assert turn is not None
    (call,) = turn.batch
    assert call.consent is None
    assert call.result == like(
        ToolResult, receipt=like(ToolReceipt, category=OutcomeCategory.ACCESS_DENIED)
    )


@pytest.mark.requirement("signals.sessions-are-no-people")
def test_a_stop_of_the_person_does_not_call_off_what_a_session_sent_for_them() -> None:
    story = Story()
    story.start()
    story.admit("hello", by=ALICE)
    story.admit("news", by=FROM_A_PERSONS_SESSION)
    story.admit("/stop", by=OPERATOR)
    assert story.state.turn is not None
    assert story.messages[-1] == like(UserMessage, text="news")
