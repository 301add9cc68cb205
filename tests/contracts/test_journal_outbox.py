"""Replies on their way to a channel: stored with their turn, FIFO per binding, claimed once."""

from __future__ import annotations

import pytest

from netclaw.core.authority import DeliveryTarget, SourceKind
from netclaw.core.errors import HeadMovedError, NotFoundError, StaleIncarnationError
from netclaw.core.ids import InputId, TurnId
from netclaw.core.session.events import CrashRecorded, OutboxRow
from netclaw.ports.outbox import CLAIM_BYTES, OutboxItem
from netclaw.wire.journal_codec import encode_event
from tests.contracts.journal_world import SESSION, World, recorded, started

HERE = DeliveryTarget(channel=SourceKind.SLACK, address="C1/1")
THERE = DeliveryTarget(channel=SourceKind.SLACK, address="C1/2")
ELSEWHERE = DeliveryTarget(channel=SourceKind.DISCORD, address="C1/1")


async def reply(world: World, *replies: tuple[DeliveryTarget, str]) -> InputId:
    """One turn that answers an input with replies."""
    admission = await world.admit()
    start = await world.start()
    turn = f"t{admission.seq}"
    rows = tuple(
        OutboxRow(target=target, text=text, turn_id=TurnId(turn), input_ids=(admission.input_id,))
        for target, text in replies
    )
    done = recorded(turn, admission.input_id)
    await world.append(start, started(turn, admission.input_id), done, outbox=rows)
    return admission.input_id


async def claim(
    world: World, claimant: str = "g1", *, channel: str = "slack", limit: int = 10, at: int = 0
) -> list[OutboxItem]:
    """Claim as one adapter."""
    found = await world.journal.claim_outbox(channel, limit=limit, claimant=claimant, at=at)
    return list(found)


async def confirm(
    world: World, item: OutboxItem, claimant: str = "g1", *, failure: str = "", again_at: int = 0
) -> None:
    """Report how sending went."""
    await world.journal.confirm_outbox(
        item.row_id,
        claimant=claimant,
        external_id="" if failure else "x1",
        failure=failure,
        next_attempt_at=again_at,
    )


@pytest.mark.requirement("store.outbox-atomic")
async def test_replies_are_stored_exactly_with_their_turn(journal_world: World) -> None:
    world = journal_world
    await world.create()
    start = await world.start()
    row = OutboxRow(target=HERE, text="a", turn_id=TurnId("t1"), input_ids=())
    with pytest.raises(HeadMovedError):
        await world.append(start, recorded("t1"), head=7, outbox=(row,))
    assert (await world.journal.counts()).outbox_waiting == 0
    await world.append(start, recorded("t1"), outbox=(row,), append_id="a1")
    await world.append(start, recorded("t1"), outbox=(row,), append_id="a1")
    await world.die()
    assert (await world.journal.counts()).outbox_waiting == 1
    (item,) = await claim(world)
    assert (item.session_id, item.target, item.text, item.attempts) == (SESSION, HERE, "a", 0)


@pytest.mark.requirement("store.outbox-fifo")
async def test_a_binding_gets_its_replies_one_by_one_in_order(journal_world: World) -> None:
    world = journal_world
    await world.create()
    await reply(world, (HERE, "a"), (THERE, "b"), (ELSEWHERE, "c"))
    await reply(world, (HERE, "d"))
    first, second = await claim(world)
    assert [first.text, second.text] == ["a", "b"]
    assert await claim(world) == [], "what is in the adapter's hands is not given twice"
    await confirm(world, second)
    assert await claim(world) == []
    await confirm(world, first)
    assert [item.text for item in await claim(world)] == ["d"]
    assert [item.text for item in await claim(world, channel="discord")] == ["c"]


@pytest.mark.requirement("store.outbox-fifo")
@pytest.mark.requirement("upstream.failed-posts")
async def test_a_failed_reply_is_tried_again_before_later_ones(journal_world: World) -> None:
    world = journal_world
    await world.create()
    await reply(world, (HERE, "a"), (HERE, "b"))
    (item,) = await claim(world)
    await confirm(world, item, failure="rate limited", again_at=5000)
    assert await claim(world, at=4999) == []
    (again,) = await claim(world, at=5000)
    assert (again.row_id, again.attempts) == (item.row_id, 1)
    await confirm(world, again, failure="channel is gone")
    (later,) = await claim(world, at=5000)
    assert later.text == "b"


