"""Adopted transcripts in the in-memory journal; see the port for the contract of each method."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import cast

from netclaw.core.authority import SourceKind
from netclaw.core.errors import HeadMovedError
from netclaw.core.ids import AppendId, SessionId
from netclaw.core.session import events as ev
from netclaw.core.session.adoption_events import SessionAdopted
from netclaw.core.signals.events import Signal
from netclaw.core.signals.upstream import (
    OWN_MESSAGES,
    UpstreamLink,
    UpstreamMarker,
    adopted_signal,
)
from netclaw.ports.journal import JournalRow, NewSession, SessionRecord
from netclaw.ports.upstream import (
    Adopted,
    Adoption,
    NewBase,
    OwnSide,
    UpstreamWrite,
    WatchedLink,
)
from netclaw.testing.memory_commit import MemoryCommitter
from netclaw.testing.memory_data import MemoryData
from netclaw.testing.memory_json import Json, text_of
from netclaw.testing.memory_session import MemorySession, draft_of

_SUPERVISOR_CAUSE = "supervisor"


class MemoryUpstream:
    """Mixed into `MemoryJournal`."""

    _committer: MemoryCommitter
    _data: MemoryData
    _clock_ms: Callable[[], int]

    def _known(self, session_id: SessionId) -> MemorySession:
        raise NotImplementedError

    def _create(self, new: NewSession) -> tuple[SessionRecord, bool]:
        raise NotImplementedError

    def _keep(
        self,
        session: MemorySession,
        rows: tuple[JournalRow, ...] = (),
        append_id: AppendId | None = None,
    ) -> None:
        raise NotImplementedError

    def _tell_signals(self) -> None:
        raise NotImplementedError

    async def adopt(self, adoption: Adoption) -> Adopted:
        """Commit an adoption."""

        def work() -> Adopted:
            session = self._looked_at(adoption)
            if not adoption.has_history:
                drafts = tuple(draft_of(event) for event in _events(adoption, session.life))
                rows = session.write(drafts, at=adoption.at, cause=_SUPERVISOR_CAUSE)
                self._keep(session, rows)
            link = self._link(adoption, session.life)
            self._record_now(
                adopted_signal(
                    adoption.session_id,
                    adoption.source,
                    adoption.actor,
                    life=session.life,
                    at=adoption.at,
                )
            )
            return Adopted(link=link)

        return await self._committer.write(work)

    async def watched_links(self) -> tuple[WatchedLink, ...]:
        """Links of sessions that somebody watches."""
        links = list(self._all_links())
        adopters = Counter(link.source.path for link in links)
        return tuple(
            WatchedLink(link=link, is_idle=_is_idle(self._known(link.session_id)))
            for link in sorted(links, key=lambda link: link.session_id)
            if adopters[link.source.path] == 1 and self._data.signals.holders(link.session_id)
        )

    async def upstream_link(self, session_id: SessionId) -> UpstreamLink | None:
        """The link of a session."""
        return self._find(session_id)

    async def adopters_of(self, path: str) -> tuple[SessionId, ...]:
        """Sessions with a link to a file."""
        adopters = (link.session_id for link in self._all_links() if link.source.path == path)
        return tuple(sorted(adopters))

    async def own_side(self, session_id: SessionId) -> OwnSide | None:
        """The session as a check must know it."""
        session = self._data.sessions.get(session_id)
        if session is None:
            return None
        people = {key for key, item in session.inputs.items() if item.person is not None}
        contents = [_content(row) for row in session.rows if row.type == "InputAdmitted"]
        texts = [text_of(item, "text") for item in contents if text_of(item, "input_id") in people]
        return OwnSide(
            life=session.life,
            admitted_inputs=len(session.inputs),
            messages=tuple(reversed(texts[-OWN_MESSAGES:])),
        )

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

        def work() -> UpstreamWrite:
            outcome = self._judge(link, own)
            if outcome is UpstreamWrite.DONE:
                version = max(at, link.updated_at + 1)
                moved = replace(link, marker=marker, updated_at=version, last_scanned_at=at)
                self._data.links[link.session_id] = (own.life, moved)
                if signal is not None:
                    self._record_now(signal)
            return outcome

        return await self._committer.write(work)

    async def remove_upstream(
        self, link: UpstreamLink, own: OwnSide, *, signal: Signal
    ) -> UpstreamWrite:
        """End the link and record why."""

        def work() -> UpstreamWrite:
            outcome = self._judge(link, own)
            if outcome is UpstreamWrite.DONE:
                self._record_now(signal)
                del self._data.links[link.session_id]
            return outcome

        return await self._committer.write(work)

    def _looked_at(self, adoption: Adoption) -> MemorySession:
        base = adoption.base
        if isinstance(base, NewBase) and adoption.session_id not in self._data.sessions:
            self._create(
                NewSession(
                    session_id=adoption.session_id,
                    kind=ev.SessionKind.MAIN,
                    channel=SourceKind.CLI,
                    audience=base.audience,
                    storage_root=base.storage_root,
                    at=adoption.at,
                )
            )
            return self._known(adoption.session_id)
        session = self._known(adoption.session_id)
        is_same = adoption.has_history or session.head == base
        if not is_same or not _is_idle(session):
            raise HeadMovedError("The session began to work.", head=session.head)
        return session

    def _link(self, adoption: Adoption, life: int) -> UpstreamLink:
        known = self._find(adoption.session_id)
        if known is not None and known.source == adoption.source:
            return known
        link = UpstreamLink(
            session_id=adoption.session_id,
            source=adoption.source,
            marker=adoption.marker,
            created_at=adoption.at,
            updated_at=adoption.at if known is None else max(adoption.at, known.updated_at + 1),
        )
        self._data.links[adoption.session_id] = (life, link)
        return link

    def _judge(self, link: UpstreamLink, own: OwnSide) -> UpstreamWrite:
        session = self._data.sessions.get(link.session_id)
        known = self._find(link.session_id)
        if session is None or known is None:
            return UpstreamWrite.OVERTAKEN
        if not _is_idle(session):
            return UpstreamWrite.BUSY
        seen = (link.created_at, link.updated_at, own.life, own.admitted_inputs)
        there = (known.created_at, known.updated_at, session.life, len(session.inputs))
        return UpstreamWrite.DONE if seen == there else UpstreamWrite.OVERTAKEN

    def _record_now(self, signal: Signal) -> None:
        """Only sessions of people go on from transcripts, so no parent is to be told."""
        self._data.signals.record(signal, None, self._clock_ms())
        self._tell_signals()

    def _find(self, session_id: SessionId) -> UpstreamLink | None:
        """A link of the life that the session has now."""
        session = self._data.sessions.get(session_id)
        life, link = self._data.links.get(session_id, (0, None))
        return link if session is not None and session.life == life else None

    def _all_links(self) -> Iterator[UpstreamLink]:
        for session_id in self._data.links:
            link = self._find(session_id)
            if link is not None:
                yield link


def _events(adoption: Adoption, life: int) -> tuple[ev.SessionEvent, ...]:
    source = adoption.source
    first = SessionAdopted(
        life=life, catalog=source.catalog.value, source=source.path, omitted=adoption.omitted
    )
    return (first, *adoption.history)


def _content(row: JournalRow) -> Json:
    return cast("Json", json.loads(row.payload))


def _is_idle(session: MemorySession) -> bool:
    return session.open_turn is None and not session.open_inputs and not session.answers
