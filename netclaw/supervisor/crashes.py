"""Writes down that a session crashed, and gives up what makes it crash (decisions 4 and 5)."""

from __future__ import annotations

import asyncio
import logging

from netclaw.core.ids import SessionId
from netclaw.core.session.events import (
    CrashRecorded,
    OutboxRow,
    Recorded,
    SessionEvent,
    TurnFailed,
)
from netclaw.core.session.evolve import evolve, replay
from netclaw.core.session.replies import rows_for
from netclaw.core.session.state import SessionState
from netclaw.core.supervision import (
    CrashRecord,
    DeathCause,
    NextStep,
    Verdict,
    judge_death,
    poison_events,
)
from netclaw.ports.journal import JournalRow, JournalStore, StoredSnapshot
from netclaw.supervisor.ids import new_reference
from netclaw.supervisor.services import Services
from netclaw.supervisor.slot import Slot
from netclaw.wire.convert import recorded_of
from netclaw.wire.journal_codec import decode_state, encode_event

_log = logging.getLogger(__name__)


INLINE_ROWS = 500
INLINE_SNAPSHOT_BYTES = 512 * 1024
"""A larger state is rebuilt in a thread: the loop serves everybody else meanwhile."""


async def read_state(store: JournalStore, session_id: SessionId) -> SessionState:
    """A session's state as its journal says; `SessionState()` of that id if it has no events."""
    snapshot, tail = await store.read_state(session_id)
    size = len(snapshot.payload) if snapshot is not None else 0
    if size <= INLINE_SNAPSHOT_BYTES and len(tail) <= INLINE_ROWS:
        return _rebuild(session_id, snapshot, tail)
    return await asyncio.to_thread(_rebuild, session_id, snapshot, tail)


def _rebuild(
    session_id: SessionId, snapshot: StoredSnapshot | None, tail: tuple[JournalRow, ...]
) -> SessionState:
    state = SessionState(session_id=session_id)
    if snapshot is not None:
        state = decode_state(snapshot.codec, snapshot.payload)
    return replay(state, (recorded_of(row) for row in tail))


async def record_crash(services: Services, slot: Slot, cause: DeathCause, status: int) -> Verdict:
    """Commit a CrashRecorded and what follows from it; raises a `StorageError`."""
    store, supervision = services.store, services.settings.current.supervision
    state = await read_state(store, slot.session_id)
    turn = state.turn
    crash = CrashRecorded(
        exit_status=status,
        turn_id=turn.turn_id if turn else None,
        attempt=turn.crashes + 1 if turn else 0,
    )
    now = services.now_ms()
    window_ms = int(supervision.quarantine_window_s * 1000)
    history = await store.record_crash(
        slot.session_id, encode_event(crash), at=now, keep_after=now - window_ms
    )
    before = CrashRecord(
        crashes=history.crash_times[:-1] if history.crash_times else (),
        in_a_row=slot.crashes.in_a_row,
    )
    verdict = judge_death(
        before, cause, turn_crashes=crash.attempt, now_ms=now, settings=supervision
    )
    slot.crashes = verdict.record
    _log.warning(
        "session %s crashed (%s, status %d), attempt %d",
        slot.session_id,
        cause.value,
        status,
        crash.attempt,
    )
    if verdict.is_poison:
        await _give_up(services, slot, state, crash)
    if verdict.step is NextStep.QUARANTINE:
        await store.set_quarantined(slot.session_id, is_quarantined=True)
    return verdict


async def _give_up(
    services: Services, slot: Slot, state: SessionState, crash: CrashRecorded
) -> None:
    """Fail the poison turn, so that the session is usable again."""
    recorded = Recorded(
        seq=state.head + 1, at=services.now_ms(), incarnation=0, cause="supervisor", event=crash
    )
    events = poison_events(evolve(state, recorded), new_reference())
    if not events:
        return
    await services.store.append_own(
        slot.session_id,
        tuple(encode_event(event) for event in events),
        at=services.now_ms(),
        outbox=tuple(row for event in events for row in _replies(state, event)),
    )


def _replies(state: SessionState, event: SessionEvent) -> tuple[OutboxRow, ...]:
    """What channels are told of a turn that was given up."""
    if not isinstance(event, TurnFailed):
        return ()
    consumed = tuple(i for i in state.in_turn if i.admitted.input_id in event.input_ids)
    return rows_for(consumed, turn_id=event.turn_id, text=event.note)
