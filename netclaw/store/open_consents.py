"""What events do to the consent requests of a session: asked, answered, closed.

The rules are those by which the session's state follows the same events.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from netclaw.core.session.child_events import ChildEnded
from netclaw.core.session.consent_events import (
    AnswerDismissed,
    ConsentAnswered,
    ConsentRequested,
    Dismissal,
)
from netclaw.core.session.events import AnswerAdmitted
from netclaw.store.rows import OpenConsent, SessionRow
from netclaw.store.scope import WriteScope

_CLOSE = (
    "UPDATE consent_requests SET state = 'closed', option = NULL, answerer = NULL,"
    " boundary = NULL, answer_seq = NULL WHERE session = ? AND call_id = ?"
)
_CLOSE_ANSWERED = "UPDATE consent_requests SET state = 'closed' WHERE session = ? AND call_id = ?"
"""The answer that counted stays known, so that a repeat of it is acknowledged again."""


def consent_requested(
    scope: WriteScope, row: SessionRow, seq: int, event: ConsentRequested
) -> None:
    """A call waits; asked for again, it is another request, and what was said before is gone."""
    call = event.request.call_id
    scope.db.run(
        "INSERT OR REPLACE INTO consent_requests (session, call_id, turn, run, seq)"
        " VALUES (?, ?, ?, ?, ?)",
        (row.id, call, event.turn_id, event.run_id, seq),
    )
    row.consents = {**row.consents, call: OpenConsent(event.turn_id, event.run_id)}


def answer_admitted(scope: WriteScope, row: SessionRow, seq: int, event: AnswerAdmitted) -> None:
    """The first answer is the one that its session takes up."""
    known = row.consents.get(event.call_id)
    if known is None or known.is_answered:
        return
    scope.db.run(
        "UPDATE consent_requests SET state = 'answered', option = ?, answerer = ?, boundary = ?,"
        " answer_seq = ? WHERE session = ? AND call_id = ?",
        (event.option, event.answerer, event.boundary, seq, row.id, event.call_id),
    )
    row.consents = {**row.consents, event.call_id: replace(known, is_answered=True)}


def answer_dismissed(scope: WriteScope, row: SessionRow, event: AnswerDismissed) -> None:
    """An answer that its session does not let count leaves the request open."""
    known = row.consents.get(event.call_id)
    if known is None or event.reason is Dismissal.NOT_OPEN:
        return
    scope.db.run(
        "UPDATE consent_requests SET state = 'open', option = NULL, answerer = NULL,"
        " boundary = NULL, answer_seq = NULL"
        " WHERE session = ? AND call_id = ? AND option = ? AND answerer = ?",
        (row.id, event.call_id, event.option, event.answerer),
    )
    if scope.db.connection.changes() > 0:
        row.consents = {**row.consents, event.call_id: replace(known, is_answered=False)}


def consent_answered(scope: WriteScope, row: SessionRow, event: ConsentAnswered) -> None:
    """The session took the answer up."""
    _close(scope, row, lambda call, _known: call == event.call_id, _CLOSE_ANSWERED)


def close_call(scope: WriteScope, row: SessionRow, call_id: str) -> None:
    """The call has its result, or nobody is asked for it."""
    _close(scope, row, lambda call, _known: call == call_id)


def close_turn(scope: WriteScope, row: SessionRow, turn_id: str) -> None:
    """The turn is over, and with it all that it asked."""
    _close(scope, row, lambda _call, known: known.turn == turn_id)


def child_ended(scope: WriteScope, row: SessionRow, seq: int, event: ChildEnded) -> None:
    """The run is over, and with it all that it asked."""
    del seq
    _close(scope, row, lambda _call, known: known.run == event.run_id)


def forget_all(scope: WriteScope, row: SessionRow) -> None:
    """A life is over; its calls are nobody's."""
    scope.db.run("DELETE FROM consent_requests WHERE session = ?", (row.id,))
    row.consents = {}


def _close(
    scope: WriteScope,
    row: SessionRow,
    is_over: Callable[[str, OpenConsent], bool],
    sql: str = _CLOSE,
) -> None:
    gone = [call for call, known in row.consents.items() if is_over(call, known)]
    if gone:
        scope.db.run_many(sql, [(row.id, call) for call in gone])
        row.consents = {call: known for call, known in row.consents.items() if call not in gone}
