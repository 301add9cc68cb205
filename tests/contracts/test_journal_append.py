"""Appends: fenced by incarnation, placed by head, made once, published in order."""

from __future__ import annotations

import asyncio

import pytest

from netclaw.core.errors import (
    HeadMovedError,
    InvalidArgumentError,
    NotFoundError,
    StaleIncarnationError,
)
from netclaw.core.ids import CallId, SessionId, TurnId
from netclaw.core.session.events import (
    AnswerAdmitted,
    Compacted,
    CrashRecorded,
    InputAdmitted,
    OutputStarted,
    Passivated,
    Resumed,
    SessionCreated,
    SessionEvent,
    TitleSet,
)
from netclaw.ports.journal import EventDraft, SnapshotDraft, StoredSnapshot
from netclaw.wire.journal_codec import encode_event
from tests.contracts.journal_world import OTHER, SESSION, World, started
from tests.store.examples import EVENTS_V1

TITLE = TitleSet(title="Files", actor="model")
OUTPUT = OutputStarted(turn_id=TurnId("t1"), round=0)
ANSWER = AnswerAdmitted(call_id=CallId("c1"), option="once", answerer="me")
COMPACTED = Compacted(
    kept_from_seq=1, notes="", tokens_before=2, tokens_after=1, trigger="threshold"
)
PERIODIC = SnapshotDraft(codec="json/1", payload=b"{}", is_mandatory=False)
MANDATORY = SnapshotDraft(codec="json/1", payload=b'{"head":1}', is_mandatory=True)


@pytest.mark.requirement("store.seq")
async def test_rows_are_numbered_from_one_without_a_gap(journal_world: World) -> None:
    world = journal_world
    await world.create()
    start = await world.start()
    first = await world.append(start, OUTPUT, TITLE)
    second = await world.append(start, OUTPUT, head=3)
    assert [row.seq for row in (*first, *second)] == [2, 3, 4]
    stored = await world.journal.read_journal(SESSION, since=0, limit=100)
    assert [row.seq for row in stored] == [1, 2, 3, 4]
    assert stored[1:] == (*first, *second)
    assert {row.incarnation for row in stored[1:]} == {start.incarnation}
    assert {row.cause for row in stored[1:]} == {"test"}
    assert (await world.events())[1:] == [OUTPUT, TITLE, OUTPUT]
    assert (await world.record()).head == 4


async def test_reads_take_a_start_and_a_limit(journal_world: World) -> None:
    world = journal_world
    await world.create()
    await world.append(await world.start(), OUTPUT, OUTPUT, OUTPUT)
    rows = await world.journal.read_journal(SESSION, since=1, limit=2)
    assert [row.seq for row in rows] == [2, 3]
    assert await world.journal.read_journal(OTHER, since=0, limit=2) == ()
    assert await world.journal.read_state(OTHER) == (None, ())


@pytest.mark.requirement("store.fencing")
async def test_a_replaced_process_can_never_write_again(journal_world: World) -> None:
    world = journal_world
    await world.create()
    old = await world.start()
    new = await world.start()
    assert new.incarnation > old.incarnation
    with pytest.raises(StaleIncarnationError):
        await world.append(old, OUTPUT)
    await world.append(new, OUTPUT)
    with pytest.raises(StaleIncarnationError):
        await world.append(old, OUTPUT, head=2)
    assert (await world.record()).head == 2
    assert world.seqs_published() == [1, 2]


@pytest.mark.requirement("store.fencing")
async def test_the_supervisor_fences_a_process_out_with_its_own_event(
    journal_world: World,
) -> None:
    world = journal_world
    await world.create()
    start = await world.start()
    crash = encode_event(CrashRecorded(exit_status=-9, turn_id=None, attempt=1))
    rows = await world.journal.append_own(SESSION, (crash,), at=1, raise_incarnation=True)
    assert rows[0].incarnation == start.incarnation + 1
    with pytest.raises(StaleIncarnationError):
        await world.append(start, OUTPUT, head=2)
    rows = await world.journal.append_own(SESSION, (), at=1, raise_incarnation=True)
    assert rows == ()
    assert (await world.record()).incarnation == start.incarnation + 2
    assert world.seqs_published() == [1, 2]


@pytest.mark.requirement("store.fencing")
async def test_incarnations_rise_over_stops_deaths_and_deletion(journal_world: World) -> None:
    world = journal_world
    await world.create()
    seen = [(await world.start()).incarnation]
    await world.stop()
    seen.append((await world.start()).incarnation)
    await world.die()
    seen.append((await world.start()).incarnation)
    await world.journal.delete_session(SESSION)
    await world.create()
    seen.append((await world.start()).incarnation)
    assert seen == sorted(set(seen))


