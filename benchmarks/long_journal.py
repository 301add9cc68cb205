"""Writes the journal of a conversation that went on for months, as its session would have."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from netclaw.core.authority import (
    Audience,
    Authenticity,
    Authority,
    Principal,
    Provenance,
    Requester,
    SourceKind,
)
from netclaw.core.ids import AppendId, CallId, InputId, SessionId, TurnId
from netclaw.core.messages import AssistantMessage, Usage
from netclaw.core.session.events import (
    Compacted,
    InputAdmitted,
    Recorded,
    RoundRecorded,
    SessionEvent,
    ToolBatchStarted,
    ToolResultRecorded,
    TurnOutcome,
    TurnRecorded,
    TurnStarted,
)
from netclaw.core.session.evolve import replay
from netclaw.core.session.state import SessionState
from netclaw.core.settings import DaemonSettings, StorageSettings
from netclaw.core.tool_call import OutcomeCategory, ToolCall, ToolReceipt, ToolResult
from netclaw.ports.journal import AdmitRequest, AppendRequest, SnapshotDraft
from netclaw.store.store import SqliteJournalStore
from netclaw.wire.convert import recorded_of
from netclaw.wire.journal_codec import STATE_CODEC, encode_event, encode_state

ROUNDS = 12
"""Rounds of a turn, each with one call."""
TEXT = "what was said or what a tool printed, at some length; " * 15
HISTORY = 400
"""Messages that stay after the last compaction: about 250 kB, near the top of a large window."""
TAIL = 20
"""Events after the newest snapshot, or a few more: as many as make the next one due."""
LATE = 60
"""Events from the last compaction to the end; the newest snapshot lies in their midst."""


async def write_long_journal(home: Path, session_id: str, *, events: int) -> None:
    """Append to a session of a stopped daemon until its journal has about so many events."""
    store = await open_store(home)
    try:
        await _Writer(store, SessionId(session_id)).run(events)
    finally:
        await store.close()


async def open_store(home: Path) -> SqliteJournalStore:
    """The database of a stopped daemon."""
    return await SqliteJournalStore.open_offline(
        home / "netclaw.lock", home / "netclaw.db", StorageSettings(), DaemonSettings()
    )


class _Writer:
    """Plays supervisor and session process of one session, as fast as the store takes it."""

    def __init__(self, store: SqliteJournalStore, session_id: SessionId) -> None:
        self._store = store
        self._session_id = session_id
        self._numbers = itertools.count(1)
        self._authority = Authority(
            requester=Requester(
                session_id=session_id,
                audience=Audience.PERSONAL,
                boundary="local",
                channel_type=SourceKind.CLI,
                sender_id=None,
                principal=Principal.OPERATOR,
            ),
            provenance=Provenance(
                source_kind=SourceKind.CLI, authenticity=Authenticity.LOCAL_PROCESS
            ),
        )
        self._incarnation = 0
        self._at = 0
        self._state = SessionState(session_id=session_id)

    async def run(self, events: int) -> None:
        """Turn after turn; then the compaction, a few small turns, and the newest snapshot."""
        point = await self._store.begin_incarnation(self._session_id, at=1)
        self._incarnation = point.incarnation
        self._at = point.record.last_activity_at
        await self._store.finish_start(self._session_id)
        rows = await self._store.read_journal(self._session_id, since=0, limit=10_000)
        self._state = replay(self._state, map(recorded_of, rows))
        while self._state.head < events - LATE:
            await self._turn(ROUNDS)
        kept = self._state.history[-HISTORY:]
        compacted = Compacted(
            kept_from_seq=0,
            notes=TEXT,
            tokens_before=96_000,
            tokens_after=80_000,
            trigger="threshold",
            kept_messages=len(kept),
        )
        await self._append((compacted,), is_snapshot=True)
        while self._state.head < events - TAIL:
            await self._turn(1, is_snapshot=True)
        while self._state.head < events:
            await self._turn(1)

    async def _turn(self, rounds: int, *, is_snapshot: bool = False) -> None:
        input_id, turn_id = InputId(self._id("i")), TurnId(self._id("t"))
        await self._admit(input_id)
        events: list[SessionEvent] = [
            TurnStarted(turn_id=turn_id, input_ids=(input_id,), authority=self._authority)
        ]
        for number in range(rounds):
            events.extend(self._round(turn_id, number))
        answer = AssistantMessage(text=TEXT, at=self._at, turn_id=turn_id)
        events.append(
            TurnRecorded(
                turn_id=turn_id,
                message=answer,
                outcome=TurnOutcome.COMPLETED,
                usage=Usage(input_tokens=80_000, output_tokens=200),
                model="fake-model",
                input_ids=(input_id,),
                context_tokens=80_000,
            )
        )
        await self._append(tuple(events), is_snapshot=is_snapshot)

    def _round(self, turn_id: TurnId, number: int) -> Iterator[SessionEvent]:
        call_id = CallId(self._id("c"))
        call = ToolCall(
            call_id=call_id,
            provider_call_id=f"call_{number}",
            name="shell_execute",
            arguments='{"command": "make test"}',
        )
        yield RoundRecorded(
            turn_id=turn_id,
            round=number,
            message=AssistantMessage(text="", at=self._at, turn_id=turn_id, calls=(call,)),
            usage=Usage(input_tokens=80_000, output_tokens=50),
            model="fake-model",
            context_tokens=80_000,
        )
        yield ToolBatchStarted(turn_id=turn_id, call_ids=(call_id,))
        receipt = ToolReceipt(category=OutcomeCategory.SUCCESS, duration_ms=10)
        result = ToolResult(call_id=call_id, text=TEXT, receipt=receipt)
        yield ToolResultRecorded(turn_id=turn_id, result=result)

    async def _admit(self, input_id: InputId) -> None:
        request = AdmitRequest(
            session_id=self._session_id,
            input_id=input_id,
            source_message_id=None,
            text=TEXT,
            authority=self._authority,
            attended=False,
            at=self._at,
        )
        admission = await self._store.admit(request)
        event = InputAdmitted(
            input_id=input_id,
            source_message_id=None,
            text=TEXT,
            authority=self._authority,
            attended=False,
        )
        self._take((event,), first=admission.seq)

    async def _append(self, events: tuple[SessionEvent, ...], *, is_snapshot: bool = False) -> None:
        head = self._state.head
        self._take(events, first=head + 1)
        snapshot = None
        if is_snapshot:
            payload = encode_state(self._state)
            snapshot = SnapshotDraft(codec=STATE_CODEC, payload=payload, is_mandatory=True)
        request = AppendRequest(
            session_id=self._session_id,
            append_id=AppendId(self._id("a")),
            incarnation=self._incarnation,
            expected_head=head,
            events=tuple(map(encode_event, events)),
            at=self._at,
            cause="turn",
            snapshot=snapshot,
        )
        await self._store.append(request)

    def _take(self, events: tuple[SessionEvent, ...], *, first: int) -> None:
        rows = [
            Recorded(seq=seq, at=self._at, incarnation=self._incarnation, cause="", event=event)
            for seq, event in enumerate(events, first)
        ]
        self._state = replay(self._state, rows)
        # The state that matters is the one after the last compaction; what a whole history of
        # months would weigh until then is nobody's concern here.
        if len(self._state.history) > 2 * HISTORY:
            self._state = replace(self._state, history=self._state.history[-HISTORY:])

    def _id(self, kind: str) -> str:
        return f"{kind}{next(self._numbers):015d}"
