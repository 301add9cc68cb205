"""A whole supervisor in this process: real sockets and gRPC, memory journal, scripted sessions."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

import grpc
import grpc.aio

from netclaw.config.home import Home
from netclaw.config.load import load_config
from netclaw.config.loaded import LoadedConfig
from netclaw.core.exit_codes import ExitCode
from netclaw.core.settings import DaemonSettings, LivenessSettings, SupervisionSettings
from netclaw.observe.redact import Redactor
from netclaw.supervisor.daemon import DaemonParts, Supervisor, Wish
from netclaw.supervisor.home_guard import HomeGuard
from netclaw.supervisor.local_model import LocalModel
from netclaw.testing.memory_data import MemoryData
from netclaw.testing.memory_journal import MemoryJournal
from netclaw.wire.sandbox_facts import UNKNOWN
from netclaw.wire.stored_state import stored_state
from netclaw.wire.v1 import admin_pb2, common_pb2, gateway_pb2
from netclaw.wire.v1.admin_pb2_grpc import AdminStub
from netclaw.wire.v1.gateway_pb2_grpc import GatewayStub
from tests.supervisor.peers import Peer, Script, ScriptedSpawner, echo

WAIT_S = 10.0
Metadata = tuple[tuple[str, str], ...]


class InProcess:
    """One home and one supervisor; `start` and `stop` any number of times."""

    def __init__(
        self,
        *,
        script: Script = echo,
        daemon: DaemonSettings | None = None,
        supervision: SupervisionSettings | None = None,
        limits: LivenessSettings | None = None,
    ) -> None:
        self.home = Home(Path(tempfile.mkdtemp(prefix="nc-", dir="/tmp")))
        self.spawner = ScriptedSpawner(script)
        self.data = MemoryData(read_state=stored_state)
        self.generation = 1
        loaded = load_config(self.home, {})
        self.config = replace(
            loaded,
            daemon=daemon or DaemonSettings(),
            supervision=supervision or SupervisionSettings(backoff_s=(0.0,)),
            session=replace(loaded.session, limits=limits or LivenessSettings()),
        )
        self.next_config: Callable[[], LoadedConfig] = lambda: self.config

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        try:
            if self.serving is not None:
                self.supervisor.wish(Wish.STOP)
                await self.until(lambda: self.supervisor.state == "draining")
                await self.stop()  # the second wish is in a hurry
        finally:
            await self.spawner.close()
            shutil.rmtree(self.home.root, ignore_errors=True)

    async def start(self) -> None:
        """Take the home and serve."""
        self.guard = HomeGuard.take(self.home, None)
        self.store = MemoryJournal(self.config.daemon, data=self.data)
        self.supervisor = Supervisor(
            DaemonParts(
                guard=self.guard,
                config=self.config,
                store=self.store,
                spawner=self.spawner,
                redact=Redactor(self.config.redactions),
                generation=self.generation,
                sandbox=UNKNOWN,
                local_model=LocalModel(None),
                reload_config=lambda: self.next_config(),
                on_new_config=lambda _config: None,
            )
        )
        await self.supervisor.start()
        self.serving: asyncio.Task[Wish] | None = asyncio.create_task(self.supervisor.serve())
        self.channel = grpc.aio.insecure_channel(
            f"unix:{self.home.socket}",
            options=[
                ("grpc.use_local_subchannel_pool", 1),
                # A client that does not read holds little back for itself.
                ("grpc.http2.bdp_probe", 0),
                ("grpc.http2.lookahead_bytes", 65_536),
            ],
        )
        token = self.home.operator_token.read_text()
        self.metadata: Metadata = (("authorization", f"Bearer {token}"),)
        self.gateway = GatewayStub(self.channel)
        self.admin = AdminStub(self.channel)

    async def stop(self, wish: Wish = Wish.STOP) -> Wish:
        """Ask for the end and wait for it."""
        assert self.serving is not None
        self.supervisor.wish(wish)
        return await self.ended()

    async def ended(self) -> Wish:
        """Wait for an end that was asked for elsewhere."""
        assert self.serving is not None
        async with asyncio.timeout(WAIT_S):
            found = await self.serving
        self.serving = None
        await self.channel.close()
        self.guard.leave()
        return found

    # Calls --------------------------------------------------------------------------------

    async def ensure(self, session_id: str) -> gateway_pb2.EnsureSessionResponse:
        """Create a session by name."""
        response: gateway_pb2.EnsureSessionResponse = await self.gateway.EnsureSession(
            gateway_pb2.EnsureSessionRequest(session_id=session_id), metadata=self.metadata
        )
        return response

    async def send(
        self, session_id: str, text: str, **fields: Any
    ) -> gateway_pb2.SendUserMessageResponse:
        """Admit a message; creates the session."""
        request = gateway_pb2.SendUserMessageRequest(
            session_id=session_id, text=text, create=True, **fields
        )
        response: gateway_pb2.SendUserMessageResponse = await self.gateway.SendUserMessage(
            request, metadata=self.metadata, timeout=WAIT_S
        )
        return response

    @asynccontextmanager
    async def attached(
        self, session_id: str, chosen: int = 127, after: int | None = None
    ) -> AsyncIterator[Subscription]:
        """A subscription that stands."""
        request = gateway_pb2.AttachRequest(session_id=session_id, filter=chosen)
        if after is not None:
            request.after_seq = after
        call = self.gateway.Attach(request, metadata=self.metadata)
        await call.initial_metadata()
        try:
            yield Subscription(call)
        finally:
            call.cancel()

    async def row(self, session_id: str) -> gateway_pb2.SessionRow:
        """A session's catalog row."""
        detail = await self.gateway.GetSession(
            gateway_pb2.GetSessionRequest(session_id=session_id), metadata=self.metadata
        )
        found: gateway_pb2.SessionRow = detail.row
        return found

    async def admin_call(self, name: str, session_id: str) -> gateway_pb2.SessionRow:
        """An operator's call about one session."""
        method = getattr(self.admin, name)
        row: gateway_pb2.SessionRow = await method(
            admin_pb2.SessionRef(session_id=session_id), metadata=self.metadata, timeout=WAIT_S
        )
        return row

    async def events(self, session_id: str) -> list[str]:
        """Types of a session's journal."""
        rows = self.admin.ReadJournal(
            admin_pb2.ReadJournalRequest(session_id=session_id), metadata=self.metadata
        )
        return [row.type async for row in rows]

    async def until(self, is_met: Callable[[], Awaitable[bool] | bool]) -> None:
        """Wait for a condition, bounded."""
        async with asyncio.timeout(WAIT_S):
            while True:
                met = is_met()
                if not isinstance(met, bool):
                    met = await met
                if met:
                    return
                await asyncio.sleep(0.005)

    async def until_phase(self, session_id: str, phase: str) -> gateway_pb2.SessionRow:
        """Wait until a session's row shows a phase."""

        async def is_there() -> bool:
            return (await self.row(session_id)).phase == phase

        await self.until(is_there)
        return await self.row(session_id)


