"""The stream between the supervisor and a session's process, over its real socket."""

from __future__ import annotations

import grpc.aio
import pytest

from netclaw.core.errors import StorageFullError
from netclaw.core.exit_codes import ExitCode
from netclaw.core.session import events as ev
from netclaw.core.session.evolve import preview
from netclaw.core.session.outputs import NoticeOutput
from netclaw.wire.journal_codec import STATE_CODEC, decode_settings, encode_state
from netclaw.wire.v1 import session_host_pb2 as pb
from tests.supervisor.peers import Peer, answer
from tests.supervisor.world import InProcess, played


@pytest.mark.requirement("supervisor.start-point")
async def test_a_welcome_holds_all_a_process_needs(world: InProcess) -> None:
    async def play(peer: Peer) -> None:
        welcome = await peer.connect()
        assert welcome.session_id == "hello"
        assert welcome.incarnation == 1
        assert welcome.storage_home == str(world.home.root)
        assert welcome.storage_root.startswith(f"{world.home.root}/sessions/hello-")
        assert decode_settings(welcome.settings) == world.config.session
        assert [row.type for row in welcome.tail] == ["SessionCreated", "InputAdmitted"]
        assert not welcome.snapshot
        assert welcome.generation == 1

    await played(world, play)
    boot = world.spawner.bootstraps[0]
    assert boot.token not in repr(world.supervisor.services.settings.current)
    assert boot.log_path.endswith("/logs/session.log")


@pytest.mark.requirement("supervisor.one-time-token")
async def test_a_token_opens_one_stream_once_and_a_wrong_one_none(world: InProcess) -> None:
    async def play(peer: Peer) -> None:
        thief = Peer(peer.bootstrap, peer.process)
        with pytest.raises(grpc.aio.AioRpcError) as wrong:
            await thief.connect("guess")
        await thief.close()
        await peer.connect()
        again = Peer(peer.bootstrap, peer.process)
        with pytest.raises(grpc.aio.AioRpcError) as used:
            await again.connect()
        await again.close()
        codes = [caught.value.code() for caught in (wrong, used)]
        assert codes == [grpc.StatusCode.UNAUTHENTICATED] * 2

    await played(world, play)


@pytest.mark.requirement("supervisor.one-time-token")
async def test_the_token_of_a_process_that_died_before_its_hello_is_void(
    world: InProcess,
) -> None:
    async def die_at_once(_peer: Peer) -> int:
        return -9

    world.spawner.scripts = [die_at_once]
    await world.send("hello", "x")
    await world.until_phase("hello", "ready")
    late = Peer(world.spawner.bootstraps[0], world.spawner.processes[0])
    for token in (None, "", "\u00e9"):
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await late.connect(token)
        assert caught.value.code() is grpc.StatusCode.UNAUTHENTICATED
        await late.close()
        late = Peer(world.spawner.bootstraps[0], world.spawner.processes[0])
    await late.close()


async def test_a_stream_that_does_not_begin_with_hello_is_refused(world: InProcess) -> None:
    async def play(peer: Peer) -> None:
        other = Peer(peer.bootstrap, peer.process)
        await other.phase("ready")
        with pytest.raises(grpc.aio.AioRpcError):
            await other.read_raw()
        await other.close()
        await peer.connect()

    await played(world, play)


@pytest.mark.requirement("supervisor.commit-order")
async def test_own_and_foreign_commits_come_in_commit_order(world: InProcess) -> None:
    async def play(peer: Peer) -> None:
        await peer.connect()
        await peer.phase("ready")
        for number in range(20):
            append_id = await peer.append(ev.TitleSet(title=f"t{number}", actor="model"))
            await world.send("hello", f"m{number}", sender={"sender_id": "x"})
            await peer.committed(append_id)
        while peer.state.head < 42:
            await peer.read()
        # `evolve` would have stopped at a gap; the state is that of the stored journal.
        assert peer.state.title == "t19"
        assert len(peer.state.buffered) == 21

    await played(world, play)
    types = await world.events("hello")
    assert types.count("TitleSet") == 20
    assert types.count("InputAdmitted") == 21


@pytest.mark.requirement("supervisor.start-point")
async def test_inputs_admitted_while_a_process_starts_follow_its_welcome_once(
    world: InProcess,
) -> None:
    async def play(peer: Peer) -> None:
        for number in range(5):
            await world.send("hello", f"early {number}")
        await peer.connect()
        while len(peer.state.buffered) < 6:
            await peer.read()
        texts = [item.admitted.text for item in peer.state.buffered]
        assert texts == ["go", *(f"early {number}" for number in range(5))]

    await played(world, play)


@pytest.mark.requirement("supervisor.refused-after-committed")
async def test_a_refusal_comes_after_the_commits_that_moved_the_head(world: InProcess) -> None:
    async def play(peer: Peer) -> None:
        await peer.connect()
        await peer.phase("processing")  # so that the input below is in no hurry
        base = peer.state.head
        sent = await world.send("hello", "meanwhile")
        append_id = await peer.append(
            ev.Passivated(snapshot_seq=base + 1),
            expected_head=base,
            snapshot=pb.Snapshot(
                codec=STATE_CODEC, payload=encode_state(peer.state), mandatory=True
            ),
        )
        order = []
        while True:
            frame = await peer.read()
            assert frame is not None
            order.append(frame.WhichOneof("body"))
            if frame.HasField("refused"):
                assert (frame.refused.append_id, frame.refused.head) == (append_id, sent.seq)
                break
        assert order == ["committed", "refused"]

    await played(world, play)


