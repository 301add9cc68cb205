"""A session whose open turn waits on consent alone: it must rest until somebody acts.

Started for nothing it would find nothing to do, passivate, and be started again for ever.
"""

from __future__ import annotations

import pytest

from netclaw.core.authority import Authority
from netclaw.core.ids import CallId, TurnId
from netclaw.core.messages import AssistantMessage, Usage
from netclaw.core.session.consent_events import (
    ConsentAnswered,
    ConsentRequest,
    ConsentRequested,
    ConsentWithdrawn,
    Withdrawal,
)
from netclaw.core.session.events import (
    AnswerAdmitted,
    Passivated,
    RoundRecorded,
    SessionEvent,
    ToolBatchStarted,
    ToolResultRecorded,
    TurnStarted,
)
from netclaw.core.session.evolve import preview
from netclaw.core.tool_call import OutcomeCategory, ToolCall, ToolReceipt, ToolResult
from netclaw.ports.journal import SnapshotDraft, StartPoint
from netclaw.testing.people import ALICE, BOB, OPERATOR, REMINDER
from netclaw.testing.story import NEEDS_CONSENT
from netclaw.wire.journal_codec import STATE_CODEC, encode_event, encode_state
from netclaw.wire.stored_state import stored_state
from tests.contracts.journal_world import SESSION, World, recorded

TURN = TurnId("t1")
WAITING, SIBLING = CallId("c1"), CallId("c2")


def calling(*calls: CallId) -> RoundRecorded:
    """A round that asks for these calls."""
    made = tuple(
        ToolCall(call_id=call, provider_call_id="p", name="shell_execute", arguments="{}")
        for call in calls
    )
    message = AssistantMessage(text="", at=1, calls=made)
    return RoundRecorded(turn_id=TURN, round=0, message=message, usage=Usage(), model="m")


def asking(call: CallId, by: Authority) -> ConsentRequested:
    """The call waits for a person."""
    request = ConsentRequest(
        call_id=call,
        tool="shell_execute",
        display="ls",
        candidates=("ls",),
        options=NEEDS_CONSENT.options,
        requester=by.requester,
    )
    return ConsentRequested(turn_id=TURN, request=request)


def ended(call: CallId) -> ToolResultRecorded:
    """The call has a result."""
    receipt = ToolReceipt(category=OutcomeCategory.SUCCESS)
    return ToolResultRecorded(
        turn_id=TURN, result=ToolResult(call_id=call, text="r", receipt=receipt)
    )


async def parked(
    world: World, *more: SessionEvent, by: Authority = ALICE, sibling: bool = False
) -> StartPoint:
    """A turn whose first call waits; a sibling is launched if wanted."""
    await world.create()
    request = world.input_request(authority=by)
    await world.journal.admit(request)
    start = await world.start()
    calls = (WAITING, SIBLING) if sibling else (WAITING,)
    launched = (ToolBatchStarted(turn_id=TURN, call_ids=(SIBLING,)),) if sibling else ()
    await world.append(
        start,
        TurnStarted(turn_id=TURN, input_ids=(request.input_id,), authority=by),
        calling(*calls),
        *launched,
        asking(WAITING, by),
        *more,
    )
    return start


async def is_due(world: World) -> bool:
    """Whether a start is due; both questions have one answer, also after a restart."""
    found = []
    for again in (world.stop, world.die, None):
        listed = SESSION in await world.journal.runnable_sessions()
        assert listed == await world.journal.has_runnable_work(SESSION)
        found.append(listed)
        if again is not None:
            await again()
    assert len(set(found)) == 1
    return found[0]


@pytest.mark.requirement("consent.passive")
async def test_a_turn_that_waits_on_consent_alone_starts_nothing(journal_world: World) -> None:
    await parked(journal_world)
    assert not await is_due(journal_world)


@pytest.mark.requirement("consent.passive")
async def test_it_rests_with_a_snapshot_as_without(journal_world: World) -> None:
    world = journal_world
    start = await parked(world)
    head = (await world.record()).head
    state = stored_state(SESSION, *await world.journal.read_state(SESSION))
    event = Passivated(snapshot_seq=head + 1)
    payload = encode_state(preview(state, event, at=1))
    draft = SnapshotDraft(codec=STATE_CODEC, payload=payload, is_mandatory=True)
    await world.append(start, event, head=head, snapshot=draft)
    assert not await is_due(world)
    await world.journal.admit(world.input_request(authority=ALICE))
    assert await is_due(world)


@pytest.mark.requirement("consent.passive")
async def test_an_answer_makes_a_start_due(journal_world: World) -> None:
    world = journal_world
    start = await parked(world)
    answer = AnswerAdmitted(call_id=WAITING, option="once", answerer="U1")
    await world.journal.append_own(SESSION, (encode_event(answer),), at=1)
    assert await is_due(world)
    head = (await world.record()).head
    answered = ConsentAnswered(turn_id=TURN, call_id=WAITING, option="once", answerer="U1")
    await world.append(start, answered, head=head)
    assert await is_due(world), "approved and not launched"
    launched = ToolBatchStarted(turn_id=TURN, call_ids=(WAITING,))
    await world.append(start, launched, head=head + 1)
    assert await is_due(world), "launched and without a result"


@pytest.mark.requirement("consent.passive")
async def test_a_launched_sibling_without_a_result_makes_a_start_due(journal_world: World) -> None:
    world = journal_world
    start = await parked(world, sibling=True)
    assert await is_due(world)
    head = (await world.record()).head
    await world.append(start, ended(SIBLING), head=head)
    assert not await is_due(world)


@pytest.mark.requirement("consent.passive")
async def test_a_withdrawn_request_makes_a_start_due(journal_world: World) -> None:
    world = journal_world
    withdrawn = ConsentWithdrawn(turn_id=TURN, call_id=WAITING, reason=Withdrawal.TURN_STOPPED)
    await parked(world, withdrawn)
    assert await is_due(world)


@pytest.mark.requirement("consent.passive")
@pytest.mark.parametrize(
    ("asker", "writer", "due"),
    [
        (ALICE, ALICE, True),
        (ALICE, BOB, False),
        (ALICE, OPERATOR, False),
        (ALICE, REMINDER, False),
        (REMINDER, OPERATOR, True),
        (REMINDER, REMINDER, False),
    ],
)
async def test_only_an_input_that_may_run_makes_a_start_due(
    journal_world: World, asker: Authority, writer: Authority, due: bool
) -> None:
    world = journal_world
    await parked(world, by=asker)
    await world.journal.admit(world.input_request(authority=writer))
    assert await is_due(world) is due


@pytest.mark.requirement("consent.passive")
async def test_a_session_that_cannot_be_read_is_for_its_start_to_find_out(
    journal_world: World,
) -> None:
    world = journal_world
    start = await parked(world)
    head = (await world.record()).head
    draft = SnapshotDraft(codec=STATE_CODEC, payload=b"no state", is_mandatory=True)
    await world.append(start, Passivated(snapshot_seq=head + 1), head=head, snapshot=draft)
    assert await is_due(world)


@pytest.mark.requirement("consent.passive")
async def test_what_was_asked_in_an_earlier_turn_holds_no_later_one(journal_world: World) -> None:
    world = journal_world
    start = await parked(world, ended(WAITING), recorded("t1"))
    request = world.input_request(authority=ALICE)
    await world.journal.admit(request)
    head = (await world.record()).head
    later = TurnStarted(turn_id=TurnId("t2"), input_ids=(request.input_id,), authority=ALICE)
    await world.append(start, later, head=head)
    assert await is_due(world)