class Subscription:
    """What one subscriber sees."""

    def __init__(self, call: grpc.aio.UnaryStreamCall[Any, common_pb2.OutputBatch]) -> None:
        self._call = call
        self.seen: list[common_pb2.Output] = []

    async def until(self, word: str, times: int = 1) -> list[common_pb2.Output]:
        """Read until outputs of a type came so many times; everything up to the last of them."""
        async with asyncio.timeout(WAIT_S):
            while len(places := self._places(word)) < times:
                batch = await self._call.read()
                assert isinstance(batch, common_pb2.OutputBatch), f"ended: {self.words}"
                self.seen.extend(batch.outputs)
        return self.seen[: places[times - 1] + 1]

    def _places(self, word: str) -> list[int]:
        return [place for place, output in enumerate(self.seen) if output.type == word]

    async def until_end(self) -> list[common_pb2.Output]:
        """Read until the daemon ends the stream."""
        async with asyncio.timeout(WAIT_S):
            while isinstance(batch := await self._call.read(), common_pb2.OutputBatch):
                self.seen.extend(batch.outputs)
        return self.seen

    @property
    def words(self) -> list[str]:
        """The types seen so far."""
        return [output.type for output in self.seen]


Play = Callable[[Peer], Awaitable[None]]


async def played(world: InProcess, play: Play, text: str = "go") -> Peer:
    """Run one script as the process of session `hello` and return once it is through."""
    outcome: asyncio.Future[Peer] = asyncio.get_running_loop().create_future()

    async def script(peer: Peer) -> int:
        try:
            await play(peer)
        except BaseException as fault:
            if not outcome.done():
                outcome.set_exception(fault)
            raise
        outcome.set_result(peer)
        while await peer.read() is not None:
            pass
        return ExitCode.STREAM_LOST

    world.spawner.scripts = [script]
    await world.send("hello", text)
    async with asyncio.timeout(10):
        return await outcome
