"""A background job never outlives its session's process, and its end is told of once."""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import signal

import pytest

from netclaw.wire.v1 import admin_pb2
from tests.process.checks import check_journal, processes_with, wait_gone
from tests.process.job_calls import (
    NAME,
    begin,
    count,
    in_state,
    is_of,
    job,
    let_go,
    listed,
    log_of,
    pid_of,
    told,
    until_counted,
    waits,
)
from tests.process.world import World

pytestmark = pytest.mark.timeout(120)

ESCAPES = (
    "setsid sleep {mark}",
    "(setsid nohup sleep {mark} >/dev/null 2>&1 &) ; sleep {mark}",
    (
        'python3 -c "import os, time; os.fork() or (os.setsid(), os.fork(), time.sleep({mark}))";'
        " sleep {mark}"
    ),
)
"""Ways in which a process leaves those that started it."""


async def running(world: World, command: str, mark: str) -> str:
    """The id of a job, once its processes are there and it said so."""
    row = await begin(world, f"echo begun; {command}")
    await world.until(lambda: log_of(row) == "begun\n")
    await world.until(lambda: bool(processes_with(f"sleep {mark}")))
    return row.job_id


async def reaped_once(world: World, job_id: str) -> None:
    """The next wake lists the job as reaped, once, without a turn of its own."""
    turns = await count(world, "TurnStarted")
    await world.peer.turn(NAME, "[[reply:first]]")
    row = await in_state(world, job_id, "Reaped")
    shown = _block(world)
    assert f"- {job_id} Reaped:" in shown
    assert row.log_path in shown
    await world.peer.turn(NAME, "[[reply:second]]")
    assert job_id not in _block(world)
    rows = await world.peer.journal(NAME)
    assert sum(is_of(r, "JobReaped", job_id) for r in rows) == 1
    assert not any(is_of(r, "JobEnded", job_id) or is_of(r, "JobReported", job_id) for r in rows)
    assert await count(world, "TurnStarted") == turns + 2
    check_journal(rows)


def _block(world: World) -> str:
    """What the last model call was shown of background jobs."""
    text = str(world.model.requests[-1].body["messages"])
    last = text.rpartition("[current-time]")[2]
    return last.partition("[active-background-jobs]")[2]


@pytest.mark.requirement("jobs.deaths")
@pytest.mark.parametrize("end", ["kill", "kill-daemon", "stop", "restart", "restart-daemon"])
async def test_a_job_dies_with_its_session_and_is_listed_as_reaped(world: World, end: str) -> None:
    mark = "3077.51"
    job_id = await running(world, f"sleep {mark}", mark)
    pids = processes_with(mark)
    match end:
        case "kill":
            os.kill(await pid_of(world), signal.SIGKILL)
        case "kill-daemon":
            await world.kill()
            await world.start()
        case "stop":
            await world.peer.stop_session(NAME)
        case "restart":
            await world.peer.restart_session(NAME)
        case _:
            await world.restart()
    await asyncio.to_thread(wait_gone, pids)
    await reaped_once(world, job_id)
    log = log_of((await listed(world))[0])
    assert log.startswith("begun\n")
    assert "cancelled" not in log


@pytest.mark.requirement("jobs.deaths")
async def test_a_reset_ends_the_jobs_of_a_life(world: World) -> None:
    mark = "3077.52"
    job_id = await running(world, f"sleep {mark}", mark)
    pids = processes_with(mark)
    await world.peer.admin.ResetSession(
        admin_pb2.SessionRef(session_id=NAME), metadata=world.peer.metadata
    )
    await asyncio.to_thread(wait_gone, pids)
    assert (await in_state(world, job_id, "Reaped")).told_at_ms
    await world.peer.turn(NAME, "[[reply:a new life]]")
    assert job_id not in _block(world)


@pytest.mark.requirement("jobs.deaths")
@pytest.mark.parametrize("number", range(len(ESCAPES)))
async def test_nothing_of_a_job_escapes_the_death_of_its_session(world: World, number: int) -> None:
    mark = f"3077.6{number}"
    await running(world, ESCAPES[number].format(mark=mark), mark)
    os.kill(await pid_of(world), signal.SIGKILL)
    await world.until(lambda: not processes_with(mark))


