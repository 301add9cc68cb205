"""The catalog row of a session as the writer holds it, and as readers see it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from operator import attrgetter
from typing import cast

import apsw

from netclaw.core.authority import Audience, SourceKind
from netclaw.core.ids import SessionId, TurnId
from netclaw.core.session.events import SessionKind
from netclaw.core.session.goal_events import GoalStatus
from netclaw.ports.journal import SessionRecord
from netclaw.store.connection import Database, Row, Value

APPEND_SLOTS = 16
"""How many of a session's last append ids are remembered; one append is in flight at a time."""


@dataclass(frozen=True, slots=True)
class PendingInput:
    """An input that is not consumed; `turn` is the open turn it belongs to."""

    seq: int
    text_bytes: int
    turn: str | None = None
    person: str | None = None
    """Sender id of the person who wrote it, empty if not known; None of any other input."""
    channel: str = ""
    """The kind of thing it came from."""


@dataclass(frozen=True, slots=True)
class OpenConsent:
    """A consent request that is not closed; `run` is the child run that asks."""

    turn: str
    run: str | None
    is_answered: bool = False
    """Whether a durable answer waits for the session to take it up."""


@dataclass(frozen=True, slots=True)
class UntoldJob:
    """A background job until a turn that told of it is over."""

    told_turn: str | None = None
    """The turn that tells of its end, or shows that it was reaped."""
    is_reaped: bool = False


@dataclass(slots=True)
class SessionRow:
    """Everything the writer must know of a session to judge a write without a query.

    A write works on a copy, which replaces the known row when the write succeeded; the mappings
    are replaced, never changed in place.
    """

    id: int
    key: str
    kind: str
    channel: str
    audience: str
    parent: str | None
    storage_layout: int
    storage_root: str
    created_at: int
    title: str
    life: int
    incarnation: int
    head: int
    firm_head: int
    appends: int
    turns: int
    turns_recorded: int
    turns_failed: int
    admitted_inputs: int
    pending_inputs: int
    pending_bytes: int
    pending_answers: int
    open_turn: str | None
    state_version: int
    last_activity_at: int
    is_quarantined: int
    is_start_open: int
    starts_held: int
    context_tokens: int
    open_runs: int
    """Child runs whose result no turn has told of."""
    untold_jobs: int
    """Ended background jobs of which no turn has told."""
    goal: str
    goal_status: str
    """Means nothing while `goal` is empty."""
    pending: Mapping[str, PendingInput] = field(default_factory=dict)
    """Unconsumed inputs by id, in admission order."""
    answers: tuple[str, ...] = ()
    """Calls with a durable answer that are not launched yet."""
    recent_appends: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    """Append id to its first and last seq, oldest first."""
    consents: Mapping[str, OpenConsent] = field(default_factory=dict)
    """Consent requests that are not closed, by call."""
    jobs: Mapping[str, UntoldJob] = field(default_factory=dict)
    """Background jobs that are live or not told of, by id."""
    runs: Mapping[str, str | None] = field(default_factory=dict)
    """Child runs that are not told of, with the turn that is about to."""
    told_notices: int = 0
    """Notices that the open turn tells of, while it can still come to nothing."""
    sent: tuple[str, ...] = ()
    """Calls that sent a message to another session and are not over."""
    awaited: tuple[str, ...] = ()
    """Inputs that other sessions sent, whose turn has not ended."""

    def copy(self) -> SessionRow:
        """A row to work on."""
        return SessionRow(*_values_of_all(self))

    def set_pending(self, pending: Mapping[str, PendingInput]) -> None:
        """Replace the unconsumed inputs and their totals."""
        self.pending = pending
        self.pending_inputs = len(pending)
        self.pending_bytes = sum(item.text_bytes for item in pending.values())

    def set_answers(self, answers: tuple[str, ...]) -> None:
        """Replace the answers without a launch."""
        self.answers = answers
        self.pending_answers = len(answers)

    def columns(self) -> Row:
        """The values of `CHANGING_COLUMNS`."""
        return cast("Row", _values_of_changing(self))

    def to_record(self) -> SessionRecord:
        """The row as callers see it."""
        return record_from(tuple([getattr(self, name) for name in COLUMNS]))


_ALL_FIELDS = tuple(item.name for item in fields(SessionRow))
COLUMNS = _ALL_FIELDS[: _ALL_FIELDS.index("goal_status") + 1]
CHANGING_COLUMNS = COLUMNS[COLUMNS.index("title") :]

# A row is copied for every write, so this is done in one call each.
_values_of_all = attrgetter(*_ALL_FIELDS)
_values_of_changing = attrgetter(*CHANGING_COLUMNS)

SELECT_SESSION = f"SELECT {', '.join(COLUMNS)} FROM sessions"  # noqa: S608 names from our own class
_UPDATE_SESSION = (
    f"UPDATE sessions SET {', '.join(f'{name} = ?' for name in CHANGING_COLUMNS)} WHERE id = ?"  # noqa: S608
)


