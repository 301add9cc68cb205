"""Background jobs in real processes: begun once, told of once, shown as they are."""

from __future__ import annotations

import contextlib
import os
import signal

import grpc
import pytest

from netclaw.wire.v1 import admin_pb2
from tests.process.job_calls import (
    NAME,
    begin,
    check,
    count,
    in_state,
    job,
    let_go,
    listed,
    log_of,
    pid_of,
    told,
    waits,
    workspace,
)
from tests.process.world import ASKING, World

pytestmark = pytest.mark.timeout(120)

RESTLESS = {
    "Session": {"IdleTimeout": "00:00:00.300", "Tuning": {"PassivationGraceSeconds": 0.1}},
}
"""Whoever has nothing to do leaves at once."""


async def names(world: World, *wanted: str) -> list[str]:
    """The states of these jobs."""
    states = {row.job_id: row.state for row in await listed(world)}
    return [states[job_id] for job_id in wanted]


@pytest.mark.requirement("jobs.whole")
async def test_a_job_answers_at_once_and_its_end_is_a_turn_of_its_own(world: World) -> None:
    row = await begin(world, f"echo first; {waits('a')}; echo oops >&2; exit 3")
    assert row.state == "Running"
    await world.until(lambda: log_of(row) == "first\n")
    await let_go(world, "a")
    row = await in_state(world, row.job_id, "Failed")
    assert row.exit_code == 3
    await told(world, NAME, row.job_id)
    assert log_of(row).splitlines() == [
        *("first", "a is done", "oops"),
        "[netclaw] The job ended with exit status 3.",
    ]
    kinds = [r["type"] for r in await world.peer.journal(NAME)]
    assert kinds.index("JobStarted") < kinds.index("ToolResultRecorded")
    assert await count(world, "TurnStarted") == 2
    notes = [item.text for item in await world.peer.history(NAME) if item.role == "note"]
    assert any(f"Background job {row.job_id} ended: Failed" in note for note in notes)


@pytest.mark.requirement("jobs.check")
async def test_a_look_at_a_job_shows_how_it_stands_and_cancels_it(world: World) -> None:
    row = await begin(world, f"seq 1000; {waits('never')}")
    await world.until(lambda: log_of(row).endswith("1000\n"))
    shown = (await world.peer.turn(NAME, f"{check(row.job_id)} [[results]]")).text
    assert f"Background job {row.job_id}: Running, for " in shown
    assert shown.rstrip().endswith("1000")
    assert len(shown) < 2_400
    shown = (await world.peer.turn(NAME, f"{check(row.job_id, cancel=True)} [[results]]")).text
    assert f"{row.job_id}: Cancelled, after " in shown
    await told(world, NAME, row.job_id)
    shown = (await world.peer.turn(NAME, f"{check(row.job_id)} [[results]]")).text
    unknown = (await world.peer.turn(NAME, f"{check('nosuchjob')} [[results]]")).text
    assert shown == unknown
    assert "no such background job" in shown


@pytest.mark.requirement("jobs.check")
async def test_a_job_of_another_session_looks_like_one_that_does_not_exist(world: World) -> None:
    row = await begin(world, waits("mine"))
    for looked in (check(row.job_id), check(row.job_id, cancel=True)):
        other = (await world.peer.turn("other", f"{looked} [[results]]")).text
        none = (await world.peer.turn("other", f"{check('nosuchjob')} [[results]]")).text
        assert other == none
    await let_go(world, "mine")
    await in_state(world, row.job_id, "Completed")


@pytest.mark.requirement("jobs.check")
async def test_polling_a_job_is_no_repetition(world: World) -> None:
    row = await begin(world, waits("long"))
    polls = " [[next]] ".join([check(row.job_id)] * 12)
    turn = await world.peer.turn(NAME, f"{polls} [[next]] [[reply:still going]]")
    assert turn.text == "still going"
    await let_go(world, "long")
    await told(world, NAME, row.job_id)


@pytest.mark.requirement("jobs.timeout")
async def test_a_job_has_the_time_it_was_given_and_no_other_clock() -> None:
    short = {"Session": {"ToolExecutionTimeoutSeconds": 3}, "Tools": {"MaxToolTimeoutSeconds": 3}}
    async with World(config=short) as world:
        await world.start()
        free = await begin(world, f"{waits('free')}")
        given = await begin(world, "sleep 3077.31", timeout_seconds=4)
        assert given.limit_s == 4
        ended = await in_state(world, given.job_id, "TimedOut")
        assert ended.ended_at_ms - ended.started_at_ms >= 3_900
        assert "ended after its 4 seconds" in log_of(given)
        assert await names(world, free.job_id) == ["Running"]
        await let_go(world, "free")
        await in_state(world, free.job_id, "Completed")


