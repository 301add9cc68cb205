"""Answers to consent requests, and faults that must stay in one session."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from netclaw.core.authority import Authority, Principal
from netclaw.core.errors import (
    NotFoundError,
)
from netclaw.core.exit_codes import ExitCode
from netclaw.core.ids import CallId, SessionId, TurnId
from netclaw.core.messages import AssistantMessage, Usage
from netclaw.core.session import events as ev
from netclaw.core.session.consent_events import ConsentRequest, ConsentRequested
from netclaw.core.tool_call import ToolCall
from netclaw.ports.journal import Commit
from netclaw.supervisor.slot import Slot
from netclaw.testing.people import OPERATOR
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
