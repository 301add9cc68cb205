"""A zygote that does not answer delays nobody: sessions start by exec instead."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack

import pytest

from netclaw.core.ids import SessionId
from netclaw.ports.spawner import Bootstrap
from netclaw.supervisor.spawn.local_spawner import LocalSpawner
from netclaw.supervisor.spawn.zygote import serve
from tests.stopping import stop

pytestmark = pytest.mark.timeout(60)

ENDS_AT_ONCE = "os:getpid"
NEVER_ENDS = "signal:pause"
LONGEST_START_S = 15.0
"""Guards against a start that hangs; a zygote that is waited for to the end takes longer."""

Make = Callable[[str], LocalSpawner]


@pytest.fixture
async def make() -> AsyncIterator[Make]:
    """Makes spawners whose zygotes warm up with a function."""
    async with AsyncExitStack() as made:

        def one(warm: str) -> LocalSpawner:
            spawner = LocalSpawner(entry=ENDS_AT_ONCE, warm=warm)
            made.push_async_callback(spawner.close)
            return spawner

        yield one


async def start_and_end(spawner: LocalSpawner) -> int:
    """Start a session process, which finds nobody to serve; returns its pid after its end."""
    bootstrap = Bootstrap(
        session_id=SessionId("hello"),
        host_socket="/nowhere/host.sock",
        token="t",
        supervisor_pid=os.getpid(),
        memory_mib=512,
        log_path="/dev/null",
    )
    async with asyncio.timeout(LONGEST_START_S):
        process = await spawner.spawn(bootstrap)
    process.kill()
    await process.wait()
    return process.pid


async def warm_zygote(spawner: LocalSpawner, other_than: int = 0) -> int:
    """The pid of a zygote that forks."""
    async with asyncio.timeout(30):
        # Another process gives no event.
        while (pid := spawner.zygote_pid) in (0, other_than):  # noqa: ASYNC110
            await asyncio.sleep(0.01)
    return pid


@pytest.mark.requirement("supervisor.zygote-stuck")
async def test_a_zygote_that_is_slow_to_warm_up_is_waited_for_a_moment_only(make: Make) -> None:
    spawner = make(NEVER_ENDS)
    await start_and_end(spawner)
    assert spawner.zygote_pid == 0
    # Patience is counted from the zygote's start: a wait begun anew would be as long as it is.
    waits: list[float | None] = []
    really = asyncio.wait

    async def wait(tasks: tuple[asyncio.Task[object]], *, timeout: float | None) -> object:
        waits.append(timeout)
        return await really(tasks, timeout=timeout)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("netclaw.supervisor.spawn.zygote_client.asyncio.wait", wait)
        await start_and_end(spawner)
    assert waits == [0.0], "the second start does not wait once more"


@pytest.mark.requirement("supervisor.zygote-stuck")
async def test_a_stopped_zygote_is_replaced_and_its_session_starts_by_exec(make: Make) -> None:
    spawner = make(ENDS_AT_ONCE)
    stuck = await warm_zygote(spawner)
    stop(stuck)
    await start_and_end(spawner)
    await warm_zygote(spawner, other_than=stuck)
    await start_and_end(spawner)


@pytest.mark.requirement("daemon.zygote-lost")
def test_a_supervisor_that_dies_with_an_answer_unread_is_gone_and_no_fault() -> None:
    supervisor, control = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with control:
        control.send(b"an answer")
        supervisor.close()
        serve(control, lambda _bootstrap: 0)
