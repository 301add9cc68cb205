"""How child runs are accepted, and what their processes report."""

from __future__ import annotations

from dataclasses import replace
from typing import cast

import pytest

from netclaw.core.authority import Audience
from netclaw.core.ids import RunId, SessionId, TurnId
from netclaw.core.session.child_commands import (
    BeginChild,
    CloseChildDispatch,
    EndChild,
    ParkChild,
)
from netclaw.core.session.child_effects import (
    AcknowledgeChild,
    ConfirmSpawn,
    RefuseSpawn,
    ReportKind,
    SpawnRefusal,
    StartChild,
)
from netclaw.core.session.child_events import (
    ChildAccepted,
    ChildClosed,
    ChildEnded,
    ChildFrozen,
    ChildResultDelivered,
    ChildStarted,
    ChildState,
)
from netclaw.core.session.commands import StopTurn
from netclaw.core.session.effects import ExitProcess
from netclaw.core.session.events import (
    ResetReason,
    SessionKind,
    SessionReset,
    ToolResultRecorded,
    TurnStarted,
)
from netclaw.core.session.outputs import ChildOutput
from netclaw.testing.matchers import like
from netclaw.testing.people import ALICE
from netclaw.testing.story import Story
from tests.core.session.runs import (
    RESULT,
    accepting,
    end_run,
    ending,
    parking,
    resting,
    run_of,
    spawn,
    working,
)


def acknowledged(story: Story, report: ReportKind, position: int = 0) -> AcknowledgeChild:
    run = run_of(story, position)
    return AcknowledgeChild(run_id=run.run_id, start=run.start, report=report)


# Acceptance


@pytest.mark.requirement("child.accepted-first")
def test_a_run_is_on_record_before_it_starts_and_before_the_call_is_answered() -> None:
    story = working()
    command = accepting(story)
    decision = story.when(command)
    run_id = run_of(story).run_id
    assert story.state.turn is not None
    assert decision.events == (
        like(
            ChildAccepted,
            run_id=run_id,
            session_id=SessionId(f"{story.state.session_id}/sub/{run_id}"),
            agent="task-worker",
            turn_id=story.state.turn.turn_id,
            call_id=command.call_id,
            authority=ALICE,
            is_attended=True,
        ),
    )
    assert decision.effects == (
        ConfirmSpawn(token=command.token, run_id=run_id, state=ChildState.ACCEPTED),
        StartChild(run_id=run_id, start=1),
    )
    assert decision.outputs == (like(ChildOutput, run_id=run_id, state=ChildState.ACCEPTED),)


@pytest.mark.requirement("child.start-key")
def test_the_same_start_is_the_same_run() -> None:
    story = working()
    run_id = spawn(story)
    again = story.when(accepting(story))
    assert again.events == ()
    assert again.effects == (
        ConfirmSpawn(token=accepting(story).token, run_id=run_id, state=ChildState.RUNNING),
    )


@pytest.mark.requirement("child.start-key")
def test_another_start_under_the_same_call_is_a_conflict() -> None:
    story = working()
    spawn(story)
    decision = story.when(accepting(story, digest="d2"))
    assert decision.events == ()
    assert decision.effects == (like(RefuseSpawn, refusal=SpawnRefusal.START_CONFLICT),)


@pytest.mark.requirement("child.start-key")
def test_two_calls_of_one_batch_start_two_runs() -> None:
    story = working(calls=2)
    assert spawn(story, 0) != spawn(story, 1)


@pytest.mark.requirement("child.spawn-refused")
def test_a_call_that_does_not_run_starts_nothing() -> None:
    story = working()
    command = accepting(story)
    story.finish_tools()
    refused = like(RefuseSpawn, refusal=SpawnRefusal.NOT_RUNNING)
    assert story.when(command).effects == (refused,)
    story.answer()
    assert story.when(command).effects == (refused,)


@pytest.mark.requirement("child.depth")
def test_a_child_starts_no_child() -> None:
    story = working()
    story.state = replace(story.state, kind=SessionKind.CHILD)
    decision = story.when(accepting(story))
    assert decision.effects == (like(RefuseSpawn, refusal=SpawnRefusal.CHILD_SESSION),)


@pytest.mark.requirement("child.audience")
@pytest.mark.parametrize("audience", [Audience.PUBLIC, "", "Everybody"])
def test_without_an_audience_that_may_delegate_nothing_is_started(audience: str) -> None:
    wrong = replace(ALICE.requester, audience=cast("Audience", audience))
    story = working(replace(ALICE, requester=wrong))
    decision = story.when(accepting(story))
    assert decision.effects == (like(RefuseSpawn, refusal=SpawnRefusal.AUDIENCE),)


@pytest.mark.requirement("child.audience")
def test_a_run_has_the_audience_of_its_turn() -> None:
    team = replace(ALICE, requester=replace(ALICE.requester, audience=Audience.TEAM))
    story = working(team)
    spawn(story)
    assert run_of(story).accepted.authority.requester.audience is Audience.TEAM


@pytest.mark.requirement("child.spawn-refused")
def test_whoever_is_being_stopped_starts_nothing() -> None:
    story = working()
    story.when(StopTurn(actor="operator"))
    stopping = (like(RefuseSpawn, refusal=SpawnRefusal.STOPPING),)
    assert story.when(accepting(story)).effects == stopping
    story = working()
    story.drain()
    assert story.when(accepting(story)).effects == stopping