@pytest.mark.requirement("store.outbox-claims")
async def test_a_claim_lapses_with_its_adapter(journal_world: World) -> None:
    world = journal_world
    await world.create()
    await reply(world, (HERE, "a"))
    (item,) = await claim(world, "g1")
    await world.die()
    (taken,) = await claim(world, "g2")
    assert taken.row_id == item.row_id
    with pytest.raises(StaleIncarnationError):
        await confirm(world, item, "g1")
    await confirm(world, taken, "g2")
    await confirm(world, taken, "g2")
    await confirm(world, item, "g1")
    assert await claim(world, "g3") == []
    with pytest.raises(NotFoundError):
        await world.journal.confirm_outbox(
            99, claimant="g1", external_id="", failure="", next_attempt_at=0
        )


@pytest.mark.requirement("store.outbox-claims")
async def test_claims_are_bounded_and_never_reuse_a_row_id(journal_world: World) -> None:
    world = journal_world
    await world.create()
    await reply(world, (HERE, "a"), (THERE, "b"))
    first = await claim(world, limit=1)
    assert [item.text for item in first] == ["a"]
    await world.journal.delete_session(SESSION)
    assert await claim(world, "g2") == []
    await world.create()
    await reply(world, (HERE, "c"))
    (item,) = await claim(world, "g2")
    assert item.row_id > 2


@pytest.mark.requirement("store.ledger")
@pytest.mark.requirement("upstream.failed-posts")
async def test_the_ledger_shows_the_deliveries_of_an_input(journal_world: World) -> None:
    world = journal_world
    await world.create()
    answered = await reply(world, (HERE, "a"), (ELSEWHERE, "b"))
    other = await reply(world, (HERE, "c"))
    (item,) = await claim(world)
    await confirm(world, item)
    entries = {entry.input_id: entry for entry in await world.journal.ledger(SESSION, limit=9)}
    states = [(one.channel, one.state, one.attempts) for one in entries[answered].deliveries]
    assert states == [("slack", "delivered", 1), ("discord", "waiting", 0)]
    assert entries[answered].deliveries[0].external_id == "x1"
    assert [one.state for one in entries[other].deliveries] == ["waiting"]


@pytest.mark.requirement("supervisor.message-size")
async def test_a_claim_takes_no_more_than_one_answer_carries(journal_world: World) -> None:
    world = journal_world
    await world.create()
    texts = ["x" * (CLAIM_BYTES + 1), "a", "b" * CLAIM_BYTES, "c"]
    targets = [DeliveryTarget(channel=SourceKind.SLACK, address=f"C{n}") for n in range(4)]
    await reply(world, *zip(targets, texts, strict=True))
    claims = []
    while claimed := await claim(world):
        claims.append([len(item.text) for item in claimed])
    assert claims == [[CLAIM_BYTES + 1], [1], [CLAIM_BYTES], [1]]


@pytest.mark.requirement("store.outbox-claims")
async def test_a_claimant_learns_when_to_claim_again(journal_world: World) -> None:
    world = journal_world
    await world.create()

    async def next_at(claimant: str = "g1") -> int | None:
        return await world.journal.next_outbox_at("slack", claimant=claimant)

    assert await next_at() is None
    await reply(world, (HERE, "a"), (ELSEWHERE, "b"))
    await reply(world, (HERE, "c"))
    assert await next_at() == 0
    (item,) = await claim(world)
    assert (await next_at(), await next_at("g2")) == (None, 0), "its own hands hold it"
    await confirm(world, item, failure="no", again_at=7000)
    assert await next_at() == 7000, "what waits behind it is due no sooner"
    (item,) = await claim(world, at=7000)
    await confirm(world, item)
    assert await next_at() == 0


@pytest.mark.requirement("store.outbox-claims")
async def test_a_claim_tells_what_another_claimant_held(journal_world: World) -> None:
    world = journal_world
    await world.create()
    await reply(world, (HERE, "a"))
    (first,) = await claim(world)
    (again,) = await claim(world, "g2")
    assert (first.is_taken_over, again.is_taken_over) == (False, True)
    assert again.turn_id == first.turn_id != ""
    await confirm(world, again, "g2", failure="no", again_at=1)
    (last,) = await claim(world, at=1)
    assert (last.is_taken_over, last.attempts) == (False, 1), "its holder let it go"


@pytest.mark.requirement("channel_host.news")
async def test_what_is_published_names_the_channels_that_have_replies(
    journal_world: World,
) -> None:
    world = journal_world
    await world.create()
    await reply(world, (HERE, "a"), (THERE, "b"), (ELSEWHERE, "c"))
    assert world.published[-1].replies_to == {SourceKind.SLACK, SourceKind.DISCORD}
    assert world.published[0].replies_to == frozenset()
    row = OutboxRow(target=HERE, text="d", turn_id=TurnId("t9"), input_ids=())
    crash = encode_event(CrashRecorded(exit_status=1, turn_id=None, attempt=1))
    await world.journal.append_own(SESSION, (crash,), at=1, outbox=(row,))
    assert world.published[-1].replies_to == {SourceKind.SLACK}
