"""A journal with a listener and short words for what the supervisor and a session do to it."""

from __future__ import annotations

import abc
from collections.abc import Sequence
from pathlib import Path

from netclaw.core.authority import Audience, Authority, SourceKind
from netclaw.core.errors import ErrorCategory
from netclaw.core.ids import AppendId, CallId, InputId, SessionId, TurnId
from netclaw.core.messages import AssistantMessage, MediaRef, Usage
from netclaw.core.session.events import (
    OutboxRow,
    SessionEvent,
    SessionKind,
    TurnFailed,
    TurnOutcome,
    TurnRecorded,
    TurnStarted,
)
from netclaw.core.settings import DaemonSettings, StorageSettings
from netclaw.ports.journal import (
    Admission,
    AdmitRequest,
    AppendRequest,
    Commit,
    JournalRow,
    JournalStore,
    NewSession,
    SessionRecord,
    SnapshotDraft,
    StartPoint,
)
from netclaw.ports.signals import SignalsCommitted
from netclaw.store.store import SqliteJournalStore
from netclaw.testing.clock import FakeClock
from netclaw.testing.ids import SeededIds
from netclaw.testing.memory_data import MemoryData
from netclaw.testing.memory_journal import MemoryJournal
from netclaw.testing.people import OPERATOR
from netclaw.wire.journal_codec import decode_event, encode_event
from netclaw.wire.stored_state import stored_state

LIMITS = DaemonSettings(pending_inputs_max=5, pending_bytes_max=1000)
SESSION = SessionId("cli/abcdefghij")
OTHER = SessionId("slack/C1/17.1")


class World(abc.ABC):
    """One implementation of the port under test."""

    journal: JournalStore

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.ids = SeededIds()
        self.published: list[Commit] = []
        self.batches: list[int] = []
        self.signalled: list[SignalsCommitted] = []
        self.heard: list[Commit | SignalsCommitted] = []
        """What both listeners were told, in order."""

    @abc.abstractmethod
    async def open(self) -> None:
        """Open the journal, new or as it was left."""

    @abc.abstractmethod
    async def die(self) -> None:
        """End without an orderly stop, then open again."""

    @abc.abstractmethod
    def transactions(self) -> int:
        """Transactions committed since it was opened."""

    async def stop(self) -> None:
        """Stop in order, then open again."""
        await self.journal.close()
        await self.open()

    def listen(self, commits: Sequence[Commit]) -> None:
        """The listener."""
        self.batches.append(len(commits))
        self.published.extend(commits)
        self.heard.extend(commits)

    def listen_signals(self, signals: SignalsCommitted) -> None:
        """The listener of signals."""
        self.signalled.append(signals)
        self.heard.append(signals)

    def seqs_published(self, session_id: SessionId = SESSION) -> list[int]:
        """seq of every row the listener was told of."""
        return [
            row.seq
            for commit in self.published
            if commit.session_id == session_id
            for row in commit.rows
        ]

    def new_session(self, session_id: SessionId, *, parent: SessionId | None = None) -> NewSession:
        """A session to make."""
        return NewSession(
            session_id=session_id,
            kind=SessionKind.MAIN if parent is None else SessionKind.CHILD,
            channel=SourceKind.SLACK,
            audience=Audience.TEAM,
            storage_root=f"/home/x/{session_id}",
            at=self.clock.now_ms(),
            parent=parent,
        )

    async def create(
        self, session_id: SessionId = SESSION, *, parent: SessionId | None = None
    ) -> tuple[SessionRecord, bool]:
        """Make a session."""
        return await self.journal.create_session(self.new_session(session_id, parent=parent))

    def input_request(
        self,
        text: str = "hello",
        *,
        message: str | None = None,
        session_id: SessionId = SESSION,
        authority: Authority = OPERATOR,
        media: tuple[MediaRef, ...] = (),
    ) -> AdmitRequest:
        """An input to admit."""
        return AdmitRequest(
            session_id=session_id,
            input_id=InputId(self.ids()),
            source_message_id=message,
            text=text,
            authority=authority,
            attended=True,
            at=self.clock.now_ms(),
            media=media,
        )

    async def admit(
        self, text: str = "hello", *, message: str | None = None, session_id: SessionId = SESSION
    ) -> Admission:
        """Admit an input."""
        request = self.input_request(text, message=message, session_id=session_id)
        return await self.journal.admit(request)

    async def start(self, session_id: SessionId = SESSION) -> StartPoint:
        """Begin an incarnation."""
        return await self.journal.begin_incarnation(session_id, at=self.clock.now_ms())

    def append_request(
        self,
        start: StartPoint,
        *events: SessionEvent,
        head: int | None = None,
        append_id: str | None = None,
        outbox: tuple[OutboxRow, ...] = (),
        snapshot: SnapshotDraft | None = None,
    ) -> AppendRequest:
        """An append of the process that `start` began, at `head` or where it started."""
        return AppendRequest(
            session_id=start.record.session_id,
            append_id=AppendId(append_id or self.ids()),
            incarnation=start.incarnation,
            expected_head=start.record.head if head is None else head,
            events=tuple(encode_event(event) for event in events),
            at=self.clock.now_ms(),
            cause="test",
            outbox=outbox,
            snapshot=snapshot,
        )

    async def append(
        self,
        start: StartPoint,
        *events: SessionEvent,
        head: int | None = None,
        append_id: str | None = None,
        outbox: tuple[OutboxRow, ...] = (),
        snapshot: SnapshotDraft | None = None,
    ) -> tuple[JournalRow, ...]:
        """Append as the process that `start` began."""
        return await self.journal.append(
            self.append_request(
                start, *events, head=head, append_id=append_id, outbox=outbox, snapshot=snapshot
            )
        )

    async def record(self, session_id: SessionId = SESSION) -> SessionRecord:
        """The catalog row of a session that exists."""
        found = await self.journal.get_session(session_id)
        assert found is not None
        return found

    async def events(self, session_id: SessionId = SESSION) -> list[SessionEvent]:
        """The whole journal, decoded."""
        rows = await self.journal.read_journal(session_id, since=0, limit=10_000)
        return [decode_event(row.type, row.version, row.payload) for row in rows]

    async def outcomes(self, session_id: SessionId = SESSION) -> list[str]:
        """What became of every input, oldest first."""
        return [entry.outcome for entry in await self.journal.ledger(session_id, limit=1000)]


