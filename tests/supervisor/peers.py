"""Session processes without a process: scripts that dial the real socket and speak the protocol."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from itertools import count

import grpc
import grpc.aio

from netclaw.core.authority import Authority
from netclaw.core.exit_codes import ExitCode
from netclaw.core.ids import InputId, SessionId, TurnId
from netclaw.core.messages import AssistantMessage, Usage
from netclaw.core.session import events as ev
from netclaw.core.session.evolve import evolve, replay
from netclaw.core.session.outputs import Output, TextOutput, TurnCompletedOutput
from netclaw.core.session.state import SessionState
from netclaw.ports.spawner import Bootstrap
from netclaw.wire.chunks import CHANNEL_OPTIONS, ChunkJoiner, to_host_frames
from netclaw.wire.convert import draft_to_proto, recorded_of
from netclaw.wire.journal_codec import STATE_CODEC, encode_event, encode_state
from netclaw.wire.outputs import output_to_proto
from netclaw.wire.v1 import session_host_pb2 as pb
from netclaw.wire.v1.common_pb2 import OutputBatch
from netclaw.wire.v1.session_host_pb2_grpc import SessionHostStub

_pids = count(4_000_001)
_ids = count(1)

Script = Callable[["Peer"], Awaitable[int]]
"""Plays one process; returns its exit status."""


class FakeProcess:
    """What the supervisor sees of a scripted process."""

    def __init__(self) -> None:
        self.pid = next(_pids)
        self.has_dumped_stacks = False
        self._ended: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self.playing: asyncio.Task[None] | None = None

    @property
    def is_alive(self) -> bool:
        """Until it ended or was killed."""
        return not self._ended.done()

    async def wait(self) -> int:
        """Exit status."""
        return await asyncio.shield(self._ended)

    def end(self, status: int) -> None:
        """Exit with a status."""
        if not self._ended.done():
            self._ended.set_result(status)

    def kill(self) -> None:
        """SIGKILL."""
        self.end(-9)
        if self.playing is not None:
            self.playing.cancel()

    def dump_stacks(self) -> None:
        """Note that it was asked to."""
        self.has_dumped_stacks = True


class Peer:
    """The process's end of the stream."""

    def __init__(self, bootstrap: Bootstrap, process: FakeProcess) -> None:
        self.bootstrap = bootstrap
        self.process = process
        self.welcome = pb.Welcome()
        self.state = SessionState()
        self._channel = grpc.aio.insecure_channel(
            f"unix:{bootstrap.host_socket}",
            options=(*CHANNEL_OPTIONS, ("grpc.use_local_subchannel_pool", 1)),
        )
        self._call: grpc.aio.StreamStreamCall[pb.ToHost, pb.ToSession] = SessionHostStub(
            self._channel
        ).Connect()
        self._joiner = ChunkJoiner()
        self._writing = asyncio.Lock()
        self.passed_over: list[pb.ToSession] = []
        """Frames that came while another kind was waited for."""

    async def close(self) -> None:
        """Drop the connection."""
        await self._channel.close()

    async def connect(self, token: str | None = None) -> pb.Welcome:
        """Introduce ourselves; returns the Welcome and recovers the state."""
        hello = pb.Hello(token=self.bootstrap.token if token is None else token, pid=1)
        await self.send(pb.ToHost(hello=hello))
        frame = await self.read()
        assert frame is not None
        assert frame.WhichOneof("body") == "welcome"
        self.welcome = frame.welcome
        start = SessionState(session_id=SessionId(self.welcome.session_id))
        if self.welcome.snapshot:
            from netclaw.wire.journal_codec import decode_state

            start = decode_state(self.welcome.snapshot_codec, self.welcome.snapshot)
        self.state = replay(start, map(recorded_of, self.welcome.tail))
        return self.welcome

    async def send(self, frame: pb.ToHost) -> None:
        """Send one frame, in pieces if it is large."""
        async with self._writing:
            for part in to_host_frames(frame):
                await self._call.write(part)

    async def read(self) -> pb.ToSession | None:
        """The next frame, None at the end of the stream; pings are answered."""
        while True:
            frame = await self._call.read()
            if not isinstance(frame, pb.ToSession):
                return None
            kind = frame.WhichOneof("body")
            if kind == "ping":
                await self.send(pb.ToHost(pong=pb.Pong(number=frame.ping.number)))
            elif kind == "chunk":
                whole = self._joiner.add(frame.chunk)
                if whole is not None:
                    return pb.ToSession.FromString(whole)
            else:
                if kind == "committed":
                    for row in frame.committed.rows:
                        self.state = evolve(self.state, recorded_of(row))
                return frame

    async def read_raw(self) -> pb.ToSession:
        """The next frame as it came, pings included."""
        frame = await self._call.read()
        assert isinstance(frame, pb.ToSession)
        return frame

    async def expect(self, kind: str) -> pb.ToSession:
        """Read on until a frame of this kind."""
        while (frame := await self.read()) is not None:
            if frame.WhichOneof("body") == kind:
                return frame
            self.passed_over.append(frame)
        raise AssertionError(f"the stream ended before a frame {kind}")

    async def phase(self, word: str) -> None:
        """Say what we are doing."""
        await self.send(pb.ToHost(phase=pb.PhaseChanged(phase=word)))

    async def emit(self, *outputs: Output) -> None:
        """Send outputs that need no commit."""
        batch = OutputBatch(outputs=[output_to_proto(output) for output in outputs])
        await self.send(pb.ToHost(output=batch))

    async def append(
        self,
        *events: ev.SessionEvent,
        outputs: tuple[Output, ...] = (),
        expected_head: int | None = None,
        snapshot: pb.Snapshot | None = None,
        append_id: str | None = None,
        phase: str = "",
    ) -> str:
        """Send an append; returns its id."""
        append_id = append_id or f"append-{next(_ids)}"
        await self.send(
            pb.ToHost(
                append=pb.Append(
                    append_id=append_id,
                    incarnation=self.welcome.incarnation,
                    expected_head=self.state.head if expected_head is None else expected_head,
                    events=[draft_to_proto(encode_event(event)) for event in events],
                    at_ms=1,
                    cause="Test",
                    outputs=[output_to_proto(output) for output in outputs],
                    snapshot=snapshot,
                    phase=phase,
                )
            )
        )
        return append_id

    async def committed(self, append_id: str) -> pb.Committed:
        """Read on until our own append is committed."""
        while True:
            frame = await self.expect("committed")
            if frame.committed.append_id == append_id:
                return frame.committed

    async def start_turn(self) -> TurnId:
        """Start a turn for everything that waits."""
        turn_id = TurnId(f"turn-{next(_ids)}")
        inputs = tuple(item.admitted.input_id for item in self.state.buffered)
        authority = self.state.buffered[0].admitted.authority
        started = ev.TurnStarted(turn_id=turn_id, input_ids=inputs, authority=authority)
        await self.phase("processing")
        await self.committed(await self.append(started))
        return turn_id

    async def finish_turn(self, turn_id: TurnId, text: str) -> None:
        """Record the open turn with its answer."""
        turn = self.state.turn
        assert turn is not None
        recorded, outputs = answer(turn_id, text, turn.input_ids)
        await self.committed(await self.append(recorded, outputs=outputs))
        await self.phase("ready")

    async def passivate(self) -> None:
        """Say goodbye with a snapshot."""
        while True:
            append_id = await self.append(
                ev.Passivated(snapshot_seq=self.state.head + 1),
                snapshot=pb.Snapshot(
                    codec=STATE_CODEC, payload=encode_state(self.state), mandatory=True
                ),
            )
            while (frame := await self.read()) is not None:
                kind = frame.WhichOneof("body")
                if kind == "refused":
                    break
                if kind == "committed" and frame.committed.append_id == append_id:
                    return


