"""A notice from the event that opens it to the turn that is worth it: told once, never lost."""

from __future__ import annotations

import asyncio

import pytest

from netclaw.core.ids import InputId, SessionId, TurnId
from netclaw.core.session.events import NoticeMark
from netclaw.core.settings import SupervisionSettings
from netclaw.core.signals.events import Actor, ActorType
from netclaw.core.supervision import DeathCause
from netclaw.ports.crashes import CrashReport, GiveUp
from netclaw.ports.journal import Commit
from netclaw.wire.journal_codec import encode_event
from tests.contracts.journal_world import World, failed, recorded
from tests.contracts.signal_steps import (
    AGENT_P,
    C,
    P,
    Q,
    admitted,
    began,
    begins_turn,
    cursor,
    drains,
    ended,
    lines,
    open_notices,
    round_of,
    says,
    since,
    spawn,
    told_notices,
    wants,
    watch,
    write_own,
)
from tests.contracts.test_journal_children import write


@pytest.mark.requirement("signals.case-03", "signals.frozen-mark", "signals.follow-up")
async def test_a_burst_is_told_twice_and_no_more(journal_world: World) -> None:
    v = await spawn(journal_world)
    await says(journal_world, C, times=20)
    assert await cursor(journal_world) == (v, v + 1, v + 20)
    assert [await drains(journal_world) for _ in range(3)] == [(v,), (v + 1,), ()]
    assert await cursor(journal_world) == (v + 20, v + 20, v + 20)


@pytest.mark.requirement("signals.follow-up")
async def test_what_comes_between_is_one_more_notice(journal_world: World) -> None:
    v = await spawn(journal_world)
    await wants(journal_world, C, "Win.")
    waiting = await admitted(journal_world, C)
    await write(journal_world, ended())
    await write_own(journal_world, C, began("t", waiting), recorded("t", waiting))
    assert await cursor(journal_world) == (v, v + 1, v + 3)
    assert await drains(journal_world) == (v,)
    assert await cursor(journal_world) == (v + 1, v + 3, v + 3)
    assert await drains(journal_world) == (v + 1,)
    assert await open_notices(journal_world) == ()


@pytest.mark.requirement("signals.self-suppression")
async def test_a_watcher_is_not_told_of_itself(journal_world: World) -> None:
    v = await spawn(journal_world)
    await wants(journal_world, C, "Win.", actor=AGENT_P)
    assert await cursor(journal_world) == (v, v, v)
    await says(journal_world, C)
    (notice,) = await open_notices(journal_world)
    assert notice.since == v
    assert len((await since(journal_world, v)).events) == 2


@pytest.mark.requirement("signals.case-04")
async def test_looking_back_moves_nothing(journal_world: World) -> None:
    v = await spawn(journal_world)
    await says(journal_world, C)
    first = await since(journal_world, v)
    assert await since(journal_world, v) == first == await since(journal_world, v)
    assert await drains(journal_world) == (v,)
    assert await drains(journal_world) == ()


@pytest.mark.requirement("signals.case-18")
async def test_two_watchers_are_told_each(journal_world: World) -> None:
    v = await spawn(journal_world)
    await journal_world.create(Q)
    await watch(journal_world)
    await says(journal_world, C)
    assert await drains(journal_world, P) == (v,)
    assert await cursor(journal_world, Q) == (v, v + 1, v + 1)
    agent_q = Actor(type=ActorType.AGENT, id=Q)
    await wants(journal_world, C, "Win.", actor=agent_q)
    assert await cursor(journal_world, P) == (v + 1, v + 2, v + 2)
    assert await drains(journal_world, Q) == (v,)


@pytest.mark.requirement("signals.kept-until-told", "signals.trouble-11")
async def test_a_notice_is_consumed_in_the_commit_that_begins_its_turn(
    journal_world: World,
) -> None:
    v = await spawn(journal_world)
    await says(journal_world, C)
    before = len(journal_world.heard)
    await begins_turn(journal_world)
    signals, commit = journal_world.heard[before:]
    assert isinstance(commit, Commit)
    assert not isinstance(signals, Commit)
    assert [change.notice for change in signals.notices] == [None]
    await journal_world.die()
    assert await cursor(journal_world) == (v + 1, v + 1, v + 1)
    assert await open_notices(journal_world) == ()


@pytest.mark.requirement("signals.kept-until-told", "signals.case-15")
async def test_a_notice_that_no_turn_told_of_outlives_a_death(journal_world: World) -> None:
    v = await spawn(journal_world)
    await says(journal_world, C, times=2)
    await journal_world.die()
    (change,) = await journal_world.journal.sweep_cursors(at=journal_world.clock.now_ms())
    assert (change.watcher, change.target) == (P, C)
    assert change.notice is not None
    assert (change.notice.since, change.notice.mark) == (v, v + 2)
    assert await drains(journal_world) == (v,)
    assert await open_notices(journal_world) == ()
    assert await journal_world.journal.sweep_cursors(at=1) == ()


