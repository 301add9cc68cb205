"""Adopted transcripts as the store knows them: the link, and how far its file was followed.

A part of the store's port, apart for its own vocabulary. A link belongs to one life of a session:
it ends with a reset and with a deletion. Every change of it is judged in the transaction that
makes it, against what its author saw (reference section 5, "compare-and-set").
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from netclaw.core.authority import Audience
from netclaw.core.ids import SessionId
from netclaw.core.session.adoption_events import HistoryAdopted
from netclaw.core.signals.events import Actor, Signal
from netclaw.core.signals.upstream import UpstreamLink, UpstreamMarker, UpstreamSource


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchedLink:
    """A link that somebody cares about; a session at work is not looked at now."""

    link: UpstreamLink
    is_idle: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnSide:
    """The session of a link as its check began; a write that meets another one is void."""

    life: int
    admitted_inputs: int
    messages: tuple[str, ...]
    """Newest messages of people to the session itself, newest first."""


class UpstreamWrite(StrEnum):
    """What became of a write that follows from a check."""

    DONE = "done"
    OVERTAKEN = "overtaken"
    """The link, the session or its own messages changed: nothing was written."""
    BUSY = "busy"
    """The session began to work: nothing was written."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewBase:
    """A new session of the command line; the storage binding is fixed here for ever."""

    audience: Audience
    storage_root: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Adoption:
    """A session that goes on from a transcript, and where the transcript ended then."""

    session_id: SessionId
    source: UpstreamSource
    marker: UpstreamMarker
    actor: Actor
    at: int
    base: NewBase | int
    """What a new session is made with, or the head of the known one that was looked at."""
    history: tuple[HistoryAdopted, ...] = ()
    omitted: int = 0
    has_history: bool = False
    """The session has a history of its own, which stays as it is: only the link is made."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Adopted:
    """What became of an adoption that stands."""

    link: UpstreamLink | None
    """None: it could not be made."""


class UpstreamStore(Protocol):
    """Every method may raise a `StorageError`."""

    async def adopt(self, adoption: Adoption) -> Adopted:
        """Commit SessionAdopted and the history, the link and the signal, in one transaction.

        A link to the same source keeps its progress, any other is replaced. Raises
        `HeadMovedError` if the session is not as it was looked at or is at work, and
        `StorageFullError` when only the reserve is left.
        """

    async def watched_links(self) -> tuple[WatchedLink, ...]:
        """Links of sessions that somebody watches, whose transcript no other session has."""

    async def upstream_link(self, session_id: SessionId) -> UpstreamLink | None:
        """The link of a session."""

    async def adopters_of(self, path: str) -> tuple[SessionId, ...]:
        """Sessions with a link to this file, by id; followed for none of them if several."""

    async def own_side(self, session_id: SessionId) -> OwnSide | None:
        """The session as a check must know it; None if it is gone."""

    async def advance_upstream(
        self,
        link: UpstreamLink,
        own: OwnSide,
        marker: UpstreamMarker,
        *,
        signal: Signal | None,
        at: int,
    ) -> UpstreamWrite:
        """Move the marker and record what was found on the way, both or neither."""

    async def remove_upstream(
        self, link: UpstreamLink, own: OwnSide, *, signal: Signal
    ) -> UpstreamWrite:
        """End the link and record why, both or neither."""
