"""Writes down that a session crashed, and gives up what makes it crash (decisions 4 and 5)."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass

from netclaw.core.errors import SessionUnreadableError
from netclaw.core.ids import SessionId
from netclaw.core.session.events import OutboxRow, SessionEvent, TurnFailed
from netclaw.core.session.replies import rows_for
from netclaw.core.session.state import SessionState
from netclaw.core.supervision import DeathCause, Verdict, poison_events
from netclaw.ports.crashes import CrashReport, GiveUp
from netclaw.ports.journal import JournalRow, JournalStore, StoredSnapshot
from netclaw.supervisor.ids import new_reference
from netclaw.supervisor.services import Services
from netclaw.supervisor.slot import Slot
from netclaw.wire.journal_codec import encode_event
from netclaw.wire.stored_state import stored_state

_log = logging.getLogger(__name__)

INLINE_ROWS = 500
INLINE_BYTES = 512 * 1024
"""A larger state is rebuilt in a thread: the loop serves everybody else meanwhile."""
PAGE_ROWS = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class _Stored:
    """What could be read of a session."""

    state: SessionState | None
    """None: its journal cannot be read either."""
    bad_snapshot: int | None = None
    """seq of a snapshot that cannot be read."""


async def read_state(store: JournalStore, session_id: SessionId) -> SessionState:
    """A session's state as its journal says; `SessionState()` of that id if it has no events.

    Raises `SessionUnreadableError`.
    """
    stored = await _read(store, session_id)
    if stored.state is None:
        raise SessionUnreadableError(f"What is stored of session {session_id} cannot be read.")
    return stored.state


async def read_state_if_readable(store: JournalStore, session_id: SessionId) -> SessionState:
    """The same for what must also work on a damaged session: its empty state then."""
    stored = await _read(store, session_id)
    return stored.state or SessionState(session_id=session_id)


async def _read(store: JournalStore, session_id: SessionId) -> _Stored:
    """Rebuild from the snapshot; from the first event on if there is something wrong with it."""
    snapshot, tail = await store.read_state(session_id)
    try:
        return _Stored(state=await _rebuild(session_id, snapshot, tail))
    except SessionUnreadableError as error:
        _log.error("the state of session %s cannot be read: %s", session_id, error.sentence)
        if snapshot is None:
            return _Stored(state=None)
    try:
        state = await _rebuild(session_id, None, await _whole_journal(store, session_id))
    except SessionUnreadableError:
        state = None
    return _Stored(state=state, bad_snapshot=snapshot.seq)


async def _whole_journal(store: JournalStore, session_id: SessionId) -> tuple[JournalRow, ...]:
    found: list[JournalRow] = []
    while True:
        since = found[-1].seq if found else 0
        rows = await store.read_journal(session_id, since=since, limit=PAGE_ROWS)
        found.extend(rows)
        if len(rows) < PAGE_ROWS:
            return tuple(found)


async def _rebuild(
    session_id: SessionId, snapshot: StoredSnapshot | None, tail: tuple[JournalRow, ...]
) -> SessionState:
    size = sum(len(row.payload) for row in tail)
    size += len(snapshot.payload) if snapshot is not None else 0
    if size <= INLINE_BYTES and len(tail) <= INLINE_ROWS:
        return stored_state(session_id, snapshot, tail)
    return await asyncio.to_thread(stored_state, session_id, snapshot, tail)


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedCrash:
    """What follows from a crash that was written down."""

    verdict: Verdict
    is_unreadable: bool = False


async def record_crash(
    services: Services, slot: Slot, cause: DeathCause, status: int
) -> RecordedCrash:
    """Commit a CrashRecorded and what follows from it; raises a `StorageError`.

    A session whose data cannot be read is quarantined: no start of it could get further.
    """
    stored = await _read(services.store, slot.session_id)
    outcome = await services.store.record_crash(
        slot.session_id,
        CrashReport(
            cause=cause,
            exit_status=status,
            at=services.now_ms(),
            settings=services.settings.current.supervision,
            give_up=_give_up(stored.state) if stored.state is not None else None,
            is_unreadable=stored.state is None,
            bad_snapshot=stored.bad_snapshot,
        ),
    )
    _log.warning(
        "session %s crashed (%s, status %d), attempt %d",
        slot.session_id,
        cause.value,
        status,
        outcome.attempt,
    )
    return RecordedCrash(verdict=outcome.verdict, is_unreadable=stored.state is None)


def _give_up(state: SessionState) -> GiveUp | None:
    """What fails the open turn, so that the session is usable again."""
    events = poison_events(state, new_reference())
    if not events or state.turn is None:
        return None
    return GiveUp(
        turn_id=state.turn.turn_id,
        events=tuple(encode_event(event) for event in events),
        outbox=tuple(row for event in events for row in replies_of(state, event)),
    )


def replies_of(state: SessionState, event: SessionEvent) -> tuple[OutboxRow, ...]:
    """What channels are told of a turn that was given up."""
    if not isinstance(event, TurnFailed) or state.turn is None:
        return ()
    consumed = tuple(i for i in state.in_turn if i.admitted.input_id in event.input_ids)
    return rows_for(consumed, state.turn, text=event.note)
