"""Texts and pasts of any size, read by a client that takes gRPC's default of 4 MiB a message."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import grpc.aio
import pytest

from netclaw.cli.chat.feed import SessionFeed
from netclaw.cli.chat.link import Link
from netclaw.cli.client import DaemonClient
from netclaw.cli.history import read_history
from netclaw.core.errors import InvalidArgumentError
from netclaw.core.exit_codes import ExitCode
from netclaw.wire.batches import PUBLIC_LIMIT, BatchJoiner, joined_items, joined_rows
from netclaw.wire.v1 import admin_pb2, gateway_pb2
from netclaw.wire.v1.common_pb2 import Output, OutputBatch, Sender
from tests.supervisor.peers import Peer, Script
from tests.supervisor.test_gateway import refused
from tests.supervisor.world import InProcess

HUGE = "Grüße, " * 1_300_000
"""About 11 MB: an answer that a daemon before the bound of answers may have stored."""
TURNS, TURN_TEXT = 40, 500_000


def answering(text: str) -> Script:
    """A session that answers every message with one text."""

    async def script(peer: Peer) -> int:
        await peer.connect()
        await peer.phase("ready")
        while True:
            while peer.state.buffered:
                await peer.finish_turn(await peer.start_turn(), text)
            if await peer.read() is None:
                return int(ExitCode.STREAM_LOST)

    return script


async def read_until(
    call: grpc.aio.UnaryStreamCall[Any, OutputBatch], turns: int
) -> tuple[list[Output], list[OutputBatch]]:
    """Whole outputs until so many turns ended, and the batches they came in."""
    joiner, outputs, batches = BatchJoiner(), list[Output](), list[OutputBatch]()
    async with asyncio.timeout(15):
        while sum(output.type == "turn_completed" for output in outputs) < turns:
            batch = await call.read()
            assert isinstance(batch, OutputBatch)
            batches.append(batch)
            outputs.extend(joiner.feed(OutputBatch.FromString(batch.SerializeToString())))
    call.cancel()
    return outputs, batches


async def history(world: InProcess, **request: Any) -> tuple[list[gateway_pb2.HistoryItem], int]:
    """The items of a session over all pages, and the number of pages."""
    items: list[gateway_pb2.HistoryItem] = []
    before, pages = "", 0
    while pages == 0 or before:
        page = await world.gateway.GetHistory(
            gateway_pb2.GetHistoryRequest(session_id="hello", before=before, **request),
            metadata=world.metadata,
        )
        assert page.ByteSize() <= PUBLIC_LIMIT
        items[:0] = page.items
        before, pages = page.before, pages + 1
    return list(joined_items(items)), pages


@pytest.mark.requirement("supervisor.message-size")
async def test_a_huge_answer_reaches_a_plain_client_live_late_and_in_the_history(
    world: InProcess,
) -> None:
    world.spawner.scripts = [answering(HUGE)]
    await world.ensure("hello")
    request = gateway_pb2.AttachRequest(session_id="hello", filter=127)
    live = world.gateway.Attach(request, metadata=world.metadata)
    await live.initial_metadata()
    await world.send("hello", "hi")
    seen, _ = await read_until(live, 1)
    request.after_seq = 0
    late, batches = await read_until(world.gateway.Attach(request, metadata=world.metadata), 1)
    for outputs in (seen, late):
        assert [output.text for output in outputs if output.type == "text"] == [HUGE]
        assert not any(output.more for output in outputs)
    assert [batch.more for batch in batches if batch.outputs[0].seq == late[0].seq][:-1]
    assert all(batch.ByteSize() <= PUBLIC_LIMIT for batch in batches)
    items, pages = await history(world)
    assert [(item.role, item.text) for item in items] == [("user", "hi"), ("assistant", HUGE)]
    assert pages > 1
    rows = world.admin.ReadJournal(
        admin_pb2.ReadJournalRequest(session_id="hello"), metadata=world.metadata
    )
    payloads = {row.type: row.payload for row in joined_rows([row async for row in rows])}
    assert json.loads(payloads["TurnRecorded"])["message"]["text"] == HUGE


@pytest.mark.requirement("supervisor.history-pages")
async def test_a_long_past_is_whole_for_a_plain_client(world: InProcess) -> None:
    world.spawner.scripts = [answering("x" * TURN_TEXT)]
    await world.ensure("hello")
    async with world.attached("hello", 1) as early:
        for number in range(TURNS):
            await world.send("hello", f"m{number}")
            await early.until("turn_completed", number + 1)
    request = gateway_pb2.AttachRequest(session_id="hello", filter=127, after_seq=0)
    outputs, batches = await read_until(
        world.gateway.Attach(request, metadata=world.metadata), TURNS
    )
    assert [len(output.text) for output in outputs if output.type == "text"] == [TURN_TEXT] * TURNS
    assert not any(batch.more for batch in batches), "each ends where a reader may resume"
    items, pages = await history(world)
    assert len(items) == 2 * TURNS
    assert pages > 4
    assert [item.text for item in items[::2]] == [f"m{number}" for number in range(TURNS)]
    newest, _ = await history(world, limit=21)
    assert [item.at_ms for item in newest] == [item.at_ms for item in items[-21:]]
    assert len(newest) == 21


@pytest.mark.requirement("supervisor.history-pages")
@pytest.mark.parametrize("before", ["x", "1.2", "0.9.0@1-0", "-1.0.0@1-0", "0.0.0@9-9", "٣.0.0@"])
async def test_a_place_in_no_history_is_refused(world: InProcess, before: str) -> None:
    await world.ensure("hello")
    async with world.attached("hello", 1) as early:
        await world.send("hello", "hi")
        await early.until("turn_completed")
    request = gateway_pb2.GetHistoryRequest(session_id="hello", before=before)
    error = await refused(world.gateway.GetHistory(request, metadata=world.metadata))
    assert isinstance(error, InvalidArgumentError)


@pytest.mark.requirement("supervisor.history-pages")
async def test_a_page_of_a_history_that_was_reset_is_not_mixed_with_the_next(
    world: InProcess,
) -> None:
    world.spawner.scripts = [answering("x" * 3_000_000)]
    await world.ensure("hello")
    async with world.attached("hello", 1) as early:
        for number in (1, 2, 3):
            await world.send("hello", f"m{number}")
            await early.until("turn_completed", number)
        request = gateway_pb2.GetHistoryRequest(session_id="hello")
        first = await world.gateway.GetHistory(request, metadata=world.metadata)
        assert first.before
        await world.admin_call("ResetSession", "hello")
        await world.send("hello", "anew")
        await early.until("turn_completed", 4)
    request.before = first.before
    error = await refused(world.gateway.GetHistory(request, metadata=world.metadata))
    assert isinstance(error, InvalidArgumentError)


async def first_text(link: Link) -> str:
    """The first whole text that a conversation sees."""
    outputs = link.outputs()
    async with asyncio.timeout(10):
        async for output in outputs:
            if output.type == "text":
                await outputs.aclose()  # type: ignore[attr-defined]
                return output.text
    raise AssertionError("the stream ended without text")


@pytest.mark.requirement("supervisor.history-pages")
async def test_the_command_line_reads_what_no_single_message_could_carry(
    world: InProcess,
) -> None:
    world.spawner.scripts = [answering(HUGE)]
    await world.ensure("hello")
    async with world.attached("hello", 64) as early:
        for number in (1, 2):
            await world.send("hello", f"m{number}")
            await early.until("turn_completed", number)

    def read() -> tuple[list[str], list[str], list[str]]:
        with DaemonClient(world.home) as client:
            items = read_history(client, "hello")
            newest = read_history(client, "hello", limit=3)
        feed = SessionFeed(
            DaemonClient(world.home),
            world.home,
            "hello",
            filter_bits=1,
            after_seq=0,
            tell=lambda _: None,
        )
        texts: list[str] = []
        for output in feed:
            texts += [output.text] if output.type == "text" else []
            if output.type == "turn_completed" and len(texts) == 2:
                break
        feed.close()
        return [item.text for item in items], [item.text for item in newest], texts

    items, newest, texts = await asyncio.to_thread(read)
    assert items == ["m1", HUGE, "m2", HUGE]
    assert newest == items[1:]
    assert texts == [HUGE, HUGE]
    link = Link(world.home, Sender(), lambda _: None)
    await link.open("hello")
    link._last_seq = 0  # as after a reconnect to a daemon that it saw nothing of
    assert await first_text(link) == HUGE
    assert (await link.recent(2))[-1].text.endswith("Grüße, ")
    await link.close()
