"""Slots of background jobs: granted in order, given back in every way."""

from __future__ import annotations

import asyncio

import pytest

from netclaw.core.errors import InvalidArgumentError, NotFoundError
from netclaw.core.ids import JobId, SessionId
from netclaw.supervisor.job_slots import JobSlots
from netclaw.supervisor.live_session import LiveSession
from netclaw.supervisor.tasks import Tasks
from netclaw.testing.memory_journal import MemoryJournal
from netclaw.wire.jobs import ASK_BACK, ASK_SLOT, ASK_TURN, GRANTED, QUEUED
from tests.supervisor.test_consents import ask, started
from tests.supervisor.world import InProcess

pytestmark = pytest.mark.requirement("jobs.slots")


class Nobody:
    """A listener that hears nothing."""

    def on_output(self, batch: object) -> None:
        """Nothing."""

    def on_phase(self, phase: object) -> None:
        """Nothing."""

    def on_storage_error(self, error: object) -> None:
        """Nothing."""

    async def on_ask(self, kind: str, payload: bytes) -> bytes:
        """Nothing."""
        del kind, payload
        return b""


def live(tasks: Tasks, name: str) -> LiveSession:
    """A process of a session."""
    return LiveSession(
        SessionId(name), store=MemoryJournal(), tasks=tasks, listener=Nobody(), now_s=0.0
    )


async def refused(slots: JobSlots, one: LiveSession, kind: str, payload: bytes) -> bool:
    """Whether a question is refused as invalid."""
    try:
        await slots.answer(one, kind, payload)
    except InvalidArgumentError:
        return True
    return False


async def test_slots_are_granted_in_the_order_of_asking() -> None:
    tasks = Tasks(on_fatal=lambda _fault: None)
    slots = JobSlots(tasks, slots=2)
    one, two = live(tasks, "one"), live(tasks, "two")
    answers = [
        await slots.answer(peer, ASK_SLOT, job)
        for peer, job in ((one, b"a"), (two, b"b"), (two, b"c"), (one, b"d"), (two, b"c"))
    ]
    assert answers == [GRANTED, GRANTED, QUEUED, QUEUED, QUEUED]
    assert (slots.running, slots.waiting) == (2, 2)
    assert slots.is_waiting(SessionId("two"), JobId("c"))
    assert not slots.is_waiting(SessionId("two"), JobId("b"))
    assert not slots.is_waiting(SessionId("one"), JobId("c"))
    third = asyncio.create_task(slots.answer(two, ASK_TURN, b"c"))
    fourth = asyncio.create_task(slots.answer(one, ASK_TURN, b"d"))
    await slots.answer(one, ASK_BACK, b"a")
    assert await third == GRANTED
    assert not fourth.done()
    await slots.answer(two, ASK_BACK, b"b")
    await slots.answer(two, ASK_BACK, b"b")
    assert await fourth == GRANTED
    assert (slots.running, slots.waiting) == (2, 0)


async def test_a_place_that_is_given_back_is_waited_for_no_more() -> None:
    tasks = Tasks(on_fatal=lambda _fault: None)
    slots = JobSlots(tasks, slots=1)
    one = live(tasks, "one")
    await slots.answer(one, ASK_SLOT, b"a")
    await slots.answer(one, ASK_SLOT, b"b")
    waiting = asyncio.create_task(slots.answer(one, ASK_TURN, b"b"))
    await asyncio.sleep(0)
    await slots.answer(one, ASK_BACK, b"b")
    with pytest.raises(NotFoundError):
        await waiting
    with pytest.raises(NotFoundError):
        await slots.answer(one, ASK_TURN, b"never")
    assert (slots.running, slots.waiting) == (1, 0)


async def test_a_buried_process_holds_no_slot() -> None:
    tasks = Tasks(on_fatal=lambda _fault: None)
    slots = JobSlots(tasks, slots=1)
    one, two = live(tasks, "one"), live(tasks, "two")
    await slots.answer(one, ASK_SLOT, b"a")
    await slots.answer(one, ASK_SLOT, b"b")
    await slots.answer(two, ASK_SLOT, b"c")
    waiting = asyncio.create_task(slots.answer(two, ASK_TURN, b"c"))
    one.buried.set()
    async with asyncio.timeout(15):
        assert await waiting == GRANTED
    assert await refused(slots, one, ASK_SLOT, b"d")


async def test_what_is_no_question_is_refused() -> None:
    tasks = Tasks(on_fatal=lambda _fault: None)
    slots = JobSlots(tasks)
    one = live(tasks, "one")
    for bad in (b"", b"../x", b"a b", b"x" * 65, "ü".encode()):
        assert await refused(slots, one, ASK_SLOT, bad)
    assert await refused(slots, one, "job_slot_other", b"a")


async def test_a_broken_session_fills_no_queue(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("netclaw.supervisor.job_slots.MOST_WAITING", 3)
    tasks = Tasks(on_fatal=lambda _fault: None)
    slots = JobSlots(tasks, slots=1)
    one = live(tasks, "one")
    for number in range(4):
        await slots.answer(one, ASK_SLOT, b"%d" % number)
    assert await refused(slots, one, ASK_SLOT, b"more")


async def test_a_process_asks_over_its_stream_and_its_death_makes_room(world: InProcess) -> None:
    first, second = await started(world), await started(world, "other")
    for number in range(5):
        assert await ask(first, ASK_SLOT, b"%d" % number) == GRANTED
    assert await ask(second, ASK_SLOT, b"mine") == QUEUED
    turn = asyncio.create_task(ask(second, ASK_TURN, b"mine"))
    await world.admin_call("KillSession", "hello")
    async with asyncio.timeout(10):
        assert await turn == GRANTED
