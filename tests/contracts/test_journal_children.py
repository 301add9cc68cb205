"""Child runs in a journal: begun in sessions of their own, listed, told of, and left over."""

from __future__ import annotations

from dataclasses import replace

import pytest

from netclaw.core.authority import SourceKind
from netclaw.core.errors import InvalidArgumentError, NotFoundError
from netclaw.core.ids import RunId, SessionId, TurnId
from netclaw.core.session.child_effects import ChildAnswer
from netclaw.core.session.child_events import (
    ChildCancelAdmitted,
    ChildEnded,
    ChildFrozen,
    ChildParked,
    ChildResultDelivered,
    ChildResumed,
    ChildStarted,
    ChildState,
    ParkKind,
)
from netclaw.core.session.consent_events import ConsentRequested
from netclaw.core.session.events import (
    AnswerAdmitted,
    InputAdmitted,
    SessionCreated,
    SessionEvent,
    SessionKind,
    TurnStarted,
)
from netclaw.ports.child_records import ChildRecord, ChildStart
from netclaw.testing.people import ALICE
from tests.contracts.journal_world import OTHER, SESSION, World, failed, recorded
from tests.contracts.test_journal_runs import CALL, FIRST, SECOND, accepted, asked

CHILD = SessionId(f"{SESSION}/sub/{FIRST}")
FROZEN = ChildFrozen(
    run_id=FIRST,
    parent=SESSION,
    agent="a",
    system_prompt="You are a.",
    provider="p",
    model="m",
    tools=("file_read",),
)
DELIVERED = ChildResultDelivered(run_id=FIRST, turn_id=TurnId("t2"))
ENDED = ChildEnded(
    run_id=FIRST, state=ChildState.PARTIAL, reason="timeout", result_path="/r/result.md"
)
REFUSE = ChildAnswer(call_id=CALL, option="deny", answerer="UA")


def began(turn: str) -> TurnStarted:
    """A turn begins without an input."""
    return TurnStarted(turn_id=TurnId(turn), input_ids=(), authority=ALICE)


async def write(world: World, *events: SessionEvent, session_id: SessionId = SESSION) -> None:
    """A new process of a session appends these, one by one."""
    start = await world.start(session_id)
    for event in events:
        start = replace(start, record=await world.record(session_id))
        await world.append(start, event)


async def begin(
    world: World,
    start: int = 1,
    *answers: ChildAnswer,
    run_id: RunId = FIRST,
    frozen: ChildFrozen | None = FROZEN,
    parent: SessionId = SESSION,
) -> ChildRecord:
    """The supervisor is asked for this start of a run."""
    return await world.journal.start_child(
        ChildStart(
            parent=parent,
            run_id=run_id,
            start=start,
            storage_root=f"/e/subagents/{run_id}",
            at=world.clock.now_ms(),
            frozen=frozen,
            answers=answers,
        )
    )


async def only(world: World) -> ChildRecord:
    """The one run there is."""
    (run,) = await world.journal.list_runs(limit=9)
    assert await world.journal.find_runs(run.run_id) == (run,)
    assert await world.journal.run_of_child(run.child) == run
    return run


@pytest.mark.requirement("children.born-whole")
async def test_a_run_begins_in_one_commit_with_its_task_as_its_one_input(
    journal_world: World,
) -> None:
    await journal_world.create()
    await write(journal_world, accepted())
    before = len(journal_world.published)
    run = await begin(journal_world)
    assert (run.child, run.start) == (CHILD, 1)
    (commit,) = journal_world.published[before:]
    assert commit.session_id == CHILD
    created, frozen, task = await journal_world.events(CHILD)
    assert isinstance(created, SessionCreated)
    assert (created.kind, created.parent) == (SessionKind.CHILD, SESSION)
    assert frozen == FROZEN
    assert isinstance(task, InputAdmitted)
    assert task.text == "t"
    assert task.attended
    assert ALICE.delivery_targets
    assert task.authority == replace(ALICE, delivery_targets=())
    record = await journal_world.record(CHILD)
    assert (record.kind, record.parent, record.pending_inputs) == (SessionKind.CHILD, SESSION, 1)
    assert record.audience is ALICE.requester.audience
    assert record.storage_root == "/e/subagents/r1"
    assert await journal_world.outcomes(CHILD) == ["waiting"]
    assert await journal_world.journal.has_runnable_work(CHILD)


@pytest.mark.requirement("children.start-once")
async def test_a_start_counts_once_also_after_a_crash(journal_world: World) -> None:
    await journal_world.create()
    await write(journal_world, accepted())
    first = await begin(journal_world)
    assert await begin(journal_world) == first
    await journal_world.die()
    assert await begin(journal_world) == first
    assert len(await journal_world.events(CHILD)) == 3


