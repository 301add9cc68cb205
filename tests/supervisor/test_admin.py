"""The operator's service over its real socket."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from netclaw import __version__
from netclaw.core.authority import Audience, Principal, SourceKind
from netclaw.core.errors import (
    DeniedByPolicyError,
    InvalidArgumentError,
    NotFoundError,
    QuarantinedError,
    TooLargeError,
)
from netclaw.core.exit_codes import ExitCode
from netclaw.core.ids import SessionId
from netclaw.core.session.events import InputAdmitted
from netclaw.supervisor.callers import Caller
from netclaw.supervisor.daemon import Wish
from netclaw.supervisor.slot import Hold
from netclaw.wire.convert import recorded_of
from netclaw.wire.v1 import admin_pb2, gateway_pb2
from netclaw.wire.v1.common_pb2 import DeliveryTarget, MediaRef, Sender
from tests.supervisor.peers import Peer
from tests.supervisor.test_gateway import refused
from tests.supervisor.world import InProcess


async def hold_turn(peer: Peer) -> int:
    """Begin a turn and never finish it; leave when told."""
    await peer.connect()
    await peer.phase("ready")
    await peer.start_turn()
    await peer.expect("command")
    return int(ExitCode.PASSIVATED)


@pytest.mark.requirement("supervisor.operator-kill")
async def test_stop_ends_a_session_until_something_new_arrives(world: InProcess) -> None:
    world.spawner.scripts = [hold_turn]
    await world.send("hello", "x")
    await world.until_phase("hello", "processing")
    row = await world.admin_call("StopSession", "hello")
    assert (row.phase, row.pid) == ("passive", 0)
    assert len(world.spawner.processes) == 1
    assert "CrashRecorded" not in await world.events("hello")
    await world.send("hello", "y")
    await world.until(lambda: len(world.spawner.processes) == 2)


@pytest.mark.requirement("supervisor.stop-ends")
async def test_a_stop_ends_the_turn_its_process_left_open_and_names_what_waits(
    world: InProcess,
) -> None:
    world.spawner.scripts = [hold_turn]
    await world.ensure("hello")
    async with world.attached("hello") as watcher:
        first = await world.send("hello", "in the turn")
        await world.until_phase("hello", "processing")
        second = await world.send("hello", "behind it", sender=Sender(sender_id="x"))
        await world.admin_call("StopSession", "hello")
        seen = await watcher.until("notice")
        ended = next(output for output in seen if output.type == "turn_completed")
        assert (list(ended.input_ids), ended.outcome) == ([first.input_id], "")
        assert (seen[-1].outcome, list(seen[-1].input_ids)) == ("stopped", [second.input_id])
        row = await world.row("hello")
        assert (row.phase, row.pending_inputs) == ("passive", 1)
        await world.send("hello", "go on", sender=Sender(sender_id="y"))
        seen = await watcher.until("turn_completed", 2)
    assert second.input_id in seen[-1].input_ids
    assert (await world.events("hello")).count("TurnFailed") == 1


@pytest.mark.requirement("supervisor.stop-ends")
async def test_changes_of_one_session_wait_for_each_other(world: InProcess) -> None:
    world.spawner.scripts = [hold_turn]
    await world.send("hello", "x")
    await world.until_phase("hello", "processing")
    slot = world.supervisor.router.slot(SessionId("hello"))
    async with world.supervisor.router.exclusive(slot):
        stopping = asyncio.create_task(world.admin_call("StopSession", "hello"))
        await world.until(lambda: slot.blocks == 2)
    assert (await stopping).phase == "passive"
    assert not slot.is_blocked
    assert len(world.spawner.processes) == 1


async def test_stop_and_kill_of_a_passive_session_answer_its_row(world: InProcess) -> None:
    await world.ensure("hello")
    for name in ("StopSession", "KillSession"):
        row = await world.admin_call(name, "hello")
        assert (row.id, row.phase) == ("hello", "passive")
    error = await refused(world.admin_call("KillSession", "nobody"))
    assert isinstance(error, NotFoundError)


async def test_restart_starts_even_what_has_no_work(world: InProcess) -> None:
    await world.ensure("hello")
    row = await world.admin_call("RestartSession", "hello")
    assert row.phase == "ready"
    again = await world.admin_call("RestartSession", "hello")
    assert again.incarnation == row.incarnation + 1
    assert again.pid != row.pid


@pytest.mark.requirement("supervisor.reset-delete")
async def test_reset_begins_a_new_life_and_tells_who_waits(world: InProcess) -> None:
    world.spawner.scripts = [hold_turn]
    await world.ensure("hello")
    async with world.attached("hello") as watcher:
        first = await world.send("hello", "in the turn")
        await world.until_phase("hello", "processing")
        second = await world.send("hello", "behind it", sender=Sender(sender_id="x"))
        row = await world.admin_call("ResetSession", "hello")
        assert (row.life, row.phase, row.turns) == (2, "passive", 0)
        seen = await watcher.until("turn_completed")
        error = next(output for output in seen if output.type == "error")
        assert error.category == "Interrupted"
        assert list(seen[-1].input_ids) == [first.input_id, second.input_id]
        await world.send("hello", "new life")
        seen = await watcher.until("turn_completed", 2)
    assert seen[-2].text == "new life"
    assert not world.spawner.processes[0].is_alive


@pytest.mark.requirement("supervisor.reset-delete")
async def test_delete_removes_rows_and_moves_files_to_the_trash(world: InProcess) -> None:
    await world.ensure("hello")
    async with world.attached("hello") as watcher:
        await world.send("hello", "x")
        await watcher.until("turn_completed")
        detail = await world.gateway.GetSession(
            gateway_pb2.GetSessionRequest(session_id="hello"), metadata=world.metadata
        )
        root = Path(detail.storage_root)
        (root / "workspace").mkdir(parents=True)
        (root / "workspace" / "kept.txt").write_text("kept")
        await world.admin_call("DeleteSession", "hello")
        await watcher.until_end()
    error = await refused(world.row("hello"))
    assert isinstance(error, NotFoundError)
    assert list(world.home.sessions_dir.iterdir()) == []
    trashed = list(world.home.trash_dir.glob(f"*/{root.name}/workspace/kept.txt"))
    assert len(trashed) == 1
    assert (await world.ensure("hello")).created
    assert (await world.row("hello")).life == 2


async def test_the_journal_is_read_as_stored_from_a_seq_on(world: InProcess) -> None:
    await world.ensure("hello")
    async with world.attached("hello") as watcher:
        await world.send("hello", "x")
        await watcher.until("turn_completed")
    call = world.admin.ReadJournal(
        admin_pb2.ReadJournalRequest(session_id="hello", since_seq=1), metadata=world.metadata
    )
    rows = [row async for row in call]
    assert [row.seq for row in rows] == [2, 3, 4]
    assert isinstance(recorded_of(rows[0]).event, InputAdmitted)


@pytest.mark.requirement("compaction.manual")
async def test_compaction_on_request_starts_a_passive_session(world: InProcess) -> None:
    wishes: list[tuple[str, str]] = []

    async def take_wish(peer: Peer) -> int:
        await peer.connect()
        await peer.phase("ready")
        frame = await peer.expect("command")
        wishes.append((frame.command.kind, frame.command.actor))
        return int(ExitCode.PASSIVATED)

    world.spawner.scripts = [take_wish]
    await world.ensure("hello")
    assert (await world.row("hello")).phase == "passive"
    assert (await world.admin_call("CompactSession", "hello")).pid
    await world.until(lambda: bool(wishes))
    assert [kind for kind, _ in wishes] == ["compact"]


@pytest.mark.requirement("compaction.manual")
async def test_compaction_of_a_quarantined_session_is_refused(world: InProcess) -> None:
    await world.ensure("hello")
    world.supervisor.router.hold(SessionId("hello"), Hold.QUARANTINE)
    error = await refused(world.admin_call("CompactSession", "hello"))
    assert isinstance(error, QuarantinedError)


async def inject(world: InProcess, session_id: str, **sender: str) -> InputAdmitted:
    """Inject a message and return it as it was stored."""
    request = gateway_pb2.SendUserMessageRequest(
        session_id=session_id,
        text="x",
        sender=Sender(**sender),
        delivery_targets=[DeliveryTarget(channel="slack", address="C1/2")],
    )
    answer = await world.admin.Inject(request, metadata=world.metadata)
    rows = await world.store.read_journal(SessionId(session_id), since=answer.seq - 1, limit=1)
    event = recorded_of(rows[0]).event
    assert isinstance(event, InputAdmitted)
    return event


@pytest.mark.requirement("supervisor.audience")
@pytest.mark.requirement("supervisor.tokens")
@pytest.mark.requirement("upstream.audience-never-defaults-up")
async def test_inject_simulates_an_adapter_and_can_only_narrow(world: InProcess) -> None:
    admitted = await inject(
        world,
        "C1/17.1",
        source_kind="slack",
        sender_id="U1",
        principal="trusted",
        authenticity="Verified",
        boundary="slack:T1/C1",
    )
    requester = admitted.authority.requester
    assert requester.audience is Audience.TEAM
    assert requester.principal is Principal.TRUSTED
    assert requester.channel_type is SourceKind.SLACK
    assert requester.boundary == "slack:T1/C1"
    stranger = await inject(world, "C1/17.2", source_kind="slack", principal="untrusted")
    assert stranger.authority.requester.audience is Audience.PUBLIC
    wider = await inject(world, "C1/17.2", source_kind="slack", audience="Personal")
    assert wider.authority.requester.audience is Audience.PUBLIC
    local = await inject(world, "notes", sender_id="me")
    assert local.authority.requester.audience is Audience.PERSONAL
    narrowed = await inject(world, "notes", audience="Public")
    assert narrowed.authority.requester.audience is Audience.PUBLIC
    unknown = gateway_pb2.SendUserMessageRequest(
        session_id="notes", text="x", sender=Sender(audience="Royal")
    )
    error = await refused(world.admin.Inject(unknown, metadata=world.metadata))
    assert isinstance(error, DeniedByPolicyError)


@pytest.mark.requirement("supervisor.tokens")
async def test_a_token_of_one_channel_cannot_speak_for_another_or_as_operator(
    world: InProcess,
) -> None:
    await inject(world, "C1/17.1", source_kind="slack", principal="trusted")
    token = world.supervisor.tokens.issue(
        Caller(
            name="slack adapter",
            max_principal=Principal.TRUSTED,
            max_audience=Audience.TEAM,
            channels=frozenset({SourceKind.SLACK}),
        )
    )
    world.metadata = (("authorization", f"Bearer {token}"),)
    sent = await world.send(
        "C1/17.1", "x", sender=Sender(source_kind="slack", principal="operator", sender_id="U1")
    )
    rows = await world.store.read_journal(SessionId("C1/17.1"), since=sent.seq - 1, limit=1)
    event = recorded_of(rows[0]).event
    assert isinstance(event, InputAdmitted)
    assert event.authority.requester.principal is Principal.TRUSTED
    for request in (
        gateway_pb2.SendUserMessageRequest(session_id="C1/17.1", text="x"),
        gateway_pb2.SendUserMessageRequest(
            session_id="C1/17.1", text="x", sender=Sender(source_kind="discord")
        ),
    ):
        error = await refused(world.gateway.SendUserMessage(request, metadata=world.metadata))
        assert isinstance(error, DeniedByPolicyError)
    error = await refused(world.admin_call("KillSession", "C1/17.1"))
    assert isinstance(error, DeniedByPolicyError)
    claim = gateway_pb2.ClaimOutboxRequest(channel="discord", adapter_start="a")
    error = await refused(world.gateway.ClaimOutbox(claim, metadata=world.metadata))
    assert isinstance(error, DeniedByPolicyError)
    world.supervisor.tokens.revoke(token)
    assert (await refused(world.row("C1/17.1"))).code == "unauthenticated"


async def test_status_tells_the_facts(world: InProcess) -> None:
    await world.ensure("hello")
    async with world.attached("hello") as watcher:
        await world.send("hello", "x")
        await watcher.until("turn_completed")
    status = await world.admin.Status(admin_pb2.StatusRequest(), metadata=world.metadata)
    assert status.state == "running"
    assert status.generation == 1
    assert status.version == __version__
    assert status.live_sessions == 1
    assert (status.total_sessions, status.admitted_inputs, status.turns_completed) == (1, 1, 1)
    assert status.storage_state == "ok"
    assert status.degraded_reason
    assert status.daemon_memory_bytes > 1_000_000
    check = await world.admin.CheckStorage(admin_pb2.CheckStorageRequest(), metadata=world.metadata)
    assert check.ok


async def test_shutdown_by_the_operator_ends_or_restarts_the_daemon(world: InProcess) -> None:
    answer = await world.admin.Shutdown(
        admin_pb2.ShutdownRequest(restart=True), metadata=world.metadata
    )
    assert answer.generation == 1
    assert await world.ended() is Wish.RESTART


async def upload(world: InProcess, *pieces: bytes, name: str = "a.txt") -> MediaRef:
    """Send one file."""

    async def chunks() -> AsyncIterator[gateway_pb2.UploadChunk]:
        for number, piece in enumerate(pieces):
            chunk = gateway_pb2.UploadChunk(data=piece)
            if number == 0:
                chunk.session_id, chunk.name, chunk.media_type = "hello", name, "text/plain"
            yield chunk

    answer = await world.gateway.Upload(chunks(), metadata=world.metadata)
    found: MediaRef = answer.media
    return found


@pytest.mark.requirement("supervisor.uploads")
async def test_an_upload_in_pieces_can_be_named_by_a_message(world: InProcess) -> None:
    await world.ensure("hello")
    media = await upload(world, b"a" * 1024 * 1024, b"b" * 10, name="../../etc/passwd")
    assert (media.name, media.size_bytes) == ("passwd", 1024 * 1024 + 10)
    staging = next(world.home.sessions_dir.glob("hello-*")) / "attachment-staging"
    assert (staging / media.upload_id).read_bytes().endswith(b"bbbb")
    assert (staging / media.upload_id).stat().st_mode & 0o777 == 0o600
    async with world.attached("hello") as watcher:
        sent = await world.send("hello", "", media=[MediaRef(upload_id=media.upload_id)])
        await watcher.until("turn_completed")
    rows = await world.store.read_journal(SessionId("hello"), since=sent.seq - 1, limit=1)
    event = recorded_of(rows[0]).event
    assert isinstance(event, InputAdmitted)
    assert [(item.name, item.media_type) for item in event.media] == [("passwd", "text/plain")]


@pytest.mark.requirement("supervisor.uploads")
async def test_an_upload_that_breaks_a_rule_leaves_nothing(
    world: InProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    await world.ensure("hello")
    monkeypatch.setattr("netclaw.supervisor.uploads.FILE_LIMIT", 100)
    monkeypatch.setattr("netclaw.supervisor.uploads.CHUNK_LIMIT", 60)
    for pieces in ((b"x" * 61,), (b"x" * 60, b"y" * 60)):
        assert isinstance(await refused(upload(world, *pieces)), TooLargeError)
    assert isinstance(await refused(upload(world)), InvalidArgumentError)
    assert isinstance(await refused(upload(world, b"x", name="a\tb")), InvalidArgumentError)
    staging = next(world.home.sessions_dir.glob("hello-*")) / "attachment-staging"
    assert list(staging.iterdir()) == []


@pytest.mark.requirement("supervisor.uploads")
async def test_an_upload_whose_sender_goes_away_leaves_nothing(world: InProcess) -> None:
    await world.ensure("hello")
    hold = asyncio.Event()

    async def chunks() -> AsyncIterator[gateway_pb2.UploadChunk]:
        yield gateway_pb2.UploadChunk(session_id="hello", name="a", data=b"half")
        await hold.wait()

    call = world.gateway.Upload(chunks(), metadata=world.metadata)

    def files() -> list[Path]:
        return list(world.home.sessions_dir.glob("hello-*/attachment-staging/*"))

    await world.until(lambda: len(files()) == 1)
    call.cancel()
    await world.until(lambda: files() == [])


@pytest.mark.requirement("supervisor.session-ids")
@pytest.mark.parametrize("session_id", ["a/sub/b", "cli/x/sub/y", "slack/C1/17.1/sub/r"])
async def test_nobody_but_its_parent_makes_a_child_session(
    world: InProcess, session_id: str
) -> None:
    request = gateway_pb2.SendUserMessageRequest(session_id=session_id, text="x")
    error = await refused(world.admin.Inject(request, metadata=world.metadata))
    assert isinstance(error, NotFoundError)
    assert await world.store.get_session(SessionId(session_id)) is None
