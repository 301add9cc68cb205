"""What resets, deletions, recreations, purges and pruning do to the log and its watchers."""

from __future__ import annotations

import pytest

from netclaw.core.ids import SessionId
from netclaw.ports.signals import SignalLimits
from tests.contracts.journal_world import World, recorded
from tests.contracts.signal_steps import (
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
    says,
    since,
    spawn,
    told_notices,
    wants,
    watch,
    write_own,
)
from tests.contracts.test_journal_children import write

LIMITS = SignalLimits()
DAY_S = 24 * 3600.0
D = SessionId("cli/dddddddddd")


async def prune(world: World, limits: SignalLimits = LIMITS) -> tuple[int, int]:
    """Events and cursors removed."""
    outcome = await world.journal.prune_signals(limits, at=world.clock.now_ms())
    return outcome.events, outcome.cursors


@pytest.mark.requirement("signals.case-19", "signals.trouble-18")
async def test_a_reset_ends_the_watches_of_a_session_and_no_others(journal_world: World) -> None:
    world = journal_world
    v = await spawn(world)
    await world.create(Q)
    await watch(world, Q, C)
    await watch(world, P, Q)
    await says(world, C)
    await world.journal.reset_session(P, at=world.clock.now_ms())
    assert told_notices(world)[-1].notice is None
    assert await cursor(world, P, C) == () == await cursor(world, P, Q)
    assert await cursor(world, Q, C) == (v, v + 1, v + 1)
    assert len((await since(world, 0)).events) == 2
    assert await open_notices(world, P) == ()


@pytest.mark.requirement("signals.case-19")
async def test_a_lineage_that_is_left_begins_from_nothing(journal_world: World) -> None:
    world = journal_world
    v = await spawn(world)
    waiting = await admitted(world, C)
    await world.journal.reset_session(P, at=world.clock.now_ms())
    await write_own(world, C, began("t", waiting), recorded("t", waiting))
    assert await cursor(world) == (0, v + 1, v + 1)
    (notice,) = await open_notices(world)
    assert notice.since == 0


@pytest.mark.requirement("signals.case-19")
async def test_a_reset_between_a_turn_and_its_end_gives_nothing_back(
    journal_world: World,
) -> None:
    world = journal_world
    await spawn(world)
    await says(world, C)
    await begins_turn(world)
    await world.journal.reset_session(P, at=world.clock.now_ms())
    assert await world.journal.cursors(P) == ()
    assert await open_notices(world) == ()


@pytest.mark.requirement("signals.case-20")
async def test_a_deleted_session_is_gone_from_the_log_in_both_directions(
    journal_world: World,
) -> None:
    world = journal_world
    await world.create(Q)
    await world.create(D)
    await watch(world, Q, D)
    await watch(world, D, Q)
    await wants(world, D, "Win.")
    await world.journal.delete_session(D)
    found = await since(world, 0, D)
    assert (found.state_version, found.events) == (0, ())
    assert await world.journal.cursors() == ()
    assert (await world.journal.all_changes_since(0)).events == ()
    assert await open_notices(world, Q) == ()
    assert told_notices(world)[-1].notice is None


@pytest.mark.requirement("signals.recreated-gap", "signals.exact-gap")
async def test_a_key_that_is_used_again_reports_its_former_life_as_a_gap(
    journal_world: World,
) -> None:
    world = journal_world
    await world.create(Q)
    await world.create(D)
    await watch(world, Q, D)
    await wants(world, D, "Win.")
    v = (await since(world, 0, D)).state_version
    await world.journal.delete_session(D)
    assert not (await since(world, v, D)).has_history_gap
    await world.create(D)
    for _ in range(2):
        found = await since(world, v, D)
        assert (found.state_version, found.has_history_gap) == (0, True)
        await world.journal.delete_session(D)
        await world.create(D)
    await wants(world, D, "Draw.")
    found = await since(world, v, D)
    assert found.state_version > v
    assert found.has_history_gap
    assert not (await since(world, found.state_version, D)).has_history_gap
    assert await cursor(world, Q, D) == ()