@pytest.mark.requirement("jobs.deaths")
async def test_nothing_of_a_job_outlives_its_own_end(world: World) -> None:
    mark = "3077.71"
    row = await begin(world, f"(setsid sleep {mark} >/dev/null 2>&1 &); echo over")
    await in_state(world, row.job_id, "Completed")
    assert not processes_with(mark)
    await told(world, NAME, row.job_id)


@pytest.mark.requirement("jobs.deaths")
async def test_a_kill_of_the_job_itself_is_told_of_as_its_failure(world: World) -> None:
    mark = "3077.72"
    job_id = await running(world, f"sleep {mark}; echo not this", mark)
    for pid in processes_with(f"sleep {mark}"):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    row = await in_state(world, job_id, "Failed", "Completed")
    await told(world, NAME, job_id)
    assert log_of(row).startswith("begun\n")
    assert await count(world, "JobEnded") == 1


@pytest.mark.requirement("jobs.told-once")
@pytest.mark.parametrize("victim", ["session", "daemon"])
async def test_an_end_on_record_is_told_of_once_though_its_process_dies(
    world: World, victim: str
) -> None:
    row = await begin(world, waits("a"))
    sent = await world.peer.send(NAME, "[[gate:busy]][[reply:was busy]]")
    await world.at_gate("busy")
    await let_go(world, "a")
    await in_state(world, row.job_id, "Completed")
    assert await count(world, "JobReported") == 0
    if victim == "session":
        os.kill(await pid_of(world), signal.SIGKILL)
    else:
        await world.kill()
        await world.start()
    world.open_gate("busy")
    await world.peer.follow(NAME, sent)
    await told(world, NAME, row.job_id)
    assert await count(world, "JobReported") == 1
    assert await count(world, "JobEnded") == 1


@pytest.mark.requirement("jobs.told-once")
async def test_the_turn_that_tells_goes_on_after_a_kill(world: World) -> None:
    row = await begin(world, waits("a"))
    world.model.enqueue("[[gate:telling]][[reply:it is done]]")
    await let_go(world, "a")
    await world.at_gate("telling")
    await until_counted(world, "JobReported", 1)
    os.kill(await pid_of(world), signal.SIGKILL)
    world.open_gate("telling")
    await told(world, NAME, row.job_id)
    assert await count(world, "JobReported") == 1


@pytest.mark.requirement("jobs.told-once")
@pytest.mark.requirement("jobs.deaths")
@pytest.mark.timeout(240)
async def test_random_kills_lose_and_double_nothing(world: World) -> None:
    dice = random.Random(5)
    mark = "3077.8"
    started = 0
    for step in range(12):
        name = f"s{dice.randrange(2)}"
        length = dice.choice(("0.01", "0.2", f"{mark}{step}"))
        await world.peer.ensure(name)
        await world.peer.send(name, f"{job(f'echo {step}; sleep {length}')} [[reply:ok]]")
        await asyncio.sleep(dice.random() * 0.5)
        if step == 6:  # one death of the daemon: two during one start would hold the session
            await world.kill()
            await world.start()
            continue
        victim = (await world.peer.rows())[name].pid
        if victim and dice.random() < 0.7:
            with contextlib.suppress(ProcessLookupError):
                os.kill(victim, signal.SIGKILL)
    for name in ("s0", "s1"):
        await world.peer.wait_answered(name, 1)
        # One that had nothing to do when the daemon or its process died has no process now.
        await world.peer.turn(name, "[[reply:awake]]")
        os.kill(await pid_of(world, name), signal.SIGKILL)
        await world.peer.turn(name, "[[reply:last]]")
        async with asyncio.timeout(30):
            while any(r.state in {"Running", "Pending"} for r in await listed(world, name)):
                await asyncio.sleep(0.05)
        rows_of = await world.peer.journal(name)
        check_journal(rows_of)
        for row in await listed(world, name):
            started += 1
            ends = [r for r in rows_of if is_of(r, "JobEnded", row.job_id)]
            reaps = [r for r in rows_of if is_of(r, "JobReaped", row.job_id)]
            assert len(ends) + len(reaps) == 1
            if ends:
                await told(world, name, row.job_id)
    assert started
    await world.until(lambda: not processes_with(mark))
    assert (await world.peer.status()).running_jobs == 0
