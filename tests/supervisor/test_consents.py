"""What session processes ask about consents, over the real stream, and who keeps the answers."""

from __future__ import annotations

import asyncio
import threading
from itertools import count
from pathlib import Path

import pytest

from netclaw.core.authority import Audience
from netclaw.core.authz import grants_file
from netclaw.core.authz.grants import ChatGrant, Grant, GrantForm, GrantStore
from netclaw.core.errors import ERROR_CLASSES, ErrorCode, NetclawError
from netclaw.core.exit_codes import ExitCode
from netclaw.core.ids import SessionId
from netclaw.ports.consents import KnownConsents, NewConsents
from netclaw.store import grants_file as grants_on_disk
from netclaw.store.grants_file import Reading
from netclaw.supervisor.chat_grants import AT_MOST, ChatGrants
from netclaw.supervisor.consents import Asker, Consents
from netclaw.supervisor.daemon import Wish
from netclaw.wire.consents import (
    ASK_CONSENTS,
    ASK_RECORD,
    decode_known,
    decode_new,
    encode_known,
    encode_new,
)
from netclaw.wire.v1 import admin_pb2, gateway_pb2
from netclaw.wire.v1.common_pb2 import Sender
from netclaw.wire.v1.session_host_pb2 import Ask, ToHost
from tests.supervisor.peers import Peer
from tests.supervisor.world import InProcess

AT = "2026-11-30T12:00:00+00:00"
_numbers = count(1)


def stored(words: str, audience: Audience = Audience.PERSONAL, **fields: str) -> Grant:
    """A grant for shell words."""
    return Grant(
        audience=audience,
        tool="shell_execute",
        form=GrantForm.TOKENS,
        words=tuple(words.split()),
        created_at=AT,
        directory=fields.get("directory"),
    )


def chat(words: str, audience: Audience = Audience.PERSONAL) -> ChatGrant:
    """A consent for one chat."""
    return ChatGrant(audience=audience, tool="shell_execute", words=tuple(words.split()))


class Asking:
    """A session process that asks what a test tells it to."""

    def __init__(self) -> None:
        self.peers: dict[str, asyncio.Queue[Peer]] = {}

    async def __call__(self, peer: Peer) -> int:
        welcome = await peer.connect()
        await peer.phase("ready")
        self.peers.setdefault(welcome.session_id, asyncio.Queue()).put_nowait(peer)
        await asyncio.Event().wait()
        return int(ExitCode.STREAM_LOST)

    async def peer(self, session_id: str) -> Peer:
        """The next process of a session."""
        async with asyncio.timeout(10):
            return await self.peers.setdefault(session_id, asyncio.Queue()).get()


async def ask(peer: Peer, kind: str, payload: bytes = b"") -> bytes:
    """Ask over the stream; raises the error of a refusal."""
    number = next(_numbers)
    await peer.send(ToHost(ask=Ask(number=number, kind=kind, payload=payload)))
    async with asyncio.timeout(10):
        answer = (await peer.expect("answer")).answer
    assert answer.number == number
    if answer.error_code:
        raise ERROR_CLASSES[ErrorCode(answer.error_code)](answer.sentence)
    return bytes(answer.payload)


async def known(peer: Peer) -> KnownConsents:
    """The consents as the process is told them."""
    return decode_known(await ask(peer, ASK_CONSENTS))


async def record(peer: Peer, *persistent: Grant, chats: tuple[ChatGrant, ...] = ()) -> None:
    """Hand consents over."""
    await ask(peer, ASK_RECORD, encode_new(NewConsents(chat=chats, persistent=persistent)))


async def started(world: InProcess, session_id: str = "hello") -> Peer:
    """A live process of a session that asks."""
    if not isinstance(world.spawner.default, Asking):
        world.spawner.default = Asking()
    await world.send(session_id, "x")
    return await world.spawner.default.peer(session_id)