@pytest.mark.requirement("jobs.slots")
async def test_five_run_and_the_others_wait_in_their_order(world: World) -> None:
    jobs = [
        await begin(world, waits(str(number)), "even" if number % 2 == 0 else "odd")
        for number in range(8)
    ]
    ids = [row.job_id for row in jobs]
    assert [row.state for row in jobs] == ["Running"] * 5 + ["Pending"] * 3
    status = await world.peer.status()
    assert (status.running_jobs, status.waiting_jobs) == (5, 3)
    shown = (await world.peer.turn("even", f"{check(ids[6])} [[results]]")).text
    assert f"{ids[6]}: Pending, for " in shown

    await let_go(world, "2", "even")
    await in_state(world, ids[5], "Running")
    assert await names(world, *ids[6:]) == ["Pending", "Pending"]
    cancel = admin_pb2.JobRef(job_id=ids[6])
    gone = await world.peer.admin.CancelJob(cancel, metadata=world.peer.metadata)
    assert gone.state == "Cancelled"
    await let_go(world, "1", "odd")
    await in_state(world, ids[7], "Running")

    os.kill(await pid_of(world, "odd"), signal.SIGKILL)
    status = await world.peer.wait_status(lambda found: found.running_jobs == 2)
    assert status.waiting_jobs == 0
    for number in (0, 4):
        await let_go(world, str(number), "even")
    await world.peer.wait_status(lambda found: found.running_jobs == 0)


@pytest.mark.requirement("jobs.slots")
async def test_a_killed_session_lets_the_next_job_run(world: World) -> None:
    for number in range(5):
        await begin(world, waits(str(number)), "first")
    waiting = await begin(world, "echo mine at last", "second")
    assert waiting.state == "Pending"
    os.kill(await pid_of(world, "first"), signal.SIGKILL)
    await in_state(world, waiting.job_id, "Completed")
    await told(world, "second", waiting.job_id)


@pytest.mark.requirement("jobs.cleared")
async def test_nobody_to_ask_starts_no_job() -> None:
    async with World(config=ASKING) as world:
        await world.start()
        turn = await world.peer.turn(NAME, f"{job('touch ran.txt')} [[results]]")
        assert "approval_required_unattended" in turn.text
        assert not await listed(world)
        assert not (await workspace(world) / "ran.txt").exists()
        assert not (await workspace(world)).parent.joinpath("jobs").exists()


@pytest.mark.requirement("jobs.cleared")
async def test_a_grant_that_was_revoked_while_a_job_waited_starts_nothing() -> None:
    async with World(config=ASKING) as world:
        await world.start()
        await world.peer.ensure(NAME)
        for number in range(5):
            command = f"sleep 3077.4{number}"
            sent = await world.peer.send(NAME, f"{job(command)} [[reply:ok]]", is_attended=True)
            (request,) = await world.peer.approvals(NAME)
            await world.peer.answer(request, "approve_once")
            await world.peer.follow(NAME, sent)
        sent = await world.peer.send(
            NAME, f"{job('tee -a ran.txt < /etc/hostname')} [[reply:ok]]", is_attended=True
        )
        (request,) = await world.peer.approvals(NAME)
        await world.peer.answer(request, "approve_session")
        await world.peer.follow(NAME, sent)
        rows = await listed(world)
        assert [row.state for row in rows] == ["Running"] * 5 + ["Pending"]
        revoke = admin_pb2.RevokeGrantsRequest(session_id=NAME, all=True)
        await world.peer.admin.RevokeGrants(revoke, metadata=world.peer.metadata)
        cancel = admin_pb2.JobRef(job_id=rows[0].job_id)
        await world.peer.admin.CancelJob(cancel, metadata=world.peer.metadata)
        ended = await in_state(world, rows[5].job_id, "Failed")
        assert "It was not run." in log_of(ended)
        assert not (await workspace(world) / "ran.txt").exists()


@pytest.mark.requirement("jobs.idle")
async def test_a_job_keeps_its_session_up_until_it_was_told_of() -> None:
    async with World(config=RESTLESS) as world:
        await world.start()
        row = await begin(world, waits("a"))
        pid = await pid_of(world)
        # Longer at rest than another session needs to leave, which begins to rest later.
        await world.peer.turn("idle", "[[reply:nothing to do]]")
        await world.peer.wait_row("idle", lambda found: not found.pid)
        await let_go(world, "a")
        await told(world, NAME, row.job_id)
        assert (await world.peer.rows())[NAME].pid == pid
        await world.peer.wait_row(NAME, lambda found: not found.pid)
        assert await count(world, "JobReaped") == 0


@pytest.mark.requirement("jobs.cancel")
async def test_cancels_that_race_with_the_end_lead_to_one_end_and_one_report(
    world: World,
) -> None:
    for number in range(8):
        row = await begin(world, f"sleep 0.0{number}")
        with contextlib.suppress(grpc.aio.AioRpcError):  # over already
            cancel = admin_pb2.JobRef(job_id=row.job_id)
            await world.peer.admin.CancelJob(cancel, metadata=world.peer.metadata)
        await in_state(world, row.job_id, "Completed", "Cancelled")
        await told(world, NAME, row.job_id)
    rows = await world.peer.journal(NAME)
    assert sum(r["type"] == "JobEnded" for r in rows) == 8
    assert len(await listed(world, NAME)) == 8
