"""What events change of the messages between sessions.

The target's turn and the sender's call end in any order, each in a transaction of its own that
marks the record; a late reply needs both marks (see `netclaw.ports.session_sends`).
"""

from __future__ import annotations

from netclaw.core.session.events import (
    ToolResultRecorded,
    TurnFailed,
    TurnOutcome,
    TurnRecorded,
)
from netclaw.core.session.inter_session import SendEnd, kept_reply
from netclaw.store.rows import SessionRow, calls_of_sends
from netclaw.store.scope import WriteScope

_ENDS = {
    TurnOutcome.COMPLETED: SendEnd.COMPLETED,
    TurnOutcome.STOPPED: SendEnd.STOPPED,
    TurnOutcome.GUARD_ENDED: SendEnd.GUARD_ENDED,
}
_END = (
    "UPDATE session_sends SET ended = ?, reply = ?"
    " WHERE target = ? AND input_id = ? AND ended IS NULL"
)
_END_ALL = "UPDATE session_sends SET ended = ? WHERE target = ? AND ended IS NULL"


def result_recorded(scope: WriteScope, row: SessionRow, event: ToolResultRecorded) -> None:
    """A call that sent is over: it holds the reply, or the reply is late from now on."""
    result = event.result
    if result.call_id not in row.sent:
        return
    row.sent = tuple(call for call in row.sent if call != result.call_id)
    if result.answered_input:
        scope.db.run(
            "DELETE FROM session_sends WHERE sender = ? AND call_id = ? AND input_id = ?"
            " AND ended IS NOT NULL",
            (row.id, result.call_id, result.answered_input),
        )
    scope.db.run(
        "UPDATE session_sends SET is_late = 1 WHERE sender = ? AND call_id = ?",
        (row.id, result.call_id),
    )


def turn_ended(scope: WriteScope, row: SessionRow, event: TurnRecorded | TurnFailed) -> None:
    """What other sessions sent to this turn has its end; what the turn sent is late now."""
    if row.awaited:
        _answer(scope, row, event)
    if row.sent:
        scope.db.run(
            "UPDATE session_sends SET is_late = 1 WHERE sender = ? AND turn = ?",
            (row.id, event.turn_id),
        )
        row.sent = calls_of_sends(scope.db, row.id)


def _answer(scope: WriteScope, row: SessionRow, event: TurnRecorded | TurnFailed) -> None:
    end, reply = SendEnd.FAILED, ""
    if isinstance(event, TurnRecorded):
        end = _ENDS[event.outcome]
        reply = kept_reply(event.message.text) if end is SendEnd.COMPLETED else ""
    ended = [item for item in event.input_ids if item in row.awaited]
    scope.db.run_many(_END, [(end.value, reply, row.id, item) for item in ended])
    row.awaited = tuple(item for item in row.awaited if item not in ended)


def life_ended(scope: WriteScope, row: SessionRow) -> None:
    """A reset: nobody waits for replies any more, and what was sent here gets none."""
    scope.db.run("DELETE FROM session_sends WHERE sender = ?", (row.id,))
    scope.db.run(_END_ALL, (SendEnd.CLOSED.value, row.id))
    row.sent = row.awaited = ()


def session_deleted(scope: WriteScope, row: SessionRow) -> None:
    """The same for a session that is gone."""
    scope.db.run("DELETE FROM session_sends WHERE sender = ?", (row.id,))
    scope.db.run(_END_ALL, (SendEnd.DELETED.value, row.id))
