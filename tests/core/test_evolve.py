"""The state as a function of the journal, event by event."""

from __future__ import annotations

from dataclasses import replace
from typing import get_args

import pytest

from netclaw.core.authority import Audience, SourceKind
from netclaw.core.errors import ErrorCategory
from netclaw.core.ids import CallId, InputId, SessionId, TurnId
from netclaw.core.messages import AssistantMessage, NoteMessage, ToolMessage, Usage, UserMessage
from netclaw.core.session import events as ev
from netclaw.core.session.commands import Advance, StopTurn
from netclaw.core.session.consent_events import (
    AnswerDismissed,
    ConsentAnswered,
    ConsentRequested,
    Dismissal,
)
from netclaw.core.session.evolve import MESSAGES, STEPS, evolve, preview, replay
from netclaw.core.session.evolve_messages import without_inputs
from netclaw.core.session.evolve_steps import RECENT_SOURCE_IDS
from netclaw.core.session.state import SessionState
from netclaw.core.supervision import poison_events
from netclaw.core.tool_call import OutcomeCategory, ToolReceipt, ToolResult
from netclaw.testing.matchers import like
from netclaw.testing.people import ALICE, BOB, OPERATOR
from netclaw.testing.story import Story

GONE = TurnId("gone")


def test_every_event_type_has_a_step_and_no_other_type_has_one() -> None:
    assert set(STEPS) == set(get_args(ev.SessionEvent))
    assert set(MESSAGES) <= set(STEPS)


def test_creation_sets_the_identity() -> None:
    event = ev.SessionCreated(
        session_id=SessionId("C1/17.1"),
        kind=ev.SessionKind.CHILD,
        channel=SourceKind.SLACK,
        audience=Audience.TEAM,
        life=2,
        parent=SessionId("p"),
    )
    state = evolve(SessionState(), ev.Recorded(seq=1, at=5, incarnation=0, cause="", event=event))
    assert state == SessionState(
        session_id=SessionId("C1/17.1"),
        kind=ev.SessionKind.CHILD,
        channel=SourceKind.SLACK,
        audience=Audience.TEAM,
        life=2,
        head=1,
        last_activity_at=5,
    )


@pytest.mark.requirement("core.reset")
def test_a_reset_empties_the_life_and_keeps_identity_and_known_messages() -> None:
    story = Story()
    story.start()
    story.given(story.input(source_id="m1"), ev.TitleSet(title="T", actor="model"))
    story.start()
    story.admit("waiting", by=BOB)
    story.given(ev.SessionReset(reason=ev.ResetReason.OPERATOR, life=2))
    assert story.state == SessionState(
        session_id=story.state.session_id,
        life=2,
        head=len(story.journal),
        recent_source_ids=("m1",),
        last_activity_at=story.clock.now_ms(),
    )


def test_the_window_of_known_messages_is_bounded() -> None:
    story = Story()
    story.given(*(story.input(source_id=f"m{n}") for n in range(RECENT_SOURCE_IDS + 5)))
    known = story.state.recent_source_ids
    assert (len(known), known[0], known[-1]) == (RECENT_SOURCE_IDS, "m5", "m260")


@pytest.mark.requirement("core.answers")
def test_an_answer_waits_until_its_call_has_a_result_or_it_is_dismissed() -> None:
    story = Story()
    story.start()
    unknown = CallId("x")
    assert answers_after(story, unknown) == [unknown]
    story.admit()
    assert not story.state.answers
    story.call_tools(2)
    one, two = (item.call.call_id for item in story.launched)
    assert answers_after(story, one) == [one]
    assert answers_after(story, two) == [one, two]
    story.when(story.tool_ended())
    assert [item.call_id for item in story.state.answers] == [two]


@pytest.mark.requirement("core.answers")
def test_a_dismissal_takes_the_answer_it_names_and_no_other() -> None:
    story = Story()
    story.given(
        ev.AnswerAdmitted(call_id=CallId("x"), option="once", answerer="U1"),
        ev.AnswerAdmitted(call_id=CallId("x"), option="once", answerer="U2"),
        ev.AnswerAdmitted(call_id=CallId("x"), option="refuse", answerer="U1"),
        AnswerDismissed(
            call_id=CallId("x"), option="once", answerer="U1", reason=Dismissal.NOT_THEIRS
        ),
    )
    left = [(item.option, item.answerer) for item in story.state.answers]
    assert left == [("once", "U2"), ("refuse", "U1")]


