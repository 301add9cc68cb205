"""Adopted transcripts: sessions that go on from one, and how far each file was followed.

Every write is one job of the writer thread, so what it is judged by cannot change under it.
"""

from __future__ import annotations

import json
import logging
from typing import cast

import apsw

from netclaw.core.authority import SourceKind
from netclaw.core.errors import HeadMovedError, SessionUnreadableError
from netclaw.core.ids import SessionId
from netclaw.core.session.adoption_events import SessionAdopted
from netclaw.core.session.events import InputAdmitted, SessionEvent, SessionKind
from netclaw.core.signals.events import Signal
from netclaw.core.signals.transcripts import Catalog
from netclaw.core.signals.upstream import (
    LOCAL_HOST,
    OWN_MESSAGES,
    UpstreamLink,
    UpstreamMarker,
    UpstreamSource,
    adopted_signal,
)
from netclaw.ports.journal import NewSession
from netclaw.ports.upstream import (
    Adopted,
    Adoption,
    NewBase,
    OwnSide,
    UpstreamWrite,
    WatchedLink,
)
from netclaw.store import sessions, signal_log
from netclaw.store.connection import Database, Row
from netclaw.store.journal import publish_events
from netclaw.store.readers import ReaderPool
from netclaw.store.rows import SessionRow
from netclaw.store.scope import WriteScope
from netclaw.store.signal_book import SignalBook
from netclaw.store.writer import GroupWriter
from netclaw.wire.journal_codec import decode_event, encode_event

logger = logging.getLogger(__name__)

FILE_KIND = "file"

_COLUMNS = (
    "l.session_key, l.catalog_id, l.thread_id, l.last_marker_json, l.last_scanned_at,"
    " l.created_at, l.updated_at"
)
_ONE = f"SELECT {_COLUMNS} FROM session_upstream_links AS l WHERE l.session_key = ?"  # noqa: S608 names of our own
# A file that two sessions were adopted from could tell neither of them anything (decision 60).
_WATCHED = (
    f"SELECT {_COLUMNS}, s.open_turn IS NULL AND s.pending_inputs = 0 AND s.pending_answers = 0"  # noqa: S608 names of our own
    " FROM session_upstream_links AS l JOIN sessions AS s ON s.key = l.session_key"
    " WHERE EXISTS (SELECT 1 FROM session_watch_cursors WHERE target_session_key = l.session_key)"
    " AND l.thread_id IN (SELECT thread_id FROM session_upstream_links"
    "  GROUP BY thread_id HAVING count(*) = 1)"
    " ORDER BY l.session_key"
)
_PUT = (
    "INSERT OR REPLACE INTO session_upstream_links (session_key, agent_id, catalog_id, host_id,"
    " thread_id, upstream_kind, upstream_ref_json, last_marker_json, last_scanned_at, created_at,"
    " updated_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, NULL, ?, ?)"
)
_ADVANCE = (
    "UPDATE session_upstream_links SET last_marker_json = ?, last_scanned_at = ?, updated_at = ?"
    " WHERE session_key = ?"
)
_ADOPTERS = (
    "SELECT session_key FROM session_upstream_links WHERE thread_id = ? ORDER BY session_key"
)
_OWN_SIDE = "SELECT id, life, admitted_inputs FROM sessions WHERE key = ?"
_OWN_MESSAGES = (
    "SELECT j.type, j.version, j.payload FROM inputs AS i"
    " JOIN journal AS j ON j.session = i.session AND j.seq = i.seq"
    " WHERE i.session = ? AND i.person IS NOT NULL ORDER BY i.seq DESC LIMIT ?"
)


