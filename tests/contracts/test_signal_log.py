"""What journals make of the signal log: which events, by whom, and never a word of a message."""

from __future__ import annotations

from dataclasses import replace

import pytest

from netclaw.core.authority import Authority
from netclaw.core.errors import InvalidArgumentError, NotFoundError
from netclaw.core.ids import SessionId
from netclaw.core.session.child_events import ChildState
from netclaw.core.session.events import Compacted, InputJoined
from netclaw.core.session.goal_events import GoalSet, GoalStatus
from netclaw.core.session.goals import Goal, GoalChange
from netclaw.core.signals import events
from netclaw.core.signals.events import SYSTEM, Actor, ActorType, SignalKind
from netclaw.ports.journal import Commit
from netclaw.testing.people import ALICE, BOB, OTHER_SESSION, REMINDER, WAKE, WEBHOOK
from tests.contracts.journal_world import World, failed, recorded
from tests.contracts.signal_steps import (
    AGENT_P,
    PERSON,
    C,
    P,
    Q,
    admitted,
    began,
    cursor,
    ended,
    lines,
    says,
    since,
    spawn,
    told_events,
    wants,
    watch,
    write_own,
)
from tests.contracts.test_journal_children import begin, write
from tests.contracts.test_journal_runs import FIRST, SECOND, accepted

COMPACTED = Compacted(kept_from_seq=1, notes="", tokens_before=9, tokens_after=1, trigger="t")


@pytest.mark.requirement("signals.case-01")
async def test_a_new_run_is_one_event_by_its_parent_and_nobody_is_told(
    journal_world: World,
) -> None:
    version = await spawn(journal_world)
    found = await since(journal_world, 0)
    (event,) = found.events
    assert (event.signal.kind, event.signal.actor) == (SignalKind.CHILD_SPAWNED, AGENT_P)
    assert event.signal.run_id == FIRST
    assert event.sequence == version == found.state_version > 0
    assert await cursor(journal_world) == (version, version, version)
    assert (await journal_world.start(P)).notices == ()


@pytest.mark.requirement("signals.recorded-with-its-cause")
async def test_a_run_that_starts_again_is_not_seeded_again(journal_world: World) -> None:
    version = await spawn(journal_world)
    await says(journal_world, C)
    before = await cursor(journal_world)
    await begin(journal_world, 2)
    await begin(journal_world, 2)
    assert await lines(journal_world) == ["child session spawned", "human message via slack"]
    assert await cursor(journal_world) == before == (version, version + 1, version + 1)


@pytest.mark.requirement("signals.case-02")
async def test_a_persons_message_is_an_event_without_a_word_of_it(journal_world: World) -> None:
    version = await spawn(journal_world)
    await says(journal_world, C, who=ALICE, text="secret words")
    (event,) = (await since(journal_world, version)).events
    assert event.signal.kind is SignalKind.HUMAN_DIRECT_MESSAGE
    assert event.signal.actor == Actor(type=ActorType.HUMAN, id="U1")
    assert event.signal.summary == "human message via slack"
    assert "secret" not in repr(event)
    (notice,) = (await journal_world.start(P)).notices
    assert (notice.target, notice.since, notice.mark) == (C, version, event.sequence)


@pytest.mark.requirement("signals.recorded-with-its-cause")
async def test_an_event_is_told_before_the_rows_that_made_it(journal_world: World) -> None:
    await spawn(journal_world)
    input_id = await admitted(journal_world, C)
    before = len(journal_world.heard)
    await write_own(journal_world, C, began("t", input_id))
    first, second = journal_world.heard[before:]
    assert not isinstance(first, Commit)
    assert [event.signal.target for event in first.events] == [C]
    assert [change.watcher for change in first.notices] == [P]
    assert isinstance(second, Commit)


@pytest.mark.requirement("signals.recorded-with-its-cause")
async def test_a_message_is_recorded_when_its_turn_begins_and_once(journal_world: World) -> None:
    await spawn(journal_world)
    first = await admitted(journal_world, C)
    second = await admitted(journal_world, C, who=BOB)
    assert len(await lines(journal_world)) == 1
    joined = InputJoined(turn_id=began("t").turn_id, input_ids=(second,))
    await write_own(journal_world, C, began("t", first), joined, failed("t", first))
    await write_own(journal_world, C, began("t2", second), recorded("t2", second))
    said = [event.signal.actor.id for event in told_events(journal_world)][1:]
    assert said == ["U1", "U2"]


@pytest.mark.requirement("signals.actors")
@pytest.mark.parametrize("who", [REMINDER, WEBHOOK, WAKE, OTHER_SESSION])
async def test_what_no_person_wrote_is_no_event(journal_world: World, who: Authority) -> None:
    await spawn(journal_world)
    await says(journal_world, C, who=who)
    assert await lines(journal_world) == ["child session spawned"]