@pytest.mark.requirement("children.start-once")
async def test_answers_are_handed_in_once_for_each_start(journal_world: World) -> None:
    await journal_world.create()
    await write(journal_world, accepted())
    await begin(journal_world)
    for _ in range(2):
        assert (await begin(journal_world, 2, REFUSE, frozen=None)).start == 2
        await journal_world.stop()
    *_, answer = await journal_world.events(CHILD)
    assert isinstance(answer, AnswerAdmitted)
    assert (answer.call_id, answer.option) == (CALL, "deny")
    assert answer.principal.is_person
    assert len(await journal_world.events(CHILD)) == 4
    assert (await begin(journal_world, 1)).start == 2, "an old start gives nothing back"


@pytest.mark.requirement("children.start-once")
async def test_answers_reach_a_run_whose_first_start_was_lost(journal_world: World) -> None:
    await journal_world.create()
    await write(journal_world, accepted())
    await begin(journal_world, 2, REFUSE)
    assert [type(event).__name__ for event in await journal_world.events(CHILD)] == [
        *("SessionCreated", "ChildFrozen", "InputAdmitted", "AnswerAdmitted")
    ]


@pytest.mark.requirement("children.start-refused")
async def test_a_run_that_is_unknown_or_over_is_not_begun(journal_world: World) -> None:
    await journal_world.create()
    with pytest.raises(NotFoundError):
        await begin(journal_world)
    await write(journal_world, accepted())
    with pytest.raises(InvalidArgumentError):
        await begin(journal_world, frozen=None)
    await write(journal_world, ENDED)
    with pytest.raises(NotFoundError):
        await begin(journal_world)
    assert await journal_world.journal.get_session(CHILD) is None


@pytest.mark.requirement("run.late-words")
async def test_a_run_that_is_over_admits_no_word_and_knows_those_from_before(
    journal_world: World,
) -> None:
    await journal_world.create()
    await write(journal_world, accepted())
    await begin(journal_world)
    before = await journal_world.admit("look", message="m1", session_id=CHILD)
    await write(journal_world, ENDED)
    with pytest.raises(InvalidArgumentError):
        await journal_world.admit("look again", message="m2", session_id=CHILD)
    (refused,) = await journal_world.journal.admit_many(
        (journal_world.input_request("me too", session_id=CHILD),)
    )
    assert isinstance(refused, InvalidArgumentError)
    again = await journal_world.admit("look", message="m1", session_id=CHILD)
    assert (again.input_id, again.is_duplicate) == (before.input_id, True)


@pytest.mark.requirement("children.exact-names")
async def test_an_id_with_the_characters_of_patterns_owns_no_other_runs(
    journal_world: World,
) -> None:
    alike, other = SessionId("C1/a%_z"), SessionId("C1/aXYz")
    journal = journal_world.journal
    for session_id in (alike, other):
        await journal_world.create(session_id)
        run = replace(accepted(), session_id=SessionId(f"{session_id}/sub/{FIRST}"))
        await write(journal_world, run, session_id=session_id)
        await begin(journal_world, frozen=replace(FROZEN, parent=session_id), parent=session_id)
    assert await journal.children_of(alike) == (SessionId(f"{alike}/sub/{FIRST}"),)
    await journal.delete_session(SessionId(f"{alike}/sub/{FIRST}"))
    await journal.delete_session(alike)
    assert await journal.children_of(other) == (SessionId(f"{other}/sub/{FIRST}"),)
    assert await journal.get_session(SessionId(f"{other}/sub/{FIRST}")) is not None


@pytest.mark.requirement("children.lists")
async def test_a_run_is_listed_with_what_became_of_it(journal_world: World) -> None:
    await journal_world.create()
    steps = (
        (accepted(), ChildState.ACCEPTED),
        (ChildStarted(run_id=FIRST), ChildState.RUNNING),
        (ChildParked(run_id=FIRST, kind=ParkKind.DRAIN), ChildState.PARKED),
        (ChildResumed(run_id=FIRST), ChildState.RUNNING),
        (ChildCancelAdmitted(run_id=FIRST, actor="x"), ChildState.CANCELLING),
        (ChildStarted(run_id=FIRST), ChildState.CANCELLING),
        (ENDED, ChildState.PARTIAL),
        (replace(ENDED, state=ChildState.FAILED, reason="late"), ChildState.PARTIAL),
        (ChildResumed(run_id=FIRST), ChildState.PARTIAL),
    )
    for event, state in steps:
        await write(journal_world, event)
        assert (await only(journal_world)).state is state
    run = await only(journal_world)
    assert (run.session_id, run.channel, run.agent) == (SESSION, SourceKind.SLACK, "a")
    assert (run.turn_id, run.call_id) == ("t1", "c-r1")
    assert (run.reason, run.result_path) == ("timeout", "/r/result.md")
    assert run.accepted_at > 0
    assert run.ended_at is not None
    assert run.told_at is None
    await journal_world.die()
    assert await only(journal_world) == run


