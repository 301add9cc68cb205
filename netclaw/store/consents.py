"""Answers to consent requests, and which requests wait for a person across all sessions.

An answer is judged inside the writer's own job: looked at before, two answers to one request could
both pass. The table says where a request stands; what was asked is read from the journal.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import cast

from netclaw.core.authority import SourceKind
from netclaw.core.errors import SessionUnreadableError
from netclaw.core.ids import SessionId
from netclaw.core.session.answer_admission import check_answer, closed_error
from netclaw.core.session.consent_events import ConsentRequested
from netclaw.core.session.events import AnswerAdmitted
from netclaw.ports.answers import AnswerAdmission, AnswerRequest, PendingConsent
from netclaw.ports.journal import JournalRow
from netclaw.store.connection import Database
from netclaw.store.journal import publish_events, read_row
from netclaw.store.readers import ReaderPool
from netclaw.store.scope import WriteScope
from netclaw.store.writer import GroupWriter
from netclaw.wire.journal_codec import decode_event, encode_event

_FIND = (
    "SELECT seq, state, option, answerer, boundary, answer_seq FROM consent_requests"
    " WHERE session = ? AND call_id = ?"
)
# What a child run asks stands in its parent's journal, and is listed there (decision 69).
_PENDING = (
    "SELECT c.id, s.id, s.key, s.channel, c.seq FROM consent_requests AS c"
    " JOIN sessions AS s ON s.id = c.session"
    " WHERE c.state <> 'closed' AND c.state = 'open' AND s.kind <> 'child' AND c.id > ?"
    " ORDER BY c.id LIMIT ?"
)


class ConsentAnswers:
    """The consent part of the store; see the port for the contract of each method."""

    _writer: GroupWriter
    _readers: ReaderPool

    async def answer(self, request: AnswerRequest) -> AnswerAdmission:
        """Commit AnswerAdmitted, judged against the open request in the same job."""
        return await self._writer.submit(lambda scope: answer(scope, request))

    async def pending_consents(self, *, limit: int, after: int = 0) -> tuple[PendingConsent, ...]:
        """Open requests of every session by age."""
        return await self._readers.read(lambda db: pending(db, limit=limit, after=after))


def answer(scope: WriteScope, request: AnswerRequest) -> AnswerAdmission:
    """Judge an answer and write it down, or say why it does not count."""
    row = scope.session(request.session_id)
    known = scope.db.row(_FIND, (row.id, request.call_id))
    if known is None:
        raise closed_error()
    seq, state, *given, answer_seq = known
    if request.shown_seq not in (0, seq):
        raise closed_error()
    if given == [request.option, request.answerer, request.boundary]:
        return AnswerAdmission(seq=cast("int", answer_seq), is_duplicate=True)
    asked = None if state != "open" else read_row(scope.db, row.id, cast("int", seq))
    if asked is None:
        raise closed_error()
    event = AnswerAdmitted(
        call_id=request.call_id,
        option=request.option,
        answerer=request.answerer,
        boundary=request.boundary,
        principal=request.principal,
    )
    check_answer(_requested(asked).request, event)
    (stored,) = publish_events(scope, row, (encode_event(event),), at=request.at)
    return AnswerAdmission(seq=stored.seq, is_duplicate=False)


def _requested(row: JournalRow) -> ConsentRequested:
    event = decode_event(row.type, row.version, row.payload)
    if not isinstance(event, ConsentRequested):
        raise SessionUnreadableError(f"Event {row.seq} is no consent request.")
    return event


def pending(db: Database, *, limit: int, after: int) -> tuple[PendingConsent, ...]:
    """Open requests by age; the caller holds one transaction open."""
    return tuple(islice(_all_pending(db, limit, after), limit))


def _all_pending(db: Database, limit: int, after: int) -> Iterator[PendingConsent]:
    while page := db.rows(_PENDING, (after, limit)):
        for values in page:
            item = _pending(db, *cast("tuple[int, int, str, str, int]", values))
            if item is not None:
                yield item
        after = cast("int", page[-1][0])


def _pending(
    db: Database, position: int, session: int, key: str, channel: str, seq: int
) -> PendingConsent | None:
    row = read_row(db, session, seq)
    try:
        asked = None if row is None else _requested(row)
    except SessionUnreadableError:
        asked = None
    if row is None or asked is None:
        return None
    return PendingConsent(
        position=position,
        session_id=SessionId(key),
        channel=SourceKind(channel),
        seq=seq,
        turn_id=asked.turn_id,
        run_id=asked.run_id,
        asked_at=row.at,
        request=asked.request,
    )
