"""The keeping of adapter processes, with programs that are none."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest

from netclaw.adapters.channel_config import ChannelConfig, ChannelPlan
from netclaw.core.authority import SourceKind
from netclaw.core.errors import DeniedByPolicyError
from netclaw.supervisor import adapters as module
from netclaw.supervisor.adapters import Adapters, Ground, caller_of
from netclaw.supervisor.callers import OPERATOR, TokenBook
from netclaw.supervisor.tasks import Tasks

LOOP = ChannelConfig(name="loop", secrets={"bot_token": "secret"})


class Started:
    """Programs that were started instead of adapters."""

    def __init__(self, *program: str) -> None:
        self.program = program
        self.secrets: list[bytes] = []
        self.arguments: list[Sequence[str]] = []

    def __call__(self, arguments: Sequence[str], *, secret: bytes, output: str) -> int:
        """Start the program; returns its pid."""
        del output
        self.secrets.append(secret)
        self.arguments.append(arguments)
        path = shutil.which(self.program[0])
        assert path is not None
        return os.posix_spawn(path, self.program, {})


@pytest.fixture
async def adapters(tmp_path: Path) -> AsyncIterator[Adapters]:
    """None yet."""
    tasks = Tasks()
    ground = Ground(
        home=tmp_path,
        socket=tmp_path / "socket",
        pid=os.getpid(),
        tasks=tasks,
        tokens=TokenBook(),
        recognise=lambda _: None,
    )
    made = Adapters(ground, lambda _: None)
    yield made
    await made.drain(budget_s=0.0, notice="")
    await tasks.cancel_all()


async def _until(adapters: Adapters, state: str, *, restarts: int = 0) -> None:
    async with asyncio.timeout(10):
        while True:
            (row,) = adapters.rows()
            if row.state == state and row.restarts >= restarts:
                return
            await asyncio.sleep(0.005)


@pytest.mark.requirement("channel_host.hung")
async def test_a_process_that_says_nothing_is_killed_and_started_again(
    adapters: Adapters, monkeypatch: pytest.MonkeyPatch
) -> None:
    started = Started("sleep", "1000")
    monkeypatch.setattr(module, "start_helper", started)
    monkeypatch.setattr(module, "TICK_S", 0.01)
    monkeypatch.setattr(module, "FIRST_DELAY_S", 0.01)
    await adapters.apply(ChannelPlan(enabled={"loop": LOOP}))
    await _until(adapters, "starting", restarts=1)
    assert len(set(started.secrets)) == len(started.secrets) >= 2  # a token for each life
    assert all(b"secret" not in " ".join(each).encode() for each in started.arguments)


@pytest.mark.requirement("channel_host.fatal")
async def test_the_status_of_a_fatal_end_is_believed(
    adapters: Adapters, monkeypatch: pytest.MonkeyPatch
) -> None:
    started = Started("sh", "-c", "exit 78")
    monkeypatch.setattr(module, "start_helper", started)
    await adapters.apply(ChannelPlan(enabled={"loop": LOOP}))
    await _until(adapters, "failed")
    await adapters.apply(ChannelPlan(enabled={"loop": LOOP}))
    assert len(started.secrets) == 1
    other = ChannelConfig(name="loop", secrets={"bot_token": "other"})
    await adapters.apply(ChannelPlan(enabled={"loop": other}))
    await _until(adapters, "failed")
    assert len(started.secrets) == 2


async def test_a_name_that_is_none_runs_nothing(adapters: Adapters) -> None:
    await adapters.apply(ChannelPlan(enabled={"../loop": ChannelConfig(name="../loop")}))
    (row,) = adapters.rows()
    assert (row.channel, row.state, row.pid) == ("../loop", "failed", 0)
    assert row.last_failure
    await adapters.apply(ChannelPlan())
    assert adapters.rows() == []


@pytest.mark.requirement("channel_host.token")
async def test_a_section_is_given_to_its_own_adapter(
    adapters: Adapters, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "start_helper", Started("sleep", "1000"))
    await adapters.apply(ChannelPlan(enabled={"loop": LOOP, "pool": ChannelConfig(name="pool")}))
    setup = adapters.of(caller_of("loop")).setup()
    assert (setup.name, setup.source_kind) == ("loop", SourceKind.of_channel("loop"))
    assert dict(setup.secrets) == {"bot_token": "secret"}
    assert adapters.of(caller_of("pool")).setup().name == "pool"
    for other in (OPERATOR, caller_of("slack")):
        with pytest.raises(DeniedByPolicyError):
            adapters.of(other)
