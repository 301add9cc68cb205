"""What nobody takes up by itself: ends it, or tells those who wait that it is kept.

A process settles its own turn when it is stopped. What is left here is a session that had no
process at that moment, or one that had to be killed.
"""

from __future__ import annotations

import logging

from netclaw.core.errors import NetclawError, StorageError
from netclaw.core.ids import InputId
from netclaw.core.supervision import stop_event
from netclaw.supervisor.crashes import read_state_if_readable, replies_of
from netclaw.supervisor.ids import new_reference
from netclaw.supervisor.services import Services
from netclaw.supervisor.slot import Slot
from netclaw.wire.journal_codec import encode_event

_log = logging.getLogger(__name__)

STOPPED_NOTICE = (
    "This session was stopped. Messages that wait are kept; they run when a new one arrives or"
    " after `netclaw sessions restart`."
)
LEDGER_ROWS = 1000
"""Newest inputs to look at; far fewer may be unanswered at once."""
UNANSWERED = frozenset({"waiting", "running"})


async def settle_at_rest(services: Services, slot: Slot) -> None:
    """End the turn that a stopped session left open, and tell who waits that nothing follows.

    The caller keeps processes of the session away. While the database takes no writes the turn
    stays open for the next start.
    """
    try:
        if services.health.state == "ok":
            await _end_turn(services, slot)
    except NetclawError as error:
        _note(services, error)
    waiting = await unanswered(services, slot)
    if waiting and slot.is_resting:
        slot.notify(STOPPED_NOTICE, "stopped", waiting)


async def unanswered(services: Services, slot: Slot) -> tuple[InputId, ...]:
    """The inputs of a session that no turn has consumed; none if the database cannot say.

    Reads no event, so that it also works on a damaged session.
    """
    try:
        entries = await services.store.ledger(slot.session_id, limit=LEDGER_ROWS)
        await services.store.settle()
    except NetclawError as error:
        _note(services, error)
        return ()
    return tuple(entry.input_id for entry in entries if entry.outcome in UNANSWERED)


async def _end_turn(services: Services, slot: Slot) -> None:
    state = await read_state_if_readable(services.store, slot.session_id)
    event = stop_event(state, new_reference())
    if event is None:
        return
    await services.store.append_own(
        slot.session_id,
        (encode_event(event),),
        at=services.now_ms(),
        outbox=replies_of(state, event) if event.is_person_told else (),
    )


def _note(services: Services, error: NetclawError) -> None:
    _log.warning("what a session leaves could not be settled: %s", error.sentence)
    if isinstance(error, StorageError):
        services.health.note(error)
