"""A person lets a call run: asked for once, run at most once, whichever process dies meanwhile."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import grpc
import pytest

from netclaw.wire.v1 import admin_pb2, gateway_pb2
from tests.process.checks import check_journal, launches, processes_with
from tests.process.lending import Lender
from tests.process.world import ASKING, World, merge
from tests.stopping import stop

pytestmark = pytest.mark.timeout(120)

NAME = "asks"
SOURCE = Path("/etc/passwd").read_text()
MARK = "3077.25"


@pytest.fixture
async def asking(lender: Lender) -> AsyncIterator[World]:
    """A daemon whose commands ask."""
    async with lender.lend(ASKING) as world:
        yield world


def call(command: str, **more: object) -> str:
    """The directive for one shell call."""
    return f"[[tool:shell_execute {json.dumps({'command': command, **more})}]]"


async def ask(
    world: World, command: str = "tee -a ran.txt < /etc/passwd", *, then: str = "[[results]]"
) -> tuple[gateway_pb2.SendUserMessageResponse, gateway_pb2.PendingApproval]:
    """An attended turn whose one call waits for consent."""
    await world.peer.ensure(NAME)
    sent = await world.peer.send(NAME, f"{call(command)} {then}", is_attended=True)
    (request,) = await world.peer.approvals(NAME)
    return sent, request


async def answered(
    world: World, sent: gateway_pb2.SendUserMessageResponse, *, calls: int = 1
) -> str:
    """The answer of the turn, with all promises about its calls kept."""
    turn = await world.peer.follow(NAME, sent)
    rows = await world.peer.journal(NAME)
    check_journal(rows)
    assert events(rows, "ConsentRequested") == calls
    assert max(launches(rows).values(), default=0) <= 1
    return turn.text


def events(rows: list[dict[str, Any]], kind: str) -> int:
    """How often something happened."""
    return sum(row["type"] == kind for row in rows)


async def ran(world: World) -> Path:
    """The file to which the command adds a line each time it runs."""
    detail = await world.peer.detail(NAME)
    return Path(detail.storage_root) / "workspace" / "ran.txt"


async def runs(world: World) -> int:
    """How often the command of `ask` ran."""
    name = SOURCE
    text = (await ran(world)).read_text()
    assert text == name * text.count(name)
    return text.count(name)


async def session_pid(world: World, *, not_pid: int = 0) -> int:
    """The pid of the session's process."""
    row = await world.peer.wait_row(NAME, lambda new: bool(new.pid) and new.pid != not_pid)
    return int(row.pid)


@pytest.mark.requirement("judging.processes")
async def test_an_approved_command_runs_once_and_says_how(asking: World) -> None:
    sent, request = await ask(asking)
    assert request.tool == "shell_execute"
    assert request.display == "tee -a ran.txt < /etc/passwd"
    assert request.cwd == str((await ran(asking)).parent)
    assert list(request.candidates)
    keys = [option.key for option in request.options]
    assert (keys[0], keys[-1]) == ("approve_once", "deny")
    await asking.peer.wait_row(NAME, lambda row: row.phase == "ready")
    assert not (await ran(asking)).exists()
    await asking.peer.answer(request, "approve_once")
    text = await answered(asking, sent)
    assert "exit status 0" in text
    assert text.endswith("[approval: once]")
    assert await runs(asking) == 1
    assert not await asking.peer.approvals(NAME, 0)


@pytest.mark.requirement("judging.processes")
async def test_a_refused_command_never_runs(asking: World) -> None:
    sent, request = await ask(asking)
    await asking.peer.answer(request, "deny")
    text = await answered(asking, sent)
    assert "refused" in text.casefold()
    assert not (await ran(asking)).exists()
    assert not launches(await asking.peer.journal(NAME))


@pytest.mark.requirement("judging.processes")
async def test_calls_beside_one_that_waits_run_meanwhile(asking: World) -> None:
    beside = '[[tool:file_write {"path": "beside.txt", "content": "x"}]]'
    sent, request = await ask(asking, then=f"{beside} [[results]]")
    file = (await ran(asking)).parent / "beside.txt"
    await asking.until(file.exists)
    assert not (await ran(asking)).exists()
    await asking.peer.answer(request, "approve_once")
    assert "[approval: once]" in await answered(asking, sent)
    assert await runs(asking) == 1


@pytest.mark.requirement("judging.unattended")
async def test_nobody_to_ask_is_a_denial_that_names_the_way_out(asking: World) -> None:
    turn = await asking.peer.turn(NAME, f"{call('tee -a ran.txt < /etc/passwd')} [[results]]")
    assert "approval_required_unattended" in turn.text
    assert '"Always" grant' in turn.text
    rows = await asking.peer.journal(NAME)
    assert not launches(rows)
    assert not events(rows, "ConsentRequested")
    (result,) = [row for row in rows if row["type"] == "ToolResultRecorded"]
    assert result["payload"]["result"]["receipt"]["category"] == "AccessDenied"
    log = (await ran(asking)).parent.parent / "logs" / "session.log"
    await asking.until(lambda: "reason=approval_required_unattended" in log.read_text())
    assert "attempt=auth-" in log.read_text()


@pytest.mark.requirement("judging.grants-recorded")
@pytest.mark.parametrize("option", ["approve_session", "approve_everywhere"])
async def test_a_grant_covers_the_next_call_until_it_is_revoked(asking: World, option: str) -> None:
    sent, request = await ask(asking)
    await asking.peer.answer(request, option)
    assert "[approval: " in await answered(asking, sent)

    turn = await asking.peer.turn(NAME, f"{call('tee -a ran.txt < /etc/passwd')} [[results]]")
    assert "exit status 0" in turn.text
    assert "[approval: " not in turn.text

    grants = await asking.peer.admin.ListGrants(
        admin_pb2.ListGrantsRequest(), metadata=asking.peer.metadata
    )
    (grant,) = grants.grants
    await asking.peer.admin.RevokeGrants(revocation(grant), metadata=asking.peer.metadata)
    turn = await asking.peer.turn(NAME, f"{call('tee -a ran.txt < /etc/passwd')} [[results]]")
    assert "approval_required_unattended" in turn.text
    assert await runs(asking) == 2


