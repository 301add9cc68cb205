"""The part of the in-memory journal about child runs; see the port for each method's contract."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace

from netclaw.core.authority import (
    Audience,
    Authenticity,
    Authority,
    Principal,
    Provenance,
    Requester,
    SourceKind,
)
from netclaw.core.errors import InvalidArgumentError, NotFoundError
from netclaw.core.ids import AppendId, CallId, RunId, SessionId, TurnId
from netclaw.core.session.child_birth import answer_events, first_events
from netclaw.core.session.child_events import ChildAccepted
from netclaw.core.session.events import InputAdmitted, SessionEvent, SessionKind
from netclaw.core.signals.events import Signal, child_spawned
from netclaw.ports.child_records import ChildRecord, ChildStart
from netclaw.ports.journal import JournalRow
from netclaw.ports.new_children import as_request, new_child
from netclaw.testing.memory_commit import MemoryCommitter
from netclaw.testing.memory_data import MemoryData
from netclaw.testing.memory_json import Json, object_of, optional_text_of, text_of, texts_of
from netclaw.testing.memory_session import MemorySession, draft_of


class MemoryRunLists:
    """Mixed into `MemoryJournal`."""

    _committer: MemoryCommitter
    _data: MemoryData
    _clock_ms: Callable[[], int]

    def _known(self, session_id: SessionId) -> MemorySession:
        raise NotImplementedError

    def _keep(
        self,
        session: MemorySession,
        rows: tuple[JournalRow, ...] = (),
        append_id: AppendId | None = None,
    ) -> None:
        raise NotImplementedError

    def _spawned(self, parent: SessionId, signal: Signal) -> None:
        raise NotImplementedError

    async def start_child(self, request: ChildStart) -> ChildRecord:
        """Make a run's journal ready for a start."""
        return await self._committer.write(lambda: self._start_child(request))

    def _start_child(self, request: ChildStart) -> ChildRecord:
        parent = self._known(request.parent)
        run = parent.runs.by_id.get(request.run_id)
        if run is None or run.ended_at is not None:
            raise NotFoundError(f"The session {request.parent} has no open child run of this name.")
        if request.start <= run.start:
            return run
        accepted = _accepted(json.loads(parent.rows[run.seq - 1].payload))
        if run.start == 0:
            self._begin(request, run, accepted)
        if request.answers:
            session = self._known(run.child)
            events = answer_events(accepted, request.answers)
            self._write(session, events, at=request.at)
        run = replace(run, start=request.start)
        parent.runs.by_id[run.run_id] = run
        self._data.sessions[request.parent] = parent
        return run

    def _begin(self, request: ChildStart, run: ChildRecord, accepted: ChildAccepted) -> None:
        if request.frozen is None:
            raise InvalidArgumentError("The first start of a child run says what it is frozen to.")
        session = MemorySession(
            new=new_child(accepted, request), life=1, incarnation=0, last_activity_at=request.at
        )
        events = first_events(accepted, request.frozen)
        self._write(session, events, at=request.at)
        for seq, event in enumerate(events, 1):
            if isinstance(event, InputAdmitted):
                wanted = as_request(accepted.session_id, event, at=request.at)
                session.enter(wanted, event, seq, self._clock_ms(), person=None)
        signal = child_spawned(run.child, parent=request.parent, run_id=run.run_id, at=request.at)
        self._spawned(request.parent, signal)

    def _write(self, session: MemorySession, events: tuple[SessionEvent, ...], *, at: int) -> None:
        drafts = tuple(draft_of(event) for event in events)
        self._keep(session, session.write(drafts, at=at, cause="supervisor"))

    def _all_runs(self) -> list[ChildRecord]:
        self._committer.check_open()
        found = [run for each in self._data.sessions.values() for run in each.runs.by_id.values()]
        return sorted(found, key=lambda run: run.position)

    async def list_runs(
        self, *, limit: int, after: int = 0, session_id: SessionId | None = None
    ) -> tuple[ChildRecord, ...]:
        """Runs by age."""
        found = [
            run
            for run in self._all_runs()
            if run.position > after and session_id in (None, run.session_id)
        ]
        return tuple(found[:limit])

    async def find_runs(self, run_id: RunId) -> tuple[ChildRecord, ...]:
        """The runs of exactly this name."""
        return tuple(run for run in self._all_runs() if run.run_id == run_id)

    async def run_of_child(self, child: SessionId) -> ChildRecord | None:
        """The run whose own session this is."""
        return next((run for run in self._all_runs() if run.child == child), None)

    async def children_of(self, parent: SessionId) -> tuple[SessionId, ...]:
        """The child sessions of a session."""
        known = self._data.sessions.values()
        return tuple(item.new.session_id for item in known if item.new.parent == parent)

    async def parents_of_children(self) -> tuple[SessionId, ...]:
        """The sessions of which there are child sessions."""
        known = self._data.sessions.values()
        return tuple({item.new.parent for item in known if item.new.parent is not None})

    async def stale_children(self, *, limit: int) -> tuple[SessionId, ...]:
        """Child sessions of which nobody will hear."""
        awaited = {run.child for run in self._all_runs() if run.told_at is None}
        children = (
            item.new.session_id
            for item in self._data.sessions.values()
            if item.new.kind is SessionKind.CHILD
        )
        return tuple([child for child in children if child not in awaited][:limit])


def _accepted(content: Json) -> ChildAccepted:
    return ChildAccepted(
        run_id=RunId(text_of(content, "run_id")),
        session_id=SessionId(text_of(content, "session_id")),
        agent=text_of(content, "agent"),
        task=text_of(content, "task"),
        start_key=text_of(content, "start_key"),
        digest=text_of(content, "digest"),
        turn_id=TurnId(text_of(content, "turn_id")),
        call_id=CallId(text_of(content, "call_id")),
        authority=_authority(object_of(content, "authority")),
        is_attended=bool(content["is_attended"]),
    )


def _authority(content: Json) -> Authority:
    asker, origin = object_of(content, "requester"), object_of(content, "provenance")
    return Authority(
        requester=Requester(
            session_id=SessionId(text_of(asker, "session_id")),
            audience=Audience(text_of(asker, "audience")),
            boundary=text_of(asker, "boundary"),
            channel_type=SourceKind(text_of(asker, "channel_type")),
            sender_id=optional_text_of(asker, "sender_id"),
            principal=Principal(text_of(asker, "principal")),
        ),
        provenance=Provenance(
            source_kind=SourceKind(text_of(origin, "source_kind")),
            authenticity=Authenticity(text_of(origin, "authenticity")),
        ),
        adopted_context=texts_of(content, "adopted_context"),
    )
