"""Files and beginnings of threads on their way to a channel: the outbox beside its replies."""

from __future__ import annotations

import pytest

from netclaw.core.authority import DeliveryTarget, SourceKind
from netclaw.core.errors import (
    InvalidArgumentError,
    NotFoundError,
    QueueFullError,
    StaleIncarnationError,
)
from netclaw.core.ids import CallId, TurnId
from netclaw.core.session.events import OutboxRow
from netclaw.core.tool_call import Attachment
from netclaw.ports.outbox import (
    MAX_OPENINGS,
    Opening,
    OpeningRequest,
    OutboxItem,
    OutboxKind,
    OutboxState,
)
from tests.contracts.journal_world import SESSION, World, recorded, started

HERE = DeliveryTarget(channel=SourceKind.SLACK, address="C1/1")
PLACE = DeliveryTarget(channel=SourceKind.SLACK, address="C9")
FILE = Attachment(path="/e/artifacts/attached/t1/a.txt", media_type="text/plain", size_bytes=3)
TURN = TurnId("t1")


def opening(call: str, text: str = "hello", turn: TurnId = TURN) -> OpeningRequest:
    """A message of a call."""
    return OpeningRequest(
        session_id=SESSION, turn_id=turn, call_id=CallId(call), target=PLACE, text=text, at=5
    )


async def in_turn(world: World) -> None:
    """A session with an open turn."""
    await world.create()
    admission = await world.admit()
    start = await world.start()
    await world.append(start, started(TURN, admission.input_id))


async def claim(world: World, claimant: str = "g1") -> list[OutboxItem]:
    """Claim as one adapter."""
    found = await world.journal.claim_outbox("slack", limit=100, claimant=claimant, at=0)
    return list(found)


async def confirm(world: World, row_id: int, *, address: str = "", failure: str = "") -> None:
    """Report how sending went."""
    await world.journal.confirm_outbox(
        row_id, claimant="g1", external_id=address, failure=failure, next_attempt_at=0
    )


@pytest.mark.requirement("channel_sends.once")
async def test_a_call_begins_one_thread_whatever_is_repeated(journal_world: World) -> None:
    world = journal_world
    await in_turn(world)
    first = await world.journal.open_thread(opening("c1"))
    await world.die()
    again = await world.journal.open_thread(opening("c1", "other words"))
    assert again == first == Opening(row_id=first.row_id, state=OutboxState.WAITING)
    (item,) = await claim(world)
    assert (item.kind, item.text, item.target) == (OutboxKind.OPENING, "hello", PLACE)
    assert item.file is None
    await confirm(world, item.row_id, address="C9/7")
    await world.die()
    found = await world.journal.find_opening(SESSION, CallId("c1"))
    assert found == Opening(row_id=first.row_id, state=OutboxState.DELIVERED, address="C9/7")
    assert await world.journal.open_thread(opening("c1")) == found
    assert await claim(world) == []


@pytest.mark.requirement("channel_sends.once")
async def test_what_is_given_up_is_known_as_that(journal_world: World) -> None:
    world = journal_world
    await in_turn(world)
    made = await world.journal.open_thread(opening("c1"))
    await claim(world)
    await confirm(world, made.row_id, failure="The channel is gone.")
    found = await world.journal.find_opening(SESSION, CallId("c1"))
    assert found is not None
    assert found.state is OutboxState.GIVEN_UP
    assert found.is_over
    assert await world.journal.find_opening(SESSION, CallId("c2")) is None
    assert await world.journal.find_opening(SESSION, CallId("")) is None


@pytest.mark.requirement("channel_sends.once")
async def test_a_turn_that_is_over_begins_nothing(journal_world: World) -> None:
    world = journal_world
    await in_turn(world)
    with pytest.raises(InvalidArgumentError):
        await world.journal.open_thread(opening("c1", turn=TurnId("t0")))
    for number in range(MAX_OPENINGS):
        await world.journal.open_thread(opening(f"d{number}"))
    with pytest.raises(QueueFullError):
        await world.journal.open_thread(opening("one-more"))


@pytest.mark.requirement("channel_sends.file")
async def test_a_file_waits_in_the_order_of_its_binding(journal_world: World) -> None:
    world = journal_world
    await world.create()
    admission = await world.admit()
    start = await world.start()
    target = {"target": HERE, "turn_id": TURN}
    rows = (
        OutboxRow(text="", input_ids=(), file=FILE, **target),  # type: ignore[arg-type]
        OutboxRow(text="done", input_ids=(admission.input_id,), **target),  # type: ignore[arg-type]
    )
    done = recorded(TURN, admission.input_id)
    await world.append(start, started(TURN, admission.input_id), done, outbox=rows)
    await world.die()
    (item,) = await claim(world)
    assert (item.kind, item.file, item.text) == (OutboxKind.FILE, FILE, "")
    assert await world.journal.claimed_file(item.row_id, claimant="g1") == (SESSION, FILE)
    with pytest.raises(StaleIncarnationError):
        await world.journal.claimed_file(item.row_id, claimant="g2")
    assert await world.journal.is_reply_open(SESSION, TURN, HERE)
    await confirm(world, item.row_id, address="F1")
    with pytest.raises(StaleIncarnationError):
        await world.journal.claimed_file(item.row_id, claimant="g1")
    (reply,) = await claim(world)
    assert (reply.kind, reply.text) == (OutboxKind.REPLY, "done")
    with pytest.raises(NotFoundError):
        await world.journal.claimed_file(reply.row_id, claimant="g1")
    await confirm(world, reply.row_id)
    assert not await world.journal.is_reply_open(SESSION, TURN, HERE)
    assert not await world.journal.is_reply_open(SESSION, TURN, PLACE)