class UpstreamLinks:
    """The part of the store about adopted transcripts; see the port for each method."""

    _writer: GroupWriter
    _readers: ReaderPool

    async def adopt(self, adoption: Adoption) -> Adopted:
        """Commit an adoption."""
        return await self._writer.submit(lambda scope: adopt(scope, adoption))

    async def watched_links(self) -> tuple[WatchedLink, ...]:
        """Links of sessions that somebody watches."""
        return await self._readers.read(_watched)

    async def upstream_link(self, session_id: SessionId) -> UpstreamLink | None:
        """The link of a session."""
        return await self._readers.read(lambda db: find(db, session_id))

    async def adopters_of(self, path: str) -> tuple[SessionId, ...]:
        """Sessions with a link to a file."""
        return await self._readers.read(lambda db: _adopters(db, path))

    async def own_side(self, session_id: SessionId) -> OwnSide | None:
        """The session as a check must know it."""
        return await self._readers.read(lambda db: _own_side(db, session_id))

    async def advance_upstream(
        self,
        link: UpstreamLink,
        own: OwnSide,
        marker: UpstreamMarker,
        *,
        signal: Signal | None,
        at: int,
    ) -> UpstreamWrite:
        """Move the marker and record what was found on the way."""
        return await self._writer.submit(
            lambda scope: _advance(scope, link, own, marker, signal=signal, at=at)
        )

    async def remove_upstream(
        self, link: UpstreamLink, own: OwnSide, *, signal: Signal
    ) -> UpstreamWrite:
        """End the link and record why."""
        return await self._writer.submit(lambda scope: _remove(scope, link, own, signal))


def adopt(scope: WriteScope, adoption: Adoption) -> Adopted:
    """Let a session go on from a transcript: its history, its link, the signal."""
    scope.require_space()
    row = _looked_at(scope, adoption)
    if not adoption.has_history:
        source = adoption.source
        events: tuple[SessionEvent, ...] = (
            SessionAdopted(
                life=row.life,
                catalog=source.catalog.value,
                source=source.path,
                omitted=adoption.omitted,
            ),
            *adoption.history,
        )
        drafts = tuple(encode_event(event) for event in events)
        publish_events(scope, row, drafts, at=adoption.at)
    link = _try_link(scope, adoption)
    signal = adopted_signal(
        adoption.session_id, adoption.source, adoption.actor, life=row.life, at=adoption.at
    )
    signal_log.attempt(scope, lambda book: _note(scope, book, signal))
    return Adopted(link=link)


def _note(scope: WriteScope, book: SignalBook, signal: Signal) -> None:
    signal_log.record(scope, book, signal)


def _looked_at(scope: WriteScope, adoption: Adoption) -> SessionRow:
    """The session as the adoption's author saw it. Raises `HeadMovedError` for any other."""
    base = adoption.base
    row = scope.find(adoption.session_id)
    if isinstance(base, NewBase) and row is None:
        new = NewSession(
            session_id=adoption.session_id,
            kind=SessionKind.MAIN,
            channel=SourceKind.CLI,
            audience=base.audience,
            storage_root=base.storage_root,
            at=adoption.at,
        )
        sessions.create(scope, new)
        return scope.session(adoption.session_id)
    row = scope.session(adoption.session_id)
    is_same = adoption.has_history or row.head == base
    if not is_same or not _is_idle(row):
        raise HeadMovedError("The session began to work.", head=row.head)
    return row


def _is_idle(row: SessionRow) -> bool:
    return row.open_turn is None and not row.pending and not row.answers


def _try_link(scope: WriteScope, adoption: Adoption) -> UpstreamLink | None:
    """Make the link; what fails in it is undone alone, because the adoption stands without."""
    scope.db.run("SAVEPOINT upstream")
    link: UpstreamLink | None = None
    try:
        link = _link(scope.db, adoption)
    except apsw.Error as error:
        if not scope.db.is_in_transaction or isinstance(error, apsw.CorruptError):
            raise
        logger.warning("the transcript of an adopted session is not followed: %s", error)
        scope.db.run("ROLLBACK TO upstream")
    scope.db.run("RELEASE upstream")
    return link


def _link(db: Database, adoption: Adoption) -> UpstreamLink:
    """The link there is, if it is to the same source, or a new one at the end of its file."""
    known = find(db, adoption.session_id)
    if known is not None and known.source == adoption.source:
        return known
    link = UpstreamLink(
        session_id=adoption.session_id,
        source=adoption.source,
        marker=adoption.marker,
        created_at=adoption.at,
        updated_at=_next_version(known, adoption.at),
    )
    source = link.source
    db.run(
        _PUT,
        (
            link.session_id,
            signal_log.MAIN_AGENT,
            source.catalog.value,
            LOCAL_HOST,
            source.path,
            FILE_KIND,
            json.dumps({"path": source.path}, ensure_ascii=False),
            _marker_text(link.marker),
            link.created_at,
            link.updated_at,
        ),
    )
    return link


def _next_version(known: UpstreamLink | None, at: int) -> int:
    """When the link changed, which also names the change: later than any change before."""
    return at if known is None else max(at, known.updated_at + 1)