@pytest.mark.requirement("signals.given-back")
async def test_a_turn_that_comes_to_nothing_gives_its_notice_back(journal_world: World) -> None:
    v = await spawn(journal_world)
    await says(journal_world, C)
    assert await begins_turn(journal_world) == (v,)
    await says(journal_world, C)
    await write_own(journal_world, P, failed("told"))
    (notice,) = await open_notices(journal_world)
    assert (notice.since, notice.mark) == (v, v + 2)
    assert told_notices(journal_world)[-1].reopened == 1
    assert await begins_turn(journal_world, turn="again") == (v,)
    await write_own(journal_world, P, failed("again"))
    assert told_notices(journal_world)[-1].reopened == 2
    assert await drains(journal_world) == (v,)
    assert await open_notices(journal_world) == ()


@pytest.mark.requirement("signals.given-back")
async def test_a_turn_that_fails_after_a_round_keeps_what_it_told(journal_world: World) -> None:
    v = await spawn(journal_world)
    await says(journal_world, C)
    await begins_turn(journal_world)
    await write_own(journal_world, P, round_of("told"), failed("told"))
    assert await open_notices(journal_world) == ()
    await says(journal_world, C)
    assert told_notices(journal_world)[-1].reopened == 0
    assert await cursor(journal_world) == (v + 1, v + 2, v + 2)


@pytest.mark.requirement("signals.given-back")
@pytest.mark.parametrize("dies", [True, False])
async def test_a_turn_that_is_given_up_gives_its_notice_back(
    journal_world: World, dies: bool
) -> None:
    world = journal_world
    v = await spawn(world)
    await says(world, C)
    await begins_turn(world)
    if dies:
        await world.die()
    give_up = GiveUp(turn_id=TurnId("told"), events=(encode_event(failed("told")),))
    report = CrashReport(
        cause=DeathCause.CRASH,
        exit_status=1,
        at=world.clock.now_ms(),
        settings=SupervisionSettings(turn_crash_limit=1),
        give_up=give_up,
    )
    await world.journal.record_crash(P, report)
    (notice,) = await open_notices(world)
    assert notice.since == v


@pytest.mark.requirement("signals.trouble-08")
async def test_only_what_a_turn_names_is_consumed(journal_world: World) -> None:
    world = journal_world
    v = await spawn(world)
    await world.create(Q)
    await watch(world, P, Q)
    await says(world, C)
    await says(world, Q)
    mark = NoticeMark(target=C, mark=v + 1, since=v)
    await write_own(world, P, began("t", notices=(mark,)), recorded("t"))
    (notice,) = await open_notices(world)
    assert notice.target == Q
    unknown = NoticeMark(target=SessionId("nobody"), mark=9)
    await write_own(world, P, began("t2", notices=(mark, unknown)), recorded("t2"))
    assert await open_notices(world) == (notice,)


@pytest.mark.requirement("signals.kept-until-told")
async def test_two_watchers_consume_in_one_transaction(journal_world: World) -> None:
    world = journal_world
    v = await spawn(world)
    await world.create(Q)
    await watch(world)
    await says(world, C)
    mark = NoticeMark(target=C, mark=v + 1, since=v)
    before, told = world.transactions(), len(world.signalled)
    await asyncio.gather(
        write_own(world, P, began("p", notices=(mark,))),
        write_own(world, Q, began("q", notices=(mark,))),
    )
    assert world.transactions() == before + 1
    (signals,) = world.signalled[told:]
    assert {change.watcher for change in signals.notices} == {P, Q}
    assert await open_notices(world, P) == () == await open_notices(world, Q)


@pytest.mark.requirement("signals.kept-until-told")
async def test_a_write_that_is_refused_consumes_and_tells_nothing(journal_world: World) -> None:
    world = journal_world
    v = await spawn(world)
    await says(world, C)
    start = await world.start(P)
    mark = NoticeMark(target=C, mark=v + 1, since=v)
    told = len(world.signalled)
    with pytest.raises(Exception, match="committed first"):
        await world.append(start, began("t", notices=(mark,)), head=start.record.head - 1)
    assert len(world.signalled) == told
    assert await drains(world) == (v,)


@pytest.mark.requirement("signals.kept-until-told")
async def test_an_append_that_is_repeated_consumes_once(journal_world: World) -> None:
    world = journal_world
    v = await spawn(world)
    await says(world, C, times=3)
    start = await world.start(P)
    began_turn = began("t", notices=(NoticeMark(target=C, mark=v + 1, since=v),))
    await world.append(start, began_turn, append_id="a")
    before = await cursor(world)
    await world.append(start, began_turn, append_id="a")
    assert await cursor(world) == before == (v + 1, v + 3, v + 3)


@pytest.mark.requirement("signals.trouble-09")
async def test_an_aside_and_a_plain_turn_take_no_notice(journal_world: World) -> None:
    v = await spawn(journal_world)
    await says(journal_world, C)
    aside = await admitted(journal_world, P)
    await write_own(journal_world, P, began("a", aside, is_aside=True), recorded("a", aside))
    await write_own(journal_world, P, began("b"), failed("b", InputId("none")))
    (notice,) = await open_notices(journal_world)
    assert notice.since == v
    assert len(await lines(journal_world)) == 2
