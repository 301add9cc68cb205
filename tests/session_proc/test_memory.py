"""The memory of a session process: what it is given, and that nothing waits for it."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field, replace

import pytest

from netclaw.core.exit_codes import ExitCode
from netclaw.core.settings import SessionTuning
from netclaw.ports.memory import (
    Distillation,
    MemoryCheckpoint,
    MemoryUnavailableError,
)
from tests.fakes.model import FakeModel
from tests.session_proc.conftest import Start
from tests.session_proc.host import ScriptedHost


@dataclass
class Recorder:
    """A memory that remembers what it was given; held back or broken where a test wants it."""

    given: list[Distillation] = field(default_factory=list)
    kept: list[Distillation] = field(default_factory=list)
    cancelled: list[Distillation] = field(default_factory=list)
    checkpoints: list[MemoryCheckpoint] = field(default_factory=list)
    may_finish: asyncio.Event = field(default_factory=asyncio.Event)
    was_given: asyncio.Event = field(default_factory=asyncio.Event)
    is_broken: bool = False

    async def distil(self, conversation: Distillation) -> None:
        """See `MemoryPort.distil`."""
        self.given.append(conversation)
        self.was_given.set()
        if self.is_broken:
            raise MemoryUnavailableError("the disk is full")
        try:
            await self.may_finish.wait()
        except asyncio.CancelledError:
            self.cancelled.append(conversation)
            raise
        self.kept.append(conversation)

    async def queue_checkpoint(self, checkpoint: MemoryCheckpoint) -> None:
        """See `MemoryPort.queue_checkpoint`."""
        self.checkpoints.append(checkpoint)
        self.was_given.set()
        if self.is_broken:
            raise MemoryUnavailableError("the disk is full")


@pytest.fixture
def memory() -> Recorder:
    """The memory of the session."""
    return Recorder()


def idle_soon(host: ScriptedHost, *, grace_s: float) -> None:
    """The session winds down at once when it rests."""
    tuning = SessionTuning(idle_s=0.02, passivation_grace_s=grace_s)
    host.settings = replace(host.settings, tuning=tuning)


async def turn(host: ScriptedHost, number: int = 1) -> None:
    """One more turn, the `number`-th."""
    host.admit(f"question {number} [[reply:answer {number}]]")
    await host.turn_completed(number)


async def ended(task: asyncio.Task[ExitCode]) -> ExitCode:
    """How the process ended; bounded."""
    async with asyncio.timeout(10):
        return await asyncio.shield(task)


@pytest.mark.requirement("sidecars.distil")
async def test_a_session_that_winds_down_is_distilled_within_its_grace(
    host: ScriptedHost, start: Start, memory: Recorder
) -> None:
    idle_soon(host, grace_s=1.5)
    memory.may_finish.set()
    task = start()
    await turn(host)
    assert await ended(task) is ExitCode.PASSIVATED
    (kept,) = memory.kept
    assert [getattr(item, "text", "") for item in kept.messages] == [
        "question 1 [[reply:answer 1]]",
        "answer 1",
    ]
    assert kept.up_to_seq == host.journal.head - 1
    assert host.journal.names()[-1] == "Passivated"


@pytest.mark.requirement("sidecars.distil-abort")
async def test_a_new_message_cancels_the_distillation_and_runs(
    host: ScriptedHost, start: Start, memory: Recorder
) -> None:
    idle_soon(host, grace_s=30.0)
    start()
    await turn(host)
    await memory.was_given.wait()
    await turn(host, 2)
    assert len(memory.cancelled) == 1
    assert memory.kept == []
    await host.until(lambda seen: seen.phases.count("passivating") == 2)
    assert memory.given[-1].up_to_seq > memory.given[0].up_to_seq


@pytest.mark.requirement("sidecars.memory-fails")
async def test_a_memory_that_hangs_holds_up_no_passivation(
    host: ScriptedHost, start: Start, memory: Recorder
) -> None:
    idle_soon(host, grace_s=0.1)
    task = start()
    await turn(host)
    assert await ended(task) is ExitCode.PASSIVATED
    assert len(memory.cancelled) == 1


@pytest.mark.requirement("sidecars.memory-fails")
async def test_a_memory_that_fails_ends_no_session(
    host: ScriptedHost, start: Start, memory: Recorder
) -> None:
    memory.is_broken = True
    idle_soon(host, grace_s=30.0)
    task = start()
    await turn(host)
    await memory.was_given.wait()
    await turn(host, 2)
    host.command("passivate", reason="room")
    await host.until(lambda seen: seen.phases.count("passivating") >= 2)
    host.command("passivate", reason="room")
    assert await ended(task) is ExitCode.PASSIVATED


@pytest.mark.requirement("sidecars.distil-no-grace")
@pytest.mark.parametrize("command", ["drain", "passivate"])
async def test_a_stop_offers_nothing_and_waits_for_nothing(
    host: ScriptedHost, start: Start, memory: Recorder, command: str
) -> None:
    task = start()
    await turn(host)
    if command == "drain":
        host.command("drain", budget_s=20.0)
    else:
        host.command("passivate", reason="operator")
    assert await ended(task) is ExitCode.PASSIVATED
    assert memory.given == []


@pytest.mark.requirement("sidecars.checkpoint")
@pytest.mark.parametrize("is_broken", [False, True])
async def test_notes_of_a_compaction_are_queued(
    host: ScriptedHost, start: Start, model: FakeModel, memory: Recorder, is_broken: bool
) -> None:
    memory.is_broken = is_broken
    model.rule("<transcript>", "[[reply:the notes]]")
    start()
    for number in range(1, 5):
        await turn(host, number)
    host.command("compact")
    await memory.was_given.wait()
    (checkpoint,) = memory.checkpoints
    assert checkpoint.text.endswith("the notes")
    assert "Compacted" in host.journal.names()
    await turn(host, 5)
