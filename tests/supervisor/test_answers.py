"""Answers to consent requests, and faults that must stay in one session."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial

import pytest

from netclaw.core.authority import Audience, Authority, Principal, SourceKind
from netclaw.core.errors import (
    DeniedByPolicyError,
    InvalidArgumentError,
    NotFoundError,
    NotRequesterError,
)
from netclaw.core.exit_codes import ExitCode
from netclaw.core.ids import CallId, SessionId, TurnId
from netclaw.core.messages import AssistantMessage, Usage
from netclaw.core.session import events as ev
from netclaw.core.session.consent_events import ConsentRequest, ConsentRequested
from netclaw.core.tool_call import ToolCall
from netclaw.ports.journal import Commit
from netclaw.supervisor import approvals_api
from netclaw.supervisor.callers import Caller
from netclaw.supervisor.slot import Slot
from netclaw.testing.people import ALICE, OPERATOR
from netclaw.testing.story import NEEDS_CONSENT
from netclaw.wire.v1 import gateway_pb2
from netclaw.wire.v1.common_pb2 import Sender
from netclaw.wire.v1.session_host_pb2 import HostCommand
from tests.supervisor.peers import Peer, stay_ready
from tests.supervisor.test_gateway import refused
from tests.supervisor.world import InProcess

CALL = ToolCall(call_id=CallId("c1"), provider_call_id="p", name="shell_execute", arguments="{}")


async def ask_and_leave(peer: Peer) -> int:
    """Record a round whose call waits for consent, then passivate."""
    await peer.connect()
    await peer.phase("ready")
    turn = await peer.start_turn()
    asked = ev.RoundRecorded(
        turn_id=turn,
        round=0,
        message=AssistantMessage(text="", at=1, calls=(CALL,)),
        usage=Usage(),
        model="m",
    )
    await peer.committed(await peer.append(asked))
    await peer.phase("ready")
    await peer.expect("command")
    return int(ExitCode.PASSIVATED)


async def park_and_leave(peer: Peer) -> int:
    """Record a round whose call a person is asked for, then passivate."""
    await park(peer)
    await peer.expect("command")
    return int(ExitCode.PASSIVATED)


async def park_and_stay(peer: Peer, *, by: Authority = OPERATOR) -> int:
    """The same, but it goes on reading."""
    await park(peer, by=by)
    while await peer.read() is not None:
        pass
    return int(ExitCode.STREAM_LOST)


async def park(peer: Peer, *, by: Authority = OPERATOR) -> None:
    """Record a round whose call a person is asked for."""
    await peer.connect()
    await peer.phase("ready")
    turn = await peer.start_turn()
    request = ConsentRequest(
        call_id=CALL.call_id,
        tool=CALL.name,
        display="ls",
        candidates=("ls",),
        options=NEEDS_CONSENT.options,
        requester=by.requester,
    )
    asked = ev.RoundRecorded(
        turn_id=turn,
        round=0,
        message=AssistantMessage(text="", at=1, calls=(CALL,)),
        usage=Usage(),
        model="m",
    )
    requested = ConsentRequested(turn_id=turn, request=request)
    await peer.committed(await peer.append(asked, requested))
    await peer.phase("ready")


@pytest.mark.requirement("supervisor.answers")
@pytest.mark.requirement("consent.passive")
async def test_a_durable_answer_starts_a_passive_session(world: InProcess) -> None:
    world.spawner.scripts = [park_and_leave, stay_ready]
    await world.send("hello", "do it")
    await world.until(is_asked(world))
    # Nobody told it to rest: its turn waits for a person alone, so no start is due.
    slot = world.supervisor.router.slot(SessionId("hello"))
    assert slot.live is not None
    slot.live.command(HostCommand(kind="passivate"))
    await world.until(lambda: slot.keeper is None)
    assert (await world.row("hello")).phase == "passive"
    assert len(world.spawner.peers) == 1
    listed = await world.gateway.ListApprovals(
        gateway_pb2.ListApprovalsRequest(), metadata=world.metadata
    )
    assert [row.call_id for row in listed.approvals] == [CALL.call_id]
    response = await say(world, "once")
    assert response.seq == (await world.row("hello")).head_seq
    await world.until(lambda: len(world.spawner.peers) == 2)
    await world.until(lambda: bool(world.spawner.peers[1].state.answers))
    assert world.spawner.peers[1].state.answers == (
        ev.AnswerAdmitted(
            call_id=CALL.call_id,
            option="once",
            answerer="operator",
            boundary="local",
            principal=Principal.OPERATOR,
        ),
    )


async def say(
    world: InProcess, option: str, *, sender: Sender | None = None, request_seq: int = 0
) -> gateway_pb2.AnswerApprovalResponse:
    """Answer the request of session `hello`, as the operator if nobody else is named."""
    request = gateway_pb2.AnswerApprovalRequest(
        session_id="hello",
        call_id=CALL.call_id,
        option=option,
        sender=sender or Sender(sender_id="operator"),
        request_seq=request_seq,
    )
    response: gateway_pb2.AnswerApprovalResponse = await world.gateway.AnswerApproval(
        request, metadata=world.metadata
    )
    return response


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


async def stop_turn(world: InProcess) -> bool:
    """A person stops the turn; whether there was one."""
    request = gateway_pb2.StopTurnRequest(session_id="hello")
    return (await world.gateway.StopTurn(request, metadata=world.metadata)).was_running


@pytest.mark.requirement("supervisor.stop-early")
async def test_a_stop_reaches_a_turn_that_waits_for_a_person(world: InProcess) -> None:
    told: list[str] = []

    async def parks(peer: Peer) -> int:
        status = await park_and_leave(peer)
        told.append("here")
        return status

    world.spawner.scripts = [parks]
    await world.send("hello", "do it")
    await world.until(is_asked(world))
    await world.until_phase("hello", "ready")
    assert await stop_turn(world)
    await world.until(lambda: told == ["here"])


@pytest.mark.requirement("supervisor.stop-early")
async def test_a_stop_starts_a_passive_session_whose_turn_waits_and_spares_the_next_turn(
    world: InProcess,
) -> None:
    seen: list[str] = []

    async def stops(peer: Peer) -> int:
        await peer.connect()
        await peer.phase("ready")
        seen.append((await peer.expect("command")).command.kind)
        turn = peer.state.turn
        assert turn is not None
        while not peer.state.buffered:
            await peer.read()
        waiting = peer.state.buffered[0].admitted
        ended = ev.TurnRecorded(
            turn_id=turn.turn_id,
            message=AssistantMessage(text="", at=1),
            outcome=ev.TurnOutcome.STOPPED,
            usage=Usage(),
            model="",
            input_ids=turn.input_ids,
        )
        begun = ev.TurnStarted(
            turn_id=TurnId("t2"), input_ids=(waiting.input_id,), authority=waiting.authority
        )
        await peer.committed(await peer.append(ended, begun))
        await peer.phase("processing")
        await peer.finish_turn(TurnId("t2"), "not stopped")
        seen.extend(
            frame.command.kind
            for frame in peer.passed_over
            if frame.WhichOneof("body") == "command"
        )
        seen.append("done")
        return await stay_ready(peer)

    world.spawner.scripts = [park_and_leave, stops]
    await world.send("hello", "do it")
    await world.until(is_asked(world))
    slot = world.supervisor.router.slot(SessionId("hello"))
    assert slot.live is not None
    slot.live.command(HostCommand(kind="passivate"))
    await world.until(lambda: slot.keeper is None)
    assert await stop_turn(world)
    await world.until(lambda: seen == ["stop_turn"])
    await world.send("hello", "and then")
    await world.until(lambda: seen[-1] == "done")
    assert seen == ["stop_turn", "done"]


@pytest.mark.requirement("supervisor.answers")
async def test_a_call_that_waits_is_no_consent_request_and_cannot_be_answered(
    world: InProcess,
) -> None:
    world.spawner.scripts = [ask_and_leave]
    await world.send("hello", "do it")
    await world.until(is_asked(world))
    request = gateway_pb2.AnswerApprovalRequest(session_id="hello", call_id="c1", option="once")
    answers = [world.gateway.AnswerApproval(request, metadata=world.metadata) for _ in range(2)]
    errors = await asyncio.gather(*map(refused, answers))
    assert [type(error) for error in errors] == [NotFoundError] * 2
    assert "AnswerAdmitted" not in await world.events("hello")


def is_asked(world: InProcess, session_id: str = "hello") -> Callable[[], Awaitable[bool]]:
    """Whether the round with the call is recorded."""

    async def look() -> bool:
        return "RoundRecorded" in await world.events(session_id)

    return look


@pytest.mark.requirement("supervisor.fault-containment")
async def test_a_commit_that_cannot_be_handled_costs_one_process_of_one_session(
    world: InProcess, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    world.spawner.default = stay_ready
    for name in ("bad", "good"):
        await world.send(name, "x")
        await world.until_phase(name, "ready")
    handle = Slot.on_commit

    def fail_once(slot: Slot, commit: Commit) -> None:
        if slot.session_id == "bad":
            monkeypatch.setattr(Slot, "on_commit", handle)
            raise RuntimeError("cannot handle this")
        handle(slot, commit)

    monkeypatch.setattr(Slot, "on_commit", fail_once)
    await asyncio.gather(world.send("bad", "y"), world.send("good", "y"))
    await world.until(lambda: len(world.spawner.processes) == 3)
    third = world.spawner.peers[2]
    await world.until(lambda: len(third.state.buffered) == 2)
    assert third.bootstrap.session_id == "bad"
    assert world.spawner.processes[1].is_alive
    assert "was not handled" in caplog.text
