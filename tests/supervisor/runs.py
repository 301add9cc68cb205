"""Parents and child runs by hand: their processes do just what a test says, over real sockets."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Awaitable
from dataclasses import replace
from itertools import count
from typing import Any, TypeVar

from netclaw.core.exit_codes import ExitCode
from netclaw.core.ids import CallId, RunId, SessionId, TurnId
from netclaw.core.session.after_drain import AfterDrain
from netclaw.core.session.child_effects import ChildAnswer, ReportKind
from netclaw.core.session.child_events import (
    ChildAccepted,
    ChildEnded,
    ChildFrozen,
    ChildResultDelivered,
    ChildState,
)
from netclaw.core.session.events import SessionEvent, TurnStarted
from netclaw.ports.children import ChildAck, ChildDrain, ChildOrder, ChildReport, ChildWord
from netclaw.testing.people import OPERATOR
from netclaw.wire import children as said
from netclaw.wire.v1 import admin_pb2
from netclaw.wire.v1 import session_host_pb2 as pb
from tests.supervisor.peers import Peer
from tests.supervisor.world import WAIT_S, InProcess

PARENT = SessionId("hello")
RUN = RunId("run-one")
CHILD = SessionId(f"{PARENT}/sub/{RUN}")
CALL = CallId("cc1")
DRAIN_S = 7.0

_numbers = count(1)
_T = TypeVar("_T")


async def within(work: Awaitable[_T]) -> _T:
    """Wait, bounded."""
    async with asyncio.timeout(WAIT_S):
        return await work


def accepted(run_id: RunId = RUN) -> ChildAccepted:
    """A run is accepted."""
    return ChildAccepted(
        run_id=run_id,
        session_id=SessionId(f"{PARENT}/sub/{run_id}"),
        agent="helper",
        task="look around",
        start_key=run_id,
        digest="d",
        turn_id=TurnId("t1"),
        call_id=CallId(f"c-{run_id}"),
        authority=OPERATOR,
        is_attended=True,
    )


def frozen(run_id: RunId = RUN) -> ChildFrozen:
    """What a run keeps to its end."""
    return ChildFrozen(
        run_id=run_id,
        parent=PARENT,
        agent="helper",
        system_prompt="You help.",
        provider="p",
        model="m",
        tools=(),
    )


class Hand:
    """One process, its frames sorted."""

    def __init__(self, peer: Peer) -> None:
        self.peer = peer
        self.exit: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self.commands: asyncio.Queue[pb.HostCommand] = asyncio.Queue()
        self._reports: asyncio.Queue[pb.ChildReport] = asyncio.Queue()
        self._answers: dict[int, asyncio.Future[pb.Answer]] = {}
        self._committed: dict[str, asyncio.Future[None]] = {}

    async def play(self) -> int:
        """Read until the test or the supervisor ends it."""
        await self.peer.phase("ready")
        reading = asyncio.ensure_future(self._read())
        either: set[asyncio.Future[Any]] = {reading, self.exit}
        try:
            await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        finally:
            reading.cancel()
        return self.exit.result() if self.exit.done() else ExitCode.STREAM_LOST

    async def _read(self) -> None:
        while (frame := await self.peer.read()) is not None:
            match frame.WhichOneof("body"):
                case "answer":
                    self._answers.pop(frame.answer.number).set_result(frame.answer)
                case "child_report":
                    self._reports.put_nowait(frame.child_report)
                case "command":
                    self.commands.put_nowait(frame.command)
                case "committed" if frame.committed.append_id in self._committed:
                    self._committed.pop(frame.committed.append_id).set_result(None)

    async def ask(self, kind: str, value: said.Said) -> asyncio.Future[pb.Answer]:
        """Send a question; returns what its answer will be."""
        number = next(_numbers)
        self._answers[number] = answer = asyncio.get_running_loop().create_future()
        ask = pb.Ask(number=number, kind=kind, payload=said.encode(value))
        await self.peer.send(pb.ToHost(ask=ask))
        return answer

    async def asked(self, kind: str, value: said.Said) -> pb.Answer:
        """Send a question and wait for its answer."""
        return await within(await self.ask(kind, value))

    async def append(self, *events: SessionEvent) -> None:
        """Commit events of this process."""
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        append_id = f"hand-{next(_numbers)}"
        self._committed[append_id] = done
        await self.peer.append(*events, append_id=append_id)
        await within(done)

    # A parent -----------------------------------------------------------------------------

    async def start(self, number: int = 1, run_id: RunId = RUN, *answers: ChildAnswer) -> pb.Answer:
        """Ask for a process of a run."""
        order = ChildOrder(
            accepted=accepted(run_id), start=number, frozen=frozen(run_id), answers=answers
        )
        return await self.asked(said.ASK_START, order)

    async def word(self, kind: str, run_id: RunId = RUN) -> None:
        """Say something about a run."""
        await self.asked(kind, ChildWord(run_id=run_id))

    async def drain(
        self, run_id: RunId = RUN, *, start: int = 1, then: AfterDrain = AfterDrain.DAEMON_STOP
    ) -> None:
        """Have a run park within `DRAIN_S`."""
        word = ChildDrain(run_id=run_id, start=start, budget_s=DRAIN_S, then=then)
        await self.asked(said.ASK_DRAIN, word)

    async def report(self) -> ChildReport:
        """The next report of a run."""
        frame = await within(self._reports.get())
        return said.decode(frame.payload, ChildReport)

    @property
    def has_report(self) -> bool:
        """Whether a report waits that was not looked at."""
        return not self._reports.empty()

    async def acknowledge(self, report: ChildReport) -> None:
        """It is durable."""
        ack = ChildAck(run_id=report.run_id, start=report.start, report=report.kind)
        await self.asked(said.ASK_ACK, ack)

    async def take_end(self, state: ChildState = ChildState.COMPLETED) -> None:
        """Take a run's end, and tell of it in a turn that ends at once."""
        report = await self.report()
        assert report.kind is ReportKind.ENDED
        await self.append(ChildEnded(run_id=report.run_id, state=state))
        await self.acknowledge(report)

    async def tell_of(self, turn: str, *runs: RunId) -> None:
        """A turn begins that tells of runs."""
        turn_id = TurnId(turn)
        await self.append(
            TurnStarted(turn_id=turn_id, input_ids=(), authority=OPERATOR),
            *(ChildResultDelivered(run_id=run_id, turn_id=turn_id) for run_id in runs),
        )

    # A run --------------------------------------------------------------------------------

    @property
    def role(self) -> pb.ChildRole:
        """What its Welcome said of its run."""
        assert self.peer.welcome.HasField("child")
        return self.peer.welcome.child

    async def say(self, kind: ReportKind, **fields: object) -> asyncio.Future[pb.Answer]:
        """Report; returns what the acknowledgement will be."""
        report = ChildReport(run_id=RunId(self.role.run_id), start=self.role.start, kind=kind)
        return await self.ask(said.ASK_REPORT, replace(report, **fields))  # type: ignore[arg-type]

    def leave(self, status: int = ExitCode.PASSIVATED) -> None:
        """End by itself."""
        if not self.exit.done():
            self.exit.set_result(status)