@pytest.mark.requirement("signals.recreated-gap")
async def test_a_key_of_which_nothing_was_recorded_has_no_gap(journal_world: World) -> None:
    await journal_world.create(D)
    await journal_world.journal.delete_session(D)
    await journal_world.create(D)
    assert not (await since(journal_world, 0, D)).has_history_gap


@pytest.mark.requirement("signals.purged-run")
async def test_a_purged_run_keeps_its_signals_until_its_parent_goes(journal_world: World) -> None:
    world = journal_world
    v = await spawn(world)
    await world.create(Q)
    await watch(world, C, Q)
    await says(world, C)
    await write(world, ended())
    await world.journal.delete_session(C)
    assert await lines(world) == [
        *("child session spawned", "human message via slack", "child run completed")
    ]
    assert (await since(world, 0)).state_version == v + 2
    assert [(item.watcher, item.target) for item in await world.journal.cursors()] == [(P, C)]
    assert await drains(world) == (v,)
    await world.journal.delete_session(P)
    assert (await world.journal.all_changes_since(0)).events == ()
    assert await world.journal.cursors() == ()
    assert (await since(world, 0)).state_version == 0


@pytest.mark.requirement("signals.purged-run")
async def test_what_a_run_still_says_after_its_parent_is_gone_is_nobodys(
    journal_world: World,
) -> None:
    world = journal_world
    await spawn(world)
    await world.journal.delete_session(P)
    waiting = await admitted(world, C)
    await write_own(world, C, began("t", waiting), recorded("t", waiting))
    await wants(world, C, "Win.")
    assert (await world.journal.all_changes_since(0)).events == ()


@pytest.mark.requirement("signals.case-21", "signals.exact-gap", "signals.retention")
async def test_only_who_knows_less_than_what_was_pruned_is_told_of_a_gap(
    journal_world: World,
) -> None:
    world = journal_world
    await world.create(Q)
    await world.create(D)
    await wants(world, D, "other")
    await wants(world, Q, "first")
    first = (await since(world, 0, Q)).state_version
    world.clock.advance(31 * DAY_S)
    await wants(world, Q, "second")
    second = (await since(world, 0, Q)).state_version
    assert await prune(world) == (2, 0)
    assert (await since(world, first - 1, Q)).has_history_gap
    assert not (await since(world, first, Q)).has_history_gap
    found = await since(world, 0, Q)
    assert (found.state_version, found.earliest_available) == (second, second)
    assert [event.sequence for event in found.events] == [second]
    gone = await since(world, 0, D)
    assert (gone.state_version, gone.earliest_available) == (first - 1, first)
    assert (await world.record(D)).state_version == first - 1


@pytest.mark.requirement("signals.retention")
async def test_what_is_too_much_goes_oldest_first_over_all_sessions(
    journal_world: World,
) -> None:
    world = journal_world
    await world.create(Q)
    await world.create(D)
    for number in range(5):
        await wants(world, Q, f"q{number}")
        await wants(world, D, f"d{number}")
    assert await prune(world, SignalLimits(row_cap=3)) == (7, 0)
    assert (len(await lines(world, Q)), len(await lines(world, D))) == (1, 2)
    assert await prune(world, SignalLimits(row_cap=3)) == (0, 0)


@pytest.mark.requirement("signals.retention")
async def test_a_watch_that_is_forgotten_ends_and_one_that_is_renewed_does_not(
    journal_world: World,
) -> None:
    world = journal_world
    await world.create(Q)
    await world.create(D)
    await world.create(P)
    await watch(world, Q, D)
    await watch(world, P, D)
    world.clock.advance(20 * DAY_S)
    await watch(world, P, D)
    world.clock.advance(20 * DAY_S)
    assert await prune(world) == (0, 1)
    assert [item.watcher for item in await world.journal.cursors()] == [P]


@pytest.mark.requirement("signals.retention")
async def test_a_pruned_dedupe_key_does_not_lower_a_version(journal_world: World) -> None:
    world = journal_world
    v = await spawn(world)
    world.clock.advance(31 * DAY_S)
    await prune(world)
    assert (await world.record(C)).state_version == v
    assert (await since(world, v)).state_version == v
