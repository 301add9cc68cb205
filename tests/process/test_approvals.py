"""Consents kept by a real daemon: the command line, the grants file, many answers, kills."""

from __future__ import annotations

import asyncio
import json
from collections import Counter

import grpc
import pytest

from netclaw.core.authority import Audience
from netclaw.core.authz import grants_file
from netclaw.core.authz.grants import Grant, GrantForm
from netclaw.wire.v1 import admin_pb2, gateway_pb2
from netclaw.wire.v1.gateway_pb2_grpc import GatewayStub
from tests.process.checks import launches
from tests.process.test_command_line import cli
from tests.process.test_consent import NAME, answered, ask, asking, call, events, ran, runs
from tests.process.world import ASKING, World, merge

__all__ = ["asking"]

pytestmark = pytest.mark.timeout(120)

GRANTS = "tool-approvals.json"
TEE = "tee -a ran.txt < /etc/passwd"
AT = "2026-11-30T12:00:00+00:00"


def stored(words: str) -> Grant:
    """A grant for shell words, everywhere."""
    return Grant(
        audience=Audience.PERSONAL,
        tool="shell_execute",
        form=GrantForm.TOKENS,
        words=tuple(words.split()),
        created_at=AT,
    )


def write_grants(world: World, text: str) -> None:
    """Edit the file as an editor does: write beside it, rename over it."""
    fresh = world.home / "config" / "grants.new"
    fresh.write_text(text)
    fresh.replace(world.home / "config" / GRANTS)


async def unattended(world: World) -> str:
    """What becomes of the command when nobody is there to ask."""
    return (await world.peer.turn(NAME, f"{call(TEE)} [[results]]")).text


@pytest.mark.requirement("approvals.answer")
@pytest.mark.requirement("approvals.pending")
async def test_the_command_line_shows_and_decides_what_a_passive_session_asks() -> None:
    async with World(config=merge(ASKING, {"Session": {"IdleTimeout": "00:00:01"}})) as world:
        await world.start()
        sent, request = await ask(world)
        await world.peer.wait_row(NAME, lambda row: not row.pid)
        (row,) = (await cli(world, "approvals", "pending", "--json")).json
        assert (row["callId"], row["sessionId"]) == (request.call_id, NAME)
        assert row["display"] == TEE
        wrong = await cli(world, "approvals", "answer", request.call_id[:8], "Z", code=1)
        assert "does not offer" in wrong.err
        told = await cli(world, "approvals", "answer", request.call_id[:8], "a", "--json")
        assert told.json["option"] == "approve_once"
        assert (await answered(world, sent)).endswith("[approval: once]")
        late = await cli(world, "approvals", "answer", request.call_id, "deny", code=1)
        assert "no longer open" in late.err
        assert await runs(world) == 1


@pytest.mark.requirement("approvals.trust")
@pytest.mark.requirement("approvals.revoke")
async def test_trust_and_revocation_count_at_the_next_call(asking: World) -> None:
    assert "approval_required_unattended" in await unattended(asking)
    await cli(asking, "approvals", "trust-verb", "tee", "--shell", "bash")
    assert "exit status 0" in await unattended(asking)
    (row,) = (await cli(asking, "approvals", "list", "--json")).json
    assert (row["label"], row["scope"]) == ("tee", "everywhere")
    await cli(asking, "approvals", "revoke", "tee")
    assert "approval_required_unattended" in await unattended(asking)
    assert await runs(asking) == 1


@pytest.mark.requirement("approvals.file-edits")
async def test_an_edit_by_hand_counts_while_the_daemon_runs(asking: World) -> None:
    assert "approval_required_unattended" in await unattended(asking)
    generation = (await status(asking)).generation
    write_grants(asking, grants_file.write((stored("tee"),)))
    assert "exit status 0" in await unattended(asking)
    # What a person's answer adds stands beside what was edited meanwhile.
    write_grants(asking, grants_file.write((stored("ls"),)))
    sent, request = await ask(asking)
    await asking.peer.answer(request, "approve_everywhere")
    assert "[approval: always anywhere]" in await answered(asking, sent)
    text = (asking.home / "config" / GRANTS).read_text()
    assert [grant.words for grant in grants_file.read(text)] == [("ls",), ("tee",)]
    (asking.home / "config" / GRANTS).unlink()
    assert "approval_required_unattended" in await unattended(asking)
    assert (await status(asking)).generation == generation, "nothing restarts"
    assert await runs(asking) == 2


async def status(world: World) -> admin_pb2.StatusResponse:
    """The daemon about itself."""
    found: admin_pb2.StatusResponse = await world.peer.admin.Status(
        admin_pb2.StatusRequest(), metadata=world.peer.metadata
    )
    return found


@pytest.mark.requirement("approvals.broken")
async def test_a_broken_file_is_reported_and_chat_consent_goes_on(asking: World) -> None:
    sent, request = await ask(asking)
    await asking.peer.answer(request, "approve_session")
    assert "[approval: this chat only]" in await answered(asking, sent)
    broken = '{"version": 3, "audiences": {"Everybody": {}}}'
    write_grants(asking, broken)
    shown = await cli(asking, "status", "--json", code=2)
    assert "grants" in json.dumps(shown.json["reasons"])
    checks = (await cli(asking, "doctor", "--json", code=1)).json["checks"]
    assert {row["name"]: row["verdict"] for row in checks}["grants"] == "FAIL"
    assert "exit status 0" in await unattended(asking)
    await asking.peer.admin.ResetSession(
        admin_pb2.SessionRef(session_id=NAME), metadata=asking.peer.metadata
    )
    # A reset ends consent of a chat, and what is stored cannot be looked at.
    assert "stored consents cannot be read" in await unattended(asking)
    assert (asking.home / "config" / GRANTS).read_text() == broken
    write_grants(asking, grants_file.write((stored("tee"),)))
    assert "exit status 0" in await unattended(asking)
    await cli(asking, "status", "--json")


