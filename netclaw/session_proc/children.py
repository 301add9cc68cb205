"""In a parent's process: has its runs started, told and acknowledged, and takes their reports.

The rules decide; the supervisor carries. What is said here leaves in the order in which it was
decided, also where a start first has to read what its run is frozen to.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

from netclaw.core.errors import NetclawError
from netclaw.core.ids import DispatchToken, RunId
from netclaw.core.session import child_control
from netclaw.core.session.child_commands import (
    BeginChild,
    CancelChild,
    ChildCommand,
    CloseChildDispatch,
    EndChild,
    ParkChild,
)
from netclaw.core.session.child_effects import (
    AcknowledgeChild,
    AnswerChildCancel,
    CancelAnswer,
    ChildEffect,
    CloseChild,
    ConfirmSpawn,
    DrainChild,
    KillChild,
    RefuseSpawn,
    ReportKind,
    StartChild,
    WatchChild,
)
from netclaw.core.session.child_events import ChildState
from netclaw.core.session.commands import SessionCommand
from netclaw.core.session.state import SessionState
from netclaw.ports.agents import AcceptedRun, SpawnRefusedError
from netclaw.ports.children import (
    ChildAck,
    ChildCancelled,
    ChildDrain,
    ChildOrder,
    ChildReport,
    ChildWord,
)
from netclaw.session_proc import frames
from netclaw.session_proc.asks import Asks
from netclaw.session_proc.ending import Ending
from netclaw.session_proc.run_freezing import FreezeError, RunFreezing
from netclaw.wire.children import (
    ASK_ACK,
    ASK_CANCELLED,
    ASK_CLOSE,
    ASK_DRAIN,
    ASK_KILL,
    ASK_START,
    Said,
    decode,
    encode,
)
from netclaw.wire.v1 import session_host_pb2 as pb

_log = logging.getLogger(__name__)

_Word = Callable[[], Awaitable[None]]


class Children:
    """Performs what the rules decide about runs."""

    def __init__(
        self,
        *,
        asks: Asks,
        freezing: RunFreezing,
        look: Callable[[], SessionState],
        post: Callable[[SessionCommand], None],
        ending: Ending,
    ) -> None:
        self._asks = asks
        self._freezing = freezing
        self._look = look
        self.post = post
        self._ending = ending
        self._words: asyncio.Queue[_Word] = asyncio.Queue()
        self._is_speaking = False
        self._spawns: dict[DispatchToken, asyncio.Future[AcceptedRun]] = {}
        self._cancels: dict[tuple[RunId, str], asyncio.Future[CancelAnswer]] = {}

    # What the rules decided

    def perform(self, effect: ChildEffect) -> None:
        """Do one thing; nothing here waits."""
        match effect:
            case ConfirmSpawn() | RefuseSpawn():
                self._answer_spawn(effect)
            case StartChild() | WatchChild():
                self._later(lambda: self._start(effect))
            case AcknowledgeChild():
                ack = ChildAck(run_id=effect.run_id, start=effect.start, report=effect.report)
                self._say(ASK_ACK, ack)
            case AnswerChildCancel():
                self._answer_cancel(effect)
            case _:
                self._tell(effect)

    def _tell(self, effect: ChildEffect) -> None:
        match effect:
            case CloseChild():
                self._say(ASK_CLOSE, ChildWord(run_id=effect.run_id))
            case DrainChild():
                self._say(
                    ASK_DRAIN,
                    ChildDrain(
                        run_id=effect.run_id,
                        start=effect.start,
                        budget_s=effect.budget_s,
                        then=effect.then,
                    ),
                )
            case KillChild():
                self._say(ASK_KILL, ChildWord(run_id=effect.run_id))
            case _:
                raise frames.HostFault(f"no parent does {type(effect).__name__}")

    async def _start(self, effect: StartChild | WatchChild) -> None:
        run = child_control.find(self._look(), effect.run_id)
        if run is None or run.ended is not None:
            return
        try:
            frozen = None
            if isinstance(effect, StartChild):
                frozen = await self._freezing.freeze(run.accepted, self._look().working_directory)
            order = ChildOrder(
                accepted=run.accepted,
                start=effect.start,
                frozen=frozen,
                answers=effect.answers if isinstance(effect, StartChild) else (),
            )
        except FreezeError as fault:
            self._fail(effect, fault.reason)
            return
        self._ending.watch(
            asyncio.create_task(self._ask_start(effect, order), name=f"start of {effect.run_id}")
        )
        # The question has left when the task had its first turn: what follows comes after it.
        await asyncio.sleep(0)

    async def _ask_start(self, effect: StartChild | WatchChild, order: ChildOrder) -> None:
        try:
            await self._asks.ask(ASK_START, encode(order), limit_s=None)
        except NetclawError as fault:
            _log.warning("run %s was not started: %s", effect.run_id, fault.sentence)
            self._fail(effect, fault.code.value)

    def _fail(self, effect: StartChild | WatchChild, reason: str) -> None:
        """The run was accepted and cannot be started: that is its end (S0 Sub-agents)."""
        self.post(
            EndChild(
                run_id=effect.run_id,
                start=effect.start,
                state=ChildState.FAILED,
                reason=reason,
            )
        )

    # What a call waits for

    def expect_spawn(self, token: DispatchToken) -> asyncio.Future[AcceptedRun]:
        """What becomes of this call's wish for a run; fails with `SpawnRefusedError`."""
        answer: asyncio.Future[AcceptedRun] = asyncio.get_running_loop().create_future()
        self._spawns[token] = answer
        return answer

    def expect_cancel(self, run_id: RunId, actor: str) -> asyncio.Future[CancelAnswer]:
        """What becomes of this actor's wish to cancel a run."""
        answer: asyncio.Future[CancelAnswer] = asyncio.get_running_loop().create_future()
        self._cancels[run_id, actor] = answer
        return answer

    def _answer_spawn(self, effect: ConfirmSpawn | RefuseSpawn) -> None:
        answer = self._spawns.pop(effect.token, None)
        if answer is None or answer.done():
            return
        if isinstance(effect, RefuseSpawn):
            answer.set_exception(SpawnRefusedError(effect.refusal))
            return
        run = child_control.find(self._look(), effect.run_id)
        if run is None:
            raise frames.HostFault("a run was confirmed that is not on record")
        answer.set_result(
            AcceptedRun(
                run_id=effect.run_id, session_id=run.accepted.session_id, state=effect.state
            )
        )

    def _answer_cancel(self, effect: AnswerChildCancel) -> None:
        waiting = self._cancels.pop((effect.run_id, effect.actor), None)
        if waiting is None:
            told = ChildCancelled(run_id=effect.run_id, actor=effect.actor, answer=effect.answer)
            self._say(ASK_CANCELLED, told)
        elif not waiting.done():
            waiting.set_result(effect.answer)

    # What comes from outside

    def reported(self, frame: pb.ChildReport) -> None:
        """A run, or the supervisor in its stead, reports."""
        self.post(_command(decode(frame.payload, ChildReport)))

    def cancel(self, run_id: RunId, actor: str) -> None:
        """An operator wants a run ended."""
        self.post(CancelChild(run_id=run_id, actor=actor, authority=None))

    # In order

    def _say(self, kind: str, said: Said) -> None:
        self._later(lambda: self._ask(kind, said))

    async def _ask(self, kind: str, said: Said) -> None:
        async def wait() -> None:
            try:
                await self._asks.ask(kind, encode(said))
            except NetclawError as fault:
                # Whatever it was about, it is on record, and the next process says it again.
                _log.warning("%s was not taken: %s", kind, fault.sentence)

        self._ending.watch(asyncio.create_task(wait(), name=kind))
        await asyncio.sleep(0)

    def _later(self, word: _Word) -> None:
        self._words.put_nowait(word)
        if not self._is_speaking:
            self._is_speaking = True
            self._ending.watch(asyncio.create_task(self._speak(), name="words about runs"))

    async def _speak(self) -> None:
        while True:
            word = await self._words.get()
            await word()


def _command(report: ChildReport) -> ChildCommand:
    run_id, start = report.run_id, report.start
    match report.kind:
        case ReportKind.BEGUN:
            return BeginChild(run_id=run_id, start=start)
        case ReportKind.PARKED:
            return ParkChild(run_id=run_id, start=start, asks=report.asks)
        case ReportKind.DISPATCH_CLOSED:
            return CloseChildDispatch(run_id=run_id, start=start)
        case ReportKind.ENDED:
            return EndChild(
                run_id=run_id,
                start=start,
                state=report.state,
                reason=report.reason,
                result_path=report.result_path,
                files=report.files,
            )
