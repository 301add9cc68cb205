"""A scripted supervisor: the real stream on a real Unix socket, over a journal in memory.

By default it behaves like the supervisor for one session. A test bends it: hold appends back,
refuse or fail them, cut the stream, fall silent, send commands.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path

import grpc
import grpc.aio

from netclaw.core.errors import InvalidArgumentError, NetclawError
from netclaw.core.exit_codes import ExitCode
from netclaw.core.session.outputs import OutputFilter
from netclaw.core.settings import SessionSettings
from netclaw.ports.spawner import Bootstrap
from netclaw.wire.chunks import CHANNEL_OPTIONS, ChunkJoiner, to_session_messages
from netclaw.wire.consents import decode_new, encode_known
from netclaw.wire.journal_codec import encode_settings
from netclaw.wire.v1 import common_pb2 as pb
from netclaw.wire.v1.session_host_pb2 import (
    Answer,
    Append,
    AppendFailed,
    Ask,
    ChildRole,
    Committed,
    Failing,
    HostCommand,
    OutputInterest,
    Ping,
    Refused,
    ToHost,
    ToolTreeAck,
    ToSession,
    Welcome,
)
from tests.fakes.consents import MemoryConsents
from tests.session_proc.journal import SESSION, MemoryJournal, RefusedError, StaleError
from tests.witnesses import tail_of, witness

TOKEN = "one-time-token"


class Crash(Enum):
    """Where a process dies around one of its appends."""

    BEFORE_COMMIT = "before commit"
    AFTER_COMMIT = "after commit"


@dataclass(slots=True)
class Seen:
    """What came from the session, and a way to wait for more of it."""

    frames: list[ToHost] = field(default_factory=list)
    outputs: list[pb.Output] = field(default_factory=list)
    appends: list[Append] = field(default_factory=list)
    phases: list[str] = field(default_factory=list)
    pongs: list[int] = field(default_factory=list)
    failing: list[Failing] = field(default_factory=list)
    changed: asyncio.Condition = field(default_factory=asyncio.Condition)

    def of_type(self, kind: str) -> list[pb.Output]:
        """The outputs of one type."""
        return [output for output in self.outputs if output.type == kind]

    def text(self, kind: str = "text_delta") -> str:
        """The joined texts of one type of output."""
        return "".join(output.text for output in self.of_type(kind))


async def answer_of(ask: Ask, consents: MemoryConsents) -> Answer:
    """What the supervisor answers a question of the session."""
    answer = Answer(number=ask.number)
    try:
        match ask.kind:
            case "consents":
                answer.payload = encode_known(await consents.read())
            case "record_consents":
                await consents.record(decode_new(ask.payload))
            case _:
                raise InvalidArgumentError(f"There is no question {ask.kind!r}.")
    except NetclawError as error:
        answer.error_code, answer.sentence = error.code.value, error.sentence
    return answer


class ScriptedHost:
    """One session's supervisor. Journal and settings outlive a process; a stream does not."""

    def __init__(self, folder: Path, *, settings: SessionSettings) -> None:
        self.folder = folder
        self.socket = str(folder / "host.sock")
        self.settings = settings
        self.journal = MemoryJournal()
        self.seen = Seen()
        self.interest = OutputFilter.ALL
        self.credentials: dict[str, str] = {}
        self.redactions: tuple[str, ...] = ()
        self.fail_append: Callable[[Append], AppendFailed | None] = lambda _append: None
        self.before_append: Callable[[Append], None] = lambda _append: None
        self.crash_at: tuple[int, Crash] | None = None
        """Number of the append (from 1, over all processes) and how its process dies there."""
        self.before_welcome: Callable[[], None] = lambda: None
        self.hold_appends = asyncio.Event()
        self.hold_appends.set()
        self.reading = asyncio.Event()
        self.reading.set()
        """Cleared: what comes from the session is left unread."""
        self.withhold_answers = False
        """Keep the answers to appends back until `release_answers`."""
        self._withheld: list[ToSession] = []
        self.acks_trees = True
        self.consents = MemoryConsents()
        self.answers_asks = True
        self.child: ChildRole | None = None
        """The run that the next process works for."""
        self.on_ask: Callable[[Ask], bool] = lambda _ask: False
        """Takes a question; true if it answers it itself, now or later."""
        self._process: asyncio.Task[ExitCode] | None = None
        self.connected = asyncio.Event()
        """What is sent from now on follows the Welcome, which holds all that came before."""
        self.over = asyncio.Event()
        """The newest stream has ended."""
        self._streams = 0
        self._is_shut = False
        self._out: asyncio.Queue[ToSession | None] = asyncio.Queue()
        self._server: grpc.aio.Server | None = None
        witness(self)

    def tell(self) -> str:
        """Where the stream, the journal and the session's own log stand."""
        return "\n".join(
            (
                f"stream {self._streams}, connected: {self.connected.is_set()}",
                f"journal: {self.journal.names()}",
                f"appends: {[[e.type for e in append.events] for append in self.seen.appends]}",
                f"outputs: {[output.type for output in self.seen.outputs][-50:]}",
                f"phases: {self.seen.phases}, pongs: {self.seen.pongs[-10:]}",
                f"failing: {[failing.stack for failing in self.seen.failing]}",
                tail_of(Path(self.bootstrap().log_path)),
            )
        )

    def bootstrap(self, *, supervisor_pid: int | None = None, memory_mib: int = 512) -> Bootstrap:
        """What the next process starts from."""
        return Bootstrap(
            session_id=SESSION,
            host_socket=self.socket,
            token=TOKEN,
            supervisor_pid=os.getpid() if supervisor_pid is None else supervisor_pid,
            memory_mib=memory_mib,
            log_path=str(self.folder / "root" / "logs" / "session.log"),
        )

    def admit(self, text: str, *, sender: str = "me") -> str:
        """Admit an input and publish it."""
        input_id, rows = self.journal.admit(text, sender=sender)
        self.send(ToSession(committed=Committed(rows=rows)))
        return input_id

    def send(self, frame: ToSession) -> None:
        """Queue a frame to the session, if one is connected."""
        if self.connected.is_set():
            self._out.put_nowait(frame)

    def command(self, kind: str, **fields: object) -> None:
        """Send a command of the daemon or of a person."""
        self.send(ToSession(command=HostCommand(kind=kind, **fields)))  # type: ignore[arg-type]

    def change_interest(self, interest: OutputFilter) -> None:
        """Other subscribers watch now."""
        self.interest = interest
        self.send(ToSession(interest=OutputInterest(filter=int(interest))))

    def ping(self, number: int) -> None:
        """Ask for a sign of life."""
        self.send(ToSession(ping=Ping(number=number)))

    async def settled(self) -> None:
        """Return once the session has read everything sent so far."""
        number = len(self.seen.pongs) + 1_000_000
        self.ping(number)
        await self.until(lambda seen: number in seen.pongs)

    def release_answers(self) -> None:
        """Send the answers that were kept back."""
        self.withhold_answers = False
        for answer in self._withheld:
            self.send(answer)
        self._withheld.clear()

    def watch(self, process: asyncio.Task[ExitCode]) -> None:
        """Remember the process, for `ended`."""
        self._process = process

    async def ended(self) -> ExitCode:
        """Return once the watched process has ended, its log written."""
        assert self._process is not None
        async with asyncio.timeout(10):
            return await self._process

    def acknowledge_tree(self, call_id: str) -> None:
        """Acknowledge a tool's tree by hand."""
        self.send(ToSession(tool_tree_ack=ToolTreeAck(call_id=call_id)))

    def cut(self) -> None:
        """End the stream."""
        self._out.put_nowait(None)

    def shut(self) -> None:
        """End the stream, and any that begins from now on as soon as it was welcomed."""
        self._is_shut = True
        self.cut()

    async def until(self, condition: Callable[[Seen], bool]) -> None:
        """Return once the condition holds for what was seen."""
        async with self.seen.changed:
            await self.seen.changed.wait_for(lambda: condition(self.seen))

    async def turn_completed(self, count: int = 1) -> None:
        """Return once so many turns have ended."""
        await self.until(lambda seen: len(seen.of_type("turn_completed")) >= count)

    async def connect(
        self,
        requests: AsyncIterator[ToHost],
        context: grpc.aio.ServicerContext[ToHost, bytes],
    ) -> None:
        """The one method of the service."""
        joiner = ChunkJoiner()
        first = await anext(requests)
        if first.hello.token != TOKEN:
            await context.abort(grpc.StatusCode.UNAUTHENTICATED, "unknown token")
        self._streams += 1
        number, out = self._streams, asyncio.Queue[ToSession | None]()
        self._out = out
        self.over.clear()
        self.before_welcome()
        # Nothing waits between the two: an input is either in the Welcome or sent after it.
        out.put_nowait(ToSession(welcome=self._welcome()))
        self.connected.set()
        if self._is_shut:
            self.cut()
        reader = asyncio.create_task(self._read(requests, joiner), name="host reader")
        writer = asyncio.create_task(self._drain(context, out), name="host writer")
        try:
            await asyncio.wait((reader, writer), return_when=asyncio.FIRST_COMPLETED)
        finally:
            if number == self._streams:
                self.connected.clear()
            for task in (reader, writer):
                task.cancel()
            await asyncio.gather(reader, writer, return_exceptions=True)
            if number == self._streams:
                self.over.set()
            await self._notify()

    def _welcome(self) -> Welcome:
        self.journal.incarnation += 1
        journal = self.journal
        return Welcome(
            session_id=SESSION,
            incarnation=journal.incarnation,
            storage_home=str(self.folder),
            storage_root=str(self.folder / "root"),
            storage_tmp=str(self.folder / "netclaw-0" / "aaaa" / "p"),
            settings=encode_settings(self.settings),
            credentials=self.credentials,
            snapshot=journal.snapshot.payload if journal.snapshot else b"",
            snapshot_seq=journal.snapshot_seq,
            tail=journal.rows[journal.snapshot_seq :],
            interest=int(self.interest),
            redactions=self.redactions,
            child=self.child,
        )

    async def _read(self, requests: AsyncIterator[ToHost], joiner: ChunkJoiner) -> None:
        async for frame in requests:
            await self.reading.wait()
            whole = frame
            if frame.WhichOneof("body") == "chunk":
                joined = joiner.add(frame.chunk)
                if joined is None:
                    continue
                whole = ToHost.FromString(joined)
            await self._take(whole)

    async def _take(self, frame: ToHost) -> None:
        seen = self.seen
        seen.frames.append(frame)
        match frame.WhichOneof("body"):
            case "append":
                seen.appends.append(frame.append)
                await self._notify()
                await self.hold_appends.wait()
                self._append(frame.append)
            case "output":
                seen.outputs.extend(frame.output.outputs)
            case "pong":
                seen.pongs.append(frame.pong.number)
            case "phase":
                seen.phases.append(frame.phase.phase)
            case "ask" if self.on_ask(frame.ask):
                pass
            case "ask" if self.answers_asks:
                self.send(ToSession(answer=await answer_of(frame.ask, self.consents)))
            case "failing":
                seen.failing.append(frame.failing)
            case "tool_tree" if frame.tool_tree.opened and self.acks_trees:
                self.acknowledge_tree(frame.tool_tree.call_id)
        await self._notify()

    def _append(self, append: Append) -> None:
        crash = None
        if self.crash_at is not None and self.crash_at[0] == len(self.seen.appends):
            crash = self.crash_at[1]
        if crash is Crash.BEFORE_COMMIT:
            self.cut()
            return
        self.before_append(append)
        failed = self.fail_append(append)
        if failed is not None:
            failed.append_id = append.append_id
            self.send(ToSession(append_failed=failed))
            return
        try:
            rows = self.journal.append(append)
        except RefusedError:
            refused = Refused(append_id=append.append_id, head=self.journal.head)
            self.send(ToSession(refused=refused))
        except StaleError:
            stale = AppendFailed(append_id=append.append_id, code="stale_incarnation")
            self.send(ToSession(append_failed=stale))
        else:
            self.seen.outputs.extend(append.outputs)
            if crash is Crash.AFTER_COMMIT:
                self.cut()
                return
            if append.phase:
                self.seen.phases.append(append.phase)
            answer = ToSession(committed=Committed(append_id=append.append_id, rows=rows))
            if self.withhold_answers:
                self._withheld.append(answer)
            else:
                self.send(answer)

    async def _drain(
        self,
        context: grpc.aio.ServicerContext[ToHost, bytes],
        out: asyncio.Queue[ToSession | None],
    ) -> None:
        while (frame := await out.get()) is not None:
            await self._write(context, frame)

    @staticmethod
    async def _write(context: grpc.aio.ServicerContext[ToHost, bytes], frame: ToSession) -> None:
        for message in to_session_messages(frame.SerializeToString()):
            await context.write(message)

    async def _notify(self) -> None:
        async with self.seen.changed:
            self.seen.changed.notify_all()


@asynccontextmanager
async def scripted_host(folder: Path, settings: SessionSettings) -> AsyncIterator[ScriptedHost]:
    """A host that listens."""
    host = ScriptedHost(folder, settings=settings)
    server = grpc.aio.server(options=CHANNEL_OPTIONS)
    handler = grpc.stream_stream_rpc_method_handler(
        host.connect,
        request_deserializer=ToHost.FromString,
        response_serializer=lambda message: message,
    )
    server.add_generic_rpc_handlers(
        (grpc.method_handlers_generic_handler("netclaw.v1.SessionHost", {"Connect": handler}),)
    )
    server.add_insecure_port(f"unix:{host.socket}")
    await server.start()
    try:
        yield host
    finally:
        await server.stop(None)
