"""Adopted transcripts in the store: taken over whole, moved together with what they tell."""

from __future__ import annotations

from dataclasses import replace

import pytest

from netclaw.core.authority import Audience
from netclaw.core.errors import HeadMovedError, NotFoundError
from netclaw.core.ids import SessionId
from netclaw.core.session.adoption_events import (
    AdoptedMessage,
    AdoptedRole,
    HistoryAdopted,
    SessionAdopted,
)
from netclaw.core.session.events import SessionCreated
from netclaw.core.signals.events import Actor, ActorType, SignalKind
from netclaw.core.signals.transcripts import Catalog
from netclaw.core.signals.upstream import (
    Scan,
    UpstreamLink,
    UpstreamMarker,
    UpstreamSource,
    activity_signal,
    missing_signal,
)
from netclaw.ports.upstream import Adoption, NewBase, OwnSide, UpstreamWrite
from netclaw.testing.people import REMINDER
from tests.contracts.journal_world import OTHER, SESSION, World, recorded, started

PERSON = Actor(type=ActorType.HUMAN, id="operator")
SOURCE = UpstreamSource(catalog=Catalog.JSONL, path="/t/a.jsonl")
NEW = NewBase(audience=Audience.PERSONAL, storage_root="/home/x/s")
MESSAGES = (
    AdoptedMessage(role=AdoptedRole.USER, text="hello", at=5),
    AdoptedMessage(role=AdoptedRole.ASSISTANT, text="hi", at=6),
)


def marker(offset: int) -> UpstreamMarker:
    return UpstreamMarker(offset=offset, device=1, inode=2, based_at=7)


def adoption(
    world: World,
    *,
    base: NewBase | int = NEW,
    session_id: SessionId = SESSION,
    source: UpstreamSource = SOURCE,
    offset: int = 100,
    has_history: bool = False,
) -> Adoption:
    return Adoption(
        session_id=session_id,
        source=source,
        marker=marker(offset),
        actor=PERSON,
        at=world.clock.now_ms(),
        base=base,
        history=() if has_history else (HistoryAdopted(messages=MESSAGES),),
        omitted=0 if has_history else 3,
        has_history=has_history,
    )


async def adopted(world: World, *, watched: bool = True) -> UpstreamLink:
    """A session that went on from a transcript, and somebody who watches it."""
    link = (await world.journal.adopt(adoption(world))).link
    assert link is not None
    if watched:
        await world.create(OTHER)
        await world.journal.watch_session(OTHER, SESSION, at=world.clock.now_ms())
    return link


async def own(world: World) -> OwnSide:
    found = await world.journal.own_side(SESSION)
    assert found is not None
    return found


async def kinds(world: World) -> list[SignalKind]:
    changes = await world.journal.changes_since(SESSION, 0)
    return [event.signal.kind for event in changes.events]


async def advance(
    world: World, link: UpstreamLink, side: OwnSide, offset: int, *, turns: int = 1
) -> UpstreamWrite:
    now = world.clock.now_ms()
    found = Scan(offset=offset, turns=turns)
    signal = activity_signal(link, found, modified_at=now, now=now) if turns else None
    moved = replace(link.marker, offset=offset)
    return await world.journal.advance_upstream(link, side, moved, signal=signal, at=now)


async def remove(world: World, link: UpstreamLink, side: OwnSide) -> UpstreamWrite:
    signal = missing_signal(link, now=world.clock.now_ms())
    return await world.journal.remove_upstream(link, side, signal=signal)


@pytest.mark.requirement("upstream.history")
@pytest.mark.requirement("upstream.adopted-signal")
async def test_a_new_session_has_history_link_and_signal_at_once(journal_world: World) -> None:
    link = await adopted(journal_world, watched=False)
    assert link.marker == marker(100)
    assert await journal_world.journal.upstream_link(SESSION) == link
    record = await journal_world.record()
    assert (record.audience, record.storage_root) == (Audience.PERSONAL, "/home/x/s")
    events = await journal_world.events()
    assert isinstance(events[0], SessionCreated)
    assert events[1:] == [
        SessionAdopted(life=1, catalog="jsonl", source="/t/a.jsonl", omitted=3),
        HistoryAdopted(messages=MESSAGES),
    ]
    assert journal_world.seqs_published() == [1, 2, 3]
    (event,) = (await journal_world.journal.changes_since(SESSION, 0)).events
    assert (event.signal.kind, event.signal.actor) == (SignalKind.ADOPTED, PERSON)


@pytest.mark.requirement("upstream.at-rest")
async def test_a_session_that_is_not_as_it_was_looked_at_takes_nothing_over(
    journal_world: World,
) -> None:
    await journal_world.create()
    head = (await journal_world.record()).head
    await journal_world.admit()
    for base in (NEW, head, (await journal_world.record()).head):
        with pytest.raises(HeadMovedError):
            await journal_world.journal.adopt(adoption(journal_world, base=base))
    assert await journal_world.journal.upstream_link(SESSION) is None
    assert await kinds(journal_world) == []
    with pytest.raises(NotFoundError):
        await journal_world.journal.adopt(adoption(journal_world, base=1, session_id=OTHER))