class Stand:
    """All processes of a supervisor, handed out in the order of their starts."""

    def __init__(self, world: InProcess) -> None:
        self.world = world
        self._hands: dict[str, asyncio.Queue[Hand]] = defaultdict(asyncio.Queue)
        world.spawner.default = self._play

    async def _play(self, peer: Peer) -> int:
        await peer.connect()
        hand = Hand(peer)
        self._hands[peer.bootstrap.session_id].put_nowait(hand)
        return await hand.play()

    async def process(self, session_id: SessionId) -> Hand:
        """The next process of a session."""
        return await within(self._hands[session_id].get())

    def has_process(self, session_id: SessionId) -> bool:
        """Whether one was started that was not looked at."""
        return not self._hands[session_id].empty()

    async def parent(self, *runs: RunId) -> Hand:
        """The first process of the parent, with these runs on record."""
        await self.world.send(PARENT, "go")
        hand = await self.process(PARENT)
        if runs:
            await hand.append(*(accepted(run_id) for run_id in runs))
        return hand

    async def both(self) -> tuple[Hand, Hand]:
        """A parent and its run at work."""
        parent = await self.parent(RUN)
        await parent.start()
        return parent, await self.process(CHILD)

    async def runs(self, session_id: str = "", run_id: str = "") -> list[admin_pb2.RunRow]:
        """All runs, as an operator sees them."""
        response = await self.world.admin.ListRuns(
            admin_pb2.ListRunsRequest(session_id=session_id, run_id=run_id),
            metadata=self.world.metadata,
        )
        return list(response.runs)

    async def until_gone(self, session_id: SessionId) -> None:
        """Wait until the session has no process."""
        router = self.world.supervisor.router

        def is_gone() -> bool:
            slot = router.find(session_id)
            return slot is None or (slot.live is None and slot.keeper is None)

        await self.world.until(is_gone)