class SqliteWorld(World):
    """The real one."""

    journal: SqliteJournalStore

    def __init__(self, path: Path, settings: StorageSettings | None = None) -> None:
        super().__init__()
        self.path = path
        self.settings = settings or StorageSettings()
        self._abandoned: list[SqliteJournalStore] = []

    async def open(self) -> None:
        self.journal = await SqliteJournalStore.open(
            self.path, self.settings, LIMITS, clock_ms=self.clock.now_ms
        )
        self.journal.set_listener(self.listen)
        self.journal.set_signal_listener(self.listen_signals)

    async def die(self) -> None:
        # The connection of the dead stays open beside the new one, as a killed process leaves the
        # files: nothing was checkpointed and nothing was marked.
        self._abandoned.append(self.journal)
        await self.open()

    def transactions(self) -> int:
        return self.journal.transactions

    async def close(self) -> None:
        """Close whatever is open."""
        for journal in [*self._abandoned, self.journal]:
            await journal.close()


class MemoryWorld(World):
    """The twin."""

    journal: MemoryJournal

    def __init__(self) -> None:
        super().__init__()
        self._last: MemoryJournal | None = None

    async def open(self) -> None:
        if self._last is None:
            data = MemoryData(read_state=stored_state)
            self.journal = MemoryJournal(LIMITS, clock_ms=self.clock.now_ms, data=data)
        else:
            self.journal = self._last.reopen()
        self._last = self.journal
        self.journal.set_listener(self.listen)
        self.journal.set_signal_listener(self.listen_signals)

    async def die(self) -> None:
        await self.open()

    def transactions(self) -> int:
        return self.journal.transactions


def started(turn: str, *inputs: InputId) -> TurnStarted:
    """A turn over inputs begins."""
    return TurnStarted(turn_id=TurnId(turn), input_ids=inputs, authority=OPERATOR)


def recorded(
    turn: str,
    *inputs: InputId,
    outcome: TurnOutcome = TurnOutcome.COMPLETED,
    context_tokens: int = 0,
) -> TurnRecorded:
    """A turn ends with an answer."""
    return TurnRecorded(
        turn_id=TurnId(turn),
        message=AssistantMessage(text="done", at=1, turn_id=turn),
        outcome=outcome,
        usage=Usage(),
        model="m1",
        input_ids=inputs,
        context_tokens=context_tokens,
    )


def failed(turn: str, *inputs: InputId, closed: tuple[CallId, ...] = ()) -> TurnFailed:
    """A turn ends without an answer."""
    return TurnFailed(
        turn_id=TurnId(turn),
        category=ErrorCategory.INTERNAL,
        reference="r1",
        note="It failed.",
        input_ids=inputs,
        closed_call_ids=closed,
    )
