"""Answers to consent requests: judged where they are written, and which requests are open."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from netclaw.core.authority import Authority, Principal
from netclaw.core.errors import (
    DeniedByPolicyError,
    InvalidArgumentError,
    NetclawError,
    NotFoundError,
    NotRequesterError,
)
from netclaw.core.ids import CallId, RunId, SessionId, TurnId
from netclaw.core.session import sentences
from netclaw.core.session.child_events import ChildEnded, ChildState
from netclaw.core.session.consent_events import (
    AnswerDismissed,
    ConsentAnswered,
    ConsentEffect,
    ConsentWithdrawn,
    Dismissal,
    Withdrawal,
)
from netclaw.core.session.events import AnswerAdmitted, SessionEvent
from netclaw.ports.answers import AnswerAdmission, AnswerRequest, PendingConsent
from netclaw.testing.people import ALICE, BOB, OPERATOR, REMINDER
from netclaw.wire.journal_codec import encode_event
from tests.contracts.journal_world import SESSION, World, failed, recorded
from tests.contracts.test_journal_parked import SIBLING, TURN, WAITING, asking, ended, parked

RUN = RunId("run-1")


def says(
    option: str = "once",
    *,
    by: Authority = ALICE,
    call: CallId = WAITING,
    session_id: SessionId = SESSION,
    shown: int = 0,
) -> AnswerRequest:
    """An answer by somebody."""
    return AnswerRequest(
        session_id=session_id,
        call_id=call,
        option=option,
        answerer=by.requester.sender_id or "",
        boundary=by.requester.boundary,
        principal=by.requester.principal,
        at=7,
        shown_seq=shown,
    )


async def head(world: World) -> int:
    """Position of the last event."""
    return (await world.record()).head


async def open_calls(world: World) -> list[CallId]:
    """Calls that wait; the totals say the same, also after a restart."""
    found = []
    for again in (world.stop, world.die, None):
        listed = await world.journal.pending_consents(limit=100)
        assert (await world.journal.counts()).open_approvals == len(listed)
        found.append([item.request.call_id for item in listed])
        if again is not None:
            await again()
    assert found[0] == found[1] == found[2]
    return found[0]


async def refused(world: World, request: AnswerRequest) -> NetclawError:
    """The error of an answer that does not count; it writes nothing and closes nothing."""
    before = await head(world), await world.journal.pending_consents(limit=9)
    with pytest.raises(NetclawError) as caught:
        await world.journal.answer(request)
    assert (await head(world), await world.journal.pending_consents(limit=9)) == before
    return caught.value


@pytest.mark.requirement("approvals.durable")
async def test_an_answer_is_written_down_as_it_was_given(journal_world: World) -> None:
    world = journal_world
    await parked(world)
    admission = await world.journal.answer(says())
    assert admission == AnswerAdmission(seq=await head(world), is_duplicate=False)
    assert (await world.events())[-1] == AnswerAdmitted(
        call_id=WAITING,
        option="once",
        answerer="U1",
        boundary="slack:T1/C1",
        principal=Principal.TRUSTED,
    )
    assert world.published[-1].append_id is None
    assert [row.seq for row in world.published[-1].rows] == [admission.seq]
    assert await world.journal.has_runnable_work(SESSION)
    assert await open_calls(world) == []


@pytest.mark.requirement("approvals.durable")
async def test_the_same_answer_again_is_acknowledged_and_not_written_twice(
    journal_world: World,
) -> None:
    world = journal_world
    start = await parked(world)
    first = await world.journal.answer(says())
    after = await head(world)
    again = await world.journal.answer(says())
    assert again == AnswerAdmission(seq=first.seq, is_duplicate=True)
    answered = ConsentAnswered(
        turn_id=TURN, call_id=WAITING, option="once", answerer="U1", effect=ConsentEffect.APPROVE
    )
    await world.append(start, answered, ended(WAITING), recorded("t1"), head=after)
    await world.die()
    assert await world.journal.answer(says()) == again
    assert await head(world) == after + 3


@pytest.mark.requirement("approvals.first")
async def test_of_many_answers_at_once_one_counts(journal_world: World) -> None:
    world = journal_world
    await parked(world, by=REMINDER)
    people = [
        replace(ALICE, requester=replace(ALICE.requester, sender_id=f"U{n}")) for n in range(40)
    ]
    results = await asyncio.gather(
        *(
            world.journal.answer(says("once" if n % 2 else "refuse", by=person))
            for n, person in enumerate(people)
        ),
        return_exceptions=True,
    )
    counted = [item for item in results if isinstance(item, AnswerAdmission)]
    assert len(counted) == 1
    losers = [item for item in results if isinstance(item, NotFoundError)]
    assert len(losers) == 39
    assert {item.sentence for item in losers} == {sentences.PROMPT_CLOSED}
    assert sum(isinstance(event, AnswerAdmitted) for event in await world.events()) == 1


@pytest.mark.requirement("approvals.refused")
async def test_what_does_not_count_is_refused_and_writes_nothing(journal_world: World) -> None:
    world = journal_world
    await parked(world)
    assert isinstance(await refused(world, says("maybe")), InvalidArgumentError)
    assert isinstance(await refused(world, says(by=BOB)), NotRequesterError)
    assert isinstance(await refused(world, says(by=OPERATOR)), NotRequesterError)
    assert isinstance(await refused(world, says(by=REMINDER)), DeniedByPolicyError)
    unknown = await refused(world, says(call=CallId("nobody")))
    assert isinstance(unknown, NotFoundError)
    assert unknown.sentence == sentences.PROMPT_CLOSED
    with pytest.raises(NotFoundError):
        await world.journal.answer(says(session_id=SessionId("nowhere")))
    assert await open_calls(world) == [WAITING]


@pytest.mark.requirement("approvals.who")
async def test_the_operator_may_refuse_what_others_asked(journal_world: World) -> None:
    world = journal_world
    await parked(world)
    told = await refused(world, says(by=OPERATOR))
    assert "`refuse`" in told.fix
    await world.journal.answer(says("refuse", by=OPERATOR))
    assert await open_calls(world) == []


@pytest.mark.requirement("approvals.who")
async def test_the_operator_may_approve_what_a_machine_asked(journal_world: World) -> None:
    world = journal_world
    await parked(world, by=REMINDER)
    await world.journal.answer(says(by=OPERATOR))
    assert await open_calls(world) == []


ENDS: tuple[tuple[SessionEvent, ...], ...] = (
    (ConsentWithdrawn(turn_id=TURN, call_id=WAITING, reason=Withdrawal.TURN_STOPPED),),
    (ended(WAITING),),
    (ended(WAITING), recorded("t1")),
    (failed("t1", closed=(WAITING,)),),
    (failed("t1"),),
)


@pytest.mark.requirement("approvals.stale")
@pytest.mark.parametrize("end", ENDS, ids=lambda end: end[-1].__class__.__name__)
@pytest.mark.parametrize("is_answered", [False, True])
async def test_what_ends_a_request_closes_it_for_answers(
    journal_world: World, end: tuple[SessionEvent, ...], is_answered: bool
) -> None:
    world = journal_world
    start = await parked(world)
    assert await open_calls(world) == [WAITING]
    if is_answered:
        await world.journal.answer(says("refuse"))
    await world.append(start, *end, head=await head(world))
    assert await open_calls(world) == []
    for option in ("once", "refuse"):
        stale = await refused(world, says(option))
        assert isinstance(stale, NotFoundError)
        assert stale.sentence == sentences.PROMPT_CLOSED


@pytest.mark.requirement("approvals.stale")
async def test_an_answer_that_meets_a_withdrawal_under_way_is_kept_for_nobody(
    journal_world: World,
) -> None:
    world = journal_world
    start = await parked(world)
    before = await head(world)
    await world.journal.answer(says())
    withdrawn = ConsentWithdrawn(turn_id=TURN, call_id=WAITING, reason=Withdrawal.TURN_STOPPED)
    await world.append(start, withdrawn, head=before)
    assert await open_calls(world) == []
    assert isinstance(await refused(world, says()), NotFoundError)
    gone = AnswerDismissed(call_id=WAITING, option="once", answerer="U1", reason=Dismissal.NOT_OPEN)
    await world.append(start, gone, head=await head(world))
    assert await open_calls(world) == []


@pytest.mark.requirement("approvals.stale")
async def test_a_reset_and_a_delete_close_what_was_asked(journal_world: World) -> None:
    world = journal_world
    await parked(world)
    await world.journal.reset_session(SESSION, at=2)
    assert await open_calls(world) == []
    assert isinstance(await refused(world, says()), NotFoundError)
    start = await world.start()
    await world.append(start, asking(SIBLING, ALICE))
    assert await open_calls(world) == [SIBLING]
    await world.journal.delete_session(SESSION)
    assert await open_calls(world) == []
    with pytest.raises(NotFoundError):
        await world.journal.answer(says(call=SIBLING))
    await world.create()
    assert isinstance(await refused(world, says(call=SIBLING)), NotFoundError)


@pytest.mark.requirement("approvals.stale")
async def test_asked_again_it_is_another_request(journal_world: World) -> None:
    world = journal_world
    start = await parked(world)
    (first,) = await world.journal.pending_consents(limit=1)
    await world.journal.answer(says(shown=first.seq))
    answered = ConsentAnswered(
        turn_id=TURN, call_id=WAITING, option="once", answerer="U1", effect=ConsentEffect.APPROVE
    )
    await world.append(start, answered, asking(WAITING, ALICE), head=await head(world))
    (second,) = await world.journal.pending_consents(limit=1)
    assert second.seq > first.seq
    assert second.position > first.position
    stale = await refused(world, says(shown=first.seq))
    assert stale.sentence == sentences.PROMPT_CLOSED
    admission = await world.journal.answer(says(shown=second.seq))
    assert not admission.is_duplicate


@pytest.mark.requirement("approvals.durable")
async def test_an_answer_that_its_session_dismisses_leaves_the_request_open(
    journal_world: World,
) -> None:
    world = journal_world
    start = await parked(world)
    wrong = AnswerAdmitted(
        call_id=WAITING, option="once", answerer="U2", principal=Principal.TRUSTED
    )
    await world.journal.append_own(SESSION, (encode_event(wrong),), at=1)
    assert await open_calls(world) == []
    gone = AnswerDismissed(
        call_id=WAITING, option="once", answerer="U2", reason=Dismissal.NOT_THEIRS
    )
    other = replace(gone, answerer="U3")
    await world.append(start, other, head=await head(world))
    assert await open_calls(world) == []
    await world.append(start, replace(gone, reason=Dismissal.NOT_OPEN), head=await head(world))
    assert await open_calls(world) == []
    await world.append(start, gone, gone, head=await head(world))
    assert await open_calls(world) == [WAITING]
    assert not (await world.journal.answer(says())).is_duplicate


@pytest.mark.requirement("approvals.runs")
async def test_a_request_of_a_child_run_ends_with_its_run_alone(journal_world: World) -> None:
    world = journal_world
    asked = replace(asking(SIBLING, ALICE), run_id=RUN, turn_id=TurnId("child-turn"))
    start = await parked(world, asked)
    listed = await world.journal.pending_consents(limit=9)
    assert [(item.request.call_id, item.run_id) for item in listed] == [
        *((WAITING, None), (SIBLING, RUN))
    ]
    over = ChildEnded(run_id=RunId("other"), state=ChildState.COMPLETED)
    await world.append(start, failed("t1"), over, head=await head(world))
    assert await open_calls(world) == [SIBLING]
    over = ChildEnded(run_id=RUN, state=ChildState.CANCELLED)
    await world.append(start, over, head=await head(world))
    assert await open_calls(world) == []


@pytest.mark.requirement("approvals.pending")
async def test_open_requests_of_all_sessions_are_listed_by_age_and_in_pages(
    journal_world: World,
) -> None:
    world = journal_world
    start = await parked(world)
    other = SessionId("slack/b")
    await world.create(other)
    second = await world.start(other)
    await world.append(second, asking(CallId("b1"), BOB))
    await world.append(start, asking(SIBLING, ALICE), head=await head(world))
    whole = await world.journal.pending_consents(limit=9)
    assert [(item.session_id, item.request.call_id) for item in whole] == [
        *((SESSION, WAITING), (other, CallId("b1")), (SESSION, SIBLING))
    ]
    assert whole[0].request == asking(WAITING, ALICE).request
    assert whole[0].turn_id == TURN
    pages: list[PendingConsent] = []
    while page := await world.journal.pending_consents(
        limit=2, after=pages[-1].position if pages else 0
    ):
        pages.extend(page)
    assert tuple(pages) == whole
