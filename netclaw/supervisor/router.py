"""Finds a session's slot, sees that it runs when something waits for it, ends it on request.

Routing is by session id alone: there is no table of where sessions are, a slot is made on demand
(S0 "Session identity").
"""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager

from netclaw.core.errors import NotFoundError
from netclaw.core.ids import SessionId, is_child_key
from netclaw.core.session.events import InputAdmitted
from netclaw.core.storage_layout import LAYOUT
from netclaw.observe.context import about
from netclaw.ports.journal import Commit, JournalRow, SessionRecord
from netclaw.supervisor.keeper import Keeper
from netclaw.supervisor.live_session import EndReason, LiveSession
from netclaw.supervisor.resting import settle_at_rest
from netclaw.supervisor.services import Services
from netclaw.supervisor.slot import Hold, Slot
from netclaw.supervisor.start_gate import StartGate, Urgency
from netclaw.wire.journal_codec import decode_event
from netclaw.wire.v1.session_host_pb2 import HostCommand

_log = logging.getLogger(__name__)

KEEPER_LOOK_S = 1.0
"""How often a keeper that is busy with a death is looked at again."""
ROOM_PATIENCE_S = 2.0
"""How long a session that was asked to leave may take before another one is asked as well."""
END_MARGIN_S = 2.0
"""Beyond a drain's own budget, before the process is killed."""


