"""Background jobs: started, ended, cancelled, reaped, and what they keep up or wake."""

from __future__ import annotations

from dataclasses import replace

import pytest

from netclaw.core.authority import Audience, Authority
from netclaw.core.ids import JobId, SessionId, TurnId
from netclaw.core.session.after_drain import AfterDrain
from netclaw.core.session.child_effects import CancelAnswer
from netclaw.core.session.commands import Passivate, StopTurn, TimerKind
from netclaw.core.session.effects import ExitProcess, StartTimer
from netclaw.core.session.events import (
    ResetReason,
    SessionReset,
    ToolResultRecorded,
    TurnFailed,
    TurnRecorded,
    TurnStarted,
)
from netclaw.core.session.job_commands import CancelJob
from netclaw.core.session.job_effects import (
    AnswerJobCancel,
    JobRefusal,
    KillJob,
    LaunchJob,
    RefuseJob,
)
from netclaw.core.session.job_events import JobEnded, JobReaped, JobReported, JobStarted, JobState
from netclaw.core.session.jobs import may_control
from netclaw.core.session.open_work import holds_session, next_up
from netclaw.core.session.outputs import JobOutput
from netclaw.core.session.phase import Phase
from netclaw.core.session.runnable import has_runnable_work
from netclaw.testing.matchers import like
from netclaw.testing.people import ALICE, BOB
from netclaw.testing.story import Story
from tests.core.session.runs import job_ends, park, phase_of, spawn, starting, with_job, working

J1 = JobId("j1")


@pytest.mark.requirement("job.started-first")
def test_a_job_is_on_record_before_its_process_is_launched() -> None:
    story = working()
    command = starting(story)
    decision = story.when(command)
    assert story.state.turn is not None
    assert decision.events == (
        JobStarted(
            job_id=J1,
            turn_id=story.state.turn.turn_id,
            call_id=command.call_id,
            command="make",
            authority=ALICE,
            log_path="/s/jobs/j1/output.log",
            limit_s=600.0,
            is_attended=True,
        ),
    )
    assert decision.effects == (LaunchJob(token=command.token, job_id=J1),)
    assert decision.early == ()
    again = story.when(command)
    assert (again.events, again.effects) == ((), ())


@pytest.mark.requirement("job.turn-source")
def test_a_call_that_does_not_run_starts_no_job() -> None:
    story = working()
    command = starting(story)
    story.finish_tools()
    refused = (RefuseJob(token=command.token, job_id=J1, refusal=JobRefusal.NOT_RUNNING),)
    assert story.when(command).effects == refused
    story.answer()
    assert story.when(command).effects == refused
    assert story.state.jobs == ()


@pytest.mark.requirement("job.turn-source")
def test_whoever_is_being_stopped_starts_no_job() -> None:
    stopping = (like(RefuseJob, refusal=JobRefusal.STOPPING),)
    story = working()
    story.when(StopTurn(actor="U1"))
    assert story.when(starting(story)).effects == stopping
    story = working()
    story.drain()
    assert story.when(starting(story)).effects == stopping


@pytest.mark.requirement("job.end-turn")
@pytest.mark.parametrize(
    "state", [JobState.COMPLETED, JobState.FAILED, JobState.TIMED_OUT, JobState.CANCELLED]
)
def test_every_end_is_a_turn_of_its_own_under_the_authority_of_the_start(state: JobState) -> None:
    story = with_job(ALICE)
    decision = story.when(job_ends(state=state, exit_code=None))
    assert decision.events == (
        JobEnded(job_id=J1, state=state),
        like(TurnStarted, input_ids=(), authority=ALICE),
        like(JobReported, job_id="j1"),
    )
    shown = like(JobOutput, job_id="j1", state=state, command="make", exit_code=None)
    assert decision.outputs[0] == shown
    assert story.answer().events == (like(TurnRecorded),)
    assert story.state.jobs == ()