async def code_of(work: object) -> ErrorCode:
    """The code of what is refused."""
    try:
        await work  # type: ignore[misc]
    except NetclawError as error:
        return error.code
    raise AssertionError("it was not refused")


@pytest.mark.requirement("approvals.asked")
def test_what_is_said_arrives_as_it_was_said() -> None:
    grants = (
        Grant(
            audience=Audience.TEAM,
            tool="shell_execute",
            form=GrantForm.TOKENS,
            words=("git", "push"),
            created_at=AT,
            repository="/r/.git",
            worktree="/r",
            digest="sha256:" + "0" * 64,
        ),
        stored("ls", directory="/p"),
    )
    told = KnownConsents(chat=frozenset({chat("a b")}), store=GrantStore(grants=grants, fault="x"))
    assert decode_known(encode_known(told)) == told
    added = NewConsents(chat=(chat("a"),), persistent=grants)
    assert decode_new(encode_new(added)) == added
    for payload in (b"", b"[]", b"{", b'{"chat": [{"audience": "Everybody"}]}', b"\xff"):
        for decode in (decode_known, decode_new):
            with pytest.raises(NetclawError) as caught:
                decode(payload)
            assert caught.value.code is ErrorCode.INVALID_ARGUMENT
    with pytest.raises(NetclawError):
        encode_new(NewConsents(chat=(chat("\ud800"),)))


@pytest.mark.requirement("approvals.asked")
async def test_a_process_is_told_what_it_recorded_and_the_file_holds_it(world: InProcess) -> None:
    peer = await started(world)
    assert await known(peer) == KnownConsents()
    await record(peer, stored("git push"), chats=(chat("git fetch"),))
    told = await known(peer)
    assert told.chat == {chat("git fetch")}
    assert told.store == GrantStore(grants=(stored("git push"),))
    text = world.home.grants_file.read_text()
    assert grants_file.read(text) == (stored("git push"),)
    assert world.home.grants_file.stat().st_mode & 0o777 == 0o600


@pytest.mark.requirement("approvals.asked")
async def test_an_edit_by_hand_counts_at_the_next_question(world: InProcess) -> None:
    peer = await started(world)
    path = world.home.grants_file
    path.write_text(grants_file.write((stored("git push"), stored("make", directory="/p"))))
    assert len((await known(peer)).store.grants) == 2
    path.write_text(grants_file.write((stored("make", directory="/p"),)))
    assert (await known(peer)).store.grants == (stored("make", directory="/p"),)
    await record(peer, stored("ls"))
    path.unlink()
    assert await known(peer) == KnownConsents()


@pytest.mark.requirement("approvals.asked")
@pytest.mark.timeout(60)
async def test_a_file_as_large_as_may_be_is_told_whole(world: InProcess) -> None:
    peer = await started(world)
    grants = tuple(stored(f"make {number}", directory="/p/" + "d" * 60) for number in range(13_000))
    text = grants_file.write(grants)
    assert 0.9 * grants_file.MAX_BYTES < len(text) <= grants_file.MAX_BYTES
    world.home.grants_file.parent.mkdir(exist_ok=True)
    world.home.grants_file.write_text(text)
    assert (await known(peer)).store.grants == grants


@pytest.mark.requirement("approvals.broken")
async def test_a_broken_file_is_left_alone_and_chat_consent_still_works(world: InProcess) -> None:
    peer = await started(world)
    path = world.home.grants_file
    path.parent.mkdir(exist_ok=True)
    path.write_text('{"version": 3, "audiences": {"Everybody": {}}}')
    before = path.read_bytes()
    assert await code_of(record(peer, stored("ls"))) is ErrorCode.APPROVAL_STORE_UNAVAILABLE
    await record(peer, chats=(chat("git push"),))
    told = await known(peer)
    assert told.store.fault
    assert told.store.grants == ()
    assert told.chat == {chat("git push")}
    assert path.read_bytes() == before


