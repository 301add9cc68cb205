"""The rules of a transcript that is followed: what of it counts, when it is gone, what is told.

Pure arithmetic on bytes and facts of the file (seed "Watchers" and "Huidige limieten"; reference
section 5). The supervisor reads the file, the store moves the marker in the transaction of the
signal it tells of.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum

from netclaw.core.ids import SessionId
from netclaw.core.signals import events
from netclaw.core.signals.events import Actor, Signal
from netclaw.core.signals.transcripts import Catalog, Line, Speaker, read_line

CHUNK_BYTES = 1024 * 1024
"""Read of one transcript in one tick; a row that is longer blocks it (decision 63)."""
OWN_MESSAGES = 10
"""Newest messages of people on our side that may come back as an echo (decision 63)."""
MISSES = 3
"""Checks in a row that found no file until the link ends (decision 63)."""
LOCAL_HOST = "local"


@dataclass(frozen=True, slots=True, kw_only=True)
class UpstreamSource:
    """Which transcript: its format, and the real path of its file."""

    catalog: Catalog
    path: str

    @property
    def digest(self) -> str:
        """Names the source in dedupe keys."""
        return hashlib.sha256(f"{self.catalog}\0{self.path}".encode()).hexdigest()[:16]


@dataclass(frozen=True, slots=True, kw_only=True)
class UpstreamMarker:
    """Up to where a file was looked at, and which file that was.

    `based_at` (epoch ms) tells markers of a file that was cut and grew again apart.
    """

    offset: int
    device: int
    inode: int
    based_at: int


@dataclass(frozen=True, slots=True, kw_only=True)
class UpstreamLink:
    """A session and the transcript it went on from; `updated_at` changes with every change."""

    session_id: SessionId
    source: UpstreamSource
    marker: UpstreamMarker
    created_at: int
    updated_at: int
    last_scanned_at: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FileFacts:
    """The file as it is now; `modified_at` is epoch ms."""

    size: int
    device: int
    inode: int
    modified_at: int


class FileChange(StrEnum):
    """What became of a file since its marker."""

    SAME = "same"
    SHRUNK = "shrunk"
    REPLACED = "replaced"
    """Another file lies in its place."""


def compare_file(marker: UpstreamMarker, facts: FileFacts) -> FileChange:
    """Whether the marker still means anything in the file that is there now."""
    if (marker.device, marker.inode) != (facts.device, facts.inode):
        return FileChange.REPLACED
    return FileChange.SHRUNK if facts.size < marker.offset else FileChange.SAME


def rebased(facts: FileFacts, *, at: int) -> UpstreamMarker:
    """A marker at the end of a file: nothing that is in it is told any more."""
    return UpstreamMarker(offset=facts.size, device=facts.device, inode=facts.inode, based_at=at)


def normalized(text: str) -> str:
    """A text as echoes are compared: white space collapsed and trimmed."""
    return " ".join(text.split())


def own_texts(newest_first: Iterable[str]) -> frozenset[str]:
    """Our side's newest messages, as foreign ones are compared with them."""
    texts = [normalized(text) for text in newest_first]
    return frozenset(text for text in texts[:OWN_MESSAGES] if text)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scan:
    """What one look at a file found; `offset` is where the next one begins."""

    offset: int
    turns: int = 0
    """Foreign messages of people."""
    newest_at: int | None = None
    """Time of the newest of them; None if none has one."""
    unreadable: int = 0
    """Lines that are no JSON object: nobody's words."""
    is_blocked: bool = False
    """The next row is longer than what is read at once; it is never passed over."""


def scan(
    catalog: Catalog, data: bytes, *, offset: int, own: frozenset[str], limit: int = CHUNK_BYTES
) -> Scan:
    """Judge what was read from `offset` on, up to its last newline.

    Half a row at the end waits for its newline. However the bytes arrive, each row is judged
    exactly once.
    """
    end = data.rfind(b"\n", 0, limit) + 1
    if end == 0:
        return Scan(offset=offset, is_blocked=len(data) >= limit)
    turns, unreadable = 0, 0
    newest_at: int | None = None
    for raw in data[: end - 1].split(b"\n"):
        if not raw.strip():
            continue
        line = read_line(catalog, raw)
        if line is None:
            unreadable += 1
        elif is_foreign(line, own):
            turns += 1
            if line.at is not None:
                newest_at = line.at if newest_at is None else max(newest_at, line.at)
    return Scan(offset=offset + end, turns=turns, newest_at=newest_at, unreadable=unreadable)


def is_foreign(line: Line, own: frozenset[str]) -> bool:
    """Whether a person wrote it elsewhere: no echo of one of our side's newest messages."""
    return line.speaker is Speaker.PERSON and normalized(line.text) not in own


def adopted_signal(
    session_id: SessionId, source: UpstreamSource, actor: Actor, *, life: int, at: int
) -> Signal:
    """A session went on from a transcript; told once in a life, whatever is linked later."""
    catalog = source.catalog.value
    key = f"{session_id}:{life}"
    return events.adopted(session_id, actor, catalog=catalog, host=LOCAL_HOST, key=key, at=at)


def activity_signal(link: UpstreamLink, found: Scan, *, modified_at: int, now: int) -> Signal:
    """People wrote in the transcript: one event, however many messages."""
    at = modified_at if found.newest_at is None else found.newest_at
    return events.upstream_message(
        link.session_id,
        catalog=link.source.catalog.value,
        source_hash=link.source.digest,
        activity_id=f"{link.marker.based_at}:{found.offset}",
        turns=found.turns,
        at=events.clamped(at, now=now),
    )


def missing_signal(link: UpstreamLink, *, now: int) -> Signal:
    """The transcript is gone."""
    return events.upstream_missing(
        link.session_id,
        catalog=link.source.catalog.value,
        source_hash=link.source.digest,
        link_updated_at=link.updated_at,
        at=now,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Misses:
    """Checks in a row that found no file, as long as the link stays the same."""

    link_version: int
    count: int = 0


def missed(before: Misses | None, link: UpstreamLink) -> Misses:
    """One more check found none. A change of the link begins the count anew."""
    if before is None or before.link_version != link.updated_at:
        return Misses(link_version=link.updated_at, count=1)
    return replace(before, count=min(before.count + 1, MISSES))


def is_gone(misses: Misses) -> bool:
    """Whether the transcript counts as removed."""
    return misses.count >= MISSES


def not_told(misses: Misses) -> Misses:
    """Its end could not be recorded: the next check that finds none tries again."""
    return replace(misses, count=MISSES - 1)
