"""Who joins a turn, who waits, and who ends an automated one."""

from __future__ import annotations

from dataclasses import replace

import pytest

from netclaw.core.authority import Authority
from netclaw.core.ids import DispatchToken
from netclaw.core.messages import NoteMessage, UserMessage
from netclaw.core.session.commands import LookAgain, Recover
from netclaw.core.session.effects import CallModel, Decision
from netclaw.core.session.events import (
    InputJoined,
    TitleSet,
    ToolResultRecorded,
    TurnOutcome,
    TurnRecorded,
    TurnStarted,
)
from netclaw.core.session.settle import settle
from netclaw.core.session.state import Runtime
from netclaw.core.session.turn_join import joiners, preemptor
from netclaw.testing.matchers import containing, like
from netclaw.testing.people import ALICE, BOB, OPERATOR, REMINDER, STRANGER, WEBHOOK
from netclaw.testing.story import Story
from tests.core.session.compactions import in_tool_loop, notes
from tests.core.shown import queue


def in_batch(by: Authority) -> Story:
    """A turn of this sender with one tool running."""
    story = Story()
    story.start()
    story.admit("first", by=by)
    story.call_tools()
    return story


@pytest.mark.requirement("core.join-same-person")
def test_the_same_person_joins_at_the_next_batch_boundary() -> None:
    story = in_batch(ALICE)
    assert story.admit("also", by=ALICE).events == ()
    decision = story.finish_tools()
    assert decision.events == (like(ToolResultRecorded), like(InputJoined, input_ids=("i2",)))
    assert decision.effects == (queue(0), like(CallModel, round=1))
    assert story.messages[-1] == like(UserMessage, text="also")
    assert story.answer().events == (like(TurnRecorded, input_ids=("i1", "i2")),)


@pytest.mark.requirement("core.join-others-wait")
@pytest.mark.parametrize("other", [BOB, STRANGER, REMINDER, WEBHOOK])
def test_anyone_else_waits_for_a_turn_of_their_own(other: Authority) -> None:
    story = in_batch(ALICE)
    story.admit("mine", by=other)
    assert story.finish_tools().events == (like(ToolResultRecorded),)
    decision = story.answer()
    assert decision.events == (
        like(TurnRecorded, input_ids=("i1",)),
        like(TurnStarted, input_ids=("i2",), authority=other),
    )


@pytest.mark.requirement("core.join-same-person")
def test_the_same_person_under_other_authority_is_another_requester() -> None:
    elsewhere = replace(ALICE, requester=replace(ALICE.requester, boundary="slack:T1/C2"))
    story = in_batch(ALICE)
    story.admit(by=elsewhere)
    assert story.finish_tools().events == (like(ToolResultRecorded),)


@pytest.mark.requirement("core.join-same-person")
def test_what_differs_between_messages_of_one_person_does_not_keep_them_apart() -> None:
    quoting = replace(ALICE, adopted_context=("quoted",), delivery_targets=())
    story = in_batch(ALICE)
    story.admit(by=quoting)
    assert story.finish_tools().events[1] == like(InputJoined, input_ids=("i2",))


@pytest.mark.requirement("core.join-prefix")
def test_only_the_prefix_of_the_same_person_joins() -> None:
    story = in_batch(ALICE)
    for sender in (ALICE, ALICE, BOB, ALICE):
        story.admit(by=sender)
    assert story.finish_tools().events[1] == like(InputJoined, input_ids=("i2", "i3"))
    order = [story.answer().events[-1], story.answer().events[-1]]
    assert order == [
        like(TurnStarted, input_ids=("i4",), authority=BOB),
        like(TurnStarted, input_ids=("i5",), authority=ALICE),
    ]


def test_a_waiting_automation_does_not_stand_between_a_person_and_their_turn() -> None:
    story = in_batch(ALICE)
    story.admit(by=WEBHOOK)
    story.admit(by=ALICE)
    assert story.finish_tools().events[1] == like(InputJoined, input_ids=("i3",))


@pytest.mark.requirement("core.join-others-wait")
@pytest.mark.requirement("upstream.automation-own-turn")
def test_automated_input_never_joins_not_even_its_like() -> None:
    story = in_batch(REMINDER)
    story.admit(by=REMINDER)
    assert story.state.turn is not None
    assert joiners(story.state.turn, story.state.buffered) == ()
    assert story.finish_tools().events == (like(ToolResultRecorded),)


@pytest.mark.requirement("core.preempt-automation")
@pytest.mark.parametrize("person", [OPERATOR, ALICE])
def test_a_trusted_person_ends_an_automation_turn_after_its_batch(person: Authority) -> None:
    story = in_batch(REMINDER)
    story.admit("later", by=WEBHOOK)
    story.admit("now", by=person)
    decision = story.finish_tools()
    assert decision.events == (
        like(ToolResultRecorded),
        like(TurnRecorded, outcome=TurnOutcome.STOPPED, input_ids=("i1",)),
        like(TurnStarted, input_ids=("i3",), authority=person),
    )
    assert decision.early == (like(CallModel, round=0),)
    assert story.messages[-2:] == (
        like(NoteMessage, text=containing("automated turn", "stopped unfinished")),
        like(UserMessage, text="now"),
    )
    assert story.answer().events[-1] == like(TurnStarted, input_ids=("i2",))


