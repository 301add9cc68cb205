"""Wakes as the supervisor asks for them: refused, repeated, left out, and what they cost."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from netclaw.core.errors import QueueFullError, StorageTimeoutError
from netclaw.core.ids import SessionId
from netclaw.core.settings import SignalSettings
from netclaw.core.signals.cursors import Notice, NoticeChange
from netclaw.core.signals.events import SYSTEM, Signal, SignalKind
from netclaw.core.signals.notices import MAX_LINES
from netclaw.ports.journal import Admission, AdmitRequest
from netclaw.supervisor import wakes
from netclaw.testing.memory_journal import MemoryJournal
from netclaw.wire.v1 import admin_pb2
from tests.supervisor.world import InProcess

WATCHER = SessionId("watcher")
TARGET = SessionId("target")


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wakes, "RETRY_S", 0.01)


async def paired(world: InProcess) -> None:
    """Two sessions, of which one watches the other."""
    for name in (WATCHER, TARGET):
        await world.ensure(name)
    await world.store.watch_session(WATCHER, TARGET, at=1)


async def change(world: InProcess, target: SessionId = TARGET) -> None:
    """Something that the watchers of the target are told of."""
    await world.store.record_signal(
        Signal(
            target=target,
            kind=SignalKind.UPSTREAM_MISSING,
            actor=SYSTEM,
            occurred_at=1,
            summary="gone",
        )
    )


async def woken(world: InProcess, session_id: str = WATCHER) -> list[str]:
    """Source ids of a session's wakes."""
    entries = await world.store.ledger(SessionId(session_id), limit=100)
    ids = (entry.source_message_id or "" for entry in entries)
    return [item for item in ids if item.startswith("signal:")]


async def until_woken(world: InProcess, count: int) -> list[str]:
    """The same once there are so many; bounded."""

    async def is_there() -> bool:
        return len(await woken(world)) >= count

    await world.until(is_there)
    return await woken(world)


@pytest.mark.requirement("wakes.retried")
async def test_a_wake_that_is_refused_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    async with InProcess() as world:
        await paired(world)
        admit, left = world.store.admit, [QueueFullError("full"), StorageTimeoutError("slow")]

        async def refuse(request: AdmitRequest) -> Admission:
            if left:
                raise left.pop(0)
            return await admit(request)

        monkeypatch.setattr(world.store, "admit", refuse)
        await change(world)

        assert await until_woken(world, 1) == ["signal:1:target:1:0"]
        assert not left


@pytest.mark.requirement("wakes.once")
async def test_what_was_woken_for_is_not_woken_for_again_after_a_start(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    answers: list[Admission] = []
    admit = MemoryJournal.admit

    async def noted(journal: MemoryJournal, request: AdmitRequest) -> Admission:
        answers.append(await admit(journal, request))
        return answers[-1]

    monkeypatch.setattr(MemoryJournal, "admit", noted)
    async with InProcess() as world:
        await paired(world)
        await change(world)
        before = await until_woken(world, 1)
        await world.stop()
        await world.start()
        await world.until(lambda: len(answers) == 2)

        assert [answer.is_duplicate for answer in answers] == [False, True]
        assert await woken(world) == before


@pytest.mark.requirement("wakes.first-at-once")
async def test_who_comes_under_the_name_of_a_deleted_session_is_woken_at_once() -> None:
    async with InProcess() as world:
        await paired(world)
        await change(world)
        await until_woken(world, 1)
        await world.until_phase(WATCHER, "ready")
        await world.admin_call("DeleteSession", WATCHER)
        await paired(world)
        assert await woken(world) == []

        await change(world)

        await until_woken(world, 1)


@pytest.mark.requirement("wakes.top-level")
async def test_a_child_run_is_not_woken() -> None:
    async with InProcess() as world:
        run = SessionId("watcher/sub/abcdefghijklmnop")
        notice = Notice(target=TARGET, since=0, mark=1)
        awake = wakes.Wakes(world.supervisor.services, world.supervisor.router)
        awake.begin()

        awake.on_notice(NoticeChange(watcher=run, target=TARGET, notice=notice))

        assert awake.watched == 0


@pytest.mark.requirement("wakes.held")
async def test_a_quarantined_session_is_woken_once_it_is_restarted() -> None:
    async with InProcess() as world:
        await paired(world)
        await world.store.set_quarantined(WATCHER, is_quarantined=True)
        await change(world)
        await change(world)
        assert await woken(world) == []

        await world.admin.RestartSession(
            admin_pb2.SessionRef(session_id=WATCHER), metadata=world.metadata
        )

        assert await until_woken(world, 1) == ["signal:1:target:1:0"]


@pytest.mark.requirement("wakes.constant", "signals.trouble-07")
async def test_an_event_costs_one_timer_at_most_however_many_are_open(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with InProcess() as world:
        world.supervisor.services.settings.current = replace(
            world.supervisor.services.settings.current,
            signals=SignalSettings(wake_coalesce_s=600.0),
        )
        awake = wakes.Wakes(world.supervisor.services, world.supervisor.router)
        awake.begin()
        set_timers = 0
        loop = asyncio.get_running_loop()
        call_at = loop.call_at

        def counted(*args: object, **kwargs: object) -> asyncio.TimerHandle:
            nonlocal set_timers
            set_timers += 1
            return call_at(*args, **kwargs)  # type: ignore[arg-type]

        monkeypatch.setattr(loop, "call_at", counted)
        for number in range(2_000):
            notice = Notice(target=SessionId(f"t{number}"), since=0, mark=number + 1)
            awake.on_notice(
                NoticeChange(
                    watcher=SessionId(f"w{number % 4}"), target=notice.target, notice=notice
                )
            )
        monkeypatch.undo()

        assert set_timers == 4
        assert awake.watched == 4
        awake.stop()
        assert awake.watched == 0


@pytest.mark.requirement("wakes.reopened")
async def test_turns_that_fail_are_waited_out_also_by_notices_they_had_no_room_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A model that is down costs `REOPENED_LIMIT` more turns, however many notices are open."""
    async with InProcess() as world:
        await world.ensure(WATCHER)
        world.supervisor.services.settings.current = replace(
            world.supervisor.services.settings.current,
            signals=SignalSettings(wake_coalesce_s=0.001),
        )
        awake = wakes.Wakes(world.supervisor.services, world.supervisor.router)
        awake.begin()
        opened = [
            NoticeChange(
                watcher=WATCHER,
                target=SessionId(f"t{number:03}"),
                notice=Notice(target=SessionId(f"t{number:03}"), since=0, mark=number + 1),
            )
            for number in range(MAX_LINES + 1)
        ]
        told = opened[:MAX_LINES]
        admitted = 0

        def fail_a_turn() -> None:
            for change in told:
                awake.on_notice(replace(change, notice=None))
            for change in told:
                awake.on_notice(replace(change, reopened=admitted))

        async def admit(request: AdmitRequest) -> Admission:
            nonlocal admitted
            admitted += 1
            asyncio.get_running_loop().call_soon(fail_a_turn)
            return Admission(input_id=request.input_id, seq=admitted, is_duplicate=False)

        monkeypatch.setattr(world.store, "admit", admit)
        for change in opened:
            awake.on_notice(change)

        def is_over() -> bool:
            watcher = awake._watchers[WATCHER]
            is_waiting = watcher.timer is not None or watcher.is_busy or watcher.is_called
            return admitted > 0 and not is_waiting

        await world.until(is_over)
        assert admitted == wakes.REOPENED_LIMIT + 1
        awake.stop()
