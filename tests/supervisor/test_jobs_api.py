"""The operator's service about background jobs, and their clean-up."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import grpc
import pytest

from netclaw.core.errors import InvalidArgumentError, NotFoundError
from netclaw.core.ids import JobId, SessionId, TurnId
from netclaw.core.session.events import TurnStarted
from netclaw.core.session.job_events import JobReaped, JobReported
from netclaw.ports.jobs import KEPT_S
from netclaw.supervisor.job_cleanup import JobCleanup
from netclaw.testing.people import ALICE
from netclaw.wire.jobs import ASK_SLOT
from netclaw.wire.journal_codec import encode_event
from netclaw.wire.v1 import admin_pb2 as pb
from tests.contracts.journal_world import recorded
from tests.contracts.test_journal_runs import JOB, JOB_ENDED, JOB_STARTED
from tests.supervisor.test_consents import ask, started
from tests.supervisor.test_gateway import refused
from tests.supervisor.world import InProcess

NAME = SessionId("hello")
DAY_MS = int(KEPT_S * 1000)


async def write(world: InProcess, *events: object, at: int = 1) -> None:
    """Put events into the session's journal."""
    drafts = tuple(encode_event(event) for event in events)  # type: ignore[arg-type]
    await world.store.append_own(NAME, drafts, at=at)


async def rows(world: InProcess, **fields: object) -> list[pb.JobRow]:
    """The jobs that are listed."""
    request = pb.ListJobsRequest(**fields)  # type: ignore[arg-type]
    return list((await world.admin.ListJobs(request, metadata=world.metadata)).jobs)


async def log_of(world: InProcess, text: str) -> Path:
    """The log of the job, with this in it."""
    storage = Path((await world.store.get_session(NAME)).storage_root)  # type: ignore[union-attr]
    folder = storage / "jobs" / JOB
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "output.log").write_text(text)
    (folder.parent / f"{JOB}.json").write_text("{}")
    return folder / "output.log"


async def tail(world: InProcess, **fields: object) -> bytes:
    """What is read of the log."""
    request = pb.TailJobRequest(job_id=JOB, **fields)  # type: ignore[arg-type]
    call = world.admin.TailJob(request, metadata=world.metadata)
    return b"".join([piece.data async for piece in call])


@pytest.mark.requirement("jobs.lists")
async def test_a_job_is_shown_as_it_is(world: InProcess) -> None:
    peer = await started(world)
    await write(world, replace(JOB_STARTED, limit_s=2.5))
    (row,) = await rows(world)
    assert (row.job_id, row.session_id, row.state, row.limit_s) == (JOB, NAME, "Running", 2.5)
    assert not row.HasField("exit_code")
    for number in range(5):
        await ask(peer, ASK_SLOT, b"%d" % number)
    await ask(peer, ASK_SLOT, JOB.encode())
    assert [row.state for row in await rows(world, session_id=NAME)] == ["Pending"]
    await world.admin_call("KillSession", NAME)
    slot = world.supervisor.router.find(NAME)
    if slot is None or slot.live is None:
        assert [row.state for row in await rows(world)] == ["Reaped"], "its process is dead"
    await write(world, JOB_ENDED, at=9)
    (row,) = await rows(world, job_id=JOB)
    assert (row.state, row.exit_code, row.ended_at_ms) == ("Completed", 0, 9)
    assert await rows(world, job_id="other") == []
    assert isinstance(await refused(_list(world, session_id="nobody")), NotFoundError)


async def _list(world: InProcess, *, session_id: str) -> None:
    request = pb.ListJobsRequest(session_id=session_id)
    await world.admin.ListJobs(request, metadata=world.metadata)


@pytest.mark.requirement("jobs.lists")
async def test_jobs_are_listed_a_page_at_a_time(world: InProcess) -> None:
    await world.ensure(NAME)
    ids = [JobId(f"j{number}") for number in range(5)]
    await write(world, *(replace(JOB_STARTED, job_id=job_id) for job_id in ids))
    found: list[str] = []
    after = 0
    while True:
        request = pb.ListJobsRequest(limit=2, after=after)
        page = await world.admin.ListJobs(request, metadata=world.metadata)
        found += [row.job_id for row in page.jobs]
        if not page.more:
            break
        after = page.jobs[-1].position
    assert found == ids