@pytest.mark.requirement("core.preempt-automation")
def test_an_untrusted_person_never_ends_a_turn() -> None:
    story = in_batch(REMINDER)
    story.admit(by=STRANGER)
    assert story.finish_tools().events == (like(ToolResultRecorded),)


@pytest.mark.requirement("core.preempt-automation")
def test_what_the_person_wrote_before_the_message_that_preempts_comes_before_it() -> None:
    story = in_batch(REMINDER)
    story.admit("me first", by=STRANGER)
    story.admit("/title The plan", by=ALICE)
    story.admit("do it", by=ALICE)
    decision = story.finish_tools()
    assert decision.events == (
        like(ToolResultRecorded),
        like(TurnRecorded, input_ids=("i1",), outcome=TurnOutcome.STOPPED),
        like(TurnStarted, input_ids=("i3",), is_aside=True),
        like(TitleSet, title="The plan"),
        like(TurnRecorded, input_ids=("i3",)),
        like(TurnStarted, input_ids=("i4",), authority=ALICE),
    )


@pytest.mark.requirement("core.preempt-automation")
def test_what_the_person_wrote_before_it_comes_before_it_over_a_shortened_history_too() -> None:
    story = in_tool_loop(by=REMINDER)
    story.admit("/compact", by=ALICE)
    story.admit("do it", by=ALICE)
    story.finish_tools()
    assert story.runtime.compaction is not None
    notes(story)
    assert story.last.events[-1] == like(TurnStarted, authority=ALICE)
    assert story.messages[-1] == like(UserMessage, text="do it")


def test_nobody_preempts_a_person_or_no_turn() -> None:
    story = in_batch(ALICE)
    story.admit(by=OPERATOR)
    assert preemptor(story.state) is None
    assert preemptor(Story().state) is None


def boundary_with(story: Story, by: Authority) -> Decision:
    """The last tool ends while an input is being committed beneath the append that says so."""
    before = story.runtime
    decision = story.ask(story.tool_ended())
    story.given(story.input("just before", by=by), *decision.events)
    decision, again = settle(decision, before, is_interleaved=True)
    story.runtime = decision.runtime
    assert again is not None
    assert decision.effects == (), "no model call before the second look"
    return story.when(again)


@pytest.mark.requirement("core.boundary-second-look")
def test_an_input_committed_right_before_the_boundary_joins_at_it() -> None:
    story = in_batch(ALICE)
    decision = boundary_with(story, ALICE)
    assert decision.events == (like(InputJoined, input_ids=("i2",)),)
    assert decision.effects == (like(CallModel, token=story.model_token, round=1),)
    assert story.messages[-1] == like(UserMessage, text="just before")


@pytest.mark.requirement("core.boundary-second-look")
def test_a_person_who_writes_right_before_the_boundary_preempts_at_it() -> None:
    story = in_batch(REMINDER)
    decision = boundary_with(story, ALICE)
    assert decision.events == (
        like(TurnRecorded, outcome=TurnOutcome.STOPPED),
        like(TurnStarted, input_ids=("i2",)),
    )


@pytest.mark.requirement("core.boundary-second-look")
def test_whoever_may_not_join_holds_the_boundary_up_by_nothing() -> None:
    story = in_batch(ALICE)
    decision = boundary_with(story, BOB)
    assert decision.events == ()
    assert decision.effects == (queue(1), like(CallModel, token=story.model_token, round=1))


@pytest.mark.requirement("core.boundary-second-look")
def test_a_resumed_turn_without_a_batch_has_no_boundary_to_join_at() -> None:
    story = Story()
    story.start()
    story.admit("first", by=ALICE)
    story.crash()
    before = story.runtime
    decision = story.ask(Recover())
    story.given(story.input(by=ALICE), *decision.events)
    decision, again = settle(decision, before, is_interleaved=True)
    story.runtime = decision.runtime
    assert again is not None
    shown, called = story.when(again).effects
    assert (shown, called) == (queue(1), like(CallModel, token=story.model_token, round=0))
    assert [item.admitted.input_id for item in story.state.buffered] == ["i2"]


@pytest.mark.requirement("core.boundary-second-look")
def test_a_second_look_for_a_call_that_is_no_more_changes_nothing() -> None:
    story = in_batch(ALICE)
    assert story.when(LookAgain(token=DispatchToken("old"))).effects == ()
    story.finish_tools()
    story.answer()
    assert story.when(LookAgain(token=DispatchToken("old"))).effects == ()


def test_a_decision_over_an_exact_head_or_without_a_model_call_stands_as_it_is() -> None:
    story = in_batch(ALICE)
    before = story.runtime
    decision = story.ask(story.tool_ended())
    assert settle(decision, before, is_interleaved=False) == (decision, None)
    idle = story.ask(LookAgain(token=DispatchToken("old")))
    assert settle(idle, before, is_interleaved=True) == (idle, None)


@pytest.mark.requirement("core.snapshots")
def test_a_snapshot_over_a_moved_head_was_not_stored() -> None:
    decision = Decision(runtime=Runtime(snapshot_seq=30), needs_snapshot=True)
    left, again = settle(decision, Runtime(snapshot_seq=10), is_interleaved=True)
    assert (left.runtime.snapshot_seq, again) == (10, None)
