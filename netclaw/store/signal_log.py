"""Writes of the signal log: event, head and cursors of one change together, best effort.

Whoever makes a change calls `attempt`; what fails in it is undone by itself and leaves the change
as it is (decision 10).
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import cast

import apsw

from netclaw.core.ids import RunId, SessionId, is_child_key
from netclaw.core.signals import cursors, custody
from netclaw.core.signals.cursors import Notice
from netclaw.core.signals.custody import Watch
from netclaw.core.signals.events import (
    Actor,
    ActorType,
    Signal,
    SignalEvent,
    SignalKind,
    SignalPayload,
)
from netclaw.core.signals.history import Head
from netclaw.store import watch_table
from netclaw.store.connection import Database, Row
from netclaw.store.rows import SessionRow
from netclaw.store.scope import WriteScope
from netclaw.store.signal_book import SignalBook

MAIN_AGENT = "main"
"""Of every session that is no child run's."""

_INSERT = (
    "INSERT INTO session_state_events (dedupe_key, session_key, session_id, agent_id, kind,"
    " actor_type, actor_id, run_id, occurred_at, summary, payload_json)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)
EVENT_COLUMNS = (
    "sequence, dedupe_key, session_key, kind, actor_type, actor_id, run_id, occurred_at, summary,"
    " payload_json"
)
_KNOWN = f"SELECT {EVENT_COLUMNS} FROM session_state_events WHERE dedupe_key = ?"  # noqa: S608 names of our own
_RAISE_HEAD = (
    "INSERT INTO session_state_heads (session_key, agent_id, last_sequence, updated_at)"
    " VALUES (?, ?, ?, ?) ON CONFLICT (session_key) DO UPDATE SET"
    " last_sequence = excluded.last_sequence, updated_at = excluded.updated_at"
)
_AGENT = "SELECT agent FROM child_runs WHERE child = ? ORDER BY id DESC LIMIT 1"


def attempt(scope: WriteScope, work: Callable[[SignalBook], None]) -> None:
    """Record something beside the write at hand; a failure of it is warned of, and undone alone.

    Raises `apsw.Error` when SQLite lost the whole transaction or the file is damaged.
    """
    book = SignalBook()
    scope.db.run("SAVEPOINT signals")
    try:
        work(book)
    except (apsw.Error, ValueError) as error:
        if not scope.db.is_in_transaction or isinstance(error, apsw.CorruptError):
            raise
        scope.db.run("ROLLBACK TO signals")
        scope.signal_health.failed(error)
    else:
        if book.events:  # nothing else proves that the log takes any
            scope.signal_health.worked()
        accept(scope, book)
    scope.db.run("RELEASE signals")


def accept(scope: WriteScope, book: SignalBook) -> None:
    """What was recorded stands, as far as the write at hand does."""
    for target, version in book.heads.items():
        row = scope.find(target)
        if row is not None:
            row.state_version = version
    scope.book.extend(book)


def record(scope: WriteScope, book: SignalBook, signal: Signal) -> SignalEvent:
    """Record one change and move the cursors it concerns; a known one answers the first."""
    db = scope.db
    if signal.dedupe_key is not None:
        known = db.row(_KNOWN, (signal.dedupe_key,))
        if known is not None:
            return event_from(known)
    row = scope.find(signal.target)
    agent = _agent(db, signal.target)
    db.run(
        _INSERT,
        (
            signal.dedupe_key,
            signal.target,
            None if row is None else str(row.life),
            agent,
            signal.kind.value,
            signal.actor.type.value,
            signal.actor.id or None,
            signal.run_id,
            signal.occurred_at,
            signal.summary,
            _payload_text(signal.payload),
        ),
    )
    event = SignalEvent(sequence=db.last_row_id(), signal=signal)
    db.run(_RAISE_HEAD, (signal.target, agent, event.sequence, scope.now))
    book.events.append(event)
    book.heads[signal.target] = event.sequence
    if signal.kind.is_material:
        _tell_watchers(scope, book, event, parent_of(scope, row))
    return event


def _tell_watchers(
    scope: WriteScope, book: SignalBook, event: SignalEvent, parent: SessionId | None
) -> None:
    """Work per watcher of this session, whatever else there is (trouble 7)."""
    signal = event.signal
    known = {
        watch.cursor.watcher: watch for watch in watch_table.of_target(scope.db, signal.target)
    }
    moved: list[Watch] = []
    for watcher in cursors.watchers_to_tell(parent, known, signal.actor):
        before = known.get(watcher)
        row = None if before is None else before.cursor
        after = cursors.note_material(row, watcher, event)
        if after == row:
            continue
        watch = custody.moved(before, after)
        moved.append(watch)
        book.tell(custody.change(before, watch))
    watch_table.save(scope.db, moved, at=scope.now)


def seed(scope: WriteScope, book: SignalBook, watcher: SessionId, event: SignalEvent) -> None:
    """The parent of a child run watches it from its first event on."""
    target = event.signal.target
    before = watch_table.find(scope.db, watcher, target)
    after = Watch(cursor=cursors.seed_at_spawn(watcher, target, event.sequence))
    watch_table.save(scope.db, [after], at=scope.now)
    book.tell(custody.change(before, after))


def parent_of(scope: WriteScope, row: SessionRow | None) -> SessionId | None:
    """The spawn parent of a session, while there is one."""
    if row is None or row.parent is None:
        return None
    parent = SessionId(row.parent)
    return parent if exists(scope.db, parent) else None


def is_orphan(scope: WriteScope, row: SessionRow) -> bool:
    """Whether a child run's parent was deleted: what is left of the run is nobody's."""
    return row.parent is not None and parent_of(scope, row) is None


def exists(db: Database, session_id: SessionId) -> bool:
    """Whether there is such a session."""
    return db.row("SELECT 1 FROM sessions WHERE key = ?", (session_id,)) is not None


def head(db: Database, session_id: SessionId) -> Head:
    """A session's state version, and what of its history is gone."""
    found = db.row(
        "SELECT last_sequence, pruned_max_sequence FROM session_state_heads WHERE session_key = ?",
        (session_id,),
    )
    if found is None:
        return Head()
    return Head(last=cast("int", found[0]), gone=cast("int", found[1]))


def inherit_gap(scope: WriteScope, session_id: SessionId, former: int) -> None:
    """A session of this key was deleted at this version: whoever knows no more missed its end."""
    fresh = Head(last=former).of_next_life()

    def work(book: SignalBook) -> None:
        del book
        scope.db.run(
            "INSERT INTO session_state_heads (session_key, agent_id, last_sequence,"
            " pruned_max_sequence, updated_at) VALUES (?, ?, 0, ?, ?)",
            (session_id, _agent(scope.db, session_id), fresh.gone, scope.now),
        )

    attempt(scope, work)


def open_notices(scope: WriteScope, watcher: SessionId) -> tuple[Notice, ...]:
    """What a session that starts is not told of yet; nothing where that cannot be read."""
    try:
        return custody.notices(watch_table.open_of(scope.db, watcher))
    except (apsw.SQLError, ValueError) as error:
        scope.signal_health.failed(error)
        return ()


def event_from(values: Row) -> SignalEvent:
    """A stored event, selected by `EVENT_COLUMNS`."""
    sequence, dedupe, key, kind, actor_type, actor_id, run_id, at, summary, payload = values
    return SignalEvent(
        sequence=cast("int", sequence),
        signal=Signal(
            target=SessionId(cast("str", key)),
            kind=SignalKind(cast("str", kind)),
            actor=Actor(type=ActorType(cast("str", actor_type)), id=cast("str", actor_id or "")),
            occurred_at=cast("int", at),
            summary=cast("str", summary),
            payload=_payload(cast("str | None", payload)),
            run_id=None if run_id is None else RunId(cast("str", run_id)),
            dedupe_key=cast("str | None", dedupe),
        ),
    )


def _agent(db: Database, session_id: SessionId) -> str:
    if not is_child_key(session_id):
        return MAIN_AGENT
    found = db.row(_AGENT, (session_id,))
    return MAIN_AGENT if found is None else cast("str", found[0])


_PAYLOAD_NAMES = {
    "outcome": "outcome",
    "channel": "channel",
    "turns": "turns",
    "catalogId": "catalog_id",
    "hostId": "host_id",
}


def _payload_text(payload: SignalPayload) -> str | None:
    found = {name: getattr(payload, field) for name, field in _PAYLOAD_NAMES.items()}
    given = {name: value for name, value in found.items() if value}
    return json.dumps(given, ensure_ascii=False, separators=(",", ":")) if given else None


def _payload(text: str | None) -> SignalPayload:
    if text is None:
        return SignalPayload()
    found = cast("dict[str, str | int]", json.loads(text))
    return SignalPayload(
        outcome=str(found.get("outcome", "")),
        channel=str(found.get("channel", "")),
        turns=int(found.get("turns", 0)),
        catalog_id=str(found.get("catalogId", "")),
        host_id=str(found.get("hostId", "")),
    )
