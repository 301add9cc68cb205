"""Sessions that go on from another program's transcript, with a real daemon and real files."""

from __future__ import annotations

import asyncio
import os
import random
from collections.abc import AsyncIterator

import pytest

from netclaw.wire.v1 import admin_pb2
from tests.process.lending import Lender
from tests.process.transcripts import QUICK, Adopter, Transcript, row, turns_of
from tests.process.world import World

pytestmark = pytest.mark.timeout(120)

TALK = (row("what is it?"), row("It is a test.", "assistant"))


@pytest.fixture
async def quick(lender: Lender) -> AsyncIterator[World]:
    """A daemon that looks at transcripts ten times a second."""
    async with lender.lend(QUICK) as world:
        yield world


def warnings(world: World, talk: Transcript, words: str) -> int:
    """How often the daemon warned so about a transcript."""
    lines = world.daemon_log.splitlines()
    return sum(words in line and str(talk.path) in line for line in lines)


@pytest.mark.requirement("signals.case-28")
@pytest.mark.requirement("upstream.signal")
async def test_what_people_write_elsewhere_is_one_event_a_look(quick: World) -> None:
    with Adopter(quick) as adopter, Transcript(*TALK) as talk:
        session = await adopter.adopt_watched(talk)
        await adopter.ticks()
        assert await adopter.signals(session) == []

        talk.add(row("and now?"))
        (first,) = await adopter.wait_signals(session, 1)
        assert (first.kind, first.actor_type) == ("human_direct_message", "human")
        assert (first.summary, first.payload.channel) == ("human message via jsonl", "jsonl")
        assert first.payload.turns == 0

        talk.add(row("one") + row("two") + row("three") + row("four", "assistant"))
        second = (await adopter.wait_signals(session, 2))[-1]
        assert second.payload.turns == 3

        half = row("half a row")
        talk.add(half[:9])
        await adopter.ticks()
        assert len(await adopter.signals(session)) == 2
        talk.add(half[9:-1])
        await adopter.ticks()
        assert len(await adopter.signals(session)) == 2
        talk.add("\n")
        await adopter.wait_signals(session, 3)
        assert turns_of(await adopter.signals(session)) == 5


@pytest.mark.requirement("signals.case-28")
@pytest.mark.requirement("upstream.self-echo")
async def test_an_echo_of_the_ten_newest_own_messages_is_none(quick: World) -> None:
    with Adopter(quick) as adopter, Transcript(*TALK) as talk:
        session = await adopter.adopt_watched(talk)
        for number in range(11):
            await quick.peer.turn(session, f"own  message {number}")
        own = len(await adopter.wait_signals(session, 11))
        for number in range(1, 11):
            talk.add(row(f" own message {number}\n"))
        await adopter.ticks()
        assert len(await adopter.signals(session)) == own
        talk.add(row("own message 0"))
        found = await adopter.wait_signals(session, own + 1)
        assert found[-1].payload.channel == "jsonl"
        assert found[-1].payload.turns == 0


@pytest.mark.requirement("signals.case-29")
@pytest.mark.requirement("upstream.missing")
@pytest.mark.requirement("signals.readopted")
async def test_a_file_that_is_gone_is_told_once_and_can_be_adopted_again(quick: World) -> None:
    with Adopter(quick) as adopter, Transcript(*TALK) as talk:
        session = await adopter.adopt_watched(talk)
        await adopter.ticks(1)
        kept = talk.path.read_text()
        talk.path.unlink()
        (event,) = await adopter.wait_signals(session, 1)
        assert (event.kind, event.actor_type) == ("upstream_missing", "system")
        assert event.payload.channel == "jsonl"
        await adopter.ticks(4)
        assert len(await adopter.signals(session)) == 1

        talk.path.write_text(kept + row("while nobody looked"))
        await adopter.ticks()
        assert len(await adopter.signals(session)) == 1
        again = await adopter.adopt(talk, session)
        assert (again.upstream, again.messages, again.created) == (str(talk.path), 0, False)
        talk.add(row("after it"))
        found = await adopter.wait_signals(session, 2)
        assert (found[-1].kind, found[-1].payload.turns) == ("human_direct_message", 0)


@pytest.mark.requirement("signals.case-29")
@pytest.mark.requirement("upstream.not-missing")
@pytest.mark.requirement("upstream.one-fails")
async def test_a_file_that_cannot_be_read_is_not_gone_and_stops_no_other(quick: World) -> None:
    with Adopter(quick) as adopter, Transcript(*TALK) as talk:
        session = await adopter.adopt_watched(talk)
        moved = talk.path.with_name("moved.jsonl")
        talk.path.rename(moved)
        os.mkfifo(talk.path)
        await adopter.ticks(5)
        talk.path.unlink()
        talk.path.symlink_to(moved)
        await adopter.ticks(5)
        assert await adopter.signals(session) == []
        assert warnings(quick, talk, "it is not a regular file") == 1
        talk.path.unlink()
        moved.rename(talk.path)
        talk.add(row("back again"))
        await adopter.wait_signals(session, 1)


