"""What an adapter does for a thread: makes its session, reads its cursor, brings its files."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from netclaw.core.authority import Audience, Authenticity, Principal, SourceKind
from netclaw.core.errors import (
    DeniedByPolicyError,
    NotFoundError,
    TooLargeError,
)
from netclaw.core.ids import SessionId
from netclaw.core.session.events import InputAdmitted
from netclaw.supervisor.callers import Caller
from netclaw.supervisor.inbox import safe_name
from netclaw.wire.convert import recorded_of
from netclaw.wire.v1 import gateway_pb2 as pb
from netclaw.wire.v1.common_pb2 import Sender
from tests.supervisor.test_adapter_tokens import token_of
from tests.supervisor.test_gateway import refused
from tests.supervisor.world import InProcess, Metadata

ADAPTER = Caller(
    name="adapter slack",
    max_principal=Principal.TRUSTED,
    max_audience=Audience.PERSONAL,
    max_authenticity=Authenticity.VERIFIED,
    channels=frozenset({SourceKind.SLACK}),
    adapter="slack",
)
KEY = "C1/17.1"
MINE = Sender(
    sender_id="U1",
    principal="trusted",
    audience="Team",
    source_kind="slack",
    authenticity="Verified",
    boundary="slack:T1/C1",
)


async def ensure(
    world: InProcess, key: str, metadata: Metadata, sender: Sender = MINE, **fields: bool
) -> pb.EnsureSessionResponse:
    """Ask for a session as the adapter."""
    request = pb.EnsureSessionRequest(session_id=key, sender=sender, **fields)
    answer: pb.EnsureSessionResponse = await world.gateway.EnsureSession(request, metadata=metadata)
    return answer


async def send(world: InProcess, metadata: Metadata, text: str, **fields: object) -> None:
    """Admit a message as the adapter."""
    request = pb.SendUserMessageRequest(session_id=KEY, text=text, sender=MINE, create=True)
    request.MergeFrom(pb.SendUserMessageRequest(**fields))  # type: ignore[arg-type]
    await world.gateway.SendUserMessage(request, metadata=metadata)


async def bring(world: InProcess, metadata: Metadata, name: str, data: bytes) -> pb.UploadResponse:
    """Upload a checked file as the adapter."""
    chunk = pb.UploadChunk(session_id=KEY, name=name, data=data, inbox=True)
    answer: pb.UploadResponse = await world.gateway.Upload(iter([chunk]), metadata=metadata)
    return answer


def names_in(folder: Path) -> list[str]:
    """What lies in a folder."""
    return [found.name for found in folder.iterdir()]


@pytest.mark.requirement("channels.create")
async def test_an_adapter_makes_the_sessions_of_its_threads(world: InProcess) -> None:
    token = token_of(world, ADAPTER)
    assert isinstance(await refused(ensure(world, KEY, token, must_exist=True)), NotFoundError)
    made = await ensure(world, KEY, token)
    assert (made.created, made.audience, made.thread_cursor) == (True, "Team", "")
    again = await ensure(world, KEY, token, Sender(source_kind="slack", audience="Public"))
    assert (again.created, again.audience) == (False, "Public")
    wider = await ensure(world, KEY, token, Sender(source_kind="slack", audience="Personal"))
    assert wider.audience == "Team"
    record = await world.store.get_session(SessionId(KEY))
    assert record is not None
    assert record.channel == SourceKind.SLACK


@pytest.mark.requirement("channels.create")
@pytest.mark.parametrize(
    "key", ["hello", "cli/abcdefghij", "webhook/a/b", "reminder/a/1", "C1/1/sub/x", "/x", "x/"]
)
async def test_an_adapter_makes_nothing_else(world: InProcess, key: str) -> None:
    token = token_of(world, ADAPTER)
    assert isinstance(await refused(ensure(world, key, token)), NotFoundError)
    message = pb.SendUserMessageRequest(session_id=key, text="x", sender=MINE, create=True)
    sent = world.gateway.SendUserMessage(message, metadata=token)
    assert isinstance(await refused(sent), NotFoundError)


@pytest.mark.requirement("channels.create")
async def test_an_adapter_makes_no_session_for_a_sender_of_another_channel(
    world: InProcess,
) -> None:
    made = ensure(world, KEY, token_of(world, ADAPTER), Sender(source_kind="discord"))
    assert isinstance(await refused(made), DeniedByPolicyError)


@pytest.mark.requirement("channels.cursor")
async def test_a_cursor_and_the_speakers_come_with_a_message(world: InProcess) -> None:
    token = token_of(world, ADAPTER)
    await send(world, token, "a", thread_cursor="read to 5", adopted_speakers=["U2", "U3"])
    assert (await ensure(world, KEY, token)).thread_cursor == "read to 5"
    rows = await world.store.read_journal(SessionId(KEY), since=0, limit=99)
    events = [recorded_of(row).event for row in rows]
    (admitted,) = [event for event in events if isinstance(event, InputAdmitted)]
    assert admitted.authority.adopted_context == ("U2", "U3")
    assert isinstance(
        await refused(send(world, token, "b", thread_cursor="x" * 20_000)), TooLargeError
    )
    assert isinstance(
        await refused(send(world, token, "b", adopted_speakers=["U"] * 201)), TooLargeError
    )


@pytest.mark.requirement("channels.inbox")
async def test_a_checked_file_lies_in_the_inbox_once(world: InProcess) -> None:
    token = token_of(world, ADAPTER)
    await ensure(world, KEY, token)
    first = await bring(world, token, "report.txt", b"one")
    place = Path(first.path)
    assert place.parts[-3:] == ("workspace", "inbox", "report.txt")
    assert await asyncio.to_thread(place.read_bytes) == b"one"
    assert (await bring(world, token, "report.txt", b"one")).path == first.path
    other = await bring(world, token, "report.txt", b"two")
    assert Path(other.path).name == "report (2).txt"
    assert sorted(names_in(place.parent)) == ["report (2).txt", "report.txt"]
    assert first.media.upload_id != other.media.upload_id


@pytest.mark.requirement("channels.inbox")
async def test_no_link_leads_a_file_elsewhere(world: InProcess, tmp_path: Path) -> None:
    token = token_of(world, ADAPTER)
    await ensure(world, KEY, token)
    folder = Path((await bring(world, token, "a.txt", b"one")).path).parent
    secret = tmp_path / "secret"
    secret.write_bytes(b"kept")
    (folder / "b.txt").symlink_to(secret)
    assert Path((await bring(world, token, "b.txt", b"kept")).path).name == "b (2).txt"
    folder.rename(folder.with_name("old"))
    folder.symlink_to(tmp_path)
    assert isinstance(await refused(bring(world, token, "c.txt", b"x")), DeniedByPolicyError)
    assert "c.txt" not in names_in(tmp_path)


@pytest.mark.requirement("channels.inbox")
@pytest.mark.parametrize(
    ("name", "safe"),
    [
        ("report.pdf", "report.pdf"),
        ("../../etc/passwd", "passwd"),
        (".bashrc", "bashrc"),
        ("-rf", "rf"),
        ("--help.txt", "help.txt"),
        ("a\nb\x1b[31m.txt", "a_b_[31m.txt"),
        ("photo\u202egnp.exe", "photo_gnp.exe"),
        ("", "file"),
        ("...", "file"),
        (" . ", "file"),
        ("Größe 1.png", "Größe 1.png"),
        ("C:\\x\\setup.exe", "setup.exe"),
        ("$(reboot).sh", "_(reboot).sh"),
        ("x" * 300 + ".txt", "x" * 116 + ".txt"),
        ("\ud800.txt", "\ufffd.txt"),
    ],
)
def test_a_hostile_name_becomes_a_harmless_one(name: str, safe: str) -> None:
    found = safe_name(name)
    assert found == safe
    assert len(found.encode()) <= 120
    assert safe_name(found) == found
