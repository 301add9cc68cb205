"""Messages between sessions: admitted once, answered once, whatever dies in between."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace

import pytest

from netclaw.core.errors import InvalidArgumentError, NotFoundError, QueueFullError
from netclaw.core.ids import CallId, InputId, SessionId, TurnId
from netclaw.core.messages import AssistantMessage
from netclaw.core.session.events import (
    SessionEvent,
    ToolResultRecorded,
    TurnFailed,
    TurnOutcome,
    TurnRecorded,
    TurnStarted,
)
from netclaw.core.session.inter_session import SendEnd, reply_id, source_id
from netclaw.core.tool_call import OutcomeCategory, ToolReceipt, ToolResult
from netclaw.ports.journal import AdmitRequest
from netclaw.ports.session_sends import SendRequest, SentMessage
from netclaw.testing.people import OTHER_SESSION
from tests.contracts.journal_world import OTHER, SESSION, World, failed, recorded, started

pytestmark = pytest.mark.requirement("sends.reply-once")

CALL = CallId("call000000000001")
TURN = TurnId("t1")


async def write(world: World, session_id: SessionId, *events: SessionEvent) -> None:
    """Events of the session's own process, wherever its head is."""
    await world.append(await world.start(session_id), *events)


def request(world: World, call_id: CallId = CALL, text: str = "hello") -> SendRequest:
    """A message of a call of `SESSION` to `OTHER`."""
    message = world.input_request(
        text, message=source_id(SESSION, call_id), session_id=OTHER, authority=OTHER_SESSION
    )
    return SendRequest(
        sender=SESSION,
        turn_id=TURN,
        call_id=call_id,
        message=message,
        reply_authority=replace(OTHER_SESSION, adopted_context=("x",)),
    )


def late(world: World, sent: SentMessage) -> AdmitRequest:
    """The input that tells of a late reply."""
    return world.input_request(
        f"reply: {sent.reply}",
        message=reply_id(sent.input_id),
        session_id=SESSION,
        authority=sent.reply_authority,
    )


async def sending(world: World) -> SentMessage:
    """Both sessions, and a message on its way."""
    await world.create(SESSION)
    await world.create(OTHER)
    await write(world, SESSION, TurnStarted(turn_id=TURN, input_ids=(), authority=OTHER_SESSION))
    return await world.journal.send_message(request(world))


async def known(world: World) -> SentMessage | None:
    """What is on record of it."""
    found = await world.journal.find_send(SESSION, CALL)
    assert await world.journal.open_sends() == (() if found is None else (found,))
    return found


def result(answered: str = "", call_id: CallId = CALL) -> ToolResultRecorded:
    """The result of the sending call."""
    return ToolResultRecorded(
        turn_id=TURN,
        result=ToolResult(
            call_id=call_id,
            text="told",
            receipt=ToolReceipt(category=OutcomeCategory.SUCCESS),
            answered_input=answered,
        ),
    )


async def answer(world: World, sent: SentMessage, text: str = "done") -> None:
    """The target's turn begins and ends."""
    await write(world, OTHER, started("t9", sent.input_id))
    end = recorded("t9", sent.input_id)
    message = AssistantMessage(text=text, at=1, turn_id="t9")
    await write(world, OTHER, replace(end, message=message))


async def late_texts(world: World) -> list[str]:
    """The late replies in the sender's ledger."""
    entries = await world.journal.ledger(SESSION, limit=100)
    return [entry.source_message_id or "" for entry in entries]


@pytest.mark.requirement("sends.admission")
async def test_a_message_is_admitted_with_its_record_once(journal_world: World) -> None:
    sent = await sending(journal_world)
    assert (sent.sender, sent.target, sent.end, sent.is_late) == (SESSION, OTHER, None, False)
    assert sent.reply_authority.adopted_context == ("x",)
    again = await journal_world.journal.send_message(request(journal_world, text="hello again"))
    assert again == sent
    found = await journal_world.journal.find_input(OTHER, source_id(SESSION, CALL))
    assert found is not None
    assert found.input_id == sent.input_id
    assert len(await journal_world.journal.ledger(OTHER, limit=10)) == 1


@pytest.mark.requirement("sends.admission")
async def test_a_call_whose_reply_is_settled_sends_nothing_again(journal_world: World) -> None:
    sent = await sending(journal_world)
    await journal_world.journal.drop_send(sent.send_id)
    with pytest.raises(InvalidArgumentError):
        await journal_world.journal.send_message(request(journal_world))
    assert len(await journal_world.journal.ledger(OTHER, limit=10)) == 1


@pytest.mark.requirement("sends.targets")
async def test_what_cannot_be_admitted_leaves_no_record(journal_world: World) -> None:
    await journal_world.create(SESSION)
    begun = TurnStarted(turn_id=TURN, input_ids=(), authority=OTHER_SESSION)
    await write(journal_world, SESSION, begun)
    with pytest.raises(NotFoundError):
        await journal_world.journal.send_message(request(journal_world))
    await journal_world.create(OTHER)
    for _ in range(5):
        await journal_world.admit(session_id=OTHER)
    with pytest.raises(QueueFullError):
        await journal_world.journal.send_message(request(journal_world))
    assert await known(journal_world) is None