@pytest.mark.requirement("core.answers")
def test_the_end_of_a_turn_takes_the_answers_of_the_calls_it_closes() -> None:
    story = Story()
    story.start()
    story.admit()
    story.ask_consent(2)
    for call_id in (story.call_id(0), CallId("x")):
        answers_after(story, call_id)
    story.given(*poison_events(story.state, "ref"))
    assert [item.call_id for item in story.state.answers] == ["x"]


@pytest.mark.requirement("core.answers")
def test_the_launch_of_its_call_uses_an_answer_up() -> None:
    story = Story()
    story.start()
    story.admit()
    story.drain()
    story.call_tools()
    turn = story.state.turn
    assert turn is not None
    assert answers_after(story, turn.batch[0].call.call_id) != []
    story.given(ev.ToolBatchStarted(turn_id=turn.turn_id, call_ids=(story.call_id(),)))
    assert story.state.answers == ()


def answers_after(story: Story, call_id: CallId) -> list[CallId]:
    """The calls with an answer once one to this call was admitted."""
    story.given(ev.AnswerAdmitted(call_id=call_id, option="once", answerer="U1"))
    return [item.call_id for item in story.state.answers]


@pytest.mark.requirement("core.answers")
def test_consent_for_a_call_that_is_not_there_changes_no_turn() -> None:
    story = Story()
    story.start()
    story.admit()
    story.ask_consent()
    turn = story.state.turn
    assert turn is not None
    asked = next(item for item in story.events() if isinstance(item, ConsentRequested))
    story.given(
        ConsentAnswered(turn_id=turn.turn_id, call_id=CallId("x"), option="once", answerer="U1")
    )
    assert story.state.turn == turn
    story.when(StopTurn(actor="operator"))
    story.given(asked)
    assert story.state.turn is None


def test_title_and_directory_are_the_last_ones_set() -> None:
    story = Story()
    story.given(
        ev.TitleSet(title="A", actor="model"),
        ev.TitleSet(title="B", actor="operator"),
        ev.WorkingDirectorySet(path="/w", actor="model"),
    )
    assert (story.state.title, story.state.working_directory) == ("B", "/w")


@pytest.mark.parametrize(
    ("notes", "kept", "expected"),
    [
        ("what was", 2, ["what was", "two", "the answer"]),
        ("", 1, ["the answer"]),
        ("all gone", 0, ["all gone"]),
    ],
)
def test_compaction_keeps_the_newest_messages_behind_the_notes(
    notes: str, kept: int, expected: list[str]
) -> None:
    story = Story()
    story.start()
    for text in ("one", "two"):
        story.admit(text)
        story.answer()
    story.given(
        ev.Compacted(
            kept_from_seq=1,
            notes=notes,
            tokens_before=9,
            tokens_after=1,
            trigger="threshold",
            kept_messages=kept,
        )
    )
    assert [item.text for item in story.state.history] == expected
    assert story.state.last_input_tokens == 0


def unrelated(turn_id: TurnId) -> list[ev.SessionEvent]:
    """One event of each kind that names a turn."""
    receipt = ToolReceipt(category=OutcomeCategory.SUCCESS)
    message = AssistantMessage(text="", at=0)
    return [
        ev.CrashRecorded(exit_status=1, turn_id=turn_id, attempt=1),
        ev.InputJoined(turn_id=turn_id, input_ids=()),
        ev.OutputStarted(turn_id=turn_id, round=0),
        ev.RoundRecorded(turn_id=turn_id, round=0, message=message, usage=Usage(), model="m"),
        ev.ToolBatchStarted(turn_id=turn_id, call_ids=()),
        ev.ToolResultRecorded(
            turn_id=turn_id, result=ToolResult(call_id=CallId("c"), text="", receipt=receipt)
        ),
        ev.TurnFailed(
            turn_id=turn_id,
            category=ErrorCategory.INTERNAL,
            reference="",
            note="",
            input_ids=(),
            closed_call_ids=(CallId("c"),),
        ),
        ev.DrainStopped(turn_id=turn_id, point="", is_restart=True, is_person_told=True),
        ev.Resumed(turn_id=turn_id),
    ]


@pytest.mark.parametrize("event", unrelated(GONE), ids=lambda event: type(event).__name__)
@pytest.mark.parametrize("has_turn", [False, True])
def test_an_event_about_a_turn_that_is_not_open_leaves_the_open_one_alone(
    event: ev.SessionEvent, has_turn: bool
) -> None:
    story = Story()
    story.start()
    if has_turn:
        story.admit()
    before = story.state
    story.given(event)
    assert story.state.turn == before.turn
    assert story.state.in_turn == before.in_turn
    assert story.state.buffered == before.buffered