def revocation(grant: admin_pb2.GrantRow) -> admin_pb2.RevokeGrantsRequest:
    """Takes back exactly this grant."""
    return admin_pb2.RevokeGrantsRequest(label=grant.label, session_id=grant.session_id)


@pytest.mark.requirement("judging.processes")
async def test_the_network_is_there_for_a_command_that_was_approved(asking: World) -> None:
    async def greet(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"reached\n")
        writer.close()

    server = await asyncio.start_server(greet, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    async with server:
        program = f"import socket; print(socket.create_connection(('127.0.0.1', {port})).recv(9))"
        sent, request = await ask(asking, f'python3 -c "{program}"')
        await asking.peer.answer(request, "approve_once")
        assert "reached" in await answered(asking, sent)


@pytest.mark.requirement("judging.processes")
async def test_a_kill_before_anybody_saw_the_prompt_asks_no_second_time(asking: World) -> None:
    sent, request = await ask(asking)
    old = await session_pid(asking)
    os.kill(old, signal.SIGKILL)
    await asking.peer.wait_row(NAME, lambda row: row.pid != old)
    prompts = []
    async with asyncio.timeout(30):
        async for output in asking.peer.attach(NAME, after=0):
            if output.type == "consent_request":
                prompts.append(output.call_id)
                break
    assert prompts == [request.call_id]
    await asking.peer.answer(request, "approve_once")
    assert (await answered(asking, sent)).endswith("[approval: once]")
    assert await runs(asking) == 1


@pytest.mark.requirement("judging.processes")
async def test_a_request_outlives_the_daemon(asking: World) -> None:
    sent, request = await ask(asking)
    await asking.kill()
    await asking.start()
    assert await asking.peer.approvals(NAME) == [request]
    await asking.peer.answer(request, "approve_once")
    assert (await answered(asking, sent)).endswith("[approval: once]")
    assert await runs(asking) == 1


@pytest.mark.requirement("judging.processes")
@pytest.mark.parametrize("option", ["approve_once", "approve_session"])
@pytest.mark.parametrize("victim", ["session", "daemon"])
async def test_a_kill_between_the_answer_and_the_run_runs_it_once(
    asking: World, victim: str, option: str
) -> None:
    sent, request = await ask(asking)
    pid = await session_pid(asking)
    stop(pid)
    await asking.peer.answer(request, option)
    if victim == "daemon":
        await asking.kill()
        os.kill(pid, signal.SIGKILL)
        await asking.start()
    else:
        os.kill(pid, signal.SIGKILL)
    assert "[approval: " in await answered(asking, sent)
    assert await runs(asking) == 1


@pytest.mark.requirement("judging.processes")
async def test_a_kill_during_the_run_neither_asks_nor_runs_again(asking: World) -> None:
    command = f"python3 -c \"open('ran.txt', 'a').write('x\\n'); import time; time.sleep({MARK})\""
    sent, request = await ask(asking, command, then="[[reply:never]]")
    await asking.peer.answer(request, "approve_once")
    await asking.peer.wait_launched(NAME)
    file = await ran(asking)
    await asking.until(lambda: file.exists() and bool(file.read_text()))
    os.kill(await session_pid(asking), signal.SIGKILL)
    turn = await asking.peer.follow(NAME, sent)
    assert turn.error is not None
    assert turn.error.category == "Interrupted"
    assert file.read_text() == "x\n"
    await asking.until(lambda: not processes_with(MARK))
    rows = await asking.peer.journal(NAME)
    check_journal(rows)
    assert events(rows, "ConsentRequested") == 1
    assert not await asking.peer.approvals(NAME, 0)


@pytest.mark.requirement("judging.processes")
async def test_an_answer_wakes_a_session_that_went_to_rest() -> None:
    async with World(config=merge(ASKING, {"Session": {"IdleTimeout": "00:00:01"}})) as world:
        await world.start()
        sent, request = await ask(world)
        await world.peer.wait_row(NAME, lambda row: not row.pid)
        await world.peer.answer(request, "approve_once")
        assert (await answered(world, sent)).endswith("[approval: once]")
        assert await runs(world) == 1


@pytest.mark.requirement("judging.processes")
async def test_a_drain_keeps_what_was_asked_for(asking: World) -> None:
    sent, request = await ask(asking)
    await asking.restart()
    assert await asking.peer.approvals(NAME) == [request]
    await asking.peer.answer(request, "approve_once")
    assert (await answered(asking, sent)).endswith("[approval: once]")


@pytest.mark.requirement("judging.bad-input")
async def test_an_answer_that_does_not_count_changes_nothing(asking: World) -> None:
    sent, request = await ask(asking)
    for option in ("approve_nothing", ""):
        with pytest.raises(grpc.aio.AioRpcError):
            await asking.peer.answer(request, option)
    unknown = gateway_pb2.PendingApproval(session_id=NAME, call_id="nobodyscall")
    with pytest.raises(grpc.aio.AioRpcError):
        await asking.peer.answer(unknown, "approve_once")
    await asking.peer.answer(request, "deny")
    await answered(asking, sent)
    with pytest.raises(grpc.aio.AioRpcError):
        await asking.peer.answer(request, "approve_once")
    assert not (await ran(asking)).exists()