@pytest.mark.requirement("approvals.audience")
async def test_a_session_reaches_no_broader_audience_and_adds_to_its_own_alone(
    world: InProcess,
) -> None:
    world.spawner.default = asking = Asking()
    request = gateway_pb2.SendUserMessageRequest(
        session_id="C1/1",
        text="x",
        create=True,
        sender=Sender(
            sender_id="U1", source_kind="slack", principal="trusted", boundary="slack:T/C1"
        ),
    )
    await world.admin.Inject(request, metadata=world.metadata)
    team = await asking.peer("C1/1")
    personal = await started(world)
    everybody = tuple(stored("ls", audience) for audience in Audience)
    world.home.grants_file.parent.mkdir(exist_ok=True)
    world.home.grants_file.write_text(grants_file.write(everybody))
    assert {grant.audience for grant in (await known(team)).store.grants} == {
        *(Audience.TEAM, Audience.PUBLIC)
    }
    assert len((await known(personal)).store.grants) == 3
    for peer, own in ((team, Audience.TEAM), (personal, Audience.PERSONAL)):
        for audience in Audience:
            if audience is own:
                continue
            mixed = (stored("rm", own), stored("rm", audience))
            assert await code_of(record(peer, *mixed)) is ErrorCode.DENIED_BY_POLICY
            chats = (chat("rm", own), chat("rm", audience))
            assert await code_of(record(peer, chats=chats)) is ErrorCode.DENIED_BY_POLICY
        assert (await known(peer)).chat == frozenset()
    assert grants_file.read(world.home.grants_file.read_text()) == everybody


@pytest.mark.requirement("approvals.refused")
async def test_questions_that_are_none_are_refused(world: InProcess) -> None:
    peer = await started(world)
    assert await code_of(ask(peer, "spawn")) is ErrorCode.INVALID_ARGUMENT
    assert await code_of(ask(peer, ASK_RECORD, b"{")) is ErrorCode.INVALID_ARGUMENT
    large = b" " * (1024 * 1024 + 1)
    assert await code_of(ask(peer, ASK_RECORD, large)) is ErrorCode.INVALID_ARGUMENT
    bad = (
        stored("git\u202epush"),
        Grant(
            audience=Audience.PERSONAL,
            tool="Shell Execute",
            form=GrantForm.TOKENS,
            words=("a",),
            created_at=AT,
        ),
        stored("ls", directory="relative"),
    )
    for grant in bad:
        assert await code_of(record(peer, grant)) is ErrorCode.INVALID_ARGUMENT
    assert not world.home.grants_file.exists()


