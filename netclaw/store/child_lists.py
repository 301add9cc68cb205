"""Child runs across all sessions: begun in their own journals, listed, found, and left over."""

from __future__ import annotations

from dataclasses import replace
from typing import cast

from netclaw.core.authority import SourceKind
from netclaw.core.errors import InvalidArgumentError, NotFoundError, SessionUnreadableError
from netclaw.core.ids import CallId, RunId, SessionId, TurnId
from netclaw.core.session.child_birth import answer_events, first_events
from netclaw.core.session.child_events import ChildAccepted, ChildState
from netclaw.core.session.events import InputAdmitted
from netclaw.ports.child_records import ChildRecord, ChildStart
from netclaw.ports.new_children import as_request, new_child
from netclaw.store import inputs, sessions, signal_projections
from netclaw.store.connection import Database, Row
from netclaw.store.journal import publish_events, read_row
from netclaw.store.readers import ReaderPool
from netclaw.store.rows import SessionRow
from netclaw.store.scope import WriteScope
from netclaw.store.writer import GroupWriter
from netclaw.wire.journal_codec import decode_event, encode_event


def _at(column: str) -> str:
    return f"(SELECT e.at FROM journal AS e WHERE e.session = c.session AND e.seq = c.{column})"  # noqa: S608 names of our own


# A session whose key begins with a control character is deleted, and its rows are being removed.
_SELECT = (
    "SELECT c.id, s.key, s.channel, c.run_id, c.child, c.agent, c.turn, c.call_id, c.seq, c.state,"  # noqa: S608 names of our own
    f" c.reason, c.result_path, c.start, {_at('seq')}, {_at('ended_seq')}, {_at('told_seq')}"
    " FROM child_runs AS c JOIN sessions AS s ON s.id = c.session WHERE s.key >= ' ' AND "
)
_ALL = f"{_SELECT} c.id > ? ORDER BY c.id LIMIT ?"
_OF_SESSION = f"{_SELECT} s.key = ? AND c.id > ? ORDER BY c.id LIMIT ?"
_NAMED = f"{_SELECT} c.run_id = ? ORDER BY c.id"
_OF_CHILD = f"{_SELECT} c.child = ? ORDER BY c.id DESC LIMIT 1"
_ONE = f"{_SELECT} s.key = ? AND c.run_id = ?"
_CHILDREN = "SELECT key FROM sessions WHERE parent = ? AND key >= ' ' ORDER BY id"
_PARENTS = "SELECT DISTINCT parent FROM sessions WHERE parent IS NOT NULL AND key >= ' '"
_STALE = (
    "SELECT key FROM sessions AS s WHERE parent IS NOT NULL AND key >= ' ' AND NOT EXISTS ("
    "SELECT 1 FROM child_runs AS c JOIN sessions AS p ON p.id = c.session"
    " WHERE c.child = s.key AND c.told_seq IS NULL AND p.key >= ' ') ORDER BY id LIMIT ?"
)
_BEGUN = "UPDATE child_runs SET start = ? WHERE session = ? AND run_id = ?"


class ChildLists:
    """The part of the store about child runs; see the port for the contract of each method."""

    _writer: GroupWriter
    _readers: ReaderPool

    async def start_child(self, request: ChildStart) -> ChildRecord:
        """Make a run's journal ready for a start."""
        return await self._writer.submit(lambda scope: start(scope, request))

    async def list_runs(
        self, *, limit: int, after: int = 0, session_id: SessionId | None = None
    ) -> tuple[ChildRecord, ...]:
        """Runs by age."""

        def read(db: Database) -> tuple[ChildRecord, ...]:
            if session_id is None:
                return _records(db, _ALL, (after, limit))
            return _records(db, _OF_SESSION, (session_id, after, limit))

        return await self._readers.read(read)

    async def find_runs(self, run_id: RunId) -> tuple[ChildRecord, ...]:
        """The runs of exactly this name."""
        return await self._readers.read(lambda db: _records(db, _NAMED, (run_id,)))

    async def run_of_child(self, child: SessionId) -> ChildRecord | None:
        """The run whose own session this is."""
        found = await self._readers.read(lambda db: _records(db, _OF_CHILD, (child,)))
        return found[0] if found else None

    async def children_of(self, parent: SessionId) -> tuple[SessionId, ...]:
        """The child sessions of a session."""
        return await self._readers.read(lambda db: _keys(db, _CHILDREN, (parent,)))

    async def parents_of_children(self) -> tuple[SessionId, ...]:
        """The sessions of which there are child sessions."""
        return await self._readers.read(lambda db: _keys(db, _PARENTS, ()))

    async def stale_children(self, *, limit: int) -> tuple[SessionId, ...]:
        """Child sessions of which nobody will hear."""
        return await self._readers.read(lambda db: _keys(db, _STALE, (limit,)))


