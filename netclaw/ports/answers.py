"""Consent requests as the journal store knows them: what is open, and who answered it.

A part of the store's port (`netclaw.ports.journal`), apart for its own vocabulary.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from netclaw.core.authority import Principal, SourceKind
from netclaw.core.ids import CallId, RunId, SessionId, TurnId
from netclaw.core.session.consent_events import ConsentRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerRequest:
    """An answer to make durable, with what the supervisor knows of whoever gives it.

    `shown_seq` is the position of the request that they were shown; 0 means the one that is open
    now. The same call may be asked for again, and an answer to the first request is none to the
    second.
    """

    session_id: SessionId
    call_id: CallId
    option: str
    answerer: str
    boundary: str
    principal: Principal
    at: int
    shown_seq: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerAdmission:
    """The position of the durable answer; a duplicate names the one that was there."""

    seq: int
    is_duplicate: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingConsent:
    """A consent request that waits for a person."""

    position: int
    """Its place among all requests of this database, by age; for paging."""
    session_id: SessionId
    channel: SourceKind
    seq: int
    turn_id: TurnId
    run_id: RunId | None
    asked_at: int
    request: ConsentRequest


class ConsentStore(Protocol):
    """The consent part of `JournalStore`."""

    async def answer(self, request: AnswerRequest) -> AnswerAdmission:
        """Commit AnswerAdmitted, judged against the open request in the same job.

        Raises `NotFoundError` for an unknown session and for a request that is not open,
        `InvalidArgumentError` for an option that is not offered, `NotRequesterError` and
        `DeniedByPolicyError` for whoever may not give it; then nothing is written. The answer that
        counts, given again by the same person, is acknowledged again.
        """

    async def pending_consents(self, *, limit: int, after: int = 0) -> tuple[PendingConsent, ...]:
        """Open requests of every session by age, from a position on.

        One that cannot be read is left out: its session can be started and will say so.
        """
