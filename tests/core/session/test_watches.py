"""What a session that watches others tells its model, and what wakes it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from netclaw.core.errors import ErrorCategory
from netclaw.core.ids import SessionId
from netclaw.core.messages import NoteKind, NoteMessage, UserMessage
from netclaw.core.session.child_events import ChildEnded, ChildState
from netclaw.core.session.commands import Advance, BeginOutput, NoticesChanged, Recover
from netclaw.core.session.effects import CallModel
from netclaw.core.session.events import (
    NoticeMark,
    TurnFailed,
    TurnOutcome,
    TurnRecorded,
    TurnStarted,
)
from netclaw.core.session.evolve import replay
from netclaw.core.session.outputs import OutputFilter, TurnCompletedOutput
from netclaw.core.session.phase import Phase
from netclaw.core.session.state import SessionState
from netclaw.core.signals import notices
from netclaw.core.signals.cursors import Notice
from netclaw.testing.matchers import like
from netclaw.testing.people import ALICE, WAKE
from netclaw.testing.story import Story
from tests.core.session.compactions import WINDOW, notes
from tests.core.session.histories import settings_of
from tests.core.session.runs import end_run, resting
from tests.core.session.watchers import C, D, known, lines, opened, watching

DONE = ChildState.COMPLETED
LINE = notices.line(C, 12)

# Lines


@pytest.mark.requirement("signals.lines-of-a-turn")
def test_a_turn_tells_of_the_open_notices_behind_its_inputs() -> None:
    story = watching((C, 12, 13), (D, 0, 5))
    decision = story.admit("hello")
    assert decision.events == (
        like(
            TurnStarted,
            notices=(
                NoticeMark(target=D, mark=5, since=0),
                NoticeMark(target=C, mark=13, since=12),
            ),
        ),
    )
    assert story.runtime.notices == ()
    turn = story.state.turn
    assert turn is not None
    assert story.state.history == (
        like(UserMessage, text="hello"),
        NoteMessage(
            text=f"{notices.line(D, 0)}\n{LINE}",
            at=story.state.history[-1].at,
            turn_id=turn.turn_id,
            kind=NoteKind.NOTICES,
        ),
    )
    assert story.messages == story.state.history


@pytest.mark.requirement("signals.lines-of-a-turn")
def test_they_are_told_once() -> None:
    story = watching()
    story.admit("hello")
    story.answer()
    story.admit("and?")
    assert story.state.turn == like(type(story.state.turn), notices=())
    assert lines(story.messages) == [LINE], "the history keeps it where it was"


@pytest.mark.requirement("signals.lines-of-a-turn")
def test_the_rest_waits_for_the_next_turn() -> None:
    story = watching(*((SessionId(f"s{n}"), n, n + 1) for n in range(60)))
    story.admit("hello")
    turn = story.state.turn
    assert turn is not None
    assert [mark.mark for mark in turn.notices] == list(range(1, 51))
    story.answer()
    story.admit("more")
    turn = story.state.turn
    assert turn is not None
    assert [mark.mark for mark in turn.notices] == list(range(51, 61))


def test_the_newest_word_about_a_target_counts() -> None:
    story = watching()
    opened(story, C, 13, 20)
    assert known(story) == [Notice(target=C, since=13, mark=20)]
    story.when(NoticesChanged(target=D, notice=None))
    assert len(known(story)) == 1
    story.when(NoticesChanged(target=C, notice=None))
    assert known(story) == []


def test_a_notice_alone_starts_nothing() -> None:
    story = watching()
    assert story.last.events == ()
    assert story.runtime.phase is Phase.READY


@pytest.mark.requirement("signals.lines-of-a-turn")
def test_one_that_opens_while_a_turn_runs_is_for_the_next_turn() -> None:
    story = Story()
    story.start()
    story.admit("hello")
    opened(story)
    story.call_tools()
    story.finish_tools()
    assert lines(story.messages) == []
    story.answer()
    story.admit("next")
    assert lines(story.messages) == [LINE]


@pytest.mark.requirement("signals.lines-of-a-turn")
def test_a_turn_that_tells_of_results_tells_of_notices_too() -> None:
    story = resting(ALICE)
    opened(story)
    end_run(story)
    turn = story.state.turn
    assert turn is not None
    assert turn.delivers
    assert turn.notices == (NoticeMark(target=C, mark=13, since=12),)
    told = [item for item in story.messages if getattr(item, "turn_id", "") == turn.turn_id]
    assert [item.text == LINE for item in told] == [True, False]


@pytest.mark.requirement("signals.lines-of-a-turn")
def test_what_netclaw_answers_itself_takes_no_notice() -> None:
    story = watching()
    story.admit("/status")
    assert len(story.runtime.notices) == 1
    story.admit("hello")
    assert lines(story.messages) == [LINE]


# Turns that come to nothing


@pytest.mark.requirement("signals.given-back")
def test_a_turn_that_fails_before_its_first_round_leaves_no_line() -> None:
    story = watching()
    story.admit("hello")
    story.when(story.failed())
    assert lines(story.state.history) == []
    assert [item.text for item in story.state.history if isinstance(item, UserMessage)] == ["hello"]
    story.admit("again")
    assert lines(story.messages) == [LINE], "the same line, once"
    assert replay(SessionState(), story.journal) == story.state


@pytest.mark.requirement("signals.given-back")
def test_the_turn_that_begins_with_the_end_of_a_failed_one_tells_the_former_line() -> None:
    story = watching()
    story.admit("hello")
    opened(story, C, 13, 20)
    story.admit("again")
    decision = story.when(story.failed())
    assert decision.events[-1] == like(
        TurnStarted, notices=(NoticeMark(target=C, mark=20, since=12),)
    )
    assert lines(story.messages) == [LINE], "what was told before the failure is told again"


@pytest.mark.requirement("signals.given-back")
def test_a_turn_that_fails_later_keeps_its_line() -> None:
    story = watching()
    story.admit("hello")
    story.call_tools()
    story.finish_tools()
    story.when(story.failed())
    assert lines(story.state.history) == [LINE]
    assert known(story) == []


@pytest.mark.requirement("signals.given-back")
def test_a_turn_that_a_person_stops_keeps_its_line() -> None:
    story = watching()
    story.admit("hello")
    story.admit("/stop")
    assert story.state.turn is None
    assert lines(story.state.history) == [LINE]


@pytest.mark.requirement("signals.given-back")
def test_only_its_own_line_goes() -> None:
    story = watching()
    story.admit("hello")
    story.answer()
    opened(story, D, 1, 2)
    story.admit("again")
    story.when(story.failed())
    assert lines(story.state.history) == [LINE]
    assert known(story) == [Notice(target=D, since=1, mark=2)]
    story.given(
        TurnFailed(
            turn_id=story.make_id(),  # type: ignore[arg-type]
            category=ErrorCategory.INTERNAL,
            reference="r",
            note="A turn that is not open.",
            input_ids=(),
        )
    )
    assert lines(story.state.history) == [LINE]


@pytest.mark.requirement("signals.given-back")
def test_a_turn_that_goes_on_after_a_crash_keeps_its_line() -> None:
    story = watching()
    story.admit("hello")
    before = story.messages
    story.crash()
    decision = story.start()
    assert decision.effects[-1] == like(CallModel, round=0)
    assert story.messages == before
    assert lines(story.messages) == [LINE]


@pytest.mark.requirement("signals.given-back")
def test_a_turn_that_a_start_ends_before_a_round_leaves_none() -> None:
    story = Story(interest=OutputFilter.ALL)
    story.start()
    opened(story)
    story.admit("hello")
    story.when(BeginOutput(token=story.model_token))
    story.crash()
    story.runtime = replace(story.runtime, notices=())
    assert story.start().events == (like(TurnFailed, category=ErrorCategory.INTERRUPTED),)
    assert lines(story.state.history) == []


@pytest.mark.requirement("signals.lines-of-a-turn")
def test_a_compaction_before_the_first_round_keeps_what_the_turn_tells() -> None:
    story = resting(ALICE, runs=4, settings=settings_of(window=WINDOW))
    story.admit("question")
    story.when(story.answered("x" * 12_000))
    opened(story)
    story.admit("/status")
    story.given(*(ChildEnded(run_id=run.run_id, state=DONE) for run in story.state.children))
    story.when(Advance())
    told = story.messages[-5:]
    assert lines(told[:1]) == [LINE]
    story.when(replace(story.failed(), is_context_overflow=True))
    notes(story)
    assert story.messages == (like(NoteMessage, kind=NoteKind.SUMMARY), *told)


# Wakes


@pytest.mark.requirement("signals.quiet-wake")
def test_a_wake_begins_a_turn_that_tells_of_the_notice() -> None:
    story = watching()
    decision = story.admit("wake", by=WAKE)
    assert decision.events == (like(TurnStarted, authority=WAKE, is_aside=False),)
    assert lines(story.messages) == [LINE]


@pytest.mark.requirement("signals.quiet-wake")
def test_a_wake_with_nothing_to_tell_ends_without_a_word() -> None:
    story = Story(interest=OutputFilter.ALL)
    story.start()
    decision = story.admit("wake", by=WAKE)
    assert decision.events == (
        like(TurnStarted, authority=WAKE, is_aside=True, notices=()),
        like(TurnRecorded, outcome=TurnOutcome.STOPPED, note="", input_ids=("i1",)),
    )
    (_, ended) = decision.events
    assert isinstance(ended, TurnRecorded)
    assert ended.is_quiet
    assert (decision.outputs, decision.outbox, decision.early) == ((), (), ())
    assert story.runtime.phase is Phase.READY
    assert story.state.history == ()
    assert story.state.buffered == ()


@pytest.mark.requirement("signals.quiet-wake")
def test_a_quiet_wake_says_which_runs_are_open_like_any_end() -> None:
    story = resting(ALICE)
    story.admit("wake", by=WAKE)
    open_runs = tuple(run.run_id for run in story.state.children)
    assert story.events()[-1] == like(TurnRecorded, note="", open_child_runs=open_runs)


@pytest.mark.requirement("signals.quiet-wake")
def test_a_wake_behind_a_turn_that_told_of_everything_is_quiet() -> None:
    story = watching()
    story.admit("hello")
    story.admit("wake", by=WAKE)
    decision = story.answer()
    assert [type(event) for event in decision.events] == [TurnRecorded, TurnStarted, TurnRecorded]
    assert not any(
        isinstance(output, TurnCompletedOutput) and output.input_ids == ("i2",)
        for output in decision.outputs
    )


@pytest.mark.requirement("signals.quiet-wake")
def test_a_wake_in_a_new_process_is_judged_by_what_that_is_told() -> None:
    story = Story()
    story.given(story.input("wake", by=WAKE))
    story.runtime = replace(story.runtime, notices=(Notice(target=C, since=12, mark=13),))
    assert story.when(Recover()).events == (like(TurnStarted, is_aside=False),)


@pytest.mark.requirement("signals.quiet-wake")
def test_an_end_that_has_something_to_say_is_not_quiet() -> None:
    story = Story()
    story.start()
    story.admit("hello")
    story.admit("/stop")
    ended = [event for event in story.events() if isinstance(event, TurnRecorded)]
    assert [event.is_quiet for event in ended] == [False, False]
