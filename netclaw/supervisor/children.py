"""Carries what parents, child runs and the supervisor say of each other; starts and ends runs.

A run's session is an ordinary one, with one difference: its process lives while its parent waits
for a report, not while there is something to do (`Slot.is_awaited`). The parent asks for starts and
acknowledges reports; the run's process makes them, and the supervisor in its stead when it cannot
speak any more. Nothing of this is durable here (ADR 0031).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine

from netclaw.core.errors import NetclawError, NotFoundError, StorageError
from netclaw.core.ids import RunId, SessionId
from netclaw.core.session.after_drain import AfterDrain
from netclaw.core.session.child_control import CANCELLED_BY_PARENT
from netclaw.core.session.child_effects import ReportKind
from netclaw.core.session.child_events import ChildState
from netclaw.core.storage_layout import child_run_dir
from netclaw.ports.child_records import ChildStart
from netclaw.ports.children import (
    ChildAck,
    ChildCancelled,
    ChildDrain,
    ChildOrder,
    ChildReport,
    ChildWord,
)
from netclaw.supervisor.child_cancels import ChildCancels
from netclaw.supervisor.child_desk import LAST_WORDS, ChildDesk
from netclaw.supervisor.consents import Asker
from netclaw.supervisor.live_session import EndReason
from netclaw.supervisor.router import Router
from netclaw.supervisor.services import Services
from netclaw.supervisor.slot import Slot
from netclaw.wire import children as said
from netclaw.wire.v1.session_host_pb2 import ChildRole, HostCommand

_log = logging.getLogger(__name__)

LEAVES_WITHIN_S = 5.0
"""How long a process whose last word was heard may take to end by itself."""

REASONS = {
    AfterDrain.DAEMON_STOP: EndReason.DAEMON_STOP,
    AfterDrain.DAEMON_RESTART: EndReason.DAEMON_STOP,
}
"""Why a run's process is ended that is told to park; any other drain is that of its session."""

Handler = Callable[[Asker, bytes], Coroutine[None, None, bytes]]