@pytest.mark.requirement("sends.admission")
@pytest.mark.parametrize("is_reset", [False, True])
async def test_a_turn_that_is_over_sends_nothing_any_more(
    journal_world: World, is_reset: bool
) -> None:
    """Its end has marked what it sent as late: what came after that would be late for ever."""
    await journal_world.create(SESSION)
    await journal_world.create(OTHER)
    begun = TurnStarted(turn_id=TURN, input_ids=(), authority=OTHER_SESSION)
    await write(journal_world, SESSION, begun)
    if is_reset:
        await journal_world.journal.reset_session(SESSION, at=1)
    else:
        await write(journal_world, SESSION, result(), recorded(TURN))
    with pytest.raises(InvalidArgumentError, match="over"):
        await journal_world.journal.send_message(request(journal_world))
    assert await known(journal_world) is None
    assert await journal_world.journal.ledger(OTHER, limit=10) == ()


async def test_a_reply_that_the_call_holds_is_settled_with_its_result(journal_world: World) -> None:
    sent = await sending(journal_world)
    await answer(journal_world, sent, "fine")
    ended = await known(journal_world)
    assert ended is not None
    assert (ended.end, ended.reply, ended.is_due) == (SendEnd.COMPLETED, "fine", False)
    assert not await journal_world.journal.deliver_reply(sent.send_id, late(journal_world, ended))
    await write(journal_world, SESSION, result(sent.input_id))
    assert await known(journal_world) is None
    assert await late_texts(journal_world) == []


async def test_a_reply_that_the_result_does_not_hold_is_late(journal_world: World) -> None:
    sent = await sending(journal_world)
    await answer(journal_world, sent)
    await write(journal_world, SESSION, result())
    await journal_world.die()
    due = await known(journal_world)
    assert due is not None
    assert due.is_due
    assert await journal_world.journal.deliver_reply(due.send_id, late(journal_world, due))
    assert not await journal_world.journal.deliver_reply(due.send_id, late(journal_world, due))
    await journal_world.die()
    assert await known(journal_world) is None
    assert await late_texts(journal_world) == [reply_id(sent.input_id)]


async def test_a_result_cannot_settle_a_turn_that_goes_on(journal_world: World) -> None:
    sent = await sending(journal_world)
    await write(journal_world, SESSION, result(sent.input_id))
    open_one = await known(journal_world)
    assert open_one is not None
    assert (open_one.is_late, open_one.end) == (True, None)
    await answer(journal_world, sent)
    due = await known(journal_world)
    assert due is not None
    assert due.is_due


END: dict[str, TurnRecorded | TurnFailed] = {
    "recorded": recorded("t1"),
    "failed": failed("t1", closed=(CALL,)),
}


@pytest.mark.parametrize("end", END.values(), ids=END)
async def test_a_call_without_a_result_is_over_with_its_turn(
    journal_world: World, end: TurnRecorded | TurnFailed
) -> None:
    sent = await sending(journal_world)
    await answer(journal_world, sent)
    await write(journal_world, SESSION, end)
    due = await known(journal_world)
    assert due is not None
    assert due.is_due


ENDS: dict[SendEnd, Callable[[World, InputId], Awaitable[object]]] = {
    SendEnd.FAILED: lambda world, item: write(world, OTHER, failed("t9", item)),
    SendEnd.STOPPED: lambda world, item: write(
        world, OTHER, recorded("t9", item, outcome=TurnOutcome.STOPPED)
    ),
    SendEnd.GUARD_ENDED: lambda world, item: write(
        world, OTHER, recorded("t9", item, outcome=TurnOutcome.GUARD_ENDED)
    ),
    SendEnd.CLOSED: lambda world, _item: world.journal.reset_session(OTHER, at=1),
    SendEnd.DELETED: lambda world, _item: world.journal.delete_session(OTHER),
}


@pytest.mark.requirement("sends.targets")
@pytest.mark.parametrize("end", ENDS)
async def test_every_end_of_the_targets_turn_is_known_without_words(
    journal_world: World, end: SendEnd
) -> None:
    sent = await sending(journal_world)
    await write(journal_world, OTHER, started("t9", sent.input_id))
    await ENDS[end](journal_world, sent.input_id)
    await journal_world.die()
    ended = await known(journal_world)
    assert ended is not None
    assert (ended.end, ended.reply, ended.target) == (end, "", OTHER)


@pytest.mark.requirement("sends.targets")
@pytest.mark.parametrize("is_reset", [True, False])
async def test_nobody_waits_for_replies_of_a_life_that_is_over(
    journal_world: World, is_reset: bool
) -> None:
    sent = await sending(journal_world)
    if is_reset:
        await journal_world.journal.reset_session(SESSION, at=1)
    else:
        await journal_world.journal.delete_session(SESSION)
    assert await known(journal_world) is None
    await answer(journal_world, sent)
    assert not await journal_world.journal.deliver_reply(sent.send_id, late(journal_world, sent))


async def test_a_full_sender_keeps_the_record_until_there_is_room(journal_world: World) -> None:
    sent = await sending(journal_world)
    await answer(journal_world, sent)
    await write(journal_world, SESSION, result())
    for _ in range(5):
        await journal_world.admit()
    due = await known(journal_world)
    assert due is not None
    with pytest.raises(QueueFullError):
        await journal_world.journal.deliver_reply(due.send_id, late(journal_world, due))
    assert await known(journal_world) == due


async def test_sends_of_one_turn_are_told_apart(journal_world: World) -> None:
    sent = await sending(journal_world)
    second = CallId("call000000000002")
    other = await journal_world.journal.send_message(request(journal_world, second))
    assert other.input_id != sent.input_id
    await answer(journal_world, sent)
    await write(journal_world, SESSION, result(sent.input_id), result(call_id=second))
    (left,) = await journal_world.journal.open_sends()
    assert (left.call_id, left.is_late, left.end) == (second, True, None)
