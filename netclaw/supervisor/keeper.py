"""Keeps one session's process: start it when due, watch it end, decide what follows.

One task per session with a process, from the moment something makes a start due until nothing
does. Every way for a process to end leads through `_after`, and only there is it decided whether
and when the next one starts (protocol "Recovery, exactly", decisions 4 and 5).
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass
from typing import Any

from netclaw.core.errors import NetclawError, NotFoundError, StorageError
from netclaw.core.supervision import DeathCause, NextStep, backoff_s, cause_of
from netclaw.supervisor.crashes import RecordedCrash, record_crash
from netclaw.supervisor.live_session import EndReason, LiveSession
from netclaw.supervisor.resting import unanswered
from netclaw.supervisor.services import Services
from netclaw.supervisor.slot import Hold, Slot, SlotState
from netclaw.supervisor.start_gate import StartGate, Urgency
from netclaw.supervisor.starts import Starter

_log = logging.getLogger(__name__)

MIN_RETRY_S = 0.1
"""Between two starts that fail for no fault of the session, whatever the backoff says."""
TREE_KILL_LIMIT_S = 10.0
"""How long a dead session's tools may take to die before it is logged and retried."""

RECOVERING_NOTICE = "The session stopped answering and was started again."
CRASH_NOTICE = "The session's process ended unexpectedly and is started again."
QUARANTINED_NOTICE = (
    "This session crashed repeatedly and is quarantined until `netclaw sessions restart`."
)