@pytest.mark.requirement("child.spawn-refused")
def test_a_session_with_a_very_long_id_starts_no_run() -> None:
    story = working()
    story.state = replace(story.state, session_id=SessionId("s" * 240))
    decision = story.when(accepting(story))
    assert decision.effects == (like(RefuseSpawn, refusal=SpawnRefusal.NAME_TOO_LONG),)


# Reports


@pytest.mark.requirement("child.reports")
def test_a_run_begins_once() -> None:
    story = working()
    run_id = spawn(story, begins=False)
    command = BeginChild(run_id=run_id, start=1)
    decision = story.when(command)
    assert decision.events == (ChildStarted(run_id=run_id),)
    assert decision.outputs == (like(ChildOutput, state=ChildState.RUNNING),)
    assert decision.effects == (acknowledged(story, ReportKind.BEGUN),)
    again = story.when(command)
    assert (again.events, again.effects) == ((), decision.effects)


@pytest.mark.requirement("child.end-before-ack")
def test_the_end_is_on_record_before_it_is_acknowledged() -> None:
    story = working()
    run_id = spawn(story)
    decision = end_run(story)
    assert decision.events == (
        ChildEnded(run_id=run_id, state=ChildState.COMPLETED, result_path=RESULT, files=("/p/a",)),
    )
    assert decision.outputs == (like(ChildOutput, state=ChildState.COMPLETED, result_path=RESULT),)
    assert decision.effects == (acknowledged(story, ReportKind.ENDED),)


@pytest.mark.requirement("child.end-before-ack")
def test_a_failed_run_confirms_no_files() -> None:
    story = working()
    spawn(story)
    decision = story.when(ending(story, state=ChildState.FAILED, reason="timeout"))
    assert decision.events == (
        like(ChildEnded, state=ChildState.FAILED, reason="timeout", files=()),
    )


def test_an_end_that_is_none_is_a_failure() -> None:
    story = working()
    spawn(story)
    decision = story.when(ending(story, state=ChildState.RUNNING))
    assert decision.events == (like(ChildEnded, state=ChildState.FAILED),)


@pytest.mark.requirement("child.stale-reports")
def test_reports_of_nobody_or_of_the_past_are_acknowledged_and_change_nothing() -> None:
    story = working()
    spawn(story)
    end_run(story)
    closed = run_of(story)
    reports: list[BeginChild | ParkChild | CloseChildDispatch | EndChild] = [
        BeginChild(run_id=closed.run_id, start=1),
        parking(story),
        CloseChildDispatch(run_id=closed.run_id, start=1),
        ending(story, state=ChildState.FAILED),
    ]
    strangers = [replace(report, run_id=RunId("nobody")) for report in reports]
    kinds = list(ReportKind)
    for report, kind in zip((*reports, *strangers), (*kinds, *kinds), strict=True):
        decision = story.when(report)
        assert decision.events == ()
        assert decision.effects == (AcknowledgeChild(run_id=report.run_id, start=1, report=kind),)


@pytest.mark.requirement("child.stale-reports")
def test_a_report_of_an_earlier_process_of_the_run_changes_nothing() -> None:
    story = resting()
    parked = parking(story)
    story.when(parked)
    assert run_of(story).start == 2
    for report in (parked, replace(ending(story), start=1)):
        assert story.when(report).events == ()
    assert run_of(story).is_live


# The record


@pytest.mark.requirement("child.reset")
def test_a_reset_leaves_no_run_and_late_reports_go_nowhere() -> None:
    story = resting()
    report = ending(story)
    story.given(SessionReset(reason=ResetReason.OPERATOR, life=2))
    story.crash()
    assert story.start().effects[-1] != like(StartChild)
    assert story.state.children == ()
    assert story.when(report).events == ()


def test_events_about_runs_nobody_knows_change_nothing() -> None:
    story = working()
    spawn(story)
    before = story.state
    nobody = RunId("nobody")
    for event in (
        ChildStarted(run_id=nobody),
        ChildEnded(run_id=nobody, state=ChildState.LOST),
        ChildResultDelivered(run_id=nobody, turn_id=TurnId("t")),
        ChildClosed(run_id=nobody, reason="done"),
        ChildFrozen(
            run_id=nobody,
            parent=story.state.session_id,
            agent="a",
            system_prompt="",
            provider="p",
            model="m",
            tools=(),
        ),
    ):
        story.given(event)
    assert replace(story.state, head=before.head) == before


def test_a_second_end_on_record_changes_nothing() -> None:
    story = working()
    run_id = spawn(story)
    end_run(story)
    before = run_of(story)
    story.given(ChildEnded(run_id=run_id, state=ChildState.LOST))
    assert run_of(story) == before


@pytest.mark.requirement("child.closed-kept")
def test_the_newest_closed_runs_stay_known() -> None:
    story = Story()
    story.start()
    for _ in range(34):
        story.admit(by=ALICE)
        story.call_tools()
        spawn(story)
        end_run(story, -1)
        story.finish_tools()
        story.answer()
        story.answer()
    assert len(story.state.children) == 32
    assert all(run.is_closed for run in story.state.children)


@pytest.mark.requirement("child.not-ended-by-turns")
def test_neither_the_stop_nor_the_end_of_a_turn_ends_a_run() -> None:
    story = working()
    spawn(story)
    story.when(StopTurn(actor="U1"))
    decision = story.finish_tools()
    assert decision.events[0] == like(ToolResultRecorded)
    assert run_of(story).is_live
    assert like(ExitProcess) not in decision.effects
    assert like(TurnStarted) not in decision.events