@pytest.mark.requirement("approvals.asked")
async def test_a_fault_of_ours_is_an_answer_too(
    world: InProcess, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    peer = await started(world)

    async def fails() -> None:
        raise RuntimeError("broken")

    monkeypatch.setattr(world.supervisor.services.consents.stored, "read", fails)
    assert await code_of(known(peer)) is ErrorCode.INTERNAL
    assert "broken" in caplog.text


@pytest.mark.requirement("approvals.broken")
async def test_a_disk_that_does_not_answer_holds_up_no_status(
    world: InProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk_answers = threading.Event()
    look = grants_on_disk.look

    def slow(path: Path) -> Reading:
        disk_answers.wait(10)
        return look(path)

    monkeypatch.setattr("netclaw.supervisor.grant_store.LOOK_PATIENCE_S", 0.05)
    monkeypatch.setattr(grants_on_disk, "look", slow)
    for _ in range(2):
        status = await world.admin.Status(admin_pb2.StatusRequest(), metadata=world.metadata)
        assert "could not be read" in status.grants_problem
    disk_answers.set()

    async def is_well() -> bool:
        found = await world.admin.Status(admin_pb2.StatusRequest(), metadata=world.metadata)
        return not found.grants_problem

    await world.until(is_well)


@pytest.mark.requirement("approvals.chat")
async def test_chat_consent_survives_a_crash_and_passivation_and_stays_in_its_chat(
    world: InProcess,
) -> None:
    peer = await started(world)
    other = await started(world, "other")
    await record(peer, chats=(chat("git push"),))
    assert (await known(other)).chat == frozenset()
    peer.process.kill()
    asking = world.spawner.default
    assert isinstance(asking, Asking)
    again = await asking.peer("hello")
    assert (await known(again)).chat == {chat("git push")}


@pytest.mark.requirement("approvals.chat")
@pytest.mark.parametrize("call", ["ResetSession", "DeleteSession"])
async def test_a_reset_and_a_delete_end_chat_consent(world: InProcess, call: str) -> None:
    peer = await started(world)
    await record(peer, stored("make"), chats=(chat("git push"),))
    await world.admin_call(call, "hello")
    again = await started(world)
    told = await known(again)
    assert told.chat == frozenset()
    assert told.store.grants == (stored("make"),)


@pytest.mark.requirement("approvals.chat")
async def test_a_stop_of_the_daemon_ends_chat_consent(world: InProcess) -> None:
    peer = await started(world)
    await record(peer, stored("make"), chats=(chat("git push"),))
    world.supervisor.wish(Wish.STOP)
    await world.until(lambda: world.supervisor.state == "draining")
    await world.stop()  # the second wish is in a hurry
    world.spawner.default = Asking()
    await world.start()
    told = await known(await started(world))
    assert told.chat == frozenset()
    assert told.store.grants == (stored("make"),)


@pytest.mark.requirement("approvals.chat")
async def test_what_a_child_run_is_let_do_reaches_its_parent_not(tmp_path: Path) -> None:
    consents = Consents(tmp_path / "tool-approvals.json")
    parent = Asker(session_id=SessionId("cli/a"), audience=Audience.PERSONAL)
    child = Asker(session_id=SessionId("cli/a/sub/r1"), audience=Audience.PERSONAL)
    for asker, word in ((parent, "a"), (child, "b")):
        added = encode_new(NewConsents(chat=(chat(word),)))
        await consents.answer(asker, ASK_RECORD, added)
    told = [decode_known(await consents.answer(who, ASK_CONSENTS, b"")) for who in (parent, child)]
    assert [known.chat for known in told] == [{chat("a")}, {chat("a"), chat("b")}]
    consents.stored.close()


@pytest.mark.requirement("approvals.chat")
def test_a_child_run_uses_the_consent_of_those_above_it_and_shares_none_of_its_own() -> None:
    chats = ChatGrants()
    parent, child, grandchild = (
        SessionId("cli/a"),
        SessionId("cli/a/sub/r1"),
        SessionId("cli/a/sub/r1/sub/r2"),
    )
    chats.add(parent, (chat("a"),))
    chats.add(child, (chat("b"),))
    chats.add(grandchild, (chat("c"),))
    chats.add(SessionId("cli/ab"), (chat("d"),))
    assert chats.of(parent) == {chat("a")}
    assert chats.of(child) == {chat("a"), chat("b")}
    assert chats.of(grandchild) == {chat("a"), chat("b"), chat("c")}
    assert len([*chats]) == 4
    chats.revoke(child, (chat("b"), chat("z")))
    assert chats.of(grandchild) == {chat("a"), chat("c")}
    chats.forget(parent)
    assert [*chats] == [(SessionId("cli/ab"), chat("d"))]


@pytest.mark.requirement("approvals.chat")
def test_one_chat_holds_a_bounded_number_of_consents() -> None:
    chats = ChatGrants()
    mine = SessionId("cli/a")
    chats.add(mine, (chat(f"w{n}") for n in range(AT_MOST)))
    chats.add(mine, (chat("w1"),))
    with pytest.raises(NetclawError) as caught:
        chats.add(mine, (chat("new"),))
    assert caught.value.code is ErrorCode.TOO_LARGE
    assert len(chats.of(mine)) == AT_MOST