@pytest.mark.requirement("signals.trouble-33")
async def test_neither_a_task_nor_an_aside_is_a_persons_message(journal_world: World) -> None:
    await spawn(journal_world)
    (task,) = (entry.input_id for entry in await journal_world.journal.ledger(C, limit=9))
    await write_own(journal_world, C, began("t", task), recorded("t", task))
    aside = await admitted(journal_world, C)
    await write_own(journal_world, C, began("a", aside, is_aside=True), recorded("a", aside))
    assert await lines(journal_world) == ["child session spawned"]


@pytest.mark.requirement("signals.case-09")
async def test_what_nobody_watches_has_no_event_and_no_version(journal_world: World) -> None:
    await journal_world.create(Q)
    await says(journal_world, Q)
    found = await since(journal_world, 0, Q)
    assert (found.state_version, found.events, found.earliest_available) == (0, (), 0)
    assert not found.has_history_gap
    assert (await journal_world.record(Q)).state_version == 0
    assert journal_world.signalled == []


@pytest.mark.requirement("signals.case-10", "signals.watch")
async def test_a_watch_tells_nothing_of_what_was_before(journal_world: World) -> None:
    await spawn(journal_world)
    await journal_world.create(Q)
    await says(journal_world, C)
    head = (await since(journal_world, 0)).state_version
    assert await watch(journal_world)
    assert await cursor(journal_world, Q) == (head, head, head)
    await says(journal_world, C)
    assert await cursor(journal_world, Q) == (head, head + 1, head + 1)


@pytest.mark.requirement("signals.watch")
async def test_watching_again_keeps_an_open_notice(journal_world: World) -> None:
    await spawn(journal_world)
    await journal_world.create(Q)
    await watch(journal_world)
    await says(journal_world, C)
    before = await cursor(journal_world, Q)
    told = len(journal_world.signalled)
    assert await watch(journal_world)
    assert await cursor(journal_world, Q) == before
    assert len(journal_world.signalled) == told


@pytest.mark.requirement("signals.watch")
async def test_nobody_watches_itself_or_nothing(journal_world: World) -> None:
    await journal_world.create(Q)
    assert not await watch(journal_world, Q, Q)
    with pytest.raises(NotFoundError):
        await watch(journal_world, Q, SessionId("nobody"))
    with pytest.raises(NotFoundError):
        await watch(journal_world, SessionId("nobody"), Q)
    assert await journal_world.journal.cursors() == ()


@pytest.mark.requirement("signals.watch")
async def test_an_ended_watch_takes_its_notice_along(journal_world: World) -> None:
    await spawn(journal_world)
    await journal_world.create(Q)
    await watch(journal_world)
    await says(journal_world, C)
    assert await journal_world.journal.unwatch_session(Q, C)
    assert journal_world.signalled[-1].notices[0].notice is None
    assert (await journal_world.start(Q)).notices == ()
    assert not await journal_world.journal.unwatch_session(Q, C)


@pytest.mark.requirement("signals.case-05")
async def test_a_run_that_completes_is_logged_and_told_of_to_nobody(journal_world: World) -> None:
    version = await spawn(journal_world)
    await write(journal_world, ended())
    (event,) = (await since(journal_world, version)).events
    assert (event.signal.kind, event.signal.actor) == (SignalKind.RUN_COMPLETED, SYSTEM)
    assert event.signal.payload.outcome == ""
    assert await cursor(journal_world) == (version, version, version)
    assert (await journal_world.record(C)).state_version == event.sequence


@pytest.mark.requirement("signals.case-06", "signals.trouble-03")
@pytest.mark.parametrize(
    ("state", "reason", "outcome"),
    [
        (ChildState.FAILED, "Timeout", "timeout"),
        (ChildState.PARTIAL, "timeout", "timeout"),
        (ChildState.CANCELLED, "CancelledByParent", "cancelled"),
        (ChildState.FAILED, "provider", "error"),
        (ChildState.LOST, "owner_restarted", "error"),
        (ChildState.PARTIAL, "loop_guard", "error"),
    ],
)
async def test_a_run_that_fails_is_logged_exactly_as_it_ended(
    journal_world: World, state: ChildState, reason: str, outcome: str
) -> None:
    version = await spawn(journal_world)
    await write(journal_world, ended(state, reason))
    (event,) = (await since(journal_world, version)).events
    assert (event.signal.kind, event.signal.run_id) == (SignalKind.RUN_FAILED, FIRST)
    assert event.signal.payload.outcome == outcome


@pytest.mark.requirement("signals.once")
async def test_the_first_end_of_a_run_is_the_one_that_counts(journal_world: World) -> None:
    version = await spawn(journal_world)
    await write(journal_world, ended(), ended(ChildState.FAILED, "timeout"))
    await write(journal_world, ended(run_id=SECOND))
    (event,) = (await since(journal_world, version)).events
    assert event.signal.kind is SignalKind.RUN_COMPLETED


