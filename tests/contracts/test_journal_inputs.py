"""Admission: durable, deduplicated for ever, bounded; and the ledger of what became of inputs."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from netclaw.core.errors import InvalidArgumentError, NotFoundError, QueueFullError
from netclaw.core.ids import InputId, TurnId
from netclaw.core.messages import MediaRef
from netclaw.core.session.events import InputAdmitted, InputJoined, TurnOutcome
from netclaw.ports.journal import Admission
from netclaw.testing.people import ALICE
from tests.contracts.journal_world import (
    LIMITS,
    OTHER,
    SESSION,
    World,
    failed,
    recorded,
    started,
)


@pytest.mark.requirement("store.admission")
async def test_an_admission_is_a_row_with_everything_that_was_said(journal_world: World) -> None:
    world = journal_world
    await world.create()
    request = world.input_request("héllo \U0001f680\n", message="m1", authority=ALICE)
    admission = await world.journal.admit(request)
    assert admission == Admission(input_id=request.input_id, seq=2, is_duplicate=False)
    assert (await world.events())[1] == InputAdmitted(
        input_id=request.input_id,
        source_message_id="m1",
        text="héllo \U0001f680\n",
        authority=ALICE,
        attended=True,
    )
    record = await world.record()
    assert (record.pending_inputs, record.pending_bytes) == (1, len(request.text.encode()))


@pytest.mark.requirement("store.admission")
async def test_an_unknown_session_admits_nothing(journal_world: World) -> None:
    with pytest.raises(NotFoundError):
        await journal_world.admit()
    assert journal_world.published == []


async def test_a_text_that_is_no_unicode_is_refused(journal_world: World) -> None:
    world = journal_world
    await world.create()
    with pytest.raises(InvalidArgumentError):
        await world.admit("\ud800")
    assert (await world.record()).pending_inputs == 0


@pytest.mark.requirement("store.dedupe")
async def test_a_message_is_admitted_once_for_ever(journal_world: World) -> None:
    world = journal_world
    await world.create()
    await world.create(OTHER)
    first = await world.admit("one", message="m1")
    again = Admission(input_id=first.input_id, seq=first.seq, is_duplicate=True)
    assert await world.admit("one", message="m1") == again
    assert not (await world.admit("one", message="m1", session_id=OTHER)).is_duplicate
    await world.stop()
    assert await world.admit("one", message="m1") == again
    start = await world.start()
    await world.append(start, started("t1", first.input_id))
    await world.append(start, recorded("t1", first.input_id), head=3)
    await world.die()
    assert await world.admit("one", message="m1") == again
    await world.journal.reset_session(SESSION, at=1)
    assert await world.admit("one", message="m1") == again
    assert await world.journal.find_input(SESSION, "m1") == again
    assert await world.journal.find_input(SESSION, "m2") is None
    assert await world.journal.find_input(OTHER, "m2") is None


@pytest.mark.requirement("store.message-id-reuse")
async def test_an_id_that_comes_with_another_message_loses_neither(journal_world: World) -> None:
    world = journal_world
    await world.create()
    picture = MediaRef(upload_id="u1", media_type="image/png", size_bytes=3, name="a.png")
    first = world.input_request("one", message="m1", media=(picture,))
    await world.journal.admit(first)
    again = replace(picture, upload_id="u2")
    resend = world.input_request("one", message="m1", media=(again,))
    assert (await world.journal.admit(resend)).is_duplicate, "the file was uploaded again"
    others = (
        world.input_request("two", message="m1", media=(picture,)),
        world.input_request("one", message="m1"),
        world.input_request("one", message="m1", media=(replace(picture, size_bytes=4),)),
    )
    for other in others:
        with pytest.raises(InvalidArgumentError, match="used for another message"):
            await world.journal.admit(other)
    answers = await world.journal.admit_many((others[0], world.input_request("three")))
    assert isinstance(answers[0], InvalidArgumentError)
    assert isinstance(answers[1], Admission)
    await world.stop()
    with pytest.raises(InvalidArgumentError, match="used for another message"):
        await world.journal.admit(others[0])
    assert (await world.record()).pending_inputs == 2


@pytest.mark.requirement("store.dedupe")
async def test_two_deliveries_at_once_make_one_input(journal_world: World) -> None:
    world = journal_world
    await world.create()
    answers = await asyncio.gather(*[world.admit(message="m1") for _ in range(8)])
    assert len({answer.input_id for answer in answers}) == 1
    assert [answer.is_duplicate for answer in answers] == [False] + [True] * 7
    assert (await world.record()).pending_inputs == 1


@pytest.mark.requirement("store.dedupe")
async def test_messages_without_an_id_are_never_doubles(journal_world: World) -> None:
    world = journal_world
    await world.create()
    answers = [await world.admit("same"), await world.admit("same")]
    assert [answer.is_duplicate for answer in answers] == [False, False]


@pytest.mark.requirement("store.queue-full")
async def test_a_session_holds_so_many_unanswered_inputs_and_no_more(
    journal_world: World,
) -> None:
    world = journal_world
    await world.create()
    inputs = [await world.admit(message=f"m{n}") for n in range(LIMITS.pending_inputs_max)]
    with pytest.raises(QueueFullError):
        await world.admit(message="late")
    assert (await world.admit(message="m0")).is_duplicate, "a resend is no new input"
    await world.die()
    with pytest.raises(QueueFullError):
        await world.admit(message="late")
    start = await world.start()
    await world.append(start, started("t1", inputs[0].input_id))
    with pytest.raises(QueueFullError):
        await world.admit(message="late")
    head = (await world.record()).head
    await world.append(start, recorded("t1", inputs[0].input_id), head=head)
    assert not (await world.admit(message="late")).is_duplicate


@pytest.mark.requirement("store.queue-full")
async def test_the_size_of_unanswered_inputs_is_bounded_in_bytes(journal_world: World) -> None:
    world = journal_world
    await world.create()
    await world.admit("é" * 300)
    with pytest.raises(QueueFullError):
        await world.admit("é" * 201)
    await world.admit("é" * 200)
    assert (await world.record()).pending_bytes == LIMITS.pending_bytes_max
    with pytest.raises(QueueFullError):
        await world.admit("x")
    assert (await world.record()).pending_inputs == 2


@pytest.mark.requirement("store.admission")
async def test_a_batch_of_inputs_is_one_commit_with_an_answer_for_each(
    journal_world: World,
) -> None:
    world = journal_world
    await world.create()
    await world.create(OTHER)
    requests = [
        world.input_request("a", message="m1"),
        world.input_request("b", session_id=OTHER),
        world.input_request("a", message="m1"),
        world.input_request("\ud800"),
        *[world.input_request(str(number)) for number in range(LIMITS.pending_inputs_max)],
    ]
    before = world.transactions()
    answers = await world.journal.admit_many(requests)
    assert world.transactions() == before + 1
    assert answers[0] == Admission(input_id=requests[0].input_id, seq=2, is_duplicate=False)
    assert answers[1] == Admission(input_id=requests[1].input_id, seq=2, is_duplicate=False)
    assert answers[2] == Admission(input_id=requests[0].input_id, seq=2, is_duplicate=True)
    assert isinstance(answers[3], InvalidArgumentError)
    assert isinstance(answers[-1], QueueFullError)
    assert world.seqs_published() == [1, 2, 3, 4, 5, 6]
    assert world.seqs_published(OTHER) == [1, 2]
    assert await world.journal.admit_many([]) == ()


@pytest.mark.requirement("store.ledger")
async def test_the_ledger_follows_an_input_to_its_end(journal_world: World) -> None:
    world = journal_world
    await world.create()
    first, second, third = [await world.admit(message=f"m{n}") for n in range(3)]
    start = await world.start()
    assert await world.outcomes() == ["waiting", "waiting", "waiting"]
    await world.append(start, started("t1", first.input_id))
    joined = InputJoined(turn_id=TurnId("t1"), input_ids=(second.input_id,))
    await world.append(start, joined, head=5)
    assert await world.outcomes() == ["running", "running", "waiting"]
    assert (await world.record()).open_turn == "t1"
    done = recorded("t1", first.input_id, second.input_id, outcome=TurnOutcome.STOPPED)
    await world.append(start, done, head=6)
    assert await world.outcomes() == ["stopped", "stopped", "waiting"]
    await world.append(start, started("t2", third.input_id), head=7)
    await world.append(start, failed("t2", third.input_id), head=8)
    await world.stop()
    assert await world.outcomes() == ["stopped", "stopped", "failed"]
    record = await world.record()
    assert (record.open_turn, record.pending_inputs, record.pending_bytes) == (None, 0, 0)
    assert record.turns == 1


@pytest.mark.requirement("store.ledger")
async def test_a_ledger_entry_says_when_and_whence(journal_world: World) -> None:
    world = journal_world
    await world.create()
    asked_at = world.clock.now_ms()
    request = world.input_request("a", message="m1", authority=ALICE)
    world.clock.advance(3)
    await world.journal.admit(request)
    (entry,) = await world.journal.ledger(SESSION, limit=10)
    assert (entry.input_id, entry.seq, entry.source) == (request.input_id, 2, "slack")
    assert (entry.received_at, entry.admitted_at) == (asked_at, asked_at + 3000)
    assert (entry.source_message_id, entry.turn_id) == ("m1", None)
    assert entry.deliveries == ()


@pytest.mark.requirement("store.ledger")
async def test_the_ledger_shows_the_newest_oldest_first(journal_world: World) -> None:
    world = journal_world
    await world.create()
    inputs = [(await world.admit()).input_id for _ in range(4)]
    entries = await world.journal.ledger(SESSION, limit=2)
    assert [entry.input_id for entry in entries] == inputs[2:]
    assert await world.journal.ledger(SESSION, limit=0) == ()
    assert await world.journal.ledger(OTHER, limit=2) == ()


@pytest.mark.requirement("store.consumption")
async def test_an_input_that_joined_and_was_not_consumed_waits_again(
    journal_world: World,
) -> None:
    world = journal_world
    await world.create()
    first, second = [await world.admit() for _ in range(2)]
    start = await world.start()
    await world.append(start, started("t1", first.input_id, second.input_id))
    await world.die()
    start = await world.start()
    await world.append(start, failed("t1", first.input_id))
    assert await world.outcomes() == ["failed", "waiting"]
    assert (await world.record()).pending_inputs == 1
    entries = await world.journal.ledger(SESSION, limit=5)
    assert [entry.turn_id for entry in entries] == ["t1", None]


@pytest.mark.requirement("store.consumption")
async def test_an_input_is_consumed_once(journal_world: World) -> None:
    world = journal_world
    await world.create()
    first = await world.admit()
    start = await world.start()
    unknown = InputId("unknown")
    await world.append(start, started("t1", first.input_id, unknown))
    await world.append(start, recorded("t1", first.input_id, unknown), head=3)
    await world.append(start, started("t2", first.input_id), head=4)
    await world.append(start, failed("t2", first.input_id), head=5)
    assert await world.outcomes() == ["completed"]
    assert (await world.record()).pending_inputs == 0