def _advance(
    scope: WriteScope,
    link: UpstreamLink,
    own: OwnSide,
    marker: UpstreamMarker,
    *,
    signal: Signal | None,
    at: int,
) -> UpstreamWrite:
    outcome = _judge(scope, link, own)
    if outcome is not UpstreamWrite.DONE:
        return outcome
    version = _next_version(link, at)
    scope.db.run(_ADVANCE, (_marker_text(marker), at, version, link.session_id))
    if signal is not None:
        _record(scope, signal)
    return outcome


def _remove(scope: WriteScope, link: UpstreamLink, own: OwnSide, signal: Signal) -> UpstreamWrite:
    outcome = _judge(scope, link, own)
    if outcome is UpstreamWrite.DONE:
        _record(scope, signal)
        forget(scope.db, link.session_id)
    return outcome


def _judge(scope: WriteScope, link: UpstreamLink, own: OwnSide) -> UpstreamWrite:
    """Whether everything is as the check saw it (troubles 5 and 6)."""
    row = scope.find(link.session_id)
    known = find(scope.db, link.session_id)
    if row is None or known is None:
        return UpstreamWrite.OVERTAKEN
    if not _is_idle(row):
        return UpstreamWrite.BUSY
    seen = (link.created_at, link.updated_at, own.life, own.admitted_inputs)
    is_same = seen == (known.created_at, known.updated_at, row.life, row.admitted_inputs)
    return UpstreamWrite.DONE if is_same else UpstreamWrite.OVERTAKEN


def _record(scope: WriteScope, signal: Signal) -> None:
    """Record a signal that the write at hand does not stand without."""
    book = SignalBook()
    signal_log.record(scope, book, signal)
    signal_log.accept(scope, book)


def forget(db: Database, session_id: SessionId) -> None:
    """End the link of a session, if it has one: its life or the session itself is over."""
    db.run("DELETE FROM session_upstream_links WHERE session_key = ?", (session_id,))


def find(db: Database, session_id: SessionId) -> UpstreamLink | None:
    """The link of a session."""
    values = db.row(_ONE, (session_id,))
    return None if values is None else _link_from(values)


def _watched(db: Database) -> tuple[WatchedLink, ...]:
    return tuple(
        WatchedLink(link=_link_from(tuple(values)), is_idle=bool(is_idle))
        for *values, is_idle in db.rows(_WATCHED, ())
    )


def _adopters(db: Database, path: str) -> tuple[SessionId, ...]:
    return tuple(SessionId(cast("str", key)) for (key,) in db.rows(_ADOPTERS, (path,)))


def _own_side(db: Database, session_id: SessionId) -> OwnSide | None:
    found = db.row(_OWN_SIDE, (session_id,))
    if found is None:
        return None
    session, life, admitted = found
    rows = db.rows(_OWN_MESSAGES, (session, OWN_MESSAGES))
    return OwnSide(
        life=cast("int", life),
        admitted_inputs=cast("int", admitted),
        messages=tuple(_text(values) for values in rows),
    )


def _text(values: Row) -> str:
    """The words of an input; of one that cannot be read nothing comes back as an echo."""
    kind, version, payload = values
    try:
        event = decode_event(cast("str", kind), cast("int", version), cast("bytes", payload))
    except SessionUnreadableError:
        return ""
    return event.text if isinstance(event, InputAdmitted) else ""


def _link_from(values: Row) -> UpstreamLink:
    key, catalog, path, marker, scanned, created, updated = values
    return UpstreamLink(
        session_id=SessionId(cast("str", key)),
        source=UpstreamSource(catalog=Catalog(cast("str", catalog)), path=cast("str", path)),
        marker=_marker_from(cast("str", marker)),
        created_at=cast("int", created),
        updated_at=cast("int", updated),
        last_scanned_at=cast("int | None", scanned),
    )


def _marker_text(marker: UpstreamMarker) -> str:
    return json.dumps(
        {
            "offset": marker.offset,
            "device": marker.device,
            "inode": marker.inode,
            "basedAt": marker.based_at,
        },
        separators=(",", ":"),
    )


def _marker_from(text: str) -> UpstreamMarker:
    found = cast("dict[str, int]", json.loads(text))
    return UpstreamMarker(
        offset=found["offset"],
        device=found["device"],
        inode=found["inode"],
        based_at=found["basedAt"],
    )
