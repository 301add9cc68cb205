"""One session of the in-memory journal: its rows, what is open in it, the rules of an append."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from typing import get_args

from netclaw.core.errors import (
    HeadMovedError,
    InvalidArgumentError,
    SessionUnreadableError,
    StaleIncarnationError,
)
from netclaw.core.ids import CallId, InputId, SessionId, TurnId
from netclaw.core.session import events as ev
from netclaw.core.session.admission import check_pending, check_resend
from netclaw.core.session.goal_events import GoalStatus
from netclaw.core.session.goals import NO_GOAL, Goal
from netclaw.core.session.runnable import waits_for_people
from netclaw.core.session.state import SessionState
from netclaw.core.settings import DaemonSettings
from netclaw.core.signals.actors import person_of
from netclaw.core.storage_layout import LAYOUT
from netclaw.ports.answers import AnswerAdmission, AnswerRequest
from netclaw.ports.journal import (
    Admission,
    AdmitRequest,
    AppendRequest,
    EventDraft,
    JournalRow,
    NewSession,
    SessionRecord,
    StoredSnapshot,
)
from netclaw.testing.memory_consents import MemoryConsents
from netclaw.testing.memory_facts import Fact, facts_of
from netclaw.testing.memory_inputs import MemoryInput
from netclaw.testing.memory_jobs import MemoryJobs
from netclaw.testing.memory_json import number_of, object_of, text_of, texts_of
from netclaw.testing.memory_runs import MemoryRuns

StateReader = Callable[[SessionId, StoredSnapshot | None, tuple[JournalRow, ...]], SessionState]
"""Rebuilds a state from what is stored of it; raises `SessionUnreadableError`."""

_KNOWN = frozenset(event.__name__ for event in get_args(ev.SessionEvent))
_SUPERVISOR_ONLY = frozenset(event.__name__ for event in ev.SUPERVISOR_ONLY)
_MAY_INTERLEAVE = frozenset(event.__name__ for event in ev.MAY_INTERLEAVE)
_OPEN_RUNS = {"ChildAccepted": 1, "ChildResultDelivered": -1}
_UNTOLD_JOBS = {"JobEnded": 1, "JobReported": -1}
_NO_ACTIVITY = frozenset({"CrashRecorded", "DrainStopped", "Passivated"})


@dataclass(slots=True, kw_only=True)
class MemorySession:
    """All that is known of one session; a write changes a copy and then replaces it."""

    new: NewSession
    life: int
    incarnation: int
    last_activity_at: int
    rows: tuple[JournalRow, ...] = ()
    snapshot: StoredSnapshot | None = None
    inputs: dict[InputId, MemoryInput] = field(default_factory=dict)
    answers: tuple[ev.AnswerAdmitted, ...] = ()
    """The last answer to each call that is not launched yet."""
    appends: dict[str, tuple[JournalRow, ...]] = field(default_factory=dict)
    title: str = ""
    turns: int = 0
    turns_recorded: int = 0
    turns_failed: int = 0
    open_turn: TurnId | None = None
    is_quarantined: bool = False
    is_start_open: bool = False
    starts_held: int = 0
    crash_times: tuple[int, ...] = ()
    context_tokens: int = 0
    open_runs: int = 0
    untold_jobs: int = 0
    storage_layout: int = LAYOUT
    goal: Goal = NO_GOAL
    state_version: int = 0
    facts: tuple[Fact, ...] = ()
    """What the rows written since it was kept mean to the signal log."""
    consents: MemoryConsents = field(default_factory=MemoryConsents)
    jobs: MemoryJobs = field(default_factory=MemoryJobs)
    runs: MemoryRuns = field(default_factory=MemoryRuns)
    thread_cursor: str = ""

    def copy(self) -> MemorySession:
        """A session to work on."""
        return replace(
            self,
            inputs=dict(self.inputs),
            appends=dict(self.appends),
            consents=self.consents.copy(),
            jobs=self.jobs.copy(),
            runs=self.runs.copy(),
        )

    @property
    def head(self) -> int:
        """seq of the last row."""
        return self.rows[-1].seq if self.rows else 0

    @property
    def open_inputs(self) -> list[MemoryInput]:
        """Inputs that are not consumed."""
        return [item for item in self.inputs.values() if item.is_open]

    def has_work(self, read: StateReader | None) -> bool:
        """Whether a start is due (protocol "Runnable work")."""
        results = self.open_runs or self.untold_jobs
        is_due = bool(self.open_inputs or self.open_turn is not None or self.answers or results)
        return is_due and not self.is_quarantined and not self._waits_for_people(read)

    def _waits_for_people(self, read: StateReader | None) -> bool:
        """Whether the open turn or runs, and all behind them, can only go on if somebody acts."""
        if read is None or self.answers or (self.open_turn is None and not self.open_runs):
            return False
        try:
            return waits_for_people(read(self.new.session_id, *self.state()))
        except SessionUnreadableError:
            return False

    def record(self) -> SessionRecord:
        """The catalog row."""
        return SessionRecord(
            session_id=self.new.session_id,
            kind=self.new.kind,
            channel=self.new.channel,
            audience=self.new.audience,
            title=self.title,
            life=self.life,
            incarnation=self.incarnation,
            head=self.head,
            turns=self.turns,
            pending_inputs=len(self.open_inputs),
            pending_bytes=sum(item.text_bytes for item in self.open_inputs),
            state_version=self.state_version,
            created_at=self.new.at,
            last_activity_at=self.last_activity_at,
            storage_layout=self.storage_layout,
            storage_root=self.new.storage_root,
            is_quarantined=self.is_quarantined,
            context_tokens=self.context_tokens,
            open_turn=self.open_turn,
            parent=self.new.parent,
            goal=self.goal.text,
            goal_status=self.goal.status,
        )

    def find_input(self, source_message_id: str | None) -> Admission | None:
        """The first admission of a source message."""
        item = self._input_of(source_message_id)
        if item is None:
            return None
        return Admission(input_id=item.input_id, seq=item.seq, is_duplicate=True)

    def has_admitted(self, source_message_id: str | None) -> bool:
        """Whether a message with this id of its source was admitted."""
        return self._input_of(source_message_id) is not None

    def _input_of(self, source_message_id: str | None) -> MemoryInput | None:
        if source_message_id is None:
            return None
        inputs = self.inputs.values()
        return next((i for i in inputs if i.message.source_message_id == source_message_id), None)

    def admit(
        self, request: AdmitRequest, limits: DaemonSettings, now: int
    ) -> tuple[Admission, tuple[JournalRow, ...]]:
        """The admission of an input, and the rows it wrote."""
        known = self._input_of(request.source_message_id)
        if known is not None:
            check_resend(known.message, request.text, request.media)
            return Admission(input_id=known.input_id, seq=known.seq, is_duplicate=True), ()
        size = len(request.text.encode("utf-8", "surrogatepass"))
        waiting = self.open_inputs
        check_pending(len(waiting), sum(item.text_bytes for item in waiting), size, limits)
        admitted = ev.InputAdmitted(
            input_id=request.input_id,
            source_message_id=request.source_message_id,
            text=request.text,
            authority=request.authority,
            attended=request.attended,
            media=request.media,
        )
        rows = self.write((draft_of(admitted),), at=request.at, cause=request.input_id)
        self.enter(request, admitted, self.head, now, person=person_of(request.authority))
        self.thread_cursor = request.thread_cursor or self.thread_cursor
        admission = Admission(input_id=request.input_id, seq=self.head, is_duplicate=False)
        return admission, rows

    def enter(
        self,
        request: AdmitRequest,
        admitted: ev.InputAdmitted,
        seq: int,
        now: int,
        *,
        person: str | None,
    ) -> None:
        """Keep an input, whose event is written, among those that wait."""
        self.inputs[request.input_id] = MemoryInput(
            input_id=request.input_id,
            seq=seq,
            source=request.authority.provenance.source_kind.value,
            message=admitted,
            text_bytes=len(request.text.encode("utf-8", "surrogatepass")),
            received_at=request.at,
            admitted_at=now,
            person=person,
        )

    def state(self) -> tuple[StoredSnapshot | None, tuple[JournalRow, ...]]:
        """The newest snapshot and the rows after it."""
        after = self.snapshot.seq if self.snapshot else 0
        return self.snapshot, tuple(row for row in self.rows if row.seq > after)

    def answer(self, request: AnswerRequest) -> tuple[AnswerAdmission, tuple[JournalRow, ...]]:
        """What an answer is acknowledged with, and the rows it wrote."""
        event, known = self.consents.judge(request)
        if event is None:
            return known, ()
        rows = self.write((draft_of(event),), at=request.at, cause="supervisor")
        return AnswerAdmission(seq=self.head, is_duplicate=False), rows

    def append(self, request: AppendRequest) -> tuple[tuple[JournalRow, ...], bool]:
        """The rows of a process's append, and whether they are new."""
        if request.append_id in self.appends:
            return self.appends[request.append_id], False
        _check_events(request)
        if request.incarnation != self.incarnation:
            raise StaleIncarnationError("This process of the session was replaced.")
        is_exact = self._check_head(request)
        rows = self.write(request.events, at=request.at, cause=request.cause)
        if request.snapshot is not None and is_exact:
            self.snapshot = StoredSnapshot(
                seq=self.head, codec=request.snapshot.codec, payload=request.snapshot.payload
            )
        self.appends[request.append_id] = rows
        return rows, True

    def _check_head(self, request: AppendRequest) -> bool:
        if request.expected_head == self.head:
            return True
        between = [row.type for row in self.rows if row.seq > request.expected_head]
        needs_exact = (request.snapshot is not None and request.snapshot.is_mandatory) or any(
            draft.type == "Passivated" for draft in request.events
        )
        if needs_exact or not between or not _MAY_INTERLEAVE.issuperset(between):
            raise HeadMovedError("Something else was committed first.", head=self.head)
        return False

    def write(
        self, drafts: tuple[EventDraft, ...], *, at: int, cause: str
    ) -> tuple[JournalRow, ...]:
        """Add rows and follow what they change."""
        added = tuple(
            JournalRow(
                seq=seq,
                at=at,
                type=draft.type,
                version=draft.version,
                incarnation=self.incarnation,
                cause=cause,
                payload=draft.payload,
            )
            for seq, draft in enumerate(drafts, self.head + 1)
        )
        for row in added:
            self._follow(row)
        self.rows += added
        return added

    def _follow(self, row: JournalRow) -> None:
        if row.type not in _NO_ACTIVITY:
            self.last_activity_at = max(self.last_activity_at, row.at)
        try:
            content = json.loads(row.payload)
            self.facts = (*self.facts, *facts_of(self, row, content))
            self._project(row.type, content)
            self.consents.follow(row, content)
            self.jobs.follow(self.new, row, content)
            self.runs.follow(self.new, row, content)
        except (ValueError, KeyError, TypeError) as error:
            raise InvalidArgumentError(f"The {row.type} event is malformed.") from error

    def _project(self, type_: str, content: dict[str, object]) -> None:
        match type_:
            case "TurnStarted" | "InputJoined":
                self._run(text_of(content, "turn_id"), texts_of(content, "input_ids"))
                if type_ == "TurnStarted":
                    self.open_turn = TurnId(text_of(content, "turn_id"))
            case "TurnRecorded":
                self.turns += 1
                self.turns_recorded += 1
                self.context_tokens = number_of(content, "context_tokens") or self.context_tokens
                self._end_turn(content, text_of(content, "outcome"))
            case "TurnFailed":
                self.turns_failed += 1
                self._end_turn(content, "failed")
                self._forget(*texts_of(content, "closed_call_ids"))
            case "SessionReset":
                self._reset(content)
            case "Compacted":
                self.context_tokens = number_of(content, "tokens_after")
            case "TitleSet":
                self.title = text_of(content, "title")
            case "GoalSet":
                status = GoalStatus(text_of(content, "status"))
                self.goal = Goal(text=text_of(content, "text"), status=status)
            case _:
                self._project_answers(type_, content)
        self.open_runs = max(0, self.open_runs + _OPEN_RUNS.get(type_, 0))
        self.untold_jobs = max(0, self.untold_jobs + _UNTOLD_JOBS.get(type_, 0))

    def _project_answers(self, type_: str, content: dict[str, object]) -> None:
        match type_:
            case "AnswerAdmitted":
                answer = _answer(content)
                self._forget(answer.call_id)
                self.answers = (*self.answers, answer)
            case "ToolBatchStarted":
                self._forget(*texts_of(content, "call_ids"))
            case "ToolResultRecorded" if self.answers:
                self._forget(text_of(object_of(content, "result"), "call_id"))
            case "ConsentAnswered" | "ConsentWithdrawn":
                self._forget(text_of(content, "call_id"))
            case "AnswerDismissed":
                gone = _answer(content)
                self.answers = tuple(answer for answer in self.answers if answer != gone)

    def _forget(self, *calls: str) -> None:
        self.answers = tuple(item for item in self.answers if item.call_id not in calls)

    def _run(self, turn: str, inputs: tuple[str, ...]) -> None:
        for input_id in inputs:
            self._change(input_id, TurnId(turn), "running")

    def _end_turn(self, content: dict[str, object], outcome: str) -> None:
        turn = TurnId(text_of(content, "turn_id"))
        for input_id in texts_of(content, "input_ids"):
            self._change(input_id, turn, outcome)
        for item in self.open_inputs:
            if item.turn_id == turn:
                self._change(item.input_id, None, "waiting")
        self.open_turn = None

    def _change(self, input_id: str, turn: TurnId | None, outcome: str) -> None:
        known = self.inputs.get(InputId(input_id))
        if known is not None and known.is_open:
            self.inputs[known.input_id] = replace(known, turn_id=turn, outcome=outcome)

    def _reset(self, content: dict[str, object]) -> None:
        life = number_of(content, "life")
        for item in self.open_inputs:
            self.inputs[item.input_id] = replace(item, outcome="closed")
        self.life = life
        self.title = ""
        self.goal = NO_GOAL
        self.turns = 0
        self.context_tokens = 0
        self.open_turn = None
        self.answers = ()
        self.open_runs = self.untold_jobs = 0


def _check_events(request: AppendRequest) -> None:
    if not request.events:
        raise InvalidArgumentError("An append holds at least one event.")
    for draft in request.events:
        if draft.type in _SUPERVISOR_ONLY:
            raise InvalidArgumentError(f"A session process may not author {draft.type}.")
        if draft.type not in _KNOWN or draft.version < 1:
            raise InvalidArgumentError(f"The event {draft.type} is not known here.")


def draft_of(event: ev.SessionEvent) -> EventDraft:
    """An event of this program, encoded like the real codec does it."""
    payload = json.dumps(asdict(event), ensure_ascii=False, separators=(",", ":"))
    name = type(event).__name__
    try:
        return EventDraft(type=name, version=1, payload=payload.encode())
    except UnicodeEncodeError:
        raise InvalidArgumentError(f"A text of the {name} is not valid Unicode.") from None


def _answer(content: dict[str, object]) -> ev.AnswerAdmitted:
    """Which answer an event is about."""
    return ev.AnswerAdmitted(
        call_id=CallId(text_of(content, "call_id")),
        option=text_of(content, "option"),
        answerer=text_of(content, "answerer"),
    )
