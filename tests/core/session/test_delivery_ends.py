"""What ends a turn that tells of results, and what crashes and drains do to it."""

from __future__ import annotations

import pytest

from netclaw.core.ids import TurnId
from netclaw.core.messages import NoteMessage
from netclaw.core.session.after_drain import AfterDrain
from netclaw.core.session.child_events import (
    ChildResultDelivered,
)
from netclaw.core.session.commands import Drain, StopTurn, TimerKind
from netclaw.core.session.events import (
    DrainStopped,
    OutboxRow,
    Resumed,
    ToolResultRecorded,
    TurnFailed,
    TurnRecorded,
    TurnStarted,
)
from netclaw.core.session.job_events import JobReported
from netclaw.core.session.open_work import Delivery, next_up, open_run_ids
from netclaw.core.session.outputs import TurnCompletedOutput
from netclaw.core.supervision import poison_events, stop_event
from netclaw.core.tool_call import OutcomeCategory
from netclaw.testing.matchers import containing, like
from netclaw.testing.people import ALICE, BOB, THREAD
from tests.core.session.runs import (
    end_run,
    job_ends,
    resting,
    run_of,
    spawn,
    working,
)

# Its end


@pytest.mark.requirement("delivery.closes")
def test_its_end_closes_the_run() -> None:
    story = resting()
    run_id = run_of(story).run_id
    assert open_run_ids(story.state) == (run_id,)
    end_run(story)
    decision = story.answer()
    assert decision.events == (like(TurnRecorded, input_ids=(), open_child_runs=()),)
    assert decision.outputs[-1] == like(TurnCompletedOutput, input_ids=(), open_child_runs=())
    assert run_of(story).is_closed
    assert open_run_ids(story.state) == ()


@pytest.mark.requirement("delivery.closes")
def test_its_failure_closes_the_run_too() -> None:
    story = resting()
    end_run(story)
    assert story.when(story.failed()).events == (like(TurnFailed, open_child_runs=()),)
    assert run_of(story).is_closed
    assert next_up(story.state) is None


@pytest.mark.requirement("delivery.closes")
def test_a_person_who_stops_it_closes_the_run() -> None:
    story = resting()
    end_run(story)
    assert story.when(StopTurn(actor="U1")).events == (like(TurnRecorded),)
    assert run_of(story).is_closed


@pytest.mark.requirement("delivery.closes")
def test_a_turn_given_up_by_the_supervisor_closes_the_run() -> None:
    story = resting(runs=2)
    end_run(story)
    other = run_of(story, 1).run_id
    assert stop_event(story.state, "ref") == like(TurnFailed, open_child_runs=(other,))
    story.given(*poison_events(story.state, "ref"))
    assert story.events()[-1] == like(TurnFailed, input_ids=(), open_child_runs=(other,))
    assert run_of(story).is_closed


@pytest.mark.requirement("delivery.open-runs")
def test_every_end_of_a_turn_lists_the_open_runs() -> None:
    story = working(calls=2)
    open_runs = (spawn(story, 0), spawn(story, 1))
    story.finish_tools()
    decision = story.when(story.failed())
    assert decision.events == (like(TurnFailed, open_child_runs=open_runs),)
    assert decision.outputs[-1] == like(
        TurnCompletedOutput, outcome=None, open_child_runs=open_runs
    )
    story.admit(by=ALICE)
    decision = story.answer()
    assert decision.events == (like(TurnRecorded, open_child_runs=open_runs),)
    assert decision.outputs[-1] == like(TurnCompletedOutput, open_child_runs=open_runs)
    end_run(story, 0)
    assert story.answer().events == (like(TurnRecorded, open_child_runs=open_runs[1:]),)


@pytest.mark.requirement("delivery.open-runs")
def test_a_result_that_was_not_told_yet_leaves_its_run_open() -> None:
    story = working()
    run_id = spawn(story)
    end_run(story)
    story.finish_tools()
    assert story.answer().events[0] == like(TurnRecorded, open_child_runs=(run_id,))


# Crashes and drains


@pytest.mark.requirement("delivery.exactly-once")
def test_a_crash_before_any_round_runs_it_again_and_tells_once() -> None:
    story = resting()
    end_run(story)
    story.crash()
    assert story.start().events == (like(Resumed),)
    told = [item for item in story.messages if isinstance(item, NoteMessage)]
    assert len(told) == 1
    story.answer()
    assert run_of(story).is_closed


@pytest.mark.requirement("delivery.exactly-once")
def test_a_crash_in_its_batch_ends_it_and_tells_no_more() -> None:
    story = resting()
    end_run(story)
    story.call_tools()
    story.crash()
    decision = story.start()
    assert decision.events[-1] == like(TurnFailed, input_ids=())
    assert run_of(story).is_closed
    assert like(TurnStarted) not in decision.events


@pytest.mark.requirement("delivery.exactly-once")
def test_an_end_that_no_turn_told_of_is_told_after_the_crash() -> None:
    story = working()
    spawn(story)
    end_run(story)
    story.crash()
    decision = story.start()
    assert decision.events == (
        like(ToolResultRecorded),
        like(TurnFailed),
        like(TurnStarted, input_ids=()),
        like(ChildResultDelivered),
    )


@pytest.mark.requirement("delivery.drain")
def test_a_drain_stops_it_like_any_turn_and_it_goes_on_afterwards() -> None:
    story = resting()
    end_run(story)
    story.call_tools()
    story.when(Drain(then=AfterDrain.DAEMON_RESTART, budget_s=20.0))
    decision = story.finish_tools()
    assert decision.events == (like(ToolResultRecorded), like(DrainStopped, is_person_told=False))
    story.fire(TimerKind.PASSIVATION_GRACE)
    story.crash()
    assert story.start().events == (like(Resumed),)


@pytest.mark.requirement("delivery.drain")
def test_a_drain_that_ends_it_tells_the_thread() -> None:
    story = resting(ALICE, runs=1)
    end_run(story)
    story.call_tools()
    story.admit(by=BOB)
    story.when(Drain(then=AfterDrain.DAEMON_RESTART, budget_s=20.0))
    decision = story.when(story.tool_ended(category=OutcomeCategory.SUCCESS))
    assert decision.outbox == (like(OutboxRow, target=THREAD, text=containing("restarting")),)


@pytest.mark.requirement("delivery.drain")
def test_nothing_is_told_in_a_drain() -> None:
    story = resting(runs=2)
    story.drain()
    assert like(TurnStarted) not in end_run(story, 0).events
    assert isinstance(next_up(story.state), Delivery)
    assert story.state.turn is None


def test_a_result_of_another_turn_is_not_this_ones() -> None:
    story = working()
    run_id = spawn(story)
    story.given(ChildResultDelivered(run_id=run_id, turn_id=TurnId("old")))
    assert story.state.turn is not None
    assert story.state.turn.delivers == ()
    story.given(JobReported(job_id=job_ends().job_id, turn_id=TurnId("old")))
    assert story.state.turn.reports == ()
