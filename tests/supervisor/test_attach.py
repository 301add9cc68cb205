"""Subscriptions over the real socket: live, late, filtered, slow, gone."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import TypeVar

import grpc.aio
import pytest

from netclaw.core.errors import InvalidArgumentError, NotFoundError
from netclaw.core.exit_codes import ExitCode
from netclaw.core.ids import SessionId, TurnId
from netclaw.core.session.events import TitleSet
from netclaw.core.session.outputs import TextDelta
from netclaw.ports.journal import JournalRow, SessionRecord
from netclaw.supervisor import attach, history_pages
from netclaw.supervisor.rows import history_item
from netclaw.wire.convert import recorded_of
from netclaw.wire.journal_codec import encode_event
from netclaw.wire.v1 import gateway_pb2
from netclaw.wire.v1.common_pb2 import Output
from tests.supervisor.peers import Peer
from tests.supervisor.test_gateway import refused
from tests.supervisor.world import InProcess

T = TypeVar("T")
TEXT, STREAMING, STATE = 1, 2, 64


def durable(outputs: list[Output]) -> list[tuple[int, str, str]]:
    """What can be replayed: seq, type and text."""
    return [(o.seq, o.type, o.text) for o in outputs if o.seq]


@pytest.mark.requirement("supervisor.filters")
async def test_two_terminals_with_different_filters_see_one_turn_each_in_its_view(
    world: InProcess,
) -> None:
    async def stream_words(peer: Peer) -> int:
        await peer.connect()
        await peer.phase("ready")
        turn = await peer.start_turn()
        for word in ("one ", "two ", "three"):
            await peer.emit(TextDelta(turn_id=turn, text=word, round=0))
        await peer.finish_turn(turn, "one two three")
        return await _until_end(peer)

    world.spawner.scripts = [stream_words]
    await world.ensure("hello")
    async with (
        world.attached("hello", TEXT | STREAMING) as first,
        world.attached("hello", TEXT) as second,
        world.attached("hello", TEXT | STREAMING) as third,
    ):
        await world.send("hello", "count")
        views = [await s.until("turn_completed") for s in (first, second, third)]
    assert [o.type for o in views[0]] == ["text_delta"] * 3 + ["text", "turn_completed"]
    assert [o.type for o in views[1]] == ["text", "turn_completed"]
    assert views[0] == views[2]
    assert durable(views[0]) == durable(views[1])


async def _until_end(peer: Peer) -> int:
    while await peer.read() is not None:
        pass
    return int(ExitCode.STREAM_LOST)


@pytest.mark.requirement("supervisor.replay")
async def test_one_that_comes_late_sees_what_one_saw_that_was_there(world: InProcess) -> None:
    await world.ensure("hello")
    async with world.attached("hello") as early:
        for number in range(1, 4):
            await world.send("hello", f"m{number}")
            await early.until("turn_completed", number)
    async with world.attached("hello", after=0) as late:
        await late.until("turn_completed", 3)
        seen = [o for o in durable(late.seen) if o[1] != "usage"]
        assert seen == durable(early.seen)
        await world.send("hello", "m4")
        await late.until("turn_completed", 4)
    boundary = next(o.seq for o in early.seen if o.type == "turn_completed")
    async with world.attached("hello", TEXT, after=boundary) as resumed:
        await resumed.until("turn_completed", 3)
        assert [o.text for o in resumed.seen if o.type == "text"] == ["m2", "m3", "m4"]


@pytest.mark.requirement("supervisor.replay")
async def test_nothing_is_missed_or_doubled_where_past_and_present_meet(
    world: InProcess,
) -> None:
    await world.ensure("hello")
    done = asyncio.Event()

    async def keep_sending() -> None:
        number = 0
        while not done.is_set():
            number += 1
            await world.send("hello", f"m{number}")

    sending = asyncio.create_task(keep_sending())
    for _ in range(8):
        async with world.attached("hello", TEXT, after=0) as late:
            await late.until("text", 12)
            seqs = [o.seq for o in late.seen if o.seq]
            assert seqs == sorted(seqs)
            boundaries = [o.seq for o in late.seen if o.type == "turn_completed"]
            assert len(boundaries) == len(set(boundaries))
            rows = await world.store.read_journal(SessionId("hello"), since=0, limit=10_000)
            recorded = [row.seq for row in rows if row.type == "TurnRecorded"]
            assert boundaries == recorded[: len(boundaries)]
    done.set()
    await sending


@pytest.mark.requirement("supervisor.replay")
async def test_a_commit_between_the_look_at_the_session_and_its_slot_is_no_reason_to_spin(
    world: InProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    await world.ensure("hello")
    get_session, read_journal = world.store.get_session, world.store.read_journal
    reads: list[int] = []

    async def commit_after(session_id: SessionId) -> SessionRecord | None:
        record = await get_session(session_id)
        monkeypatch.setattr(world.store, "get_session", get_session)
        events = (encode_event(TitleSet(title="t", actor="operator")),)
        await world.store.append_own(session_id, events, at=1)
        return record

    async def count_reads(
        session_id: SessionId, *, since: int, limit: int
    ) -> tuple[JournalRow, ...]:
        reads.append(since)
        return await read_journal(session_id, since=since, limit=limit)

    monkeypatch.setattr(world.store, "get_session", commit_after)
    monkeypatch.setattr(world.store, "read_journal", count_reads)
    async with world.attached("hello", after=0) as watcher:
        await world.send("hello", "hi")
        seen = await watcher.until("turn_completed")
    assert [o.text for o in seen if o.type == "text"] == ["hi"]
    assert reads == [0]


@pytest.mark.requirement("supervisor.bounded-work")
async def test_a_long_past_is_read_off_the_loop(
    world: InProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads: set[str] = set()

    def noted(work: Callable[..., T]) -> Callable[..., T]:
        def run(*given: object) -> T:
            threads.add(threading.current_thread().name)
            return work(*given)

        return run

    await world.ensure("hello")
    async with world.attached("hello") as early:
        await world.send("hello", "x" * 600_000)
        await early.until("turn_completed")
    monkeypatch.setattr(attach, "recorded_of", noted(recorded_of))
    monkeypatch.setattr(history_pages, "history_item", noted(history_item))
    async with world.attached("hello", after=0) as late:
        await late.until("turn_completed")
    request = gateway_pb2.GetHistoryRequest(session_id="hello")
    await world.gateway.GetHistory(request, metadata=world.metadata)
    assert threads
    assert threading.main_thread().name not in threads


@pytest.mark.requirement("supervisor.replay")
async def test_a_seq_beyond_the_journal_means_from_now_on(world: InProcess) -> None:
    await world.ensure("hello")
    async with world.attached("hello", after=999) as watcher:
        await world.send("hello", "hi")
        seen = await watcher.until("turn_completed")
    assert [o.text for o in seen if o.type == "text"] == ["hi"]


@pytest.mark.requirement("supervisor.resync")
async def test_a_client_that_does_not_read_is_told_to_read_the_history(
    world: InProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("netclaw.supervisor.attach.QUEUE_LIMIT_BYTES", 64 * 1024)
    flooded = asyncio.Event()

    async def flood(peer: Peer) -> int:
        await peer.connect()
        await peer.phase("ready")
        for _ in range(400):
            await peer.emit(TextDelta(turn_id=TurnId("t"), text="x" * 10_000, round=0))
        flooded.set()
        await peer.finish_turn(await peer.start_turn(), "the end")
        return await _until_end(peer)

    world.spawner.scripts = [flood]
    await world.ensure("hello")
    async with world.attached("hello") as slow, world.attached("hello", TEXT) as quick:
        await world.send("hello", "flood me")
        await quick.until("turn_completed")
        await asyncio.wait_for(flooded.wait(), 10)
        seen = await slow.until("turn_completed")
    resyncs = [o for o in seen if o.type == "resync"]
    assert resyncs
    assert resyncs[0].seq == 2 or resyncs[0].seq == 1
    assert "resync" not in [o.type for o in quick.seen]
    async with world.attached("hello", TEXT, after=resyncs[-1].seq) as again:
        await again.until("turn_completed")
        assert [o.text for o in again.seen if o.type == "text"] == ["the end"]


@pytest.mark.requirement("supervisor.subscriber-death")
async def test_a_subscriber_that_dies_in_mid_turn_disturbs_nobody(world: InProcess) -> None:
    gate = asyncio.Event()

    async def held(peer: Peer) -> int:
        await peer.connect()
        await peer.phase("ready")
        turn = await peer.start_turn()
        await gate.wait()
        await peer.finish_turn(turn, "unbothered")
        return await _until_end(peer)

    world.spawner.scripts = [held]
    await world.ensure("hello")
    async with world.attached("hello") as stays:
        async with world.attached("hello"):
            await world.send("hello", "x")
            await world.until_phase("hello", "processing")
        hub = world.supervisor.router.slot(SessionId("hello")).hub
        await world.until(lambda: len(hub._subscribers) == 1)
        gate.set()
        seen = await stays.until("turn_completed")
    assert [o.text for o in seen if o.type == "text"] == ["unbothered"]


async def test_a_filter_with_unknown_bits_and_an_unknown_session_are_refused(
    world: InProcess,
) -> None:
    await world.ensure("hello")

    async def first(session_id: str, chosen: int) -> None:
        call = world.gateway.Attach(
            gateway_pb2.AttachRequest(session_id=session_id, filter=chosen),
            metadata=world.metadata,
        )
        await call.read()
        raise grpc.aio.AioRpcError(
            await call.code(),
            grpc.aio.Metadata(),
            await call.trailing_metadata(),
            await call.details(),
        )

    assert isinstance(await refused(first("hello", 128)), InvalidArgumentError)
    assert isinstance(await refused(first("nobody", 1)), NotFoundError)
