"""A stopped turn goes on by itself for ten minutes, and the model is told of the stop once."""

from __future__ import annotations

from dataclasses import replace

import pytest

from netclaw.core.errors import ErrorCategory
from netclaw.core.messages import NoteMessage
from netclaw.core.session import sentences
from netclaw.core.session.after_drain import AfterDrain
from netclaw.core.session.commands import TimerKind
from netclaw.core.session.drain import RESUME_WITHIN_MS
from netclaw.core.session.effects import Log
from netclaw.core.session.events import DrainStopped, Resumed, TurnFailed, TurnRecorded, TurnStarted
from netclaw.core.session.outputs import ErrorOutput
from netclaw.core.session.state import Runtime
from netclaw.testing.matchers import like
from netclaw.testing.people import ALICE, BOB
from netclaw.testing.story import Story

TEN_MINUTES_S = RESUME_WITHIN_MS / 1000


def stopped(then: AfterDrain = AfterDrain.DAEMON_RESTART) -> Story:
    """A turn that was stopped after its first batch and would go on."""
    story = Story()
    story.start()
    story.admit("question", by=ALICE)
    story.call_tools()
    story.drain(then)
    story.finish_tools()
    story.fire(TimerKind.PASSIVATION_GRACE)
    return story


def stop_in_model_call(story: Story) -> None:
    """The model call of the resumed turn is cut by the next stop."""
    story.drain()
    story.fire(TimerKind.DRAIN_SAFE_POINT)
    story.fire(TimerKind.PASSIVATION_GRACE)


def notes(story: Story) -> list[str]:
    """What the model call at this moment is told beside the history."""
    return [item.text for item in story.messages if isinstance(item, NoteMessage)]


@pytest.mark.requirement("restart.deadline")
@pytest.mark.parametrize("then", [AfterDrain.DAEMON_RESTART, AfterDrain.DAEMON_STOP])
def test_within_ten_minutes_a_stopped_turn_goes_on(then: AfterDrain) -> None:
    story = stopped(then)
    story.clock.advance(TEN_MINUTES_S - 1)
    assert story.crash().start().events == (like(Resumed),)
    assert story.answer().events == (like(TurnRecorded, input_ids=("i1",)),)


@pytest.mark.requirement("restart.deadline")
def test_after_ten_minutes_it_ends_with_one_warning_and_the_notice() -> None:
    story = stopped()
    story.clock.advance(TEN_MINUTES_S)
    decision = story.crash().start()
    assert decision.events == (
        like(TurnFailed, category=ErrorCategory.INTERRUPTED, input_ids=("i1",)),
    )
    warnings = [i for i in decision.effects if isinstance(i, Log) and i.level == "warning"]
    assert len(warnings) == 1
    told = [item for item in decision.outputs if isinstance(item, ErrorOutput)]
    assert [sentences.EXPIRED_TURN in item.sentence for item in told] == [True]
    assert story.crash().start().events == ()


@pytest.mark.requirement("restart.deadline")
def test_a_second_stop_in_a_row_gives_no_more_time() -> None:
    story = stopped()
    story.clock.advance(TEN_MINUTES_S / 2)
    story.crash().start()
    stop_in_model_call(story)
    first, second = (item for item in story.events() if isinstance(item, DrainStopped))
    assert second.deadline_at == first.deadline_at
    story.clock.advance(TEN_MINUTES_S / 2)
    assert story.crash().start().events == (like(TurnFailed),)


@pytest.mark.requirement("restart.deadline")
def test_a_crash_after_it_was_taken_up_again_is_no_stop() -> None:
    story = stopped()
    story.clock.advance(TEN_MINUTES_S / 2)
    story.crash().start()
    story.clock.advance(TEN_MINUTES_S)  # a model call may take this long
    assert story.crash().start().events == (like(Resumed),)


@pytest.mark.requirement("restart.deadline")
def test_a_turn_that_got_on_since_has_the_whole_time_again() -> None:
    story = stopped()
    story.clock.advance(TEN_MINUTES_S / 2)
    story.crash().start()
    story.call_tools()
    story.drain()
    story.finish_tools()
    story.fire(TimerKind.PASSIVATION_GRACE)
    story.clock.advance(TEN_MINUTES_S - 1)
    assert story.crash().start().events == (like(Resumed),)


@pytest.mark.requirement("restart.deadline")
def test_a_turn_that_launched_nothing_runs_again_however_late() -> None:
    story = Story()
    story.start()
    story.admit("question")
    stop_in_model_call(story)
    story.clock.advance(10 * TEN_MINUTES_S)
    assert story.crash().start().events == (like(Resumed),)
    assert notes(story) == []


@pytest.mark.requirement("restart.deadline")
def test_a_stop_of_an_older_journal_has_no_limit() -> None:
    story = stopped()
    turn = story.state.turn
    assert turn is not None
    story.given(
        DrainStopped(turn_id=turn.turn_id, point="budget", is_restart=True, is_person_told=False)
    )
    story.clock.advance(10 * TEN_MINUTES_S)
    assert story.crash().start().events == (like(Resumed),)


@pytest.mark.requirement("restart.continuity")
def test_a_turn_that_goes_on_is_told_so_with_its_first_model_call_alone() -> None:
    story = stopped()
    story.crash().start()
    assert notes(story) == [sentences.CONTINUED]
    story.call_tools()
    story.finish_tools()
    assert notes(story) == []
    assert sentences.CONTINUED not in str(story.state.history)


@pytest.mark.requirement("restart.continuity")
def test_the_turn_after_one_that_was_stopped_for_good_is_told_of_the_stop() -> None:
    story = Story()
    story.start()
    story.admit("question", by=ALICE)
    story.call_tools()
    story.given(story.input("another", by=BOB))
    story.drain()
    story.finish_tools()
    story.fire(TimerKind.PASSIVATION_GRACE)
    decision = story.crash().start()
    assert decision.events == (like(TurnFailed), like(TurnStarted, input_ids=("i2",)))
    assert decision.early
    assert decision.runtime.continuity == sentences.STARTED_AGAIN
    assert notes(story)[-1] == sentences.STARTED_AGAIN
    story.answer()
    assert sentences.STARTED_AGAIN not in notes(story)


@pytest.mark.requirement("restart.continuity")
def test_a_crash_and_a_start_with_nothing_open_are_no_stop() -> None:
    story = Story()
    story.start()
    story.admit("question")
    story.call_tools()
    story.finish_tools()
    story.crash().start()
    assert notes(story) == []
    story.answer()
    assert story.crash().start().runtime == like(Runtime, continuity="")


@pytest.mark.requirement("restart.twice")
def test_two_restarts_in_a_row_leave_one_turn_and_one_answer() -> None:
    story = stopped()
    story.crash().start()
    stop_in_model_call(story)
    assert story.crash().start().events == (like(Resumed),)
    assert story.answer().events == (like(TurnRecorded, input_ids=("i1",)),)
    launched = [item for item in story.events() if type(item).__name__ == "ToolBatchStarted"]
    assert len(launched) == 1
    assert replace(story.state, head=0).turn is None
