"""The public service over its real socket."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import grpc
import grpc.aio
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc

from netclaw.core.errors import (
    InternalError,
    InvalidArgumentError,
    NetclawError,
    NotFoundError,
    QueueFullError,
    TooLargeError,
    UnauthenticatedError,
)
from netclaw.core.exit_codes import ExitCode
from netclaw.core.ids import SessionId
from netclaw.core.settings import DaemonSettings
from netclaw.wire.errors import from_rpc_error
from netclaw.wire.v1 import admin_pb2, gateway_pb2
from netclaw.wire.v1.common_pb2 import MediaRef, Sender
from tests.supervisor.peers import Peer, stay_ready
from tests.supervisor.world import InProcess

AnyStream = grpc.aio.StreamStreamCall[bytes, bytes]
AnyMany = grpc.aio.UnaryStreamMultiCallable[bytes, bytes]


async def refused(call: Any) -> NetclawError:
    """The error of a call that must fail."""
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await call
    return from_rpc_error(caught.value)


@pytest.mark.requirement("supervisor.admit-before-ack")
async def test_a_message_is_durable_when_it_is_acknowledged_even_if_nothing_starts(
    world: InProcess,
) -> None:
    world.spawner.failures = [InternalError("no process today")] * 100
    sent = await world.send("hello", "hi", source_message_id="m1")
    rows = await world.store.read_journal(
        SessionId("hello"),
        since=0,
        limit=10,
    )
    assert [(row.seq, row.type) for row in rows] == [(1, "SessionCreated"), (2, "InputAdmitted")]
    assert sent.seq == 2


@pytest.mark.requirement("supervisor.resend-is-safe")
async def test_a_resend_answers_the_first_admission_and_can_be_looked_up(world: InProcess) -> None:
    first = await world.send("hello", "hi", source_message_id="m1")
    again = await world.send("hello", "hi", source_message_id="m1")
    assert (again.input_id, again.seq, again.duplicate) == (first.input_id, first.seq, True)
    other = gateway_pb2.SendUserMessageRequest(
        session_id="hello", text="something else", source_message_id="m1"
    )
    error = await refused(world.gateway.SendUserMessage(other, metadata=world.metadata))
    assert isinstance(error, InvalidArgumentError)
    assert "used for another message" in error.sentence
    found = await world.gateway.FindInput(
        gateway_pb2.FindInputRequest(session_id="hello", source_message_id="m1"),
        metadata=world.metadata,
    )
    assert (found.input_id, found.seq) == (first.input_id, first.seq)
    unknown = gateway_pb2.FindInputRequest(session_id="hello", source_message_id="m2")
    error = await refused(world.gateway.FindInput(unknown, metadata=world.metadata))
    assert isinstance(error, NotFoundError)


@pytest.mark.requirement("supervisor.wake-on-commit")
async def test_a_sender_that_leaves_before_the_answer_still_starts_the_session(
    world: InProcess,
) -> None:
    await world.ensure("hello")
    request = gateway_pb2.SendUserMessageRequest(session_id="hello", text="bye")
    call = world.gateway.SendUserMessage(request, metadata=world.metadata)
    async with world.attached("hello") as watcher:
        await world.until(lambda: bool(world.spawner.bootstraps) or call.done())
        call.cancel()
        seen = await watcher.until("turn_completed")
    assert [output.text for output in seen if output.type == "text"] == ["bye"]


@pytest.mark.requirement("supervisor.bad-input")
@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"text": ""}, InvalidArgumentError),
        ({"text": " \n"}, InvalidArgumentError),
        ({"text": "a\0b"}, InvalidArgumentError),
        ({"text": "x" * (1024 * 1024 + 1)}, TooLargeError),
        ({"text": "x", "session_id": ""}, InvalidArgumentError),
        ({"text": "x", "session_id": "a\nb"}, InvalidArgumentError),
        ({"text": "x", "session_id": "n" * 257}, InvalidArgumentError),
        ({"text": "x", "source_message_id": "m" * 600}, InvalidArgumentError),
        ({"text": "x", "sender": Sender(principal="king")}, InvalidArgumentError),
        ({"text": "x", "sender": Sender(source_kind="pigeon")}, InvalidArgumentError),
        ({"text": "x", "sender": Sender(boundary="a\tb")}, InvalidArgumentError),
        ({"text": "x", "sender": Sender(authenticity="Sworn")}, InvalidArgumentError),
        ({"text": "x", "media": [MediaRef(upload_id="nope")]}, InvalidArgumentError),
        ({"text": "x", "media": [MediaRef(upload_id="a" * 16)]}, NotFoundError),
    ],
)
async def test_bad_input_has_a_code_and_changes_nothing(
    world: InProcess, fields: dict[str, Any], expected: type[NetclawError]
) -> None:
    await world.ensure("hello")
    request = gateway_pb2.SendUserMessageRequest(**({"session_id": "hello"} | fields))
    error = await refused(world.gateway.SendUserMessage(request, metadata=world.metadata))
    assert type(error) is expected
    assert error.sentence
    assert error.fix
    assert await world.events("hello") == ["SessionCreated"]


@pytest.mark.requirement("supervisor.bad-input")
@pytest.mark.parametrize("raw", [b"\x12\x02\xff\xfe", b"\x0a\xff"])
async def test_bytes_that_are_no_message_are_an_invalid_argument(
    world: InProcess, raw: bytes
) -> None:
    call: grpc.aio.UnaryUnaryMultiCallable[bytes, bytes] = world.channel.unary_unary(
        "/netclaw.v1.Gateway/SendUserMessage"
    )
    error = await refused(call(raw, metadata=world.metadata))
    assert isinstance(error, InvalidArgumentError)


@pytest.mark.requirement("supervisor.session-ids")
@pytest.mark.parametrize("session_id", ["C1/17.1", "cli/", "cli/x/sub/y", "webhook/x/1"])
async def test_a_key_of_somebody_else_is_not_created_by_naming_it(
    world: InProcess, session_id: str
) -> None:
    request = gateway_pb2.SendUserMessageRequest(session_id=session_id, text="x", create=True)
    error = await refused(world.gateway.SendUserMessage(request, metadata=world.metadata))
    assert isinstance(error, NotFoundError)
    ensure = gateway_pb2.EnsureSessionRequest(session_id=session_id)
    error = await refused(world.gateway.EnsureSession(ensure, metadata=world.metadata))
    assert isinstance(error, NotFoundError)


@pytest.mark.requirement("supervisor.session-ids")
async def test_names_and_cli_ids_are_created_once(world: InProcess) -> None:
    assert (await world.ensure("cli/abcdefghij")).created
    assert not (await world.ensure("cli/abcdefghij")).created
    minted = await world.ensure("")
    assert minted.created
    assert minted.session_id.startswith("cli/")
    assert (await world.ensure("Notes")).created
    assert (await world.ensure("notes")).created
    assert (await world.ensure("cli/my notes")).created
    strict = gateway_pb2.EnsureSessionRequest(session_id="other", must_exist=True)
    error = await refused(world.gateway.EnsureSession(strict, metadata=world.metadata))
    assert isinstance(error, NotFoundError)
    every = {"cli/abcdefghij", "cli/my notes", minted.session_id, "Notes", "notes", "zoo"}
    await world.ensure("zoo")
    found: list[str] = []
    while len(found) < len(every):
        page = await world.gateway.ListSessions(
            gateway_pb2.ListSessionsRequest(limit=2, after_id=found[-1] if found else ""),
            metadata=world.metadata,
        )
        assert len(page.sessions) == 2
        found.extend(row.id for row in page.sessions)
    assert found == sorted(every)


@pytest.mark.requirement("supervisor.tokens")
async def test_no_method_but_health_answers_without_a_valid_token(world: InProcess) -> None:
    methods = [
        method
        for file, name in ((gateway_pb2, "Gateway"), (admin_pb2, "Admin"))
        for method in file.DESCRIPTOR.services_by_name[name].methods
    ]
    assert len(methods) > 20
    for method in methods:
        path = f"/{method.containing_service.full_name}/{method.name}"
        for metadata in ((), (("authorization", "Bearer wrong"),), (("authorization", "x"),)):
            error = await refused(_any_call(world, path, method.client_streaming, metadata))
            assert isinstance(error, UnauthenticatedError), path


async def _any_call(
    world: InProcess, path: str, is_stream: bool, metadata: tuple[tuple[str, str], ...]
) -> None:
    """Call any method with an empty request and read its end."""
    if is_stream:
        stream: AnyStream = world.channel.stream_stream(path)(metadata=metadata)
        await stream.done_writing()
        await stream.read()
        code, details = await stream.code(), await stream.details()
        trailing = await stream.trailing_metadata()
    else:
        many: AnyMany = world.channel.unary_stream(path)
        call = many(b"", metadata=metadata)
        await call.read()
        code, details = await call.code(), await call.details()
        trailing = await call.trailing_metadata()
    raise grpc.aio.AioRpcError(code, grpc.aio.Metadata(), trailing, details)


@pytest.mark.requirement("supervisor.discovery")
async def test_health_is_open_and_reflection_lists_the_services(world: InProcess) -> None:
    health = health_pb2_grpc.HealthStub(world.channel)
    answer = await health.Check(health_pb2.HealthCheckRequest(service="netclaw.v1.Gateway"))
    assert answer.status == health_pb2.HealthCheckResponse.SERVING
    reflection = reflection_pb2_grpc.ServerReflectionStub(world.channel)
    requests = [
        reflection_pb2.ServerReflectionRequest(list_services=""),
        reflection_pb2.ServerReflectionRequest(file_containing_symbol="netclaw.v1.Gateway"),
    ]
    answers = [
        found
        async for found in reflection.ServerReflectionInfo(iter(requests), metadata=world.metadata)
    ]
    names = {service.name for service in answers[0].list_services_response.service}
    assert {"netclaw.v1.Gateway", "netclaw.v1.Admin", "grpc.health.v1.Health"} <= names
    files = b"".join(answers[1].file_descriptor_response.file_descriptor_proto)
    assert b"SendUserMessage" in files
    bare = reflection.ServerReflectionInfo(iter(requests))
    with pytest.raises(grpc.aio.AioRpcError):
        await bare.read()


async def test_more_than_the_limit_of_waiting_inputs_is_refused() -> None:
    async with InProcess(script=stay_ready, daemon=DaemonSettings(pending_inputs_max=2)) as world:
        await world.send("hello", "1")
        await world.send("hello", "2")
        request = gateway_pb2.SendUserMessageRequest(session_id="hello", text="3")
        error = await refused(world.gateway.SendUserMessage(request, metadata=world.metadata))
        assert isinstance(error, QueueFullError)


@pytest.mark.requirement("supervisor.ingest")
async def test_batches_are_answered_in_order_each_message_with_its_own_outcome(
    world: InProcess,
) -> None:
    names = [f"s{number}" for number in range(4)]
    for name in names:
        await world.ensure(name)

    async def batches() -> AsyncIterator[gateway_pb2.IngestBatch]:
        for number in range(20):
            yield gateway_pb2.IngestBatch(
                messages=[
                    gateway_pb2.SendUserMessageRequest(
                        session_id=name, text=f"{number}", source_message_id=f"m{number}"
                    )
                    for name in (*names, "unknown", "s0")
                ]
            )

    answers = [answer async for answer in world.gateway.Ingest(batches(), metadata=world.metadata)]
    assert len(answers) == 20
    for answer in answers:
        assert [result.code for result in answer.results] == ["", "", "", "", "not_found", ""]
        assert answer.results[5].admitted.duplicate
        assert answer.results[5].admitted.seq == answer.results[0].admitted.seq
    order = [answer.results[0].admitted.seq for answer in answers]
    assert order == sorted(order)


@pytest.mark.requirement("supervisor.ingest")
async def test_a_malformed_batch_ends_the_stream_after_the_answers_before_it(
    world: InProcess,
) -> None:
    await world.ensure("s0")
    good = gateway_pb2.IngestBatch(
        messages=[gateway_pb2.SendUserMessageRequest(session_id="s0", text="x")]
    )
    call: AnyStream = world.channel.stream_stream("/netclaw.v1.Gateway/Ingest")(
        metadata=world.metadata
    )
    await call.write(good.SerializeToString())
    await call.write(b"\xff\xff")
    answer = await call.read()
    assert isinstance(answer, bytes)
    first = gateway_pb2.IngestBatchResult.FromString(answer)
    assert first.results[0].admitted.seq == 2
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await call.read()
    assert isinstance(from_rpc_error(caught.value), InvalidArgumentError)


@pytest.mark.requirement("supervisor.wake-on-commit")
async def test_stopping_a_turn_reaches_the_process_that_runs_it(world: InProcess) -> None:
    stopped = asyncio.Event()

    async def long_turn(peer: Peer) -> int:
        await peer.connect()
        await peer.phase("ready")
        while not peer.state.buffered:
            await peer.read()
        await peer.start_turn()
        frame = await peer.expect("command")
        assert (frame.command.kind, frame.command.actor) == ("stop_turn", "operator")
        stopped.set()
        return ExitCode.PASSIVATED

    world.spawner.scripts = [long_turn]
    await world.ensure("hello")
    stop = gateway_pb2.StopTurnRequest(session_id="hello")
    idle = await world.gateway.StopTurn(stop, metadata=world.metadata)
    assert not idle.was_running
    await world.send("hello", "work")
    await world.until_phase("hello", "processing")
    answer = await world.gateway.StopTurn(stop, metadata=world.metadata)
    assert answer.was_running
    await asyncio.wait_for(stopped.wait(), 15)


async def test_history_ledger_and_detail_tell_what_happened(world: InProcess) -> None:
    await world.ensure("hello")
    async with world.attached("hello") as watcher:
        sent = await world.send("hello", "what is it", sender=Sender(sender_id="me"))
        await watcher.until("turn_completed")
    history = await world.gateway.GetHistory(
        gateway_pb2.GetHistoryRequest(session_id="hello"), metadata=world.metadata
    )
    assert [(item.role, item.text) for item in history.items] == [
        ("user", "what is it"),
        ("assistant", "what is it"),
    ]
    newest = await world.gateway.GetHistory(
        gateway_pb2.GetHistoryRequest(session_id="hello", limit=1), metadata=world.metadata
    )
    assert [item.role for item in newest.items] == ["assistant"]
    ledger = await world.gateway.GetLedger(
        gateway_pb2.GetLedgerRequest(session_id="hello"), metadata=world.metadata
    )
    assert [(entry.input_id, entry.outcome) for entry in ledger.entries] == [
        (sent.input_id, "completed")
    ]
    detail = await world.gateway.GetSession(
        gateway_pb2.GetSessionRequest(session_id="hello"), metadata=world.metadata
    )
    assert detail.tokens.input_tokens == 3
    assert detail.row.turns == 1
    assert detail.storage_root.startswith(str(world.home.sessions_dir))


@pytest.mark.requirement("supervisor.stop-early")
async def test_a_stop_before_the_turn_has_begun_ends_that_turn_and_no_later_one(
    world: InProcess,
) -> None:
    gate, commands = asyncio.Event(), 0

    async def slow_start(peer: Peer) -> int:
        nonlocal commands
        await gate.wait()
        await peer.connect()
        await peer.phase("ready")
        turn = await peer.start_turn()
        frame = await peer.expect("command")
        assert frame.command.kind == "stop_turn"
        await peer.finish_turn(turn, "stopped")
        while not peer.state.buffered:
            await peer.read()
        await peer.finish_turn(await peer.start_turn(), "not stopped")
        commands = sum(frame.WhichOneof("body") == "command" for frame in peer.passed_over)
        while await peer.read() is not None:
            pass
        return ExitCode.STREAM_LOST

    world.spawner.scripts = [slow_start]
    await world.ensure("hello")
    stop = gateway_pb2.StopTurnRequest(session_id="hello")
    async with world.attached("hello", 1) as watcher:
        await world.send("hello", "work")
        for _ in range(2):
            answer = await world.gateway.StopTurn(stop, metadata=world.metadata)
            assert answer.was_running
        gate.set()
        await watcher.until("turn_completed")
        await world.send("hello", "more")
        seen = await watcher.until("turn_completed", 2)
    assert [o.text for o in seen if o.type == "text"] == ["stopped", "not stopped"]
    await world.until(lambda: commands == 0)
    idle = await world.gateway.StopTurn(stop, metadata=world.metadata)
    assert not idle.was_running


async def test_answering_what_nobody_asked_is_not_found(world: InProcess) -> None:
    await world.ensure("hello")
    request = gateway_pb2.AnswerApprovalRequest(session_id="hello", call_id="c1", option="once")
    error = await refused(world.gateway.AnswerApproval(request, metadata=world.metadata))
    assert isinstance(error, NotFoundError)