@pytest.mark.requirement("upstream.busy")
@pytest.mark.requirement("signals.trouble-05")
async def test_the_transcript_of_a_session_at_work_waits(quick: World) -> None:
    with Adopter(quick) as adopter, Transcript(*TALK) as talk:
        session = await adopter.adopt_watched(talk)
        sent = await quick.peer.send(session, "[[gate:work]] [[reply:done]]")
        await quick.at_gate("work")
        own = len(await adopter.wait_signals(session, 1))
        talk.add(row("meanwhile"))
        talk.path.rename(talk.path.with_name("away.jsonl"))
        await adopter.ticks(5)
        assert len(await adopter.signals(session)) == own
        talk.path.with_name("away.jsonl").rename(talk.path)
        await adopter.ticks(2)
        assert len(await adopter.signals(session)) == own
        quick.open_gate("work")
        await quick.peer.follow(session, sent)
        found = await adopter.wait_signals(session, own + 1)
        assert [event.kind for event in found[own:]] == ["human_direct_message"]


@pytest.mark.requirement("upstream.replaced")
async def test_a_file_that_shrank_or_was_replaced_is_followed_from_its_end(quick: World) -> None:
    with Adopter(quick) as adopter, Transcript(*TALK) as talk:
        session = await adopter.adopt_watched(talk)
        await adopter.ticks(1)
        talk.path.write_text(row("short"))
        await adopter.ticks()
        other = talk.path.with_name("other.jsonl")
        other.write_text(row("another file, and a long one at that") * 9)
        other.replace(talk.path)
        await adopter.ticks()
        assert await adopter.signals(session) == []
        assert warnings(quick, talk, "was shrunk") == 1
        assert warnings(quick, talk, "was replaced") == 1
        talk.add(row("new"))
        found = await adopter.wait_signals(session, 1)
        assert turns_of(found) == 1


@pytest.mark.requirement("upstream.oversize")
async def test_a_row_over_1_mib_holds_its_file_up_alone(quick: World) -> None:
    with Adopter(quick) as adopter, Transcript(*TALK) as talk, Transcript(*TALK) as other:
        session = await adopter.adopt_watched(talk)
        sound = await adopter.adopt_watched(other, "cli/other")
        talk.add(row("before") + row("x" * 1024 * 1024) + row("behind"))
        other.add(row("sound"))
        await adopter.wait_signals(sound, 1)
        await adopter.ticks(3)
        assert turns_of(await adopter.signals(session)) == 1
        assert warnings(quick, talk, "longer than 1 MiB") == 1


@pytest.mark.requirement("upstream.atomic")
async def test_a_kill_at_any_moment_neither_loses_nor_doubles_a_message(quick: World) -> None:
    chance = random.Random(60)
    with Adopter(quick) as adopter, Transcript(*TALK) as talk:
        session = await adopter.adopt_watched(talk)
        written = 0
        for _ in range(6):
            # A kill in the middle of a stretch of writing, some of it in halves.
            for _ in range(chance.randrange(4, 9)):
                whole = row(f"message {written}")
                cut = chance.randrange(1, len(whole))
                talk.add(whole[:cut])
                await asyncio.sleep(chance.uniform(0, 0.05))
                talk.add(whole[cut:])
                written += 1
            await quick.kill()
            await quick.start()
        talk.add(row("last"))
        written += 1
        async with asyncio.timeout(30):
            while turns_of(await adopter.signals(session)) < written:
                await asyncio.sleep(0.05)
        await adopter.ticks()
        assert turns_of(await adopter.signals(session)) == written


@pytest.mark.requirement("upstream.life")
@pytest.mark.requirement("signals.trouble-06")
async def test_a_link_ends_with_the_life_of_its_session(quick: World) -> None:
    with Adopter(quick) as adopter, Transcript(*TALK) as talk:
        session = await adopter.adopt_watched(talk)
        peer = quick.peer
        ref = admin_pb2.SessionRef(session_id=session)
        await peer.admin.ResetSession(ref, metadata=peer.metadata)
        talk.add(row("to nobody"))
        await adopter.ticks()
        assert await adopter.signals(session) == []
        again = await adopter.adopt(talk, session)
        assert again.messages == 3
        talk.add(row("to the new life"))
        found = await adopter.wait_signals(session, 1)
        assert turns_of(found) == 1


@pytest.mark.requirement("signals.only-adopted")
@pytest.mark.requirement("signals.adopted-twice")
async def test_a_file_is_followed_for_one_session_that_somebody_watches(quick: World) -> None:
    with Adopter(quick) as adopter, Transcript(*TALK) as talk:
        unwatched = (await adopter.adopt(talk)).session_id
        assert unwatched.startswith("cli/")
        talk.add(row("unseen"))
        await adopter.ticks()
        assert await adopter.signals(unwatched) == []
        await adopter.watch(unwatched)
        # What was added since the adoption is told to whoever watches from now on.
        assert turns_of(await adopter.wait_signals(unwatched, 1)) == 1

        second = await adopter.adopt_watched(talk, "cli/second")
        talk.add(row("to both, so to neither"))
        await adopter.ticks()
        assert len(await adopter.signals(unwatched)) == 1
        assert await adopter.signals(second) == []


@pytest.mark.requirement("upstream.tick")
async def test_a_new_tick_is_in_force_at_once() -> None:
    async with World(config={"Signals": {"MonitorTickSeconds": 3600}}) as world:
        await world.start()
        with Adopter(world) as adopter, Transcript(*TALK) as talk:
            session = await adopter.adopt_watched(talk)
            talk.add(row("waits"))
            world.edit_config(QUICK)
            await adopter.wait_signals(session, 1)
