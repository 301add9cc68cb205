"""The daemon as a whole: start, refusal, restart in place, drain, degraded life, hung sessions."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc

from netclaw.wire.v1 import gateway_pb2
from tests.process.checks import UNPRIVILEGED, can_be_traced, check_journal, is_alive
from tests.process.errors import code_of
from tests.process.world import World
from tests.stopping import stop

pytestmark = pytest.mark.timeout(90)


@pytest.mark.requirement("daemon.restart-in-place")
async def test_a_restart_keeps_the_pid_and_every_session(world: World) -> None:
    peer = world.peer
    await peer.turn("kept", "[[reply:before]]")
    before = await peer.status()
    await world.restart()

    after = await peer.status()
    assert after.pid == before.pid == world.pid
    assert after.generation == before.generation + 1
    assert (await peer.turn("kept", "[[reply:after]]")).text == "after"
    answers = [item.text for item in await peer.history("kept") if item.role == "assistant"]
    assert answers == ["before", "after"]
    check_journal(await peer.journal("kept"))


@pytest.mark.requirement("daemon.restart-needs-valid-config")
async def test_a_restart_onto_a_broken_configuration_is_refused(world: World) -> None:
    (world.home / "config" / "netclaw.json").write_text('{"Session": ')
    with pytest.raises(grpc.aio.AioRpcError) as raised:
        await world.peer.shutdown(is_restart=True)
    assert code_of(raised.value) == "invalid_argument"
    assert (await world.peer.turn("unharmed", "[[reply:yes]]")).text == "yes"


@pytest.mark.requirement("daemon.config-edit")
async def test_an_edit_of_the_configuration_restarts_and_an_equal_one_does_nothing(
    world: World,
) -> None:
    peer = world.peer
    await peer.turn("kept", "[[reply:before]]")
    before = await peer.status()
    world.edit_config({})  # the same content, written again
    world.edit_config({"Session": {"PrefillTimeoutSeconds": 61}})
    await world.wait_generation(before.generation + 1)

    assert (await peer.status()).pid == before.pid
    assert (await peer.turn("kept", "[[reply:after]]")).text == "after"
    world.edit_config({"Session": {"PrefillTimeoutSeconds": 0}})  # invalid: keep running
    await world.until(lambda: "was not reloaded" in world.daemon_log)
    assert (await peer.turn("kept", "[[reply:still]]")).text == "still"
    assert (await peer.status()).generation == before.generation + 1


@pytest.mark.requirement("daemon.no-inspection")
async def test_no_process_that_holds_credentials_can_be_inspected_by_its_user() -> None:
    async with World(launcher=UNPRIVILEGED) as world:
        await world.start()
        await world.peer.turn("secret", "[[reply:x]]")
        row = (await world.peer.rows())["secret"]
        zygote = (await world.peer.wait_status(lambda s: s.zygote_pid != 0)).zygote_pid
        assert can_be_traced(zygote)  # holds nothing, and shows that the look itself works
        for pid in (world.pid, row.pid):
            assert not can_be_traced(pid)


@pytest.mark.requirement("daemon.drain-resumes")
async def test_a_tool_loop_stopped_by_a_restart_goes_on_by_itself(world: World) -> None:
    peer = world.peer
    await peer.ensure("loop")
    call = json.dumps({"command": "echo step >> steps.txt"})
    sent = await peer.send(
        "loop", f"[[tool:shell_execute {call}]] [[next]] [[gate:go]][[reply:done]]"
    )
    await world.until_requests(2)
    await world.at_gate("go")
    await world.restart()
    world.open_gate("go")

    turn = await peer.follow("loop", sent)
    assert turn.text == "done"
    assert turn.error is None
    root = Path((await peer.detail("loop")).storage_root)
    assert (root / "workspace" / "steps.txt").read_text() == "step\n"
    check_journal(await peer.journal("loop"))


@pytest.mark.requirement("upstream.rows-after-kill")
async def test_a_graceful_stop_ends_within_its_budget_and_leaves_nothing(world: World) -> None:
    await world.peer.turn("idle", "[[reply:x]]")
    pids = [row.pid for row in (await world.peer.rows()).values() if row.pid]
    status = await world.stop()

    assert status == 0
    assert not [pid for pid in pids if is_alive(pid)]
    assert not (world.home / "run" / "netclawd.sock").exists()


@pytest.mark.requirement("daemon.second-refused")
async def test_a_second_daemon_is_refused_and_the_first_is_not_disturbed(world: World) -> None:
    first = world.process
    status, words = await world.refuse_to_start()
    world.process = first

    assert status == 1
    assert "already" in words
    assert (await world.peer.turn("still", "[[reply:here]]")).text == "here"


async def test_a_stale_lock_file_and_socket_of_a_killed_daemon_are_no_obstacle(
    world: World,
) -> None:
    await world.kill()
    assert (world.home / "run" / "netclawd.sock").exists()
    await world.start()
    assert (await world.peer.turn("again", "[[reply:yes]]")).text == "yes"


@pytest.mark.requirement("daemon.persistence-section")
async def test_a_persistence_section_fails_startup_with_one_sentence() -> None:
    async with World(config={"Persistence": {"Provider": "memory"}}) as world:
        status, words = await world.refuse_to_start()
        assert status == 1
        assert "Persistence" in words
        assert "Traceback" not in words


async def test_a_malformed_configuration_fails_startup_with_its_place() -> None:
    async with World() as world:
        (world.home / "config" / "netclaw.json").write_text('{"Session": {,}}')
        status, words = await world.refuse_to_start()
        assert status == 1
        assert "line 1" in words
        assert "Traceback" not in words


@pytest.mark.requirement("daemon.degraded")
async def test_without_a_model_the_daemon_answers_each_turn_with_the_reason() -> None:
    async with World(has_model=False) as world:
        await world.start()
        turn = await world.peer.turn("mute", "hello")
        assert turn.error is not None
        assert "model" in turn.error.text
        status = await world.peer.status()
        assert status.degraded_reason


async def test_an_unreachable_model_fails_the_turn_and_not_the_session(world: World) -> None:
    peer = world.peer
    turn = await peer.turn("refused", "[[status:500:99]]")
    assert turn.error is not None
    assert turn.error.category == "ProviderFailure"
    assert turn.error.reference
    assert (await peer.turn("refused", "[[reply:fine]]")).text == "fine"


@pytest.mark.requirement("daemon.zygote-lost")
async def test_sessions_start_without_the_zygote_and_a_new_one_follows(world: World) -> None:
    peer = world.peer
    await peer.turn("first", "[[reply:one]]")
    zygote = (await peer.wait_status(lambda status: status.zygote_pid != 0)).zygote_pid
    os.kill(zygote, signal.SIGKILL)

    assert (await peer.turn("second", "[[reply:two]]")).text == "two"
    assert (await peer.turn("first", "[[reply:three]]")).text == "three"
    await peer.wait_status(lambda status: status.zygote_pid not in {0, zygote})


@pytest.mark.requirement("daemon.hung-session")
async def test_a_session_that_stops_answering_is_killed_and_recovers() -> None:
    config = {"Session": {"Limits": {"LivenessSeconds": 3}}}
    async with World(config=config) as world:
        await world.start()
        peer = world.peer
        await peer.ensure("hung")
        sent = await peer.send("hung", "[[gate:wait:1]][[reply:recovered]]")
        await world.at_gate("wait")
        row = (await peer.rows())["hung"]
        # Stopped by the kernel: alive, and answers nothing, as a session stuck in C code would.
        stop(row.pid)
        turn = await peer.follow("hung", sent)
        assert turn.text == "recovered"
        assert (await peer.rows())["hung"].pid != row.pid
        assert not is_alive(row.pid)


@pytest.mark.requirement("daemon.bad-requests")
@pytest.mark.parametrize(
    ("session_id", "text", "code"),
    [
        ("", "", "invalid_argument"),
        ("known", "", "invalid_argument"),
        ("known", "nul \0 inside", "invalid_argument"),
        ("known", "x" * (1024 * 1024 + 1), "too_large"),
        ("known", "x" * (10 * 1024 * 1024), "too_large"),
        ("C0/unknown.thread", "hello", "not_found"),
        ("a\nb", "hello", "invalid_argument"),
        ("x" * 257, "hello", "invalid_argument"),
    ],
)
async def test_malformed_messages_get_a_stable_code(
    world: World, session_id: str, text: str, code: str
) -> None:
    await world.peer.ensure("known")
    with pytest.raises(grpc.aio.AioRpcError) as raised:
        await world.peer.send(session_id, text)
    assert code_of(raised.value) == code
    assert (await world.peer.turn("known", "[[reply:still here]]")).text == "still here"


@pytest.mark.requirement("daemon.auth")
@pytest.mark.parametrize("metadata", [(), (("authorization", "Bearer wrong"),)])
async def test_a_call_without_the_token_is_unauthenticated(
    world: World, metadata: tuple[tuple[str, str], ...]
) -> None:
    with pytest.raises(grpc.aio.AioRpcError) as raised:
        await world.peer.gateway.ListSessions(gateway_pb2.ListSessionsRequest(), metadata=metadata)
    assert raised.value.code() is grpc.StatusCode.UNAUTHENTICATED
    assert code_of(raised.value) == "unauthenticated"


@pytest.mark.requirement("daemon.reflection")
async def test_reflection_and_health_answer_a_stock_client(world: World) -> None:
    metadata = world.peer.metadata
    health = health_pb2_grpc.HealthStub(world.peer.channel)
    answer = await health.Check(health_pb2.HealthCheckRequest(), metadata=metadata)
    assert answer.status == health_pb2.HealthCheckResponse.SERVING

    stub = reflection_pb2_grpc.ServerReflectionStub(world.peer.channel)
    asked = reflection_pb2.ServerReflectionRequest(list_services="")
    call = stub.ServerReflectionInfo(iter([asked]), metadata=metadata)
    names: set[str] = set()
    async for response in call:
        names |= {service.name for service in response.list_services_response.service}
    assert {"netclaw.v1.Gateway", "netclaw.v1.Admin", "grpc.health.v1.Health"} <= names
    assert "netclaw.v1.SessionHost" not in names