@pytest.mark.requirement("job.end-once")
def test_a_job_ends_once() -> None:
    story = working()
    story.when(starting(story))
    story.when(job_ends())
    assert story.when(job_ends(state=JobState.FAILED)).events == ()
    assert story.when(job_ends("nobody")).events == ()
    story.given(JobEnded(job_id=J1, state=JobState.FAILED))
    assert story.state.jobs[0].state is JobState.COMPLETED
    story.given(JobReaped(job_id=J1))
    assert story.state.jobs[0].state is JobState.COMPLETED


def test_an_end_that_is_none_is_a_failure() -> None:
    story = working()
    story.when(starting(story))
    decision = story.when(job_ends(state=JobState.RUNNING))
    assert decision.events == (like(JobEnded, state=JobState.FAILED),)


@pytest.mark.requirement("job.end-once")
def test_a_job_whose_turn_failed_is_not_told_again() -> None:
    story = with_job()
    story.when(job_ends())
    assert story.when(story.failed()).events == (like(TurnFailed),)
    assert story.state.jobs == ()


@pytest.mark.requirement("job.end-turn")
def test_an_end_aborts_a_passivation() -> None:
    story = with_job()
    story.drain()
    assert phase_of(story) is Phase.PASSIVATING
    assert story.when(job_ends()).events == (like(JobEnded),)
    assert phase_of(story) is Phase.PASSIVATING, "a drain goes on"
    story.fire(TimerKind.PASSIVATION_GRACE)
    assert has_runnable_work(story.state)
    story.crash()
    assert story.start().events == (like(TurnStarted, input_ids=()), like(JobReported))


# Cancel


def cancelling(by: Authority | None, name: str = "j1") -> CancelJob:
    return CancelJob(job_id=JobId(name), actor="U1", authority=by)


@pytest.mark.requirement("job.cancel")
@pytest.mark.parametrize("by", [ALICE, BOB, None])
def test_a_cancel_kills_the_tree_and_the_end_follows(by: Authority | None) -> None:
    story = with_job(ALICE)
    decision = story.when(cancelling(by))
    assert decision.events == ()
    assert decision.effects == (
        KillJob(job_id=J1),
        AnswerJobCancel(job_id=J1, actor="U1", answer=CancelAnswer.ADMITTED),
    )
    ended = story.when(job_ends(state=JobState.CANCELLED, exit_code=None))
    assert ended.events[0] == JobEnded(job_id=J1, state=JobState.CANCELLED)
    assert story.when(cancelling(by)).effects == (
        like(AnswerJobCancel, answer=CancelAnswer.ALREADY),
    )


ELSEWHERE = [
    replace(ALICE, requester=replace(ALICE.requester, session_id=SessionId("cli/other"))),
    replace(ALICE, requester=replace(ALICE.requester, audience=Audience.TEAM)),
    replace(ALICE, requester=replace(ALICE.requester, boundary="slack:T1/C2")),
]


@pytest.mark.requirement("job.cancel")
@pytest.mark.parametrize("by", ELSEWHERE)
def test_a_job_of_elsewhere_is_as_unknown_as_one_that_never_was(by: Authority) -> None:
    story = with_job(ALICE)
    not_found = (like(AnswerJobCancel, answer=CancelAnswer.NOT_FOUND),)
    assert story.when(cancelling(by)).effects == not_found
    assert story.when(cancelling(ALICE, "nobody")).effects == not_found
    assert not may_control(story.state.jobs[0], by)


# Sleep and death


@pytest.mark.requirement("job.passivate")
@pytest.mark.parametrize("state", [JobState.RUNNING, JobState.PENDING])
def test_a_live_job_keeps_the_session_up(state: JobState) -> None:
    story = with_job()
    story.state = replace(story.state, jobs=(replace(story.state.jobs[0], state=state),))
    assert holds_session(story.state)
    assert story.runtime.idle_token == ""
    story.when(Passivate(reason="room"))
    assert phase_of(story) is Phase.READY
    assert not has_runnable_work(story.state), "it dies with the process"
    story.when(job_ends())
    assert like(StartTimer, timer=TimerKind.IDLE) in story.answer().effects
    assert not holds_session(story.state)