class Router:
    """All slots of one daemon."""

    def __init__(self, services: Services, gate: StartGate, keeper: Keeper) -> None:
        self._services = services
        self._gate = gate
        self._keeper = keeper
        self._slots: dict[SessionId, Slot] = {}
        self._idle: OrderedDict[SessionId, Slot] = OrderedDict()
        """Sessions that became idle, longest first; some may not be so any more."""
        self._on_rest: Callable[[Slot], None] = lambda _slot: None
        self._on_committed: tuple[Callable[[Commit], None], ...] = ()
        self._on_deleted: Callable[[SessionId], None] = lambda _: None
        gate.when_short(self._make_room)

    def tell(
        self,
        *,
        on_rest: Callable[[Slot], None],
        on_committed: Iterable[Callable[[Commit], None]],
        on_deleted: Callable[[SessionId], None],
    ) -> None:
        """Name who hears of sessions that have no process any more, of commits, and of deletions:
        a session that is gone commits nothing more."""
        self._on_rest = on_rest
        self._on_committed = tuple(on_committed)
        self._on_deleted = on_deleted

    def deleted(self, slot: Slot) -> None:
        """The session is gone: nobody who looks on or waits for it waits in vain."""
        self._on_deleted(slot.session_id)
        slot.hub.close()

    # Finding ------------------------------------------------------------------------------

    def slot(self, session_id: SessionId) -> Slot:
        """The slot of a session, made if there is none."""
        slot = self._slots.get(session_id)
        if slot is None:
            slot = Slot(session_id, self._services, on_phase=self._on_phase)
            self._slots[session_id] = slot
        return slot

    def find(self, session_id: SessionId) -> Slot | None:
        """The slot of a session if it has one."""
        return self._slots.get(session_id)

    @property
    def slots(self) -> Iterable[Slot]:
        """Every slot there is."""
        return self._slots.values()

    def live_sessions(self) -> list[LiveSession]:
        """Every process there is, starting ones included."""
        return [slot.live for slot in self._slots.values() if slot.live is not None]

    @property
    def is_draining(self) -> bool:
        """Whether the daemon is ending: sessions stop at their next safe point."""
        return self._keeper.is_draining

    def release(self, slot: Slot) -> None:
        """Drop a slot that nobody needs any more."""
        if slot.is_forgettable and self._slots.get(slot.session_id) is slot:
            del self._slots[slot.session_id]

    async def record(self, session_id: SessionId) -> SessionRecord:
        """The catalog row; raises `NotFoundError`."""
        record = await self._services.store.get_session(session_id)
        if record is None:
            raise NotFoundError(f"There is no session {session_id}.")
        return record

    # Events -------------------------------------------------------------------------------

    def on_commits(self, commits: Sequence[Commit]) -> None:
        """Receive what one transaction committed (the store's listener)."""
        for commit in commits:
            try:
                self._on_commit(commit)
            except Exception:  # noqa: BLE001 - one session's fault must not reach another
                _log.exception("a commit of session %s was not handled", commit.session_id)
                self.cut_off(commit.session_id)

    def _on_commit(self, commit: Commit) -> None:
        slot = self._slots.get(commit.session_id)
        if slot is not None:
            slot.on_commit(commit)
        for listener in self._on_committed:
            listener(commit)
        if commit.append_id is None:
            urgency = _urgency_of(commit.rows[-1])
            if urgency is not None:
                self.wake(commit.session_id, urgency=urgency)

    def cut_off(self, session_id: SessionId) -> None:
        """A process that missed something must not go on; the next one starts from the journal."""
        slot = self._slots.get(session_id)
        if slot is not None and slot.live is not None:
            slot.live.close_stream()

    def note_record(self, record: SessionRecord) -> None:
        """Remember what the database knows that keeps a session from being started."""
        if record.is_quarantined:
            slot = self.slot(record.session_id)
            slot.hold = slot.hold or Hold.QUARANTINE
        elif record.storage_layout > LAYOUT:
            self.slot(record.session_id).hold = Hold.NEWER_LAYOUT

    def wake(self, session_id: SessionId, *, urgency: Urgency = Urgency.WORK) -> Slot:
        """Something durable waits for this session: let it run as soon as it may."""
        slot = self.slot(session_id)
        if slot.is_child:
            # Its process lives as long as its parent waits for it, whatever waits in it.
            self.release(slot)
            return slot
        slot.urgency = min(slot.urgency, urgency)
        slot.is_wanted = True
        slot.is_resting = False
        self._keep(slot)
        return slot

    def force(self, slot: Slot) -> None:
        """Start a session that somebody has a word for, whether or not it has work.

        Not one that an operator stopped.
        """
        if not slot.is_resting:
            slot.is_forced = True
            self._keep(slot)

    def await_child(self, slot: Slot) -> None:
        """Have a process of a child run until its parent waits for it no more."""
        slot.is_awaited = True
        self._keep(slot)

    def look_after(self, session_ids: Iterable[SessionId]) -> None:
        """Start what has runnable work: at boot, and when the database recovered."""
        for session_id in session_ids:
            self._keep(self.slot(session_id))

    def warm(self, session_ids: Iterable[SessionId]) -> list[Slot]:
        """Start sessions whether or not something waits for them."""
        slots = [self.slot(key) for key in session_ids if not is_child_key(key)]
        for slot in slots:
            slot.is_forced = True
            self._keep(slot)
        return slots

    def hold(self, session_id: SessionId, hold: Hold) -> None:
        """Do not start a session until an operator says so."""
        self.slot(session_id).hold = hold

    def _keep(self, slot: Slot) -> None:
        if slot.is_child and not slot.is_awaited:
            self.release(slot)
            return
        if slot.keeper is None and not (slot.hold or slot.is_blocked or self._keeper.is_draining):
            task = self._services.tasks.start(
                self._run_keeper(slot), name=f"keeper of {slot.session_id}"
            )
            slot.keeper = task
            task.add_done_callback(lambda _: self._on_keeper_gone(slot, task))

    async def _run_keeper(self, slot: Slot) -> None:
        try:
            with about(session=slot.session_id):
                await self._keeper.keep(slot)
        finally:
            # In the same step in which it saw that nothing is due: a wake in between would be lost.
            self._at_rest(slot)

    def _on_keeper_gone(self, slot: Slot, task: asyncio.Task[None]) -> None:
        """A keeper that is cancelled before its first step never comes to its own end."""
        if slot.keeper is task:
            self._at_rest(slot)

    def _at_rest(self, slot: Slot) -> None:
        slot.keeper = None
        self._on_rest(slot)
        self.release(slot)

    def _on_phase(self, slot: Slot) -> None:
        self._idle.pop(slot.session_id, None)
        if slot.is_idle and not slot.is_child:
            self._idle[slot.session_id] = slot
            if self._gate.is_short:
                self._make_room()

    def _make_room(self) -> None:
        """Ask the longest idle session to leave (decision 89), and later the next.

        One with a job or a child run at work stays, and says nothing of it.
        """
        while self._idle:
            _, oldest = self._idle.popitem(last=False)
            if oldest.is_idle and oldest.live is not None:
                oldest.is_told_to_leave = True
                oldest.live.command(
                    HostCommand(kind="passivate", reason="room", actor="supervisor")
                )
                asyncio.get_running_loop().call_later(ROOM_PATIENCE_S, self._make_room_if_short)
                return

    def _make_room_if_short(self) -> None:
        if self._gate.is_short:
            self._make_room()

    # Ending -------------------------------------------------------------------------------

    async def kill(self, slot: Slot) -> None:
        """SIGKILL; returns when process and tools are dead. It may come back by itself."""
        keeper, live = slot.keeper, slot.live
        if live is None or keeper is None:
            return
        live.end_reason = EndReason.OPERATOR
        if live.process is not None:
            live.process.kill()
        await self._until_ended(slot, live)

    async def drain(self, slot: Slot, command: HostCommand, reason: EndReason) -> None:
        """Let a session end at its next safe point, within the command's budget; then kill it."""
        live = slot.live
        if live is None:
            return
        live.end_reason = reason
        live.command(command)
        try:
            async with asyncio.timeout(command.budget_s + END_MARGIN_S):
                await self._until_ended(slot, live)
        except TimeoutError:
            _log.warning("session %s did not drain in time; killing it", slot.session_id)
            if live.process is not None:
                live.process.kill()
            await self._until_ended(slot, live)

    async def _until_ended(self, slot: Slot, live: LiveSession) -> None:
        """Return once this process and what it left are gone and its death was judged."""
        if slot.live is live:
            await live.buried.wait()

    @asynccontextmanager
    async def exclusive(self, slot: Slot) -> AsyncIterator[None]:
        """Hold a session without a process, for a change that must not meet one.

        Whatever is due afterwards starts again, also after a change that failed.
        """
        slot.blocks += 1
        try:
            async with slot.change:
                await self._end_keeper(slot)
                yield
        finally:
            slot.blocks -= 1
            if not slot.is_resting:
                self._keep(slot)
            self.release(slot)

    async def restart(self, slot: Slot, command: HostCommand) -> None:
        """Drain, lift a hold, start again whether or not there is work."""
        slot.hold = None
        slot.is_resting = False
        slot.is_forced = True
        if slot.live is not None:
            await self.drain(slot, command, EndReason.DRAIN)
        else:
            await self.interrupt(slot)
        self._keep(slot)

    async def rest(self, slot: Slot, command: HostCommand) -> None:
        """Drain, and start again only when something new arrives.

        No start follows, so nothing stays open either: nobody may wait for what never comes.
        """
        slot.is_resting = True
        slot.is_wanted = slot.is_forced = False
        if slot.live is not None:
            await self.drain(slot, command, EndReason.DRAIN)
        else:
            await self.interrupt(slot)
        if slot.is_resting:
            async with self.exclusive(slot):
                await settle_at_rest(self._services, slot)

    async def dismiss(self, slot: Slot) -> None:
        """End a session's process and its keeper, for good."""
        slot.blocks += 1
        await self._end_keeper(slot)

    async def _end_keeper(self, slot: Slot) -> None:
        while (keeper := slot.keeper) is not None:
            if slot.live is not None:
                await self.kill(slot)
            else:
                await self.interrupt(slot)
            await asyncio.wait({keeper}, timeout=KEEPER_LOOK_S)

    async def interrupt(self, slot: Slot) -> None:
        """End a wait for a place, the database or a backoff.

        A keeper without a process has nothing in its hands: whatever it waits for, it may go.
        """
        keeper = slot.keeper
        if keeper is not None and slot.live is None:
            keeper.cancel()
            await asyncio.wait({keeper})


def _urgency_of(row: JournalRow) -> Urgency | None:
    """How urgent a start is for an event of ours; None for one that makes none due."""
    if row.type == "AnswerAdmitted":
        return Urgency.ANSWER
    if row.type != "InputAdmitted":
        return None
    event = decode_event(row.type, row.version, row.payload)
    is_of_person = isinstance(event, InputAdmitted) and event.authority.is_of_person
    return Urgency.PERSON if is_of_person else Urgency.WORK