@pytest.mark.requirement("upstream.at-rest")
async def test_a_known_session_at_rest_takes_it_over(journal_world: World) -> None:
    await journal_world.create()
    head = (await journal_world.record()).head
    await journal_world.journal.adopt(adoption(journal_world, base=head))
    assert [type(event) for event in (await journal_world.events())[1:]] == [
        SessionAdopted,
        HistoryAdopted,
    ]


@pytest.mark.requirement("upstream.keeps-history")
async def test_a_session_with_history_gets_the_link_alone(journal_world: World) -> None:
    await journal_world.create()
    before = await journal_world.events()
    made = await journal_world.journal.adopt(adoption(journal_world, base=0, has_history=True))
    assert made.link is not None
    assert await journal_world.events() == before
    assert await kinds(journal_world) == [SignalKind.ADOPTED]


@pytest.mark.requirement("upstream.progress")
@pytest.mark.requirement("signals.readopted")
async def test_the_same_source_keeps_its_progress_and_another_one_does_not(
    journal_world: World,
) -> None:
    link = await adopted(journal_world)
    assert await advance(journal_world, link, await own(journal_world), 150) is UpstreamWrite.DONE
    same = adoption(journal_world, base=0, has_history=True, offset=900)
    again = (await journal_world.journal.adopt(same)).link
    assert again is not None
    assert again.marker.offset == 150
    for source in (
        UpstreamSource(catalog=Catalog.JSONL, path="/t/b.jsonl"),
        UpstreamSource(catalog=Catalog.CLAUDE_CODE, path="/t/b.jsonl"),
    ):
        before = again
        other = adoption(journal_world, base=0, has_history=True, source=source, offset=40)
        again = (await journal_world.journal.adopt(other)).link
        assert again is not None
        assert (again.source, again.marker.offset) == (source, 40)
        assert again.updated_at > before.updated_at
    assert (await kinds(journal_world)).count(SignalKind.ADOPTED) == 1


@pytest.mark.requirement("signals.only-adopted")
async def test_only_links_of_watched_sessions_are_looked_at(journal_world: World) -> None:
    link = await adopted(journal_world, watched=False)
    assert await journal_world.journal.watched_links() == ()
    await journal_world.create(OTHER)
    await journal_world.journal.watch_session(OTHER, SESSION, at=1)
    (item,) = await journal_world.journal.watched_links()
    assert (item.link, item.is_idle) == (link, True)
    await journal_world.journal.unwatch_session(OTHER, SESSION)
    assert await journal_world.journal.watched_links() == ()


@pytest.mark.requirement("signals.adopted-twice")
async def test_a_transcript_of_two_sessions_is_looked_at_for_neither(journal_world: World) -> None:
    await adopted(journal_world)
    twin = SessionId("cli/twin")
    await journal_world.journal.adopt(adoption(journal_world, session_id=twin))
    await journal_world.journal.watch_session(OTHER, twin, at=1)
    assert await journal_world.journal.watched_links() == ()
    assert await journal_world.journal.adopters_of(SOURCE.path) == tuple(sorted((SESSION, twin)))
    assert await journal_world.journal.adopters_of("/t/another.jsonl") == ()
    await journal_world.journal.delete_session(twin)
    assert await journal_world.journal.adopters_of(SOURCE.path) == (SESSION,)
    assert [item.link.session_id for item in await journal_world.journal.watched_links()] == [
        SESSION
    ]


@pytest.mark.requirement("upstream.busy")
@pytest.mark.requirement("signals.trouble-05")
async def test_a_session_at_work_is_busy_until_its_turn_is_over(journal_world: World) -> None:
    link = await adopted(journal_world)
    side = await own(journal_world)
    admission = await journal_world.admit("mine")

    async def check_busy() -> None:
        (item,) = await journal_world.journal.watched_links()
        assert not item.is_idle
        assert await advance(journal_world, link, side, 150) is UpstreamWrite.BUSY
        assert await remove(journal_world, link, side) is UpstreamWrite.BUSY

    await check_busy()
    start = await journal_world.start()
    await journal_world.append(start, started("t1", admission.input_id))
    await check_busy()
    head = (await journal_world.record()).head
    await journal_world.append(start, recorded("t1", admission.input_id), head=head)
    (item,) = await journal_world.journal.watched_links()
    assert item.is_idle
    # What it knew of the session's own messages when it looked is not so any more.
    assert await remove(journal_world, link, side) is UpstreamWrite.OVERTAKEN
    assert await kinds(journal_world) == [SignalKind.ADOPTED, SignalKind.HUMAN_DIRECT_MESSAGE]
    assert await remove(journal_world, link, await own(journal_world)) is UpstreamWrite.DONE