def record_from(values: Row) -> SessionRecord:
    """Make the public record of a row selected by `SELECT_SESSION`."""
    row = SessionRow(*values)  # type: ignore[arg-type]  # the schema is STRICT
    return SessionRecord(
        session_id=SessionId(row.key),
        kind=SessionKind(row.kind),
        channel=SourceKind(row.channel),
        audience=Audience(row.audience),
        title=row.title,
        life=row.life,
        incarnation=row.incarnation,
        head=row.head,
        turns=row.turns,
        pending_inputs=row.pending_inputs,
        pending_bytes=row.pending_bytes,
        state_version=row.state_version,
        created_at=row.created_at,
        last_activity_at=row.last_activity_at,
        storage_layout=row.storage_layout,
        storage_root=row.storage_root,
        is_quarantined=bool(row.is_quarantined),
        context_tokens=row.context_tokens,
        open_turn=None if row.open_turn is None else TurnId(row.open_turn),
        parent=None if row.parent is None else SessionId(row.parent),
        goal=row.goal,
        goal_status=GoalStatus(row.goal_status),
    )


def load_session(db: Database, key: str) -> SessionRow | None:
    """Read a session with what is pending in it."""
    values = db.row(f"{SELECT_SESSION} WHERE key = ?", (key,))
    if values is None:
        return None
    row = SessionRow(*values)  # type: ignore[arg-type]  # the schema is STRICT
    if row.pending_inputs:
        row.pending = _load_pending(db, row.id)
        row.awaited = _load_awaited(db, row.id)
    if row.pending_answers:
        found = db.rows("SELECT call_id FROM answers WHERE session = ? ORDER BY seq", (row.id,))
        row.answers = tuple(str(call_id) for (call_id,) in found)
    if row.appends:
        row.recent_appends = _load_appends(db, row.id)
        row.consents = _load_consents(db, row.id)
        row.jobs = _load_jobs(db, row.id)
        row.runs = _load_runs(db, row.id)
        row.told_notices = _count_told(db, key)
        row.sent = calls_of_sends(db, row.id)
    return row


def _load_pending(db: Database, session: int) -> Mapping[str, PendingInput]:
    found = db.rows(
        "SELECT input_id, seq, text_bytes, turn, person, source FROM inputs INDEXED BY inputs_open"
        " WHERE session = ? AND outcome IN ('waiting', 'running') ORDER BY seq",
        (session,),
    )
    return {
        cast("str", input_id): PendingInput(
            cast("int", seq),
            cast("int", size),
            cast("str | None", turn),
            cast("str | None", person),
            cast("str", source),
        )
        for input_id, seq, size, turn, person, source in found
    }


def _load_appends(db: Database, session: int) -> Mapping[str, tuple[int, int]]:
    found = db.rows(
        "SELECT append_id, first_seq, last_seq FROM append_ids WHERE session = ?"
        " ORDER BY first_seq",
        (session,),
    )
    return {
        cast("str", append_id): (cast("int", first), cast("int", last))
        for append_id, first, last in found
    }


def _load_consents(db: Database, session: int) -> Mapping[str, OpenConsent]:
    found = db.rows(
        "SELECT call_id, turn, run, state FROM consent_requests"
        " WHERE session = ? AND state <> 'closed' ORDER BY id",
        (session,),
    )
    return {
        cast("str", call): OpenConsent(
            cast("str", turn), cast("str | None", run), is_answered=state == "answered"
        )
        for call, turn, run, state in found
    }


def _load_jobs(db: Database, session: int) -> Mapping[str, UntoldJob]:
    found = db.rows(
        "SELECT job_id, told_turn, state FROM jobs WHERE session = ? AND told_seq IS NULL"
        " ORDER BY id",
        (session,),
    )
    return {
        cast("str", job_id): UntoldJob(cast("str | None", turn), is_reaped=state == "Reaped")
        for job_id, turn, state in found
    }


def _load_runs(db: Database, session: int) -> Mapping[str, str | None]:
    found = db.rows(
        "SELECT run_id, told_turn FROM child_runs WHERE session = ? AND told_seq IS NULL"
        " ORDER BY id",
        (session,),
    )
    return {cast("str", run_id): cast("str | None", turn) for run_id, turn in found}


def calls_of_sends(db: Database, session: int) -> tuple[str, ...]:
    """Calls of a session that sent a message and are not over."""
    found = db.rows(
        "SELECT call_id FROM session_sends WHERE sender = ? AND is_late = 0 ORDER BY id", (session,)
    )
    return tuple(cast("str", call) for (call,) in found)


def _load_awaited(db: Database, session: int) -> tuple[str, ...]:
    found = db.rows(
        "SELECT input_id FROM session_sends WHERE target = ? AND ended IS NULL", (session,)
    )
    return tuple(cast("str", item) for (item,) in found)


def _count_told(db: Database, key: str) -> int:
    try:
        return db.number(
            "SELECT count(*) FROM session_watch_cursors"
            " WHERE watcher_session_key = ? AND told_turn IS NOT NULL",
            (key,),
        )
    except apsw.SQLError:  # no session stands still for the signal log (decision 10)
        return 0


def save_sessions(db: Database, rows: list[SessionRow]) -> None:
    """Write the changed columns of rows back."""
    bindings: list[tuple[Value, ...]] = [(*row.columns(), row.id) for row in rows]
    db.run_many(_UPDATE_SESSION, bindings)