@pytest.mark.requirement("store.interleaving")
@pytest.mark.parametrize("depth", [1, 3])
async def test_inputs_and_answers_may_come_between(journal_world: World, depth: int) -> None:
    world = journal_world
    await world.create()
    start = await world.start()
    for _ in range(depth):
        await world.admit()
        await world.journal.append_own(SESSION, (encode_event(ANSWER),), at=1)
    rows = await world.append(start, OUTPUT, TITLE)
    assert [row.seq for row in rows] == [2 * depth + 2, 2 * depth + 3]


@pytest.mark.requirement("store.interleaving")
async def test_anything_else_in_between_makes_the_process_decide_again(
    journal_world: World,
) -> None:
    world = journal_world
    await world.create()
    start = await world.start()
    await world.admit()
    resumed = encode_event(Resumed(turn_id=TurnId("t1")))
    await world.journal.append_own(SESSION, (resumed,), at=1)
    await world.admit()
    for head in (0, 1, 2, 5):
        with pytest.raises(HeadMovedError) as refused:
            await world.append(start, OUTPUT, head=head)
        assert refused.value.head == 4
    assert [row.seq for row in await world.append(start, OUTPUT, head=3)] == [5]


@pytest.mark.requirement("store.interleaving")
async def test_the_rule_holds_after_a_restart(journal_world: World) -> None:
    world = journal_world
    await world.create()
    await world.admit()
    await world.die()
    start = await world.start()
    await world.admit()
    await world.stop()
    assert [row.seq for row in await world.append(start, OUTPUT)] == [4]
    with pytest.raises(HeadMovedError):
        await world.append(start, OUTPUT)


@pytest.mark.requirement("store.interleaving")
async def test_passivation_needs_the_exact_head(journal_world: World) -> None:
    world = journal_world
    await world.create()
    start = await world.start()
    await world.admit()
    with pytest.raises(HeadMovedError) as refused:
        await world.append(start, Passivated(snapshot_seq=2), snapshot=MANDATORY)
    assert refused.value.head == 2
    rows = await world.append(start, Passivated(snapshot_seq=3), snapshot=MANDATORY, head=2)
    assert [row.seq for row in rows] == [3]


@pytest.mark.requirement("store.idempotent-append")
async def test_a_repeated_append_answers_the_first_rows(journal_world: World) -> None:
    world = journal_world
    await world.create()
    start = await world.start()
    first = await world.append(start, OUTPUT, TITLE, append_id="a1")
    await world.append(start, OUTPUT, head=3, append_id="a2")
    for _ in range(2):
        assert await world.append(start, OUTPUT, TITLE, append_id="a1") == first
        await world.stop()
        assert await world.append(start, OUTPUT, TITLE, append_id="a1") == first
        await world.die()
    later = await world.start()
    assert await world.append(later, OUTPUT, TITLE, append_id="a1") == first
    assert (await world.record()).head == 4
    assert world.seqs_published() == [1, 2, 3, 4]


@pytest.mark.requirement("store.idempotent-append")
async def test_the_last_appends_are_remembered_however_many_there_were(
    journal_world: World,
) -> None:
    world = journal_world
    await world.create()
    start = await world.start()
    for number in range(50):
        await world.append(start, OUTPUT, head=number + 1, append_id=f"a{number}")
    await world.stop()
    for number in (45, 49):
        rows = await world.append(start, OUTPUT, head=number + 1, append_id=f"a{number}")
        assert [row.seq for row in rows] == [number + 2]
    assert (await world.record()).head == 51


@pytest.mark.requirement("store.authors")
@pytest.mark.parametrize(
    "event",
    [
        event
        for event in EVENTS_V1
        if isinstance(event, SessionCreated | InputAdmitted | AnswerAdmitted | CrashRecorded)
    ],
    ids=lambda event: type(event).__name__,
)
async def test_a_process_may_not_write_what_only_the_supervisor_writes(
    journal_world: World, event: SessionEvent
) -> None:
    world = journal_world
    await world.create()
    start = await world.start()
    with pytest.raises(InvalidArgumentError):
        await world.append(start, OUTPUT, event)
    assert (await world.record()).head == 1


@pytest.mark.requirement("store.authors")
@pytest.mark.parametrize(
    "draft",
    [
        EventDraft(type="Unheard", version=1, payload=b"{}"),
        EventDraft(type="TitleSet", version=0, payload=b'{"title":"x","actor":"y"}'),
        EventDraft(type="TitleSet", version=1, payload=b"{}"),
        EventDraft(type="TurnStarted", version=1, payload=b"not json"),
        EventDraft(type="TurnRecorded", version=1, payload=b'{"turn_id":"t","input_ids":7}'),
    ],
    ids=["unknown", "version", "fields", "no-json", "types"],
)
async def test_malformed_events_are_refused_whole(journal_world: World, draft: EventDraft) -> None:
    world = journal_world
    await world.create()
    start = await world.start()
    good = world.append_request(start, OUTPUT, TITLE)
    bad = type(good)(
        session_id=SESSION,
        append_id=good.append_id,
        incarnation=good.incarnation,
        expected_head=good.expected_head,
        events=(*good.events, draft),
        at=1,
        cause="",
    )
    with pytest.raises(InvalidArgumentError):
        await world.journal.append(bad)
    record = await world.record()
    assert (record.head, record.title) == (1, "")
    assert len(await world.journal.append(good)) == 2