@pytest.mark.requirement("children.purge")
@pytest.mark.parametrize("end", [recorded("t2"), failed("t2")])
async def test_a_run_is_left_over_once_the_turn_that_told_of_it_is_over(
    journal_world: World, end: SessionEvent
) -> None:
    await journal_world.create()
    await write(journal_world, accepted())
    await begin(journal_world)
    await write(journal_world, ENDED, began("t2"), DELIVERED)
    assert await journal_world.journal.stale_children(limit=9) == ()
    await journal_world.die()
    await write(journal_world, end)
    assert (await only(journal_world)).told_at is not None
    assert await journal_world.journal.stale_children(limit=9) == (CHILD,)
    await journal_world.journal.delete_session(CHILD)
    assert await journal_world.journal.stale_children(limit=9) == ()
    assert (await only(journal_world)).state is ChildState.PARTIAL, "its line stays"


@pytest.mark.requirement("children.purge")
async def test_a_turn_that_told_of_nothing_ends_nothing(journal_world: World) -> None:
    await journal_world.create()
    await write(journal_world, accepted(), ENDED, began("t3"), recorded("t3"))
    assert (await only(journal_world)).told_at is None


@pytest.mark.requirement("children.owner-gone")
async def test_a_reset_or_delete_of_the_parent_leaves_its_runs_to_nobody(
    journal_world: World,
) -> None:
    await journal_world.create()
    await write(journal_world, accepted(), accepted(SECOND))
    await begin(journal_world)
    await begin(journal_world, run_id=SECOND, frozen=replace(FROZEN, run_id=SECOND))
    both = (CHILD, SessionId(f"{SESSION}/sub/{SECOND}"))
    assert await journal_world.journal.children_of(SESSION) == both
    await journal_world.journal.reset_session(SESSION, at=journal_world.clock.now_ms())
    runs = await journal_world.journal.list_runs(limit=9)
    assert {(run.state, run.reason) for run in runs} == {(ChildState.LOST, "parent_reset")}
    assert await journal_world.journal.stale_children(limit=9) == both
    with pytest.raises(NotFoundError):
        await begin(journal_world, 2)
    await journal_world.journal.delete_session(SESSION)
    await journal_world.create()
    assert await journal_world.journal.list_runs(limit=9) == ()
    assert await journal_world.journal.stale_children(limit=9) == both
    assert await journal_world.journal.stale_children(limit=1) == both[:1]


@pytest.mark.requirement("children.consent-parent")
async def test_what_a_run_asks_is_listed_with_its_parent_alone(journal_world: World) -> None:
    await journal_world.create()
    await write(journal_world, accepted())
    await begin(journal_world)
    request = asked()[0]
    assert isinstance(request, ConsentRequested)
    await write(journal_world, began("ct"), replace(request, run_id=None), session_id=CHILD)
    assert await journal_world.journal.pending_consents(limit=9) == ()
    assert (await journal_world.journal.counts()).open_approvals == 0
    await write(journal_world, request)
    (pending,) = await journal_world.journal.pending_consents(limit=9)
    assert (pending.session_id, pending.run_id) == (SESSION, FIRST)
    assert (await journal_world.journal.counts()).open_approvals == 1


@pytest.mark.requirement("children.lists")
async def test_lists_go_by_age_page_by_page_and_by_session(journal_world: World) -> None:
    await journal_world.create()
    await journal_world.create(OTHER)
    ids = [RunId(f"r{number}") for number in range(5)]
    await write(journal_world, *(accepted(run_id) for run_id in ids))
    first = await journal_world.journal.list_runs(limit=3)
    rest = await journal_world.journal.list_runs(limit=3, after=first[-1].position)
    assert [run.run_id for run in (*first, *rest)] == ids
    assert len(await journal_world.journal.list_runs(limit=9, session_id=SESSION)) == 5
    assert await journal_world.journal.list_runs(limit=9, session_id=OTHER) == ()
    assert await journal_world.journal.run_of_child(SessionId("nobody")) is None