async def test_a_repeated_append_is_answered_again_and_stored_once(world: InProcess) -> None:
    async def play(peer: Peer) -> None:
        await peer.connect()
        head = peer.state.head
        first = await peer.append(ev.TitleSet(title="t", actor="model"), append_id="same")
        await peer.committed(first)
        again = await peer.append(
            ev.TitleSet(title="t", actor="model"), append_id="same", expected_head=head
        )
        frame = await peer.read_raw()
        assert frame.committed.append_id == again

    await played(world, play)
    assert (await world.events("hello")).count("TitleSet") == 1


@pytest.mark.requirement("supervisor.storage-wait")
async def test_an_append_that_cannot_be_stored_fails_for_good(world: InProcess) -> None:
    async def play(peer: Peer) -> None:
        await peer.connect()
        world.store.failure = StorageFullError("The disk is full.")
        append_id = await peer.append(ev.TitleSet(title="t", actor="model"))
        frame = await peer.expect("append_failed")
        assert frame.append_failed.append_id == append_id
        assert frame.append_failed.code == "storage_full"
        assert frame.append_failed.sentence
        world.store.failure = None

    await played(world, play)
    assert world.supervisor.services.health.state in ("storage_full", "ok")


async def test_what_a_process_may_not_author_fails(world: InProcess) -> None:
    async def play(peer: Peer) -> None:
        await peer.connect()
        await peer.append(ev.CrashRecorded(exit_status=1, turn_id=None, attempt=1))
        frame = await peer.expect("append_failed")
        assert frame.append_failed.code == "invalid_argument"

    await played(world, play)


@pytest.mark.requirement("supervisor.chunks")
async def test_large_frames_cross_in_pieces_both_ways(world: InProcess) -> None:
    big = "x" * 900_000

    async def play(peer: Peer) -> None:
        await peer.connect()
        for number in range(6):
            await world.send("hello", f"{number}{big}")
        turn_id = await peer.start_turn()
        turn = peer.state.turn
        assert turn is not None
        recorded, outputs = answer(turn_id, "ok", turn.input_ids)
        state = encode_state(preview(peer.state, recorded, at=1))
        assert len(state) > 4 * 1024 * 1024
        await peer.committed(
            await peer.append(
                recorded,
                outputs=outputs,
                snapshot=pb.Snapshot(codec=STATE_CODEC, payload=state, mandatory=False),
            )
        )
        peer.process.kill()

    first = await played(world, play)
    await world.until(lambda: len(world.spawner.peers) == 2)
    second = world.spawner.peers[1]
    await world.until(lambda: bool(second.welcome.session_id))
    assert len(second.welcome.snapshot) > 4 * 1024 * 1024
    assert second.state.turns == 1
    assert first.welcome.incarnation < second.welcome.incarnation


async def test_outputs_need_no_commit_and_interest_follows_the_subscribers(
    world: InProcess,
) -> None:
    async def play(peer: Peer) -> None:
        welcome = await peer.connect()
        assert welcome.interest == 2
        await peer.phase("ready")
        await peer.emit(NoticeOutput(sentence="hello there", kind="test"))
        async with world.attached("hello", 8):
            frame = await peer.expect("interest")
            assert frame.interest.filter == 10
        frame = await peer.expect("interest")
        assert frame.interest.filter == 2

    await world.ensure("hello")
    async with world.attached("hello", 2) as watcher:
        await played(world, play)
        seen = await watcher.until("notice")
        assert [(output.seq, output.index, output.incarnation) for output in seen] == [(0, 1, 1)]


async def test_an_unknown_question_is_refused_by_its_code(world: InProcess) -> None:
    async def play(peer: Peer) -> None:
        await peer.connect()
        await peer.send(pb.ToHost(ask=pb.Ask(number=7, kind="meaning of life")))
        frame = await peer.expect("answer")
        assert (frame.answer.number, frame.answer.error_code) == (7, "invalid_argument")

    await played(world, play)


@pytest.mark.parametrize(
    "frame",
    [
        pb.ToHost(phase=pb.PhaseChanged(phase="dreaming")),
        pb.ToHost(hello=pb.Hello(token="again")),
        pb.ToHost(chunk=pb.Chunk(data=b"\xff\xff", last=True)),
        pb.ToHost(),
    ],
    ids=["phase", "second-hello", "broken-chunk", "empty"],
)
async def test_a_process_that_breaks_the_protocol_loses_its_stream_and_is_replaced(
    world: InProcess, frame: pb.ToHost
) -> None:
    async def rude(peer: Peer) -> int:
        await peer.connect()
        await peer.send(frame)
        while await peer.read() is not None:
            pass
        return ExitCode.STREAM_LOST

    world.spawner.scripts = [rude]
    await world.ensure("hello")
    async with world.attached("hello") as watcher:
        await world.send("hello", "still there?")
        seen = await watcher.until("turn_completed")
    assert [output.text for output in seen if output.type == "text"] == ["still there?"]


@pytest.mark.requirement("supervisor.phase-rides")
async def test_a_phase_that_rides_in_an_append_is_in_force_with_its_commit(
    world: InProcess,
) -> None:
    async def play(peer: Peer) -> None:
        await peer.connect()
        await peer.phase("ready")
        live = world.supervisor.router.live_sessions()[0]
        title = ev.TitleSet(title="t", actor="model")
        await peer.append(title, phase="processing", expected_head=0)
        await peer.expect("refused")
        assert live.phase.value == "ready"
        await peer.committed(await peer.append(title, phase="processing"))
        assert live.phase.value == "processing"
        await peer.append(title, phase="dancing")
        assert (await peer.expect("append_failed")).append_failed.code == "invalid_argument"
        assert live.phase.value == "processing"

    await played(world, play)
