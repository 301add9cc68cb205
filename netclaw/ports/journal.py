"""The durable side of every session: one writer, one database, many readers.

Implemented by `netclaw.store` over SQLite and by `netclaw.testing` in memory; one contract suite
runs against both. Nothing is acknowledged before its transaction is committed. Every commit is
published to the listener in commit order, in the same turn of the event loop in which the
author's future resolves (decision 3).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from netclaw.core.authority import Audience, Authority, SourceKind
from netclaw.core.errors import NetclawError
from netclaw.core.ids import AppendId, InputId, SessionId, TurnId
from netclaw.core.messages import MediaRef
from netclaw.core.session.events import OutboxRow, SessionKind
from netclaw.core.session.goal_events import GoalStatus
from netclaw.core.signals.cursors import Notice
from netclaw.ports.answers import ConsentStore
from netclaw.ports.child_records import ChildStore
from netclaw.ports.crashes import CrashOutcome, CrashReport
from netclaw.ports.job_records import JobStore
from netclaw.ports.outbox import OutboxStore
from netclaw.ports.session_sends import SessionSendStore
from netclaw.ports.signals import SignalStore
from netclaw.ports.store_counts import StoreCounts
from netclaw.ports.threads import ThreadStore
from netclaw.ports.upstream import UpstreamStore


@dataclass(frozen=True, slots=True, kw_only=True)
class JournalRow:
    """One stored event; `payload` is the UTF-8 JSON of the event `type` at `version`."""

    seq: int
    at: int
    type: str
    version: int
    incarnation: int
    cause: str
    payload: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class EventDraft:
    """An encoded event that has no seq yet."""

    type: str
    version: int
    payload: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotDraft:
    """An encoded state that goes with an append, as of its last event.

    It is kept only if the append commits on its expected head: a state made before an interleaved
    input would lose that input. Otherwise a periodic one is put off (its author sees it from the
    first committed seq) and the whole append is refused with a mandatory one.
    """

    codec: str
    payload: bytes
    is_mandatory: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredSnapshot:
    """The newest snapshot of a session."""

    seq: int
    codec: str
    payload: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class AppendRequest:
    """An append by a session process (protocol "Appending").

    `append_id` makes it idempotent: a repeat answers the rows of the first. Foreign
    `InputAdmitted` and `AnswerAdmitted` between `expected_head` and the real head are tolerated,
    unless an event of the append is `Passivated` or its snapshot is mandatory.
    """

    session_id: SessionId
    append_id: AppendId
    incarnation: int
    expected_head: int
    events: tuple[EventDraft, ...]
    at: int
    cause: str
    outbox: tuple[OutboxRow, ...] = ()
    snapshot: SnapshotDraft | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AdmitRequest:
    """An input to make durable; the session must exist."""

    session_id: SessionId
    input_id: InputId
    source_message_id: str | None
    text: str
    authority: Authority
    attended: bool
    at: int
    media: tuple[MediaRef, ...] = ()
    thread_cursor: str = ""
    """Kept with the admission, see `ThreadStore`; empty leaves what is there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Admission:
    """What an admission answered; a duplicate names the first admission of that message."""

    input_id: InputId
    seq: int
    is_duplicate: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class NewSession:
    """What a session row is created with; the storage binding is fixed here for ever."""

    session_id: SessionId
    kind: SessionKind
    channel: SourceKind
    audience: Audience
    storage_root: str
    at: int
    parent: SessionId | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionRecord:
    """The catalog row of a session, maintained in the appends that change it."""

    session_id: SessionId
    kind: SessionKind
    channel: SourceKind
    audience: Audience
    title: str
    life: int
    incarnation: int
    head: int
    turns: int
    pending_inputs: int
    pending_bytes: int
    state_version: int
    created_at: int
    last_activity_at: int
    storage_layout: int
    storage_root: str
    is_quarantined: bool
    open_turn: TurnId | None
    parent: SessionId | None = None
    goal: str = ""
    goal_status: GoalStatus = GoalStatus.ACTIVE
    """Means nothing while `goal` is empty."""
    context_tokens: int = 0
    """Input tokens of the newest request that ended a turn, or what a compaction left; 0: not
    known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StartPoint:
    """Everything a new process of a session starts from; one job of the writer thread."""

    record: SessionRecord
    incarnation: int
    snapshot: StoredSnapshot | None
    tail: tuple[JournalRow, ...]
    notices: tuple[Notice, ...] = ()
    """The session's open notices as of `record.head`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Commit:
    """One committed set of rows of one session, as published to the listener."""

    session_id: SessionId
    append_id: AppendId | None
    """Set when a session process authored it."""
    rows: tuple[JournalRow, ...]
    replies_to: frozenset[SourceKind] = frozenset()
    """Channels whose outbox got replies with it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerDelivery:
    """One reply of one input on its way to a channel."""

    channel: str
    state: str
    attempts: int
    external_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerEntry:
    """What became of one input."""

    input_id: InputId
    seq: int
    source: str
    source_message_id: str | None
    received_at: int
    admitted_at: int
    turn_id: TurnId | None
    outcome: str
    """waiting, running, completed, stopped, guard-ended, failed or closed."""
    deliveries: tuple[LedgerDelivery, ...] = ()


CommitListener = Callable[[Sequence[Commit]], None]
"""Called on the event loop with the commits of one transaction, in commit order."""


class JournalStore(
    ConsentStore,
    JobStore,
    ChildStore,
    SignalStore,
    UpstreamStore,
    SessionSendStore,
    OutboxStore,
    ThreadStore,
    Protocol,
):
    """The one owner of the database; every method may raise a `StorageError`."""

    def set_listener(self, listener: CommitListener) -> None:
        """Name the one receiver of commits; set before the first write."""

    async def watch(self) -> None:
        """Return once the store was closed; raises `InternalError` when it ended by itself."""

    async def settle(self) -> None:
        """Return once everything that a read can see was named to the listener."""

    async def create_session(self, new: NewSession) -> tuple[SessionRecord, bool]:
        """Create the session with its SessionCreated, or return the one that exists (False)."""

    async def admit(self, request: AdmitRequest) -> Admission:
        """Commit InputAdmitted.

        Raises `NotFoundError` for an unknown session and `QueueFullError` beyond the limits of
        unanswered inputs. A known source message id answers the first admission, if the message
        is the same (`check_resend`); for another message it raises `InvalidArgumentError`.
        """

    async def admit_many(
        self, requests: Sequence[AdmitRequest]
    ) -> tuple[Admission | NetclawError, ...]:
        """Commit several inputs in one transaction, in order: the ingest stream's way.

        Each request has an answer or the error that `admit` would raise for it; a `StorageError`
        that concerns all of them is raised.
        """

    async def append(self, request: AppendRequest) -> tuple[JournalRow, ...]:
        """Commit a session process's append.

        Raises `StaleIncarnationError`, `HeadMovedError` (with the head), `InvalidArgumentError`
        for an event the process may not author, or a `StorageError`; then nothing is stored.
        """

    async def append_own(
        self,
        session_id: SessionId,
        events: tuple[EventDraft, ...],
        *,
        at: int,
        raise_incarnation: bool = False,
        outbox: tuple[OutboxRow, ...] = (),
    ) -> tuple[JournalRow, ...]:
        """Commit supervisor-authored events and what they have to say to channels.

        May take a new incarnation to fence a process out.
        """

    async def begin_incarnation(self, session_id: SessionId, *, at: int) -> StartPoint:
        """Raise the incarnation, mark the start in progress, read snapshot and tail: one job.

        Later commits may reach the listener before this returns, in the same turn of the loop:
        keep them from before the call and drop those up to `record.head`, which the tail holds.
        """

    async def finish_start(self, session_id: SessionId) -> None:
        """The started process said it is ready: its start is no longer in progress."""

    async def record_crash(self, session_id: SessionId, report: CrashReport) -> CrashOutcome:
        """Commit a CrashRecorded with everything that follows from it, as one job.

        The death is counted, judged by `judge_death`, and its give-up or quarantine is in force;
        after an error nothing of it is. Reads no event, so a damaged session can be told of.
        """

    async def set_quarantined(self, session_id: SessionId, *, is_quarantined: bool) -> None:
        """Quarantine a session or lift it (which also forgets its crash times)."""

    async def reset_session(self, session_id: SessionId, *, at: int) -> SessionRecord:
        """Commit SessionReset: new life and incarnation, unconsumed inputs closed."""

    async def delete_session(self, session_id: SessionId) -> None:
        """Remove every row of a session; its next creation starts a later life.

        Raises `NotFoundError`, as every write to an unknown session does; reads of one answer
        nothing.
        """

    async def get_session(self, session_id: SessionId) -> SessionRecord | None:
        """The catalog row, or None."""

    async def list_sessions(self, *, limit: int, after_id: str = "") -> tuple[SessionRecord, ...]:
        """Catalog rows in id order."""

    async def read_journal(
        self, session_id: SessionId, *, since: int, limit: int
    ) -> tuple[JournalRow, ...]:
        """Rows with a greater seq, oldest first."""

    async def read_state(
        self, session_id: SessionId
    ) -> tuple[StoredSnapshot | None, tuple[JournalRow, ...]]:
        """Newest snapshot and the rows after it, from one read transaction."""

    async def ledger(self, session_id: SessionId, *, limit: int) -> tuple[LedgerEntry, ...]:
        """What became of the newest inputs, oldest of them first."""

    async def find_input(self, session_id: SessionId, source_message_id: str) -> Admission | None:
        """The admission of a message by its source id."""

    async def runnable_sessions(self) -> tuple[SessionId, ...]:
        """Sessions with runnable work and no quarantine (protocol "Runnable work")."""

    async def has_runnable_work(self, session_id: SessionId) -> bool:
        """The same question for one session."""

    async def held_starts(self) -> tuple[tuple[SessionId, int], ...]:
        """Called once at boot: sessions whose start was in progress at the last death.

        Raises their count by one and returns it; starts that finished count 0 again.
        """

    async def counts(self) -> StoreCounts:
        """Totals for status."""

    async def probe_write(self) -> None:
        """Write and commit something harmless; raises the `StorageError` in force."""

    async def check_integrity(self, *, is_full: bool) -> str | None:
        """None when sound, otherwise what SQLite says."""

    async def close(self) -> None:
        """Commit what waits, checkpoint, close; later calls raise `DrainingError`."""
