"""The public service about consent requests: who may answer, who sees what, pages."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from functools import partial

import pytest

from netclaw.core.authority import Audience, Principal, SourceKind
from netclaw.core.errors import (
    DeniedByPolicyError,
    InvalidArgumentError,
    NotFoundError,
    NotRequesterError,
)
from netclaw.supervisor import approvals_api
from netclaw.supervisor.callers import Caller
from netclaw.testing.people import ALICE
from netclaw.wire.v1 import admin_pb2, gateway_pb2
from netclaw.wire.v1.common_pb2 import Sender
from tests.supervisor.test_answers import is_asked, park_and_stay, say
from tests.supervisor.test_gateway import refused
from tests.supervisor.world import InProcess


@pytest.mark.requirement("approvals.first")
async def test_of_many_answers_through_the_socket_one_counts(world: InProcess) -> None:
    world.spawner.scripts = [park_and_stay]
    await world.send("hello", "do it")
    await world.until(is_asked(world))
    calls = [say(world, "once" if n % 2 else "refuse") for n in range(30)]
    results = await asyncio.gather(*calls, return_exceptions=True)
    counted = [item for item in results if not isinstance(item, BaseException)]
    assert len({item.seq for item in counted}) == 1
    assert sum(not item.duplicate for item in counted) == 1
    assert (await world.events("hello")).count("AnswerAdmitted") == 1


@pytest.mark.requirement("approvals.refused")
async def test_the_operator_answers_for_nobody_else(world: InProcess) -> None:
    world.spawner.scripts = [partial(park_and_stay, by=ALICE)]
    await world.send("hello", "do it")
    await world.until(is_asked(world))
    alice = Sender(sender_id="U1", boundary="slack:T1/C1", source_kind="slack")
    for sender in (alice, Sender(sender_id="U1", boundary="slack:T1/C1")):
        error = await refused(say(world, "once", sender=sender))
        assert isinstance(error, DeniedByPolicyError)
    assert isinstance(await refused(say(world, "once")), NotRequesterError)
    machine = Sender(sender_id="operator", principal="automation")
    assert isinstance(await refused(say(world, "once", sender=machine)), DeniedByPolicyError)
    assert isinstance(await refused(say(world, "maybe")), InvalidArgumentError)
    assert isinstance(await refused(say(world, "refuse", request_seq=1)), NotFoundError)
    assert "AnswerAdmitted" not in await world.events("hello")
    assert not (await say(world, "refuse")).duplicate


@pytest.mark.requirement("approvals.pending")
async def test_a_channel_sees_and_answers_only_what_its_sessions_ask(world: InProcess) -> None:
    world.spawner.scripts = [park_and_stay]
    await world.send("hello", "do it")
    await world.until(is_asked(world))
    slack = Caller(
        name="slack adapter",
        max_principal=Principal.TRUSTED,
        max_audience=Audience.TEAM,
        channels=frozenset({SourceKind.SLACK}),
    )
    token = world.supervisor.tokens.issue(slack)
    theirs = (("authorization", f"Bearer {token}"),)
    everything = gateway_pb2.ListApprovalsRequest()
    assert not (await world.gateway.ListApprovals(everything, metadata=theirs)).approvals
    listed = await world.gateway.ListApprovals(everything, metadata=world.metadata)
    (row,) = listed.approvals
    assert (row.session_id, row.tool, row.display) == ("hello", "shell_execute", "ls")
    assert [option.key for option in row.options] == ["once", "refuse"]
    one = gateway_pb2.ListApprovalsRequest(session_id="hello")
    assert isinstance(
        await refused(world.gateway.ListApprovals(one, metadata=theirs)), NotFoundError
    )
    answer = gateway_pb2.AnswerApprovalRequest(
        session_id="hello",
        call_id="c1",
        option="once",
        sender=Sender(sender_id="operator", source_kind="slack"),
    )
    assert isinstance(
        await refused(world.gateway.AnswerApproval(answer, metadata=theirs)), NotFoundError
    )


@pytest.mark.requirement("approvals.pending")
@pytest.mark.parametrize("bound", ["limit", "bytes"])
async def test_a_long_list_comes_in_pages(
    world: InProcess, monkeypatch: pytest.MonkeyPatch, bound: str
) -> None:
    world.spawner.default = park_and_stay
    for name in ("a", "b", "c"):
        await world.send(name, "do it")
        await world.until(is_asked(world, name))
    limit = 1 if bound == "limit" else 0
    if bound == "bytes":
        monkeypatch.setattr(approvals_api, "LIST_BYTES", 10)
    seen: list[str] = []
    after = 0
    for is_last in (False, False, True):
        request = gateway_pb2.ListApprovalsRequest(limit=limit, after=after)
        page = await world.gateway.ListApprovals(request, metadata=world.metadata)
        (row,) = page.approvals
        seen.append(row.session_id)
        after = row.position
        assert page.more is not is_last
    assert seen == ["a", "b", "c"]
    only = gateway_pb2.ListApprovalsRequest(session_id="b")
    listed = await world.gateway.ListApprovals(only, metadata=world.metadata)
    assert [row.session_id for row in listed.approvals] == ["b"]
    unknown = gateway_pb2.ListApprovalsRequest(session_id="nobody")
    call = world.gateway.ListApprovals(unknown, metadata=world.metadata)
    assert isinstance(await refused(call), NotFoundError)


@pytest.mark.requirement("approvals.pending")
@pytest.mark.parametrize("position", [2**63 - 1, 2**63, 2**64 - 1])
async def test_behind_every_position_that_can_be_named_there_is_nothing(
    world: InProcess, position: int
) -> None:
    world.spawner.scripts = [park_and_stay]
    await world.send("hello", "do it")
    await world.until(is_asked(world))
    request = gateway_pb2.ListApprovalsRequest(after=position)
    listed = await world.gateway.ListApprovals(request, metadata=world.metadata)
    assert not listed.approvals
    assert not listed.more
    rows = admin_pb2.ReadJournalRequest(session_id="hello", since_seq=position)
    assert not [row async for row in world.admin.ReadJournal(rows, metadata=world.metadata)]


@pytest.mark.requirement("approvals.who")
async def test_people_of_a_channel_answer_through_it_each_their_own(world: InProcess) -> None:
    world.spawner.scripts = [partial(park_and_stay, by=ALICE)]
    alice = Sender(sender_id="U1", source_kind="slack", boundary="slack:T1/C1")
    message = gateway_pb2.SendUserMessageRequest(
        session_id="C1/1", text="do it", create=True, sender=alice
    )
    await world.admin.Inject(message, metadata=world.metadata)
    await world.until(is_asked(world, "C1/1"))
    slack = Caller(
        name="slack adapter",
        max_principal=Principal.TRUSTED,
        max_audience=Audience.TEAM,
        channels=frozenset({SourceKind.SLACK}),
    )
    theirs = (("authorization", f"Bearer {world.supervisor.tokens.issue(slack)}"),)

    def says(sender: Sender) -> Awaitable[gateway_pb2.AnswerApprovalResponse]:
        answer = gateway_pb2.AnswerApprovalRequest(
            session_id="C1/1", call_id="c1", option="once", sender=sender
        )
        call: Awaitable[gateway_pb2.AnswerApprovalResponse] = world.gateway.AnswerApproval(
            answer, metadata=theirs
        )
        return call

    bob = Sender(sender_id="U2", source_kind="slack", boundary="slack:T1/C1")
    elsewhere = Sender(sender_id="U1", source_kind="slack", boundary="slack:T2/C1")
    nobody = Sender(source_kind="slack", boundary="slack:T1/C1")
    for sender in (bob, elsewhere, nobody):
        assert isinstance(await refused(says(sender)), NotRequesterError)
    assert isinstance(await refused(says(Sender(sender_id="U1"))), DeniedByPolicyError)
    listed = await world.gateway.ListApprovals(gateway_pb2.ListApprovalsRequest(), metadata=theirs)
    assert [(row.call_id, row.requester.sender_id) for row in listed.approvals] == [("c1", "U1")]
    assert not (await says(alice)).duplicate
    assert (await says(alice)).duplicate
    assert (await world.events("C1/1")).count("AnswerAdmitted") == 1