class Children:
    """All child runs of one daemon that somebody waits for."""

    def __init__(self, services: Services, router: Router) -> None:
        self._services = services
        self._router = router
        self._desks: dict[SessionId, ChildDesk] = {}
        """By the run's own session."""
        self.cancels = ChildCancels(router)
        self._kinds: dict[str, Handler] = {
            said.ASK_START: self._start,
            said.ASK_CLOSE: self._close_gate,
            said.ASK_DRAIN: self._drain,
            said.ASK_KILL: self._kill,
            said.ASK_ACK: self._acknowledge,
            said.ASK_CANCELLED: self._cancelled,
            said.ASK_REPORT: self._report,
        }

    # Questions of processes ---------------------------------------------------------------

    def takes(self, kind: str) -> bool:
        """Whether a question of this kind is about child runs."""
        return kind in self._kinds

    async def answer(self, asker: Asker, kind: str, payload: bytes) -> bytes:
        """Answer one question; raises a `NetclawError` to refuse it."""
        return await self._kinds[kind](asker, payload)

    async def _start(self, asker: Asker, payload: bytes) -> bytes:
        order = said.decode(payload, ChildOrder)
        # Before anything is waited for: the words that follow find it.
        desk = self._open_desk(asker, order.run_id)
        async with desk.change:
            try:
                await self._begin(desk, order)
            except NotFoundError:
                self._forget(desk)
                raise
        return b""

    async def _begin(self, desk: ChildDesk, order: ChildOrder) -> None:
        """Make a start durable and have its process; an older one changes nothing."""
        if order.start < desk.start or desk.is_over:
            return
        if order.start > desk.start > 0:
            await self._let_leave(desk)
        try:
            await self._make_durable(desk, order)
        except NotFoundError:
            raise
        except NetclawError as error:
            _log.error("child run %s cannot start: %s", desk.child, error.sentence)
            desk.begin(order.start)
            self._speak(desk, ReportKind.ENDED, reason=error.code.value)
            return
        desk.begin(order.start)
        if not desk.has_last_word:
            self._have_process(desk)

    async def _make_durable(self, desk: ChildDesk, order: ChildOrder) -> None:
        parent = await self._router.record(desk.parent)
        root = self._services.envelopes.storage(desk.parent, parent).root
        request = ChildStart(
            parent=desk.parent,
            run_id=desk.run_id,
            start=order.start,
            storage_root=child_run_dir(root, desk.run_id),
            at=self._services.now_ms(),
            frozen=order.frozen,
            answers=order.answers,
        )
        while True:
            try:
                await self._services.store.start_child(request)
            except StorageError as error:
                self._services.health.note(error)
                await self._services.health.wait_usable()
            else:
                return

    def _have_process(self, desk: ChildDesk) -> None:
        slot = self._router.slot(desk.child)
        if slot.hold is not None:
            self._speak(desk, ReportKind.ENDED, reason=slot.hold.value)
        else:
            self._router.await_child(slot)

    async def _close_gate(self, asker: Asker, payload: bytes) -> bytes:
        desk = self._desk(asker, said.decode(payload, ChildWord).run_id)
        if desk is None:
            return b""
        desk.is_gate_closed = True
        async with desk.change:
            slot = self._router.slot(desk.child)
            slot.is_awaited = False
            if slot.live is not None:
                slot.live.command(HostCommand(kind=said.COMMAND_CLOSE_GATE, actor="parent"))
                return b""
            await self._router.interrupt(slot)
            if desk.start > 0 and not desk.has_last_word and not desk.is_over:
                self._end_cancelled(desk)
        return b""

    async def _drain(self, asker: Asker, payload: bytes) -> bytes:
        """Have a run stop at its next safe point; without a process it is parked already.

        Its parent may not have asked for it since this daemon started.
        """
        word = said.decode(payload, ChildDrain)
        desk = self._open_desk(asker, word.run_id)
        async with desk.change:
            if desk.start < word.start:
                desk.begin(word.start)
                self._speak(desk, ReportKind.PARKED)
            elif not (desk.has_last_word or desk.is_over):
                await self._park(desk, word)
        return b""

    async def _park(self, desk: ChildDesk, word: ChildDrain) -> None:
        desk.is_parking = True
        slot = self._router.slot(desk.child)
        slot.is_awaited = False
        if slot.live is None:
            await self._router.interrupt(slot)
            if not desk.has_last_word:
                self._speak(desk, ReportKind.PARKED)
            return
        slot.live.end_reason = slot.live.end_reason or REASONS.get(word.then, EndReason.DRAIN)
        slot.live.command(
            HostCommand(kind="drain", then=word.then, budget_s=word.budget_s, actor="parent")
        )

    async def _kill(self, asker: Asker, payload: bytes) -> bytes:
        desk = self._desk(asker, said.decode(payload, ChildWord).run_id)
        if desk is not None:
            await self._stop(desk)
            self._forget(desk)
        return b""

    async def _acknowledge(self, asker: Asker, payload: bytes) -> bytes:
        ack = said.decode(payload, ChildAck)
        desk = self._desk(asker, ack.run_id)
        if desk is None or ack.start != desk.start:
            return b""
        desk.acknowledge(ack.report)
        if ack.report in LAST_WORDS:
            desk.is_parking = False
            self._router.slot(desk.child).is_awaited = False
        if ack.report is ReportKind.ENDED:
            desk.is_over = True
            self._services.tasks.start(self._see_off(desk), name=f"end of {desk.child}")
        return b""

    async def _cancelled(self, asker: Asker, payload: bytes) -> bytes:
        del asker
        self.cancels.hear(said.decode(payload, ChildCancelled))
        return b""

    async def _report(self, asker: Asker, payload: bytes) -> bytes:
        """Pass a report on; answered when the parent took it, however long that takes."""
        report = said.decode(payload, ChildReport)
        desk = self._desks.get(asker.session_id)
        if desk is None or desk.run_id != report.run_id:
            raise NotFoundError("Nobody waits for reports of this run.")
        if report.start != desk.start or desk.is_over:
            return b""
        self._say(desk, report)
        await desk.until_acknowledged(report.kind)
        return b""

    def _desk(self, asker: Asker, run_id: RunId) -> ChildDesk | None:
        """The run of this parent, and of no other."""
        return self._desks.get(SessionId(f"{asker.session_id}/sub/{run_id}"))

    def _open_desk(self, asker: Asker, run_id: RunId) -> ChildDesk:
        child = SessionId(f"{asker.session_id}/sub/{run_id}")
        desk = ChildDesk(parent=asker.session_id, run_id=run_id, child=child)
        return self._desks.setdefault(child, desk)

    # Reports ------------------------------------------------------------------------------

    def _end_cancelled(self, desk: ChildDesk) -> None:
        """A cancelled run has no process: it starts nothing any more and is over."""
        self._speak(desk, ReportKind.DISPATCH_CLOSED)
        self._speak(desk, ReportKind.ENDED, state=ChildState.CANCELLED, reason=CANCELLED_BY_PARENT)

    def _speak(
        self,
        desk: ChildDesk,
        kind: ReportKind,
        *,
        state: ChildState = ChildState.FAILED,
        reason: str = "",
    ) -> None:
        """Report in the stead of a process that cannot."""
        self._router.slot(desk.child).is_awaited = False
        self._say(
            desk,
            ChildReport(
                run_id=desk.run_id,
                start=desk.start,
                kind=kind,
                state=state,
                reason=reason,
            ),
        )

    def _say(self, desk: ChildDesk, report: ChildReport) -> None:
        desk.keep(report)
        slot = self._router.slot(desk.parent)
        if slot.live is None or not slot.live.report(said.report_frame(report)):
            self._router.force(slot)

    def on_welcome(self, slot: Slot) -> None:
        """A new process of a session: tell it all that was not acknowledged."""
        if slot.live is None or slot.is_child:
            return
        for desk in self._of(slot.session_id):
            for report in desk.held.values():
                slot.live.report(said.report_frame(report))

    def role_of(self, child: SessionId) -> ChildRole | None:
        """Which run a process of this session works for; None for a session of people."""
        desk = self._desks.get(child)
        if desk is None:
            return None
        return ChildRole(run_id=desk.run_id, start=desk.start, is_gate_closed=desk.is_gate_closed)

    # Ends ---------------------------------------------------------------------------------

    def on_rest(self, slot: Slot) -> None:
        """A session has no process and gets none by itself.

        A run that is held, cancelled or was told to park is spoken for. The runs of a session that
        is held or stopped are stopped with it: no process survives its owner.
        """
        if not slot.is_child:
            if slot.hold is not None or slot.is_resting:
                name = f"stop of the runs of {slot.session_id}"
                self._services.tasks.start(self.stop_all_of(slot.session_id), name=name)
            return
        desk = self._desks.get(slot.session_id)
        if desk is None or desk.is_over or desk.has_last_word or desk.start == 0:
            return
        is_told = desk.is_parking or desk.is_gate_closed
        if slot.hold is not None and (slot.is_awaited or is_told):
            self._speak(desk, ReportKind.ENDED, reason=slot.hold.value)
        elif desk.is_gate_closed:
            self._end_cancelled(desk)
        elif desk.is_parking:
            self._speak(desk, ReportKind.PARKED)

    async def stop_all_of(self, parent: SessionId) -> None:
        """End the processes of a session's runs; it asks for them again when it starts."""
        await asyncio.gather(*(self._stop(desk) for desk in self._of(parent)))

    async def forget_all_of(self, parent: SessionId) -> None:
        """The runs of a life that is over are nobody's: end their processes, drop their words."""
        for desk in self._of(parent):
            await self._stop(desk)
            self._forget(desk)

    def is_any_at_work(self) -> bool:
        """Whether a run has a process, or is about to."""
        return any(
            slot.is_awaited or slot.live is not None
            for desk in self._desks.values()
            if (slot := self._router.find(desk.child)) is not None
        )

    async def _stop(self, desk: ChildDesk) -> None:
        """End a run's process without a word."""
        slot = self._router.find(desk.child)
        desk.is_parking = desk.is_gate_closed = False
        if slot is None:
            return
        slot.is_awaited = False
        if slot.live is not None:
            await self._router.kill(slot)
        else:
            await self._router.interrupt(slot)

    async def _let_leave(self, desk: ChildDesk) -> None:
        """Return when the process whose last word was heard is gone."""
        slot = self._router.find(desk.child)
        live = None if slot is None else slot.live
        if slot is None or live is None:
            return
        try:
            async with asyncio.timeout(LEAVES_WITHIN_S):
                await live.buried.wait()
        except TimeoutError:
            _log.warning("the process of child run %s does not leave; killing it", desk.child)
            await self._router.kill(slot)

    async def _see_off(self, desk: ChildDesk) -> None:
        await self._let_leave(desk)
        self._forget(desk)

    def _forget(self, desk: ChildDesk) -> None:
        if self._desks.get(desk.child) is desk:
            del self._desks[desk.child]
        for kind in ReportKind:
            desk.acknowledge(kind)

    def _of(self, parent: SessionId) -> list[ChildDesk]:
        return [desk for desk in self._desks.values() if desk.parent == parent]