async def test_an_append_without_events_or_session_is_refused(journal_world: World) -> None:
    world = journal_world
    await world.create()
    start = await world.start()
    with pytest.raises(InvalidArgumentError):
        await world.append(start)
    await world.journal.delete_session(SESSION)
    with pytest.raises(NotFoundError):
        await world.append(start, OUTPUT)


@pytest.mark.requirement("store.commit-order")
async def test_the_listener_hears_of_rows_before_their_author_does(journal_world: World) -> None:
    world = journal_world
    await world.create()
    start = await world.start()
    rows = await world.append(start, OUTPUT, append_id="a1")
    last = world.published[-1]
    assert (last.session_id, last.append_id, last.rows) == (SESSION, "a1", rows)
    admission = await world.admit()
    last = world.published[-1]
    assert (last.append_id, [row.seq for row in last.rows]) == (None, [admission.seq])


@pytest.mark.requirement("store.commit-order")
async def test_everybody_sees_one_order(journal_world: World) -> None:
    world = journal_world
    sessions = [SessionId(f"cli/{number}") for number in range(5)]
    for session_id in sessions:
        await world.create(session_id)
    await asyncio.gather(
        *[
            world.admit(str(number), session_id=session_id)
            for number in range(4)
            for session_id in sessions
        ]
    )
    for session_id in sessions:
        assert world.seqs_published(session_id) == [1, 2, 3, 4, 5]
        texts = [e.text for e in await world.events(session_id) if isinstance(e, InputAdmitted)]
        assert texts == ["0", "1", "2", "3"]


@pytest.mark.requirement("store.commit-order")
async def test_a_write_that_fails_alone_fails_alone(journal_world: World) -> None:
    world = journal_world
    await world.create()
    start = await world.start()
    answers = await asyncio.gather(
        world.admit(),
        world.append(start, OUTPUT, head=9),
        world.admit(session_id=OTHER),
        world.append(start, OUTPUT),
        world.admit(),
        return_exceptions=True,
    )
    assert isinstance(answers[1], HeadMovedError)
    assert isinstance(answers[2], NotFoundError)
    assert world.seqs_published() == [1, 2, 3, 4]
    assert (await world.record()).pending_inputs == 2


@pytest.mark.requirement("store.snapshots")
async def test_a_start_reads_the_newest_snapshot_and_the_rows_after_it(
    journal_world: World,
) -> None:
    world = journal_world
    await world.create()
    start = await world.start()
    assert (start.snapshot, [row.seq for row in start.tail]) == (None, [1])
    await world.append(start, OUTPUT, snapshot=PERIODIC)
    await world.append(start, COMPACTED, head=2, snapshot=MANDATORY)
    await world.admit()
    await world.stop()
    start = await world.start()
    expected = StoredSnapshot(seq=3, codec="json/1", payload=MANDATORY.payload)
    assert start.snapshot == expected
    assert [row.seq for row in start.tail] == [4]
    assert await world.journal.read_state(SESSION) == (expected, start.tail)
    rows = await world.journal.read_journal(SESSION, since=0, limit=100)
    assert [row.seq for row in rows] == [1, 2, 3, 4], "rows before a snapshot stay"


@pytest.mark.requirement("store.snapshots")
async def test_a_snapshot_that_missed_an_input_is_never_kept(journal_world: World) -> None:
    world = journal_world
    await world.create()
    start = await world.start()
    await world.admit()
    rows = await world.append(start, OUTPUT, snapshot=PERIODIC)
    assert [row.seq for row in rows] == [3]
    with pytest.raises(HeadMovedError):
        await world.append(start, COMPACTED, head=1, snapshot=MANDATORY)
    start = await world.start()
    assert start.snapshot is None
    assert [row.seq for row in start.tail] == [1, 2, 3]


async def test_a_start_races_with_an_input_without_losing_it(journal_world: World) -> None:
    world = journal_world
    await world.create()
    before, start, after = await asyncio.gather(world.admit(), world.start(), world.admit())
    assert start.record.head == before.seq
    assert [row.seq for row in start.tail] == [1, 2]
    assert world.seqs_published()[-1] == after.seq == 3
    turn = started("t1", before.input_id)
    assert [row.seq for row in await world.append(start, turn)] == [4]