@pytest.mark.requirement("upstream.compare-and-set")
async def test_a_marker_moves_once_from_where_it_was(journal_world: World) -> None:
    link = await adopted(journal_world)
    side = await own(journal_world)
    assert await advance(journal_world, link, side, 150, turns=0) is UpstreamWrite.DONE
    moved = await journal_world.journal.upstream_link(SESSION)
    assert moved is not None
    assert moved.marker.offset == 150
    assert moved.updated_at > link.updated_at
    assert moved.last_scanned_at is not None
    assert await kinds(journal_world) == [SignalKind.ADOPTED]
    assert await advance(journal_world, link, side, 200) is UpstreamWrite.OVERTAKEN
    assert await remove(journal_world, link, side) is UpstreamWrite.OVERTAKEN
    assert await journal_world.journal.upstream_link(SESSION) == moved
    assert await kinds(journal_world) == [SignalKind.ADOPTED]


@pytest.mark.requirement("upstream.life")
@pytest.mark.requirement("signals.trouble-06")
@pytest.mark.parametrize("end", ["reset", "delete"])
async def test_a_look_that_ends_after_the_session_was_replaced_writes_nothing(
    journal_world: World, end: str
) -> None:
    link = await adopted(journal_world)
    side = await own(journal_world)
    journal = journal_world.journal
    if end == "reset":
        await journal.reset_session(SESSION, at=journal_world.clock.now_ms())
    else:
        await journal.delete_session(SESSION)
        assert await remove(journal_world, link, side) is UpstreamWrite.OVERTAKEN
        assert await journal.own_side(SESSION) is None
        await journal_world.create()
    assert await journal.upstream_link(SESSION) is None
    before = await kinds(journal_world)
    assert await advance(journal_world, link, side, 150) is UpstreamWrite.OVERTAKEN
    # Adopted again in the new life, in the same millisecond.
    base = (await journal_world.record()).head
    again = (await journal.adopt(adoption(journal_world, base=base))).link
    assert again is not None
    assert await advance(journal_world, link, side, 150) is UpstreamWrite.OVERTAKEN
    assert await remove(journal_world, link, side) is UpstreamWrite.OVERTAKEN
    assert await kinds(journal_world) == [*before, SignalKind.ADOPTED]


@pytest.mark.requirement("upstream.atomic")
async def test_event_and_marker_are_one(journal_world: World) -> None:
    link = await adopted(journal_world)
    before = journal_world.transactions()
    assert await advance(journal_world, link, await own(journal_world), 150, turns=3) is (
        UpstreamWrite.DONE
    )
    assert journal_world.transactions() == before + 1
    (_, event) = (await journal_world.journal.changes_since(SESSION, 0)).events
    assert (event.signal.payload.channel, event.signal.payload.turns) == ("jsonl", 3)
    (cursor,) = await journal_world.journal.cursors(SESSION)
    assert cursor.is_open
    await journal_world.die()
    found = await journal_world.journal.upstream_link(SESSION)
    assert found is not None
    assert found.marker == replace(marker(100), offset=150)


@pytest.mark.requirement("upstream.missing")
async def test_the_end_of_a_source_is_told_and_the_link_goes(journal_world: World) -> None:
    link = await adopted(journal_world)
    assert await remove(journal_world, link, await own(journal_world)) is UpstreamWrite.DONE
    assert await journal_world.journal.upstream_link(SESSION) is None
    assert await kinds(journal_world) == [SignalKind.ADOPTED, SignalKind.UPSTREAM_MISSING]
    assert await remove(journal_world, link, await own(journal_world)) is UpstreamWrite.OVERTAKEN
    again = adoption(journal_world, base=0, has_history=True, offset=900)
    assert (await journal_world.journal.adopt(again)).link is not None


@pytest.mark.requirement("upstream.self-echo")
async def test_own_messages_are_the_ten_newest_of_people(journal_world: World) -> None:
    await adopted(journal_world)
    start = await journal_world.start()

    async def say(turn: str, text: str, *, by_machine: bool = False) -> None:
        request = journal_world.input_request(text)
        if by_machine:
            request = replace(request, authority=REMINDER)
        admission = await journal_world.journal.admit(request)
        head = (await journal_world.record()).head
        await journal_world.append(
            start,
            started(turn, admission.input_id),
            recorded(turn, admission.input_id),
            head=head,
        )

    for number in range(12):
        await say(f"t{number}", f"m{number}")
    await say("t99", "tick", by_machine=True)
    side = await own(journal_world)
    assert side.messages == tuple(f"m{number}" for number in range(11, 1, -1))
    assert side.admitted_inputs == 13


@pytest.mark.requirement("signals.trouble-19")
@pytest.mark.requirement("upstream.life")
async def test_a_deletion_removes_nothing_of_the_session_that_comes_after_it(
    journal_world: World,
) -> None:
    former = await adopted(journal_world)
    side = await own(journal_world)
    await journal_world.journal.delete_session(SESSION)
    link = await adopted(journal_world, watched=False)
    await journal_world.journal.watch_session(OTHER, SESSION, at=1)
    # What is left of the former session's rows is removed behind the new one's back.
    await journal_world.stop()
    assert await remove(journal_world, former, side) is UpstreamWrite.OVERTAKEN
    assert await journal_world.journal.upstream_link(SESSION) == link
    assert len(await journal_world.events()) == 3
    assert await kinds(journal_world) == [SignalKind.ADOPTED]
    (cursor,) = await journal_world.journal.cursors(SESSION)
    assert cursor.watcher == OTHER