@pytest.mark.requirement("signals.once")
async def test_each_compaction_is_an_event_of_its_own(journal_world: World) -> None:
    await journal_world.create(Q)
    await write_own(journal_world, Q, COMPACTED)
    await write_own(journal_world, Q, COMPACTED)
    assert await lines(journal_world, Q) == ["session compacted"] * 2


@pytest.mark.requirement("signals.once")
async def test_a_known_dedupe_key_answers_the_first_event(journal_world: World) -> None:
    await journal_world.create(Q)
    await journal_world.create(P)
    await watch(journal_world, P, Q)
    missing = events.upstream_missing(
        Q, catalog="jsonl", source_hash="h", link_updated_at=1, at=journal_world.clock.now_ms()
    )
    first = await journal_world.journal.record_signal(missing)
    told = len(journal_world.signalled)
    again = await journal_world.journal.record_signal(replace(missing, occurred_at=1))
    assert again == first
    assert len(journal_world.signalled) == told
    assert await cursor(journal_world, P, Q) == (0, first.sequence, first.sequence)
    assert first.signal.payload.channel == "jsonl"


@pytest.mark.requirement("signals.case-08", "signals.goal-changes")
async def test_a_goal_is_two_events_when_it_is_set_and_cleared(journal_world: World) -> None:
    world = journal_world
    version = await spawn(world)
    assert await wants(world, C, "Win.")
    record = await world.record(C)
    assert (record.goal, record.goal_status) == ("Win.", GoalStatus.ACTIVE)
    assert not await wants(world, C, "Win.")
    assert await wants(world, C, "")
    assert not await wants(world, C, "")
    found = (await since(world, version)).events
    assert [event.signal.summary for event in found] == ["goal created", "goal cleared"]
    assert {event.signal.actor for event in found} == {PERSON}
    assert [type(event) for event in await world.events(C)][-2:] == [GoalSet, GoalSet]


@pytest.mark.requirement("signals.goal-changes")
async def test_a_goal_that_moves_or_is_reworded_says_so(journal_world: World) -> None:
    world = journal_world
    await world.create(Q)
    await wants(world, Q, "Win.")
    blocked = GoalChange(status=GoalStatus.BLOCKED)
    outcome = await world.journal.set_goal(Q, blocked, actor=SYSTEM, at=1)
    assert outcome.goal == Goal(text="Win.", status=GoalStatus.BLOCKED)
    await wants(world, Q, "Draw.")
    assert await lines(world, Q) == [
        *("goal created", "goal status changed to blocked", "goal objective changed")
    ]
    with pytest.raises(NotFoundError):
        await wants(world, SessionId("nobody"), "x")
    await wants(world, Q, "")
    with pytest.raises(InvalidArgumentError):
        await world.journal.set_goal(Q, blocked, actor=SYSTEM, at=1)


@pytest.mark.requirement("signals.goal-changes")
async def test_a_goal_survives_a_restart_and_comes_between_an_append_and_its_head(
    journal_world: World,
) -> None:
    world = journal_world
    await world.create(Q)
    start = await world.start(Q)
    await wants(world, Q, "Win.")
    await world.append(start, began("t"))
    await world.die()
    assert (await world.record(Q)).goal == "Win."


@pytest.mark.requirement("signals.goal-shown")
async def test_a_reset_clears_the_goal_and_says_so_once(journal_world: World) -> None:
    world = journal_world
    await world.create(Q)
    await world.journal.reset_session(Q, at=world.clock.now_ms())
    assert await lines(world, Q) == []
    await wants(world, Q, "Win.")
    await world.journal.reset_session(Q, at=world.clock.now_ms())
    assert (await world.record(Q)).goal == ""
    assert await lines(world, Q) == ["goal created", "goal cleared"]
    assert told_events(world)[-1].signal.actor == SYSTEM


@pytest.mark.requirement("signals.case-23", "signals.pages")
async def test_an_answer_is_a_page_and_the_last_of_it_asks_for_the_rest(
    journal_world: World,
) -> None:
    await journal_world.create(Q)
    for number in range(250):
        await write_own(
            journal_world, Q, GoalSet(text=f"{number}", status=GoalStatus.ACTIVE, actor=PERSON)
        )
    first = await since(journal_world, 0, Q)
    assert (len(first.events), first.is_truncated) == (200, True)
    rest = await since(journal_world, first.events[-1].sequence, Q)
    assert (len(rest.events), rest.is_truncated) == (50, False)
    everything = await journal_world.journal.all_changes_since(0, limit=1000)
    assert everything.events == first.events + rest.events
    assert everything.state_version == first.state_version


@pytest.mark.requirement("signals.recorded-with-its-cause")
async def test_the_runs_of_one_batch_are_seeded_each(journal_world: World) -> None:
    await journal_world.create(P)
    await write(journal_world, accepted(), accepted(SECOND))
    await begin(journal_world)
    await begin(journal_world, run_id=SECOND)
    assert len(await journal_world.journal.cursors(P)) == 2