@pytest.mark.requirement("job.killed")
@pytest.mark.parametrize("then", list(AfterDrain))
def test_whatever_ends_the_process_kills_its_jobs(then: AfterDrain) -> None:
    story = with_job(ALICE, "j1", "j2")
    story.drain(then)
    decision = story.fire(TimerKind.PASSIVATION_GRACE)
    assert decision.effects == (
        KillJob(job_id=J1),
        KillJob(job_id=JobId("j2")),
        ExitProcess(reason="drain"),
    )
    assert not has_runnable_work(story.state), "no turn is started for them"


@pytest.mark.requirement("job.reaped")
def test_the_next_wake_reaps_them_and_no_turn_is_started() -> None:
    story = with_job(ALICE, "j1", "j2")
    story.when(job_ends("j2"))
    story.answer()
    story.crash()
    decision = story.start()
    assert decision.events == (JobReaped(job_id=J1),)
    assert story.state.jobs[0].state is JobState.REAPED
    assert next_up(story.state) is None
    story.crash()
    assert story.start().events == ()


@pytest.mark.requirement("job.reaped")
def test_a_reaped_job_is_listed_until_a_turn_completed() -> None:
    story = with_job()
    story.crash()
    story.start()
    story.admit(by=ALICE)
    story.when(story.failed())
    assert [job.job_id for job in story.state.jobs] == [J1]
    story.admit(by=ALICE)
    story.when(StopTurn(actor="U1"))
    assert [job.job_id for job in story.state.jobs] == [J1]
    story.admit(by=ALICE)
    story.answer()
    assert story.state.jobs == ()


@pytest.mark.requirement("job.reaped")
def test_what_netclaw_answers_itself_lists_no_reaped_job() -> None:
    story = with_job()
    story.crash().start()
    story.admit("/status")
    assert [job.state for job in story.state.jobs] == [JobState.REAPED]
    story.admit("go on")
    story.answer()
    assert story.state.jobs == ()


@pytest.mark.requirement("job.reaped")
def test_jobs_are_reaped_before_anything_else_is_healed() -> None:
    story = working()
    story.when(starting(story))
    story.crash()
    assert story.start().events == (
        JobReaped(job_id=J1),
        like(ToolResultRecorded),
        like(TurnFailed),
    )


@pytest.mark.requirement("job.reaped")
def test_jobs_are_reaped_also_when_the_new_process_is_drained_at_once() -> None:
    story = with_job()
    story.crash()
    story.drain()
    assert story.start().events == (JobReaped(job_id=J1),)


@pytest.mark.requirement("job.pause")
def test_a_job_that_ends_in_the_pause_is_told_when_it_is_over() -> None:
    story = working(calls=2)
    spawn(story, 0)
    story.when(starting(story, position=1))
    story.finish_tools()
    story.answer()
    park(story, "c1")
    assert story.when(job_ends()).events == (like(JobEnded),)
    assert story.runtime.idle_token, "neither holds the session"
    call_id = story.state.children[0].requests[0].request.call_id
    assert story.choose("refuse", call=call_id, by=ALICE).events[-1] == like(JobReported)


def test_a_report_of_a_job_nobody_knows_tells_nothing() -> None:
    story = working()
    before = story.messages
    story.given(JobReported(job_id=J1, turn_id=TurnId("t")))
    assert story.messages == before


def test_a_reset_leaves_no_job() -> None:
    story = with_job()
    story.given(SessionReset(reason=ResetReason.OPERATOR, life=2))
    assert story.state.jobs == ()
    assert Story().state.jobs == ()


@pytest.mark.requirement("job.no-run")
def test_a_job_is_no_child_run() -> None:
    story = working(ALICE)
    story.when(starting(story, "j1", 0))
    story.finish_tools()
    ended = story.answer()
    (recorded,) = (event for event in ended.events if isinstance(event, TurnRecorded))
    assert recorded.open_child_runs == ()
    assert story.state.jobs[0].state.is_live
