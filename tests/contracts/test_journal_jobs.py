"""Background jobs in the lists of a journal: from their start until they are forgotten."""

from __future__ import annotations

from dataclasses import replace

import pytest

from netclaw.core.errors import NotFoundError
from netclaw.core.ids import JobId, SessionId, TurnId
from netclaw.core.session.events import SessionEvent, TurnStarted
from netclaw.core.session.job_events import JobEnded, JobReaped, JobReported, JobState
from netclaw.ports.job_records import JobRecord
from netclaw.testing.people import ALICE
from tests.contracts.journal_world import SESSION, World, failed, recorded
from tests.contracts.test_journal_runs import JOB, JOB_ENDED, JOB_STARTED

pytestmark = pytest.mark.requirement("jobs.lists")

OTHER = JobId("j2")
LATER = 10**15


def began(turn: str, *, is_aside: bool = False) -> TurnStarted:
    """A turn begins without an input."""
    return TurnStarted(turn_id=TurnId(turn), input_ids=(), authority=ALICE, is_aside=is_aside)


def told(turn: str) -> tuple[SessionEvent, ...]:
    """A turn that tells of the job's end begins."""
    return began(turn), JobReported(job_id=JOB, turn_id=TurnId(turn))


async def write(world: World, *events: SessionEvent) -> None:
    """A new process of the session appends these, one by one."""
    start = await world.start()
    for event in events:
        start = replace(start, record=await world.record())
        await world.append(start, event)


async def only(world: World) -> JobRecord:
    """The one job there is."""
    (job,) = await world.journal.list_jobs(limit=9)
    assert await world.journal.find_jobs(job.job_id) == (job,)
    return job


async def is_told(world: World) -> bool:
    """Whether a turn that told of the job is over."""
    job = await only(world)
    found = await world.journal.told_jobs(before=LATER, limit=9)
    assert found == ((job,) if job.told_at is not None else ())
    return bool(found)


async def test_a_job_is_listed_from_its_start(journal_world: World) -> None:
    await journal_world.create()
    await write(journal_world, JOB_STARTED)
    job = await only(journal_world)
    assert (job.session_id, job.job_id, job.command) == (SESSION, JOB, "make")
    assert (job.state, job.exit_code, job.ended_at) == (JobState.RUNNING, None, None)
    assert job.log_path == "/log"
    assert job.started_at > 0
    assert not await is_told(journal_world)


async def test_the_first_end_of_a_job_stands_and_it_stays_listed(journal_world: World) -> None:
    await journal_world.create()
    await write(journal_world, JOB_STARTED, JOB_ENDED)
    await write(journal_world, replace(JOB_ENDED, state=JobState.FAILED), JobReaped(job_id=JOB))
    job = await only(journal_world)
    assert (job.state, job.exit_code) == (JobState.COMPLETED, 0)
    assert job.ended_at is not None
    await journal_world.die()
    assert await only(journal_world) == job


@pytest.mark.parametrize("end", [recorded("t2"), failed("t2")])
async def test_a_job_was_told_of_when_the_turn_is_over_however_it_ends(
    journal_world: World, end: SessionEvent
) -> None:
    await journal_world.create()
    await write(journal_world, JOB_STARTED, JOB_ENDED, *told("t2"))
    assert not await is_told(journal_world)
    await journal_world.die()
    await write(journal_world, end)
    assert await is_told(journal_world)
    assert await journal_world.journal.told_jobs(before=0, limit=9) == ()


async def test_a_reaped_job_was_told_of_by_the_first_turn_that_completed(
    journal_world: World,
) -> None:
    await journal_world.create()
    await write(journal_world, JOB_STARTED)
    await write(journal_world, JobReaped(job_id=JOB), began("t2"), failed("t2"))
    assert (await only(journal_world)).state is JobState.REAPED
    assert not await is_told(journal_world)
    await write(journal_world, began("t3", is_aside=True), recorded("t3"))
    assert not await is_told(journal_world), "an answer to a command shows no model anything"
    await journal_world.stop()
    await write(journal_world, began("t4"), recorded("t4"))
    assert await is_told(journal_world)


async def test_a_reset_ends_what_ran_and_leaves_nobody_to_tell(journal_world: World) -> None:
    await journal_world.create()
    await write(journal_world, JOB_STARTED, replace(JOB_STARTED, job_id=OTHER))
    await write(journal_world, JobEnded(job_id=OTHER, state=JobState.FAILED, exit_code=2))
    await journal_world.journal.reset_session(SESSION, at=journal_world.clock.now_ms())
    states = [job.state for job in await journal_world.journal.list_jobs(limit=9)]
    assert states == [JobState.REAPED, JobState.FAILED]
    assert len(await journal_world.journal.told_jobs(before=LATER, limit=9)) == 2


async def test_a_job_is_forgotten_only_once_it_was_told_of(journal_world: World) -> None:
    await journal_world.create()
    await write(journal_world, JOB_STARTED, JOB_ENDED, *told("t2"))
    await journal_world.journal.forget_job(SESSION, JOB)
    assert (await only(journal_world)).job_id == JOB
    await write(journal_world, recorded("t2"))
    await journal_world.journal.forget_job(SESSION, JOB)
    await journal_world.journal.forget_job(SESSION, JOB)
    assert await journal_world.journal.list_jobs(limit=9) == ()
    assert await journal_world.journal.find_jobs(JOB) == ()
    with pytest.raises(NotFoundError):
        await journal_world.journal.forget_job(SessionId("nobody"), JOB)


async def test_lists_go_by_age_page_by_page_and_by_session(journal_world: World) -> None:
    await journal_world.create()
    ids = [JobId(f"j{number}") for number in range(5)]
    await write(journal_world, *(replace(JOB_STARTED, job_id=job_id) for job_id in ids))
    first = await journal_world.journal.list_jobs(limit=3)
    rest = await journal_world.journal.list_jobs(limit=3, after=first[-1].position)
    assert [job.job_id for job in (*first, *rest)] == ids
    assert len(await journal_world.journal.list_jobs(limit=9, session_id=SESSION)) == 5
    assert await journal_world.journal.list_jobs(limit=9, session_id=SessionId("nobody")) == ()


async def test_the_jobs_of_a_deleted_session_are_gone(journal_world: World) -> None:
    await journal_world.create()
    await write(journal_world, JOB_STARTED, JOB_ENDED)
    await journal_world.journal.delete_session(SESSION)
    assert await journal_world.journal.list_jobs(limit=9) == ()
    assert await journal_world.journal.find_jobs(JOB) == ()