UNREADABLE_NOTICE = (
    "What is stored of this session cannot be read, so it is quarantined until a netclaw that can"
    " read it runs."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Death:
    """How one process ended."""

    cause: DeathCause
    status: int
    was_asked_for: bool
    """Passivated, drained, killed on request: nothing to hold back the next start for."""


class Keeper:
    """The life cycle of sessions' processes."""

    def __init__(
        self, services: Services, gate: StartGate, child_gate: StartGate, starter: Starter
    ) -> None:
        self._services = services
        self._gate = gate
        self._child_gate = child_gate
        """Places of child runs, beside those of sessions (decision 89)."""
        self._starter = starter
        self.is_draining = False
        """Nothing is started any more; what runs is asked to end."""

    async def keep(self, slot: Slot) -> None:
        """Run processes of a session one after another, as long as one is due."""
        try:
            while await self._is_due(slot):
                try:
                    await self._one_life(slot)
                except Exception:  # noqa: BLE001 - logged with its stack, then mended
                    # A fault of ours: nothing of the session may stay behind, or be forgotten.
                    _log.exception("the keeper of session %s failed", slot.session_id)
                    await self._start_over(slot)
        finally:
            slot.state = SlotState.PASSIVE

    async def _start_over(self, slot: Slot) -> None:
        """Kill what is left of a life that went wrong here, and wait before the next."""
        live = slot.live
        if live is not None:
            self._starter.forget(live)
            live.close_stream()
            if live.process is not None:
                live.process.kill()
                await live.process.wait()
            await self._bury(live)
            slot.live = None
            live.buried.set()
        slot.is_wanted = True
        slot.early_ends += 1
        slot.state = SlotState.BACKOFF
        await asyncio.sleep(self._delay(slot))

    async def _is_due(self, slot: Slot) -> bool:
        """Whether a start is due, and allowed; waits for the database if that is unusable."""
        while not self._is_barred(slot):
            slot.state = SlotState.QUEUED
            await self._services.health.wait_usable()
            if slot.is_child:
                return slot.is_awaited
            if slot.is_forced or slot.is_wanted:
                return True
            if slot.is_resting:
                return False
            try:
                if await self._services.store.has_runnable_work(slot.session_id):
                    return True
            except StorageError as error:
                self._services.health.note(error)
                continue
            if not slot.is_wanted:
                return False
        return False

    def _is_barred(self, slot: Slot) -> bool:
        """Whether no process may start, whatever waits for it."""
        return self.is_draining or slot.hold is not None or slot.is_blocked

    async def _one_life(self, slot: Slot) -> None:
        slot.state = SlotState.QUEUED
        gate = self._child_gate if slot.is_child else self._gate
        async with gate.place(lambda: slot.urgency):
            death = await self._live_and_die(slot)
        delay_s = await self._after(slot, death) if death is not None else self._delay(slot)
        is_over = slot.is_child and not slot.is_awaited
        if delay_s > 0 and not (is_over or self.is_draining):
            slot.state = SlotState.BACKOFF
            await asyncio.sleep(delay_s)

    async def _live_and_die(self, slot: Slot) -> Death | None:
        """One process from its start to the end of its last tool; None if it never started."""
        async with self._gate.permit(lambda: slot.urgency):
            if self._is_barred(slot):
                return None
            slot.is_wanted = slot.is_forced = False
            slot.urgency = Urgency.WORK
            live = self._starter.prepare(slot)
            try:
                await self._starter.start(slot, live)
            except NetclawError as error:
                self._not_started(slot, live, error)
                return None
            await self._until_ready(slot, live)
        process = live.process
        status = await process.wait() if process is not None else 0
        slot.state = SlotState.ENDING
        self._starter.forget(live)
        live.close_stream()
        await self._bury(live)
        # What was admitted meanwhile is in the journal, consumed or not; the store will say.
        slot.is_wanted = False
        return _judge(live, status)

    async def _until_ready(self, slot: Slot, live: LiveSession) -> None:
        """Hold the start permit until the process is ready or dead."""
        process = live.process
        if process is None:
            return
        ended = asyncio.ensure_future(process.wait())
        either: set[asyncio.Future[Any]] = {ended, live.ready}
        try:
            await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        finally:
            ended.cancel()
        if live.ready.done():
            slot.state = SlotState.LIVE
        # Ready or dead, but we survived it: this start is no longer in progress.
        self._services.tasks.start(self._finish_start(slot), name="finish of a start")

    async def _finish_start(self, slot: Slot) -> None:
        try:
            await self._services.store.finish_start(slot.session_id)
        except NotFoundError:
            return
        except StorageError as error:
            self._services.health.note(error)

    async def _bury(self, live: LiveSession) -> None:
        """Return when nothing the process started is alive (decision 82)."""
        while not await live.trees.kill_all(TREE_KILL_LIMIT_S):
            _log.error("session %s waits for its tools to die", live.session_id)
        strangers = await self._services.spawner.reap_strangers()
        if strangers:
            _log.warning("session %s left %d processes behind", live.session_id, strangers)

    def _not_started(self, slot: Slot, live: LiveSession, error: NetclawError) -> None:
        """Try again later: what waits for the session still does."""
        if isinstance(error, StorageError):
            self._services.health.note(error)
        is_gone = isinstance(error, NotFoundError)  # it was deleted while it waited to start
        level = logging.INFO if is_gone else logging.ERROR
        _log.log(level, "session %s cannot start: %s", slot.session_id, error.sentence)
        slot.live = None
        slot.state = SlotState.QUEUED
        slot.is_wanted = not is_gone
        slot.is_awaited = slot.is_awaited and not is_gone
        slot.early_ends += 1
        live.close_stream()
        live.buried.set()

    def _delay(self, slot: Slot) -> float:
        """The wait after a start that failed for no fault of the session."""
        supervision = self._services.settings.current.supervision
        return max(MIN_RETRY_S, backoff_s(slot.early_ends, supervision))

    async def _after(self, slot: Slot, death: Death) -> float:
        """Draw the consequences of a death; returns the seconds to wait before a next start."""
        live, slot.live = slot.live, None
        slot.state = SlotState.QUEUED
        _log.info(
            "session %s ended: %s (status %d)", slot.session_id, death.cause.value, death.status
        )
        if live is not None:
            live.buried.set()
        if death.cause is DeathCause.OPERATOR:
            return 0.0
        if death.cause.is_crash:
            return await self._after_crash(slot, death)
        slot.early_ends = 0 if death.was_asked_for else slot.early_ends + 1
        if slot.early_ends <= 1:
            return 0.0
        return self._delay(slot)

    async def _record(self, slot: Slot, death: Death) -> RecordedCrash:
        """Write the crash down, however long the database takes no writes."""
        while True:
            try:
                return await record_crash(self._services, slot, death.cause, death.status)
            except StorageError as error:
                self._services.health.note(error)
                await self._services.health.wait_usable()

    async def _after_crash(self, slot: Slot, death: Death) -> float:
        recorded = await self._record(slot, death)
        verdict = recorded.verdict
        if verdict.step is NextStep.QUARANTINE:
            slot.hold = Hold.UNREADABLE if recorded.is_unreadable else Hold.QUARANTINE
            _log.error("session %s is quarantined", slot.session_id)
            waiting = await unanswered(self._services, slot)
            notice = UNREADABLE_NOTICE if recorded.is_unreadable else QUARANTINED_NOTICE
            slot.notify(notice, "quarantined", waiting)
            return 0.0
        is_hung = death.cause is DeathCause.HUNG
        slot.notify(RECOVERING_NOTICE if is_hung else CRASH_NOTICE, "recovering")
        return verdict.after_s


def _judge(live: LiveSession, status: int) -> Death:
    """Tell a crash from an end on purpose."""
    if live.end_reason is EndReason.OPERATOR:
        return Death(cause=DeathCause.OPERATOR, status=status, was_asked_for=True)
    if live.end_reason is not None:
        return Death(cause=DeathCause.ENDED, status=status, was_asked_for=True)
    if live.is_hung:
        return Death(cause=DeathCause.HUNG, status=status, was_asked_for=False)
    cause = cause_of(status)
    was_asked_for = cause is DeathCause.STORAGE or live.is_sealed
    return Death(cause=cause, status=status, was_asked_for=was_asked_for)
