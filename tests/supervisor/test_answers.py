"""Answers to consent requests, and faults that must stay in one session."""

from __future__ import annotations

import asyncio

import pytest

from netclaw.core.authority import Audience, Principal, SourceKind
from netclaw.core.errors import NotFoundError, NotRequesterError
from netclaw.core.exit_codes import ExitCode
from netclaw.core.ids import CallId
from netclaw.core.messages import AssistantMessage, Usage
from netclaw.core.session import events as ev
from netclaw.core.tool_call import ToolCall
from netclaw.ports.journal import Commit
from netclaw.supervisor.callers import Caller
from netclaw.supervisor.slot import Slot
from netclaw.wire.v1 import gateway_pb2
from netclaw.wire.v1.common_pb2 import Sender
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


def answer_by(sender_id: str, call_id: str = "c1") -> gateway_pb2.AnswerApprovalRequest:
    """An answer to the open request."""
    return gateway_pb2.AnswerApprovalRequest(
        session_id="hello", call_id=call_id, option="once", sender=Sender(sender_id=sender_id)
    )


@pytest.mark.requirement("supervisor.answers")
async def test_an_answer_is_durable_once_and_starts_a_passive_session(world: InProcess) -> None:
    world.spawner.scripts = [ask_and_leave, stay_ready]
    await world.send("hello", "do it", sender=Sender(sender_id="U1"))

    async def is_asked() -> bool:
        return "RoundRecorded" in await world.events("hello")

    await world.until(is_asked)
    await world.admin_call("StopSession", "hello")
    assert (await world.row("hello")).phase == "passive"
    gateway = world.gateway
    error = await refused(gateway.AnswerApproval(answer_by("U2"), metadata=world.metadata))
    assert isinstance(error, NotRequesterError)
    error = await refused(gateway.AnswerApproval(answer_by("U1", "c9"), metadata=world.metadata))
    assert isinstance(error, NotFoundError)
    assert len(world.spawner.processes) == 1
    answer = await gateway.AnswerApproval(answer_by("U1"), metadata=world.metadata)
    await world.until(lambda: len(world.spawner.peers) == 2)
    await world.until(lambda: bool(world.spawner.peers[1].state.answers))
    stored = world.spawner.peers[1].state.answers[0]
    assert (stored.call_id, stored.option, stored.answerer) == ("c1", "once", "U1")
    assert answer.seq == (await world.row("hello")).head_seq
    error = await refused(gateway.AnswerApproval(answer_by("U1"), metadata=world.metadata))
    assert isinstance(error, NotFoundError)


@pytest.mark.requirement("supervisor.answers")
async def test_a_connection_of_another_channel_may_not_answer(world: InProcess) -> None:
    world.spawner.scripts = [ask_and_leave]
    await world.send("hello", "do it")

    async def is_asked() -> bool:
        return "RoundRecorded" in await world.events("hello")

    await world.until(is_asked)
    token = world.supervisor.tokens.issue(
        Caller(
            name="slack adapter",
            max_principal=Principal.TRUSTED,
            max_audience=Audience.TEAM,
            channels=frozenset({SourceKind.SLACK}),
        )
    )
    metadata = (("authorization", f"Bearer {token}"),)
    error = await refused(world.gateway.AnswerApproval(answer_by(""), metadata=metadata))
    assert isinstance(error, NotRequesterError)


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