@pytest.mark.requirement("approvals.file-versions")
async def test_a_file_of_version_2_works_at_once_and_is_kept(asking: World) -> None:
    entry = {"shell": "Bash", "verb": "tee", "directory": None, "createdAt": AT}
    old = json.dumps({"version": 2, "audiences": {"Personal": {"shell_execute": [entry]}}})
    write_grants(asking, old)
    assert "exit status 0" in await unattended(asking)
    folder = asking.home / "config"
    assert (folder / f"{GRANTS}.v2.bak").read_text() == old
    assert json.loads((folder / GRANTS).read_text())["version"] == 3


@pytest.mark.requirement("approvals.first")
async def test_of_many_answers_over_many_connections_one_counts(asking: World) -> None:
    sent, request = await ask(asking)
    channels = [
        grpc.aio.insecure_channel(f"unix:{asking.home}/run/netclawd.sock") for _ in range(8)
    ]

    async def says(number: int) -> str:
        option = ("approve_once", "deny", "approve_session")[number % 3]
        answer = gateway_pb2.AnswerApprovalRequest(
            session_id=NAME, call_id=request.call_id, option=option
        )
        stub = GatewayStub(channels[number % 8])
        try:
            response = await stub.AnswerApproval(answer, metadata=asking.peer.metadata)
        except grpc.aio.AioRpcError as error:
            return error.code().name
        return "again" if response.duplicate else "counted"

    try:
        told = Counter(await asyncio.gather(*map(says, range(48))))
    finally:
        await asyncio.gather(*(channel.close() for channel in channels))
    assert told == {"counted": 1, "again": 15, "NOT_FOUND": 32}
    await answered(asking, sent)
    rows = await asking.peer.journal(NAME)
    assert events(rows, "AnswerAdmitted") == events(rows, "ConsentAnswered") == 1
    (answer,) = [row["payload"]["option"] for row in rows if row["type"] == "AnswerAdmitted"]
    assert sum(launches(rows).values()) == (0 if answer == "deny" else 1)


@pytest.mark.requirement("approvals.durable")
async def test_a_kill_before_the_session_could_start_loses_no_answer() -> None:
    limits = {"Session": {"IdleTimeout": "00:00:01"}, "Daemon": {"MaxLiveSessions": 1}}
    async with World(config=merge(ASKING, limits)) as world:
        await world.start()
        sent, request = await ask(world)
        await world.peer.wait_row(NAME, lambda row: not row.pid)
        # The only place is taken: the answer is durable and its session waits for a start.
        await world.peer.ensure("busy")
        await world.peer.send("busy", "[[gate:hold]][[reply:done]]")
        await world.at_gate("hold")
        response = await world.peer.answer(request, "approve_once")
        assert not (await world.peer.rows())[NAME].pid
        await world.kill()
        world.open_gate("hold")
        await world.start()
        assert (await answered(world, sent)).endswith("[approval: once]")
        assert await runs(world) == 1
        assert not await world.peer.approvals(NAME, 0)
        again = await world.peer.answer(request, "approve_once")
        assert (again.duplicate, again.seq) == (True, response.seq)
        assert await runs(world) == 1


@pytest.mark.requirement("approvals.offline")
async def test_grants_made_while_no_daemon_runs_count_at_its_start(asking: World) -> None:
    await asking.stop()
    await cli(asking, "approvals", "trust-verb", "tee")
    (row,) = (await cli(asking, "approvals", "list", "--json")).json
    assert row["label"] == "tee"
    pending = await cli(asking, "approvals", "pending", code=1)
    assert "netclaw daemon start" in pending.err
    await asking.start()
    assert "exit status 0" in await unattended(asking)
    assert (await ran(asking)).exists()


@pytest.mark.requirement("approvals.stale")
async def test_prompts_are_named_by_where_their_requests_stand(asking: World) -> None:
    await asking.peer.ensure(NAME)
    opened = asyncio.Event()
    live: list[tuple[str, int]] = []

    async def watch() -> None:
        async for output in asking.peer.attach(NAME, opened=opened):
            if output.type == "consent_request":
                live.append((output.call_id, output.seq))
                if len(live) == 2:
                    return

    watching = asyncio.create_task(watch())
    await opened.wait()
    calls = f"{call(TEE)} {call('touch other.txt')}"
    sent = await asking.peer.send(NAME, f"{calls} [[results]]", is_attended=True)
    first, second = await asking.peer.approvals(NAME, 2)
    async with asyncio.timeout(30):
        await watching
    assert live == [(first.call_id, first.seq), (second.call_id, second.seq)]
    stale = gateway_pb2.AnswerApprovalRequest(
        session_id=NAME, call_id=first.call_id, option="deny", request_seq=second.seq
    )
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await asking.peer.gateway.AnswerApproval(stale, metadata=asking.peer.metadata)
    assert caught.value.code() is grpc.StatusCode.NOT_FOUND
    await asking.peer.answer(first, "deny")
    (left,) = await asking.peer.approvals(NAME)
    assert left == second
    await asking.peer.answer(second, "approve_once")
    assert "[approval: once]" in await answered(asking, sent, calls=2)
    assert not (await ran(asking)).exists()