@pytest.mark.requirement("jobs.cancel")
async def test_a_cancel_is_the_sessions_to_carry_out(world: InProcess) -> None:
    peer = await started(world)
    await write(world, JOB_STARTED)
    call = world.admin.CancelJob(pb.JobRef(job_id=JOB), metadata=world.metadata)
    command = (await peer.expect("command")).command
    assert (command.kind, command.job_id) == ("cancel_job", JOB)
    await write(world, JOB_ENDED)
    assert (await call).state == "Completed"
    again = world.admin.CancelJob(pb.JobRef(job_id=JOB), metadata=world.metadata)
    assert isinstance(await refused(again), InvalidArgumentError)
    unknown = world.admin.CancelJob(pb.JobRef(job_id="none"), metadata=world.metadata)
    assert isinstance(await refused(unknown), NotFoundError)


@pytest.mark.requirement("jobs.cli")
async def test_a_log_is_read_from_its_end_and_followed_over_a_rotation(world: InProcess) -> None:
    await started(world)
    await write(world, JOB_STARTED)
    assert await tail(world) == b""
    log = await log_of(world, "ünïcode")
    assert await tail(world, bytes=5) == b"code", "not from the middle of a character"
    request = pb.TailJobRequest(job_id=JOB, bytes=1000, follow=True)
    call = world.admin.TailJob(request, metadata=world.metadata)
    assert await _piece(call) == "ünïcode".encode()
    with log.open("ab") as file:
        file.write(b" and more")
    assert await _piece(call) == b" and more"
    with log.open("ab") as file:
        file.write(b" last of the old")
    log.replace(log.with_name("output.1.log"))
    log.write_bytes(b"first of the new")
    await write(world, JOB_ENDED)
    rest = b""
    while piece := await _piece(call):
        rest += piece
    assert rest == b" last of the oldfirst of the new"
    gone = world.admin.TailJob(pb.TailJobRequest(job_id="none"), metadata=world.metadata)
    assert isinstance(await refused(gone.read()), NotFoundError)


async def _piece(call: Any) -> bytes:
    piece = await call.read()
    return b"" if piece is grpc.aio.EOF else bytes(piece.data)


@pytest.mark.requirement("jobs.cleanup")
async def test_what_was_told_of_a_day_ago_is_removed(world: InProcess) -> None:
    await world.ensure(NAME)
    now = world.supervisor.services.now_ms()
    turn = TurnStarted(turn_id=TurnId("t2"), input_ids=(), authority=ALICE)
    await write(world, JOB_STARTED, JOB_ENDED, turn, JobReported(job_id=JOB, turn_id=TurnId("t2")))
    log = await log_of(world, "x")
    cleanup = JobCleanup(world.supervisor.services)
    assert await cleanup.sweep() == 0, "nobody was told yet"
    await write(world, recorded("t2"), at=now - DAY_MS + 60_000)
    assert await cleanup.sweep() == 0, "it is not a day yet"
    assert log.exists()
    world.supervisor.services.now_ms = lambda: now + 61_000
    assert await cleanup.sweep() == 1
    assert not log.parent.exists()
    assert list(log.parent.parent.iterdir()) == []
    assert await rows(world) == []
    assert await cleanup.sweep() == 0


@pytest.mark.requirement("jobs.cleanup")
async def test_a_clean_up_follows_no_link(world: InProcess, tmp_path: Path) -> None:
    await world.ensure(NAME)
    kept = tmp_path / JOB
    kept.mkdir()
    (kept / "precious").touch()
    turn = TurnStarted(turn_id=TurnId("t2"), input_ids=(), authority=ALICE)
    await write(world, JOB_STARTED, JobReaped(job_id=JOB), turn, recorded("t2"))
    log = await log_of(world, "x")
    jobs = log.parent.parent
    jobs.rename(jobs.with_name("moved"))
    jobs.symlink_to(tmp_path)
    assert await JobCleanup(world.supervisor.services).sweep() == 1
    assert (kept / "precious").exists()
