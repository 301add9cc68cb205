"""When child runs and background jobs make a start due, and when they must not."""

from __future__ import annotations

import pytest

from netclaw.core.authority import Authority
from netclaw.core.ids import CallId, JobId, RunId, SessionId, TurnId
from netclaw.core.session.child_events import (
    ChildAccepted,
    ChildEnded,
    ChildParked,
    ChildResultDelivered,
    ChildResumed,
    ChildState,
    ParkKind,
)
from netclaw.core.session.consent_events import (
    ConsentAnswered,
    ConsentRequest,
    ConsentRequested,
)
from netclaw.core.session.events import AnswerAdmitted, SessionEvent, TurnStarted
from netclaw.core.session.job_events import JobEnded, JobReaped, JobReported, JobStarted, JobState
from netclaw.ports.journal import StartPoint
from netclaw.testing.people import ALICE, REMINDER
from netclaw.testing.story import NEEDS_CONSENT
from netclaw.wire.journal_codec import encode_event
from tests.contracts.journal_world import SESSION, World, failed, recorded
from tests.contracts.test_journal_parked import is_due

CALL = CallId("cc1")
FIRST, SECOND = RunId("r1"), RunId("r2")
JOB = JobId("j1")
ENDED = ChildEnded(run_id=FIRST, state=ChildState.COMPLETED)
JOB_ENDED = JobEnded(job_id=JOB, state=JobState.COMPLETED, exit_code=0)


def accepted(run_id: RunId = FIRST) -> ChildAccepted:
    """A run is accepted."""
    return ChildAccepted(
        run_id=run_id,
        session_id=SessionId(f"{SESSION}/sub/{run_id}"),
        agent="a",
        task="t",
        start_key=run_id,
        digest="d",
        turn_id=TurnId("t1"),
        call_id=CallId(f"c-{run_id}"),
        authority=ALICE,
        is_attended=True,
    )


JOB_STARTED = JobStarted(
    job_id=JOB,
    turn_id=TurnId("t1"),
    call_id=CallId("c"),
    command="make",
    authority=ALICE,
    log_path="/log",
)


def asked(run_id: RunId = FIRST) -> tuple[SessionEvent, ...]:
    """The run parks for the consent of one call."""
    request = ConsentRequest(
        call_id=CALL,
        tool="shell_execute",
        display="ls",
        candidates=("ls",),
        options=NEEDS_CONSENT.options,
        requester=ALICE.requester,
    )
    return (
        ConsentRequested(turn_id=TurnId("ct"), request=request, run_id=run_id),
        ChildParked(run_id=run_id, kind=ParkKind.CONSENT),
    )


def telling(turn: str, authority: Authority = ALICE) -> TurnStarted:
    """A turn that tells of results."""
    return TurnStarted(turn_id=TurnId(turn), input_ids=(), authority=authority)


async def given(world: World, *events: SessionEvent) -> StartPoint:
    """A session whose process appended these."""
    await world.create()
    start = await world.start()
    await world.append(start, *events)
    return start


@pytest.mark.requirement("child.start-due")
async def test_a_run_at_work_makes_a_start_due(journal_world: World) -> None:
    await given(journal_world, accepted())
    assert await is_due(journal_world)


@pytest.mark.requirement("child.start-due")
async def test_a_run_parked_by_a_drain_makes_a_start_due(journal_world: World) -> None:
    await given(journal_world, accepted(), ChildParked(run_id=FIRST, kind=ParkKind.DRAIN))
    assert await is_due(journal_world)


@pytest.mark.requirement("child.start-due")
async def test_a_run_that_waits_for_consent_starts_nothing(journal_world: World) -> None:
    await given(journal_world, accepted(), *asked())
    assert not await is_due(journal_world)


@pytest.mark.requirement("child.start-due")
async def test_its_answer_starts_the_session_and_so_does_the_run(journal_world: World) -> None:
    world = journal_world
    await given(world, accepted(), *asked())
    answer = AnswerAdmitted(call_id=CALL, option="once", answerer="U1")
    await world.journal.append_own(SESSION, (encode_event(answer),), at=1)
    assert await is_due(world)
    start = await world.start()
    answered = ConsentAnswered(
        turn_id=TurnId("ct"), call_id=CALL, option="once", answerer="U1", run_id=FIRST
    )
    await world.append(start, answered)
    assert await is_due(world), "nothing resumed it yet"
    start = await world.start()
    await world.append(start, ChildResumed(run_id=FIRST))
    assert await is_due(world)


@pytest.mark.requirement("child.start-due")
async def test_in_the_pause_only_a_person_starts_the_session(journal_world: World) -> None:
    world = journal_world
    await given(world, accepted(), accepted(SECOND), *asked(SECOND), ENDED, JOB_STARTED, JOB_ENDED)
    assert not await is_due(world)
    await world.journal.admit(world.input_request(authority=REMINDER))
    assert not await is_due(world)
    await world.journal.admit(world.input_request(authority=ALICE))
    assert await is_due(world)


@pytest.mark.requirement("child.start-due")
@pytest.mark.parametrize("is_failed", [True, False])
async def test_a_result_is_work_until_the_turn_that_told_of_it_is_over(
    journal_world: World, is_failed: bool
) -> None:
    world = journal_world
    await given(world, accepted(), ENDED)
    assert await is_due(world)
    start = await world.start()
    told = ChildResultDelivered(run_id=FIRST, turn_id=TurnId("t2"))
    await world.append(start, telling("t2"), told)
    assert await is_due(world)
    start = await world.start()
    await world.append(start, failed("t2") if is_failed else recorded("t2"))
    assert not await is_due(world)


@pytest.mark.requirement("job.start-due")
async def test_a_live_or_reaped_job_starts_nothing(journal_world: World) -> None:
    world = journal_world
    await given(world, JOB_STARTED)
    assert not await is_due(world)
    start = await world.start()
    await world.append(start, JobReaped(job_id=JOB))
    assert not await is_due(world)


@pytest.mark.requirement("job.start-due")
async def test_the_end_of_a_job_is_work_until_it_was_told(journal_world: World) -> None:
    world = journal_world
    await given(world, JOB_STARTED, JOB_ENDED)
    assert await is_due(world)
    start = await world.start()
    reported = JobReported(job_id=JOB, turn_id=TurnId("t2"))
    await world.append(start, telling("t2"), reported, recorded("t2"))
    assert not await is_due(world)


@pytest.mark.requirement("child.start-due")
async def test_neither_a_reset_nor_a_deleted_session_has_runs(journal_world: World) -> None:
    world = journal_world
    await given(world, accepted(), ENDED, JOB_STARTED, JOB_ENDED)
    await world.journal.reset_session(SESSION, at=1)
    assert not await is_due(world)
    start = await world.start()
    await world.append(start, accepted(SECOND), JOB_STARTED, JOB_ENDED)
    await world.journal.delete_session(SESSION)
    assert await world.journal.runnable_sessions() == ()