def start(scope: WriteScope, request: ChildStart) -> ChildRecord:
    """Create the run's session with its first events, or hand in the answers of a later start."""
    parent = scope.session(request.parent)
    found = _records(scope.db, _ONE, (request.parent, request.run_id))
    if not found or found[0].ended_at is not None:
        raise NotFoundError(f"The session {request.parent} has no open child run of this name.")
    (known,) = found
    if request.start <= known.start:
        return known
    accepted = _accepted(scope, parent, known)
    if known.start == 0:
        _create(scope, accepted, request)
    if request.answers:
        row = scope.session(accepted.session_id)
        events = answer_events(accepted, request.answers)
        publish_events(scope, row, tuple(encode_event(event) for event in events), at=request.at)
    scope.db.run(_BEGUN, (request.start, parent.id, request.run_id))
    return replace(known, start=request.start)


def _accepted(scope: WriteScope, parent: SessionRow, known: ChildRecord) -> ChildAccepted:
    stored = read_row(scope.db, parent.id, known.seq)
    event = None if stored is None else decode_event(stored.type, stored.version, stored.payload)
    if not isinstance(event, ChildAccepted):
        raise SessionUnreadableError(f"Event {known.seq} is no accepted child run.")
    return event


def _create(scope: WriteScope, accepted: ChildAccepted, request: ChildStart) -> None:
    """The session, what it is frozen to, and its task as its one input, in one commit."""
    if request.frozen is None:
        raise InvalidArgumentError("The first start of a child run says what it is frozen to.")
    events = first_events(accepted, request.frozen)
    row = sessions.insert(scope, new_child(accepted, request))
    rows = publish_events(scope, row, tuple(encode_event(event) for event in events), at=request.at)
    for event, stored in zip(events, rows, strict=True):
        if isinstance(event, InputAdmitted):
            task = as_request(accepted.session_id, event, at=request.at)
            inputs.enter(scope, row, task, stored.seq, person=None)
    signal_projections.child_spawned(scope, accepted, request.parent, at=request.at)


def _keys(db: Database, sql: str, values: Row) -> tuple[SessionId, ...]:
    return tuple(SessionId(cast("str", key)) for (key,) in db.rows(sql, values))


def _records(db: Database, sql: str, values: Row) -> tuple[ChildRecord, ...]:
    return tuple(_record(found) for found in db.rows(sql, values))


def _record(values: Row) -> ChildRecord:
    position, key, channel, run_id, child, agent, turn, call, *rest = values
    seq, state, reason, path, begun, accepted, ended, told = rest
    return ChildRecord(
        position=cast("int", position),
        session_id=SessionId(cast("str", key)),
        channel=SourceKind(cast("str", channel)),
        run_id=RunId(cast("str", run_id)),
        child=SessionId(cast("str", child)),
        agent=cast("str", agent),
        turn_id=TurnId(cast("str", turn)),
        call_id=CallId(cast("str", call)),
        seq=cast("int", seq),
        state=ChildState(cast("str", state)),
        reason=cast("str", reason),
        result_path=cast("str", path),
        start=cast("int", begun),
        accepted_at=cast("int", accepted or 0),
        ended_at=cast("int | None", ended),
        told_at=cast("int | None", told),
    )
