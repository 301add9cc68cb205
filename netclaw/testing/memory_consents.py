"""Consent requests of the in-memory journal: which are open, and the answers to them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import count

from netclaw.core.authority import Audience, Principal, Requester, SourceKind
from netclaw.core.ids import CallId, RunId, SessionId, TurnId
from netclaw.core.session.answer_admission import check_answer, closed_error
from netclaw.core.session.consent_events import ConsentEffect, ConsentOption, ConsentRequest
from netclaw.core.session.events import AnswerAdmitted
from netclaw.ports.answers import AnswerAdmission, AnswerRequest
from netclaw.ports.journal import JournalRow
from netclaw.testing.memory_json import (
    Json,
    object_of,
    objects_of,
    optional_text_of,
    text_of,
    texts_of,
)

_positions = count(1)


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryConsent:
    """One request and where it stands."""

    request: ConsentRequest
    turn_id: TurnId
    run_id: RunId | None
    seq: int
    position: int
    asked_at: int
    is_closed: bool = False
    answer: AnswerAdmitted | None = None
    answer_seq: int = 0

    @property
    def is_open(self) -> bool:
        """Whether it waits for a person."""
        return not self.is_closed and self.answer is None


@dataclass(slots=True)
class MemoryConsents:
    """The requests of one session by call; values are replaced, never changed."""

    by_call: dict[str, MemoryConsent] = field(default_factory=dict)

    def copy(self) -> MemoryConsents:
        """To work on."""
        return MemoryConsents(dict(self.by_call))

    @property
    def open(self) -> list[MemoryConsent]:
        """Those that wait for a person, by age."""
        return sorted(
            (item for item in self.by_call.values() if item.is_open), key=lambda item: item.seq
        )

    def judge(self, request: AnswerRequest) -> tuple[AnswerAdmitted | None, AnswerAdmission]:
        """The event to write; none, with the first admission, for a repeat of what counted."""
        known = self.by_call.get(request.call_id)
        if known is None or request.shown_seq not in (0, known.seq):
            raise closed_error()
        given = AnswerAdmitted(
            call_id=request.call_id,
            option=request.option,
            answerer=request.answerer,
            boundary=request.boundary,
            principal=request.principal,
        )
        first = AnswerAdmission(seq=known.answer_seq, is_duplicate=True)
        if known.answer is not None and replace(known.answer, principal=given.principal) == given:
            return None, first
        if not known.is_open:
            raise closed_error()
        check_answer(known.request, given)
        return given, first

    def follow(self, row: JournalRow, content: Json) -> None:
        """What an event does to them."""
        match row.type:
            case "ConsentRequested":
                asked = _consent(row, content)
                self.by_call[asked.request.call_id] = asked
            case "AnswerAdmitted":
                self._answered(row.seq, content)
            case "ConsentAnswered":
                self._close(lambda item: item.request.call_id == content["call_id"], keep=True)
            case "AnswerDismissed" if content["reason"] != "not-open":
                self._reopen(content)
            case "SessionReset":
                self.by_call = {}
            case _:
                self._close(_what_ends(row.type, content))

    def _answered(self, seq: int, content: Json) -> None:
        known = self.by_call.get(text_of(content, "call_id"))
        if known is not None and known.is_open:
            answer = AnswerAdmitted(
                call_id=known.request.call_id,
                option=text_of(content, "option"),
                answerer=text_of(content, "answerer"),
                boundary=text_of(content, "boundary"),
                principal=Principal(text_of(content, "principal")),
            )
            self.by_call[answer.call_id] = replace(known, answer=answer, answer_seq=seq)

    def _reopen(self, content: Json) -> None:
        known = self.by_call.get(text_of(content, "call_id"))
        if known is None or known.is_closed or known.answer is None:
            return
        if (known.answer.option, known.answer.answerer) == (
            content["option"],
            content["answerer"],
        ):
            self.by_call[known.request.call_id] = replace(known, answer=None, answer_seq=0)

    def _close(self, is_over: Callable[[MemoryConsent], bool], *, keep: bool = False) -> None:
        for call, item in list(self.by_call.items()):
            if not item.is_closed and is_over(item):
                answer = item.answer if keep else None
                self.by_call[call] = replace(item, is_closed=True, answer=answer)


def _what_ends(type_: str, content: Json) -> Callable[[MemoryConsent], bool]:
    match type_:
        case "ConsentWithdrawn":
            call = content["call_id"]
            return lambda item: item.request.call_id == call
        case "ToolResultRecorded":
            gone = object_of(content, "result")["call_id"]
            return lambda item: item.request.call_id == gone
        case "TurnRecorded" | "TurnFailed":
            turn = content["turn_id"]
            return lambda item: item.turn_id == turn
        case "ChildEnded":
            run = content["run_id"]
            return lambda item: item.run_id == run
        case _:
            return lambda _item: False


def _consent(row: JournalRow, content: Json) -> MemoryConsent:
    run = optional_text_of(content, "run_id")
    return MemoryConsent(
        request=_request(object_of(content, "request")),
        turn_id=TurnId(text_of(content, "turn_id")),
        run_id=None if run is None else RunId(run),
        seq=row.seq,
        position=next(_positions),
        asked_at=row.at,
    )


def _request(content: Json) -> ConsentRequest:
    asker = object_of(content, "requester")
    return ConsentRequest(
        call_id=CallId(text_of(content, "call_id")),
        tool=text_of(content, "tool"),
        display=text_of(content, "display"),
        candidates=texts_of(content, "candidates"),
        options=tuple(
            ConsentOption(
                key=text_of(option, "key"),
                label=text_of(option, "label"),
                effect=ConsentEffect(text_of(option, "effect")),
            )
            for option in objects_of(content, "options")
        ),
        requester=Requester(
            session_id=SessionId(text_of(asker, "session_id")),
            audience=Audience(text_of(asker, "audience")),
            boundary=text_of(asker, "boundary"),
            channel_type=SourceKind(text_of(asker, "channel_type")),
            sender_id=optional_text_of(asker, "sender_id"),
            principal=Principal(text_of(asker, "principal")),
        ),
        attempt_id=text_of(content, "attempt_id"),
        cwd=text_of(content, "cwd"),
        adopted_speakers=texts_of(content, "adopted_speakers"),
    )