def test_the_end_of_a_turn_that_is_not_open_still_consumes_what_it_names() -> None:
    story = Story()
    story.given(story.input(), story.input())
    story.given(
        ev.TurnRecorded(
            turn_id=GONE,
            message=AssistantMessage(text="late", at=0),
            outcome=ev.TurnOutcome.COMPLETED,
            usage=Usage(),
            model="m",
            input_ids=(InputId("i1"),),
        )
    )
    assert [item.admitted.input_id for item in story.state.buffered] == ["i2"]


def test_inputs_of_a_recorded_turn_that_it_does_not_name_wait_again_in_order() -> None:
    story = Story()
    story.start()
    story.admit("one", by=ALICE)
    story.call_tools()
    story.admit("two", by=ALICE)
    story.finish_tools()
    story.admit("three", by=ALICE)
    turn = story.state.turn
    assert turn is not None
    story.given(
        ev.TurnFailed(
            turn_id=turn.turn_id,
            category=ErrorCategory.INTERNAL,
            reference="",
            note="",
            input_ids=(InputId("i1"),),
        )
    )
    assert [item.admitted.input_id for item in story.state.buffered] == ["i2", "i3"]
    assert [item.text for item in story.state.history if isinstance(item, UserMessage)] == ["one"]


def test_a_second_result_of_a_call_changes_nothing() -> None:
    story = Story()
    story.start()
    story.admit()
    story.call_tools()
    story.given(story.finish_tools().events[0])
    assert len([item for item in story.state.history if isinstance(item, ToolMessage)]) == 1


def test_a_failed_turn_closes_a_launched_call_as_interrupted_and_ignores_unknown_ones() -> None:
    story = Story()
    story.start()
    story.admit()
    story.call_tools()
    turn = story.state.turn
    assert turn is not None
    call_id = turn.batch[0].call.call_id
    story.given(
        ev.TurnFailed(
            turn_id=turn.turn_id,
            category=ErrorCategory.INTERNAL,
            reference="",
            note="",
            input_ids=turn.input_ids,
            closed_call_ids=(call_id, CallId("unknown")),
        )
    )
    assert story.state.history[-2:] == (
        like(ToolMessage, call_id=call_id),
        like(NoteMessage),
    )
    assert "may have taken effect" in story.state.history[-2].text


def test_returned_inputs_are_sought_behind_the_last_assistant_message_only() -> None:
    user = UserMessage(input_id=InputId("i1"), text="", at=0)
    said = AssistantMessage(text="x", at=0)
    assert without_inputs((user, said, user), frozenset({InputId("i1")})) == (user, said)
    assert without_inputs((user,), frozenset({InputId("i1")})) == ()
    assert without_inputs((user,), frozenset()) == (user,)


@pytest.mark.requirement("core.replay")
def test_a_snapshot_and_the_tail_give_the_same_state_as_the_whole_journal() -> None:
    story = Story()
    story.start()
    for sender in (ALICE, BOB, OPERATOR):
        story.admit(by=sender)
        story.call_tools(2)
        story.admit(by=sender)
        story.finish_tools()
        story.crash().start()
        story.answer()
    rows = story.journal
    for cut in range(len(rows) + 1):
        snapshot = replay(SessionState(), rows[:cut])
        assert replay(snapshot, rows[cut:]) == story.state
    step = SessionState()
    for row in rows:
        step = evolve(step, row)
    assert step == story.state


def test_replay_of_nothing_is_the_state_itself() -> None:
    state = Story().state
    assert replay(state, ()) is state


def test_a_preview_is_what_the_commit_will_give() -> None:
    story = Story()
    story.start()
    story.given(story.input())
    before = story.state
    decision = story.when(Advance())
    (event,) = decision.events
    assert preview(before, event, at=story.clock.now_ms()) == story.state
    assert decision.states == (story.state,)


def test_replaying_a_long_journal_keeps_every_message() -> None:
    story = Story()
    story.start()
    story.admit()
    story.call_tools()
    row = next(item for item in story.journal if isinstance(item.event, ev.RoundRecorded))
    rounds = [replace(row, seq=story.state.head + n) for n in range(1, 10_001)]
    state = replay(story.state, rounds)
    assert len(state.history) == len(story.state.history) + 10_000
    assert state.head == story.state.head + 10_000