def answer(
    turn_id: TurnId, text: str, inputs: tuple[InputId, ...]
) -> tuple[ev.TurnRecorded, tuple[Output, ...]]:
    """A recorded turn and what subscribers see of it."""
    recorded = ev.TurnRecorded(
        turn_id=turn_id,
        message=AssistantMessage(text=text, at=1, turn_id=turn_id),
        outcome=ev.TurnOutcome.COMPLETED,
        usage=Usage(input_tokens=3, output_tokens=2),
        model="scripted",
        input_ids=inputs,
    )
    outputs: tuple[Output, ...] = (
        TextOutput(turn_id=turn_id, text=text, round=0),
        TurnCompletedOutput(turn_id=turn_id, input_ids=inputs, outcome=ev.TurnOutcome.COMPLETED),
    )
    return recorded, outputs


async def echo(peer: Peer) -> int:
    """A session that answers each batch of inputs with their texts, until it is told to end."""
    await peer.connect()
    await peer.phase("ready")
    while True:
        while peer.state.buffered:
            text = " | ".join(item.admitted.text for item in peer.state.buffered)
            await peer.finish_turn(await peer.start_turn(), text)
        frame = peer.passed_over.pop(0) if peer.passed_over else await peer.read()
        if frame is None:
            return ExitCode.STREAM_LOST
        if frame.WhichOneof("body") == "command" and frame.command.kind in ("drain", "passivate"):
            await peer.passivate()
            return ExitCode.PASSIVATED


async def stay_ready(peer: Peer) -> int:
    """A session that recovers and then does nothing but read."""
    await peer.connect()
    await peer.phase("ready")
    while await peer.read() is not None:
        pass
    return ExitCode.STREAM_LOST


class ScriptedSpawner:
    """Starts scripts instead of processes; the next script in line, else the default."""

    def __init__(self, default: Script = echo) -> None:
        self.default = default
        self.scripts: list[Script] = []
        self.bootstraps: list[Bootstrap] = []
        self.peers: list[Peer] = []
        self.processes: list[FakeProcess] = []
        self.failures: list[Exception] = []
        self.on_spawn: asyncio.Event = asyncio.Event()

    @property
    def zygote_pid(self) -> int:
        """There is none."""
        return 0

    async def spawn(self, bootstrap: Bootstrap) -> FakeProcess:
        """Start the next script."""
        if self.failures:
            raise self.failures.pop(0)
        process = FakeProcess()
        script = self.scripts.pop(0) if self.scripts else self.default
        peer = Peer(bootstrap, process)
        self.bootstraps.append(bootstrap)
        self.peers.append(peer)
        self.processes.append(process)
        process.playing = asyncio.create_task(self._play(script, peer))
        self.on_spawn.set()
        return process

    async def reap_strangers(self) -> int:
        """Scripts leave nobody behind."""
        return 0

    async def close(self) -> None:
        """End every script that still plays."""
        playing = [p.playing for p in self.processes if p.playing is not None]
        for task in playing:
            task.cancel()
        await asyncio.gather(*playing, return_exceptions=True)

    async def _play(self, script: Script, peer: Peer) -> None:
        status = -9
        try:
            status = await script(peer)
        except (grpc.aio.AioRpcError, asyncio.InvalidStateError):
            status = ExitCode.STREAM_LOST
        finally:
            await peer.close()
            peer.process.end(int(status))


def authority_of(state: SessionState) -> Authority:
    """The authority of the first input that waits."""
    return state.buffered[0].admitted.authority
