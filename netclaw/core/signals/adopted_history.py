"""What a session takes over of the transcript it goes on from: its newest messages.

The rest is counted, so that people and the model are told that there was more.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from netclaw.core.session.adoption_events import AdoptedMessage, AdoptedRole, HistoryAdopted
from netclaw.core.signals.transcripts import Line, Speaker

TEXT_BYTES = 1024 * 1024
"""Text of an adopted history, in UTF-8."""
EVENT_BYTES = 256 * 1024
"""Text of one event of it; only a longer message makes a longer event."""

_BETWEEN = "\n\n"
"""Stands between the lines of one message."""
_ROLES = {Speaker.PERSON: AdoptedRole.USER, Speaker.MODEL: AdoptedRole.ASSISTANT}


@dataclass(frozen=True, slots=True, kw_only=True)
class AdoptedHistory:
    """The newest messages, oldest first, and how many older ones there were."""

    messages: tuple[AdoptedMessage, ...]
    omitted: int = 0

    def events(self) -> tuple[HistoryAdopted, ...]:
        """The messages, in events of a bounded size."""
        return tuple(HistoryAdopted(messages=group) for group in _groups(self.messages))


def newest_messages(lines: Iterable[Line], *, limit: int = TEXT_BYTES) -> AdoptedHistory:
    """Read lines in order and keep the newest messages, `limit` bytes of text in all.

    Holds no more than that and one line. Lines without words are no messages; what a model said
    in several lines is one. Of a message longer than the limit the beginning is kept.
    """
    kept: deque[_Spoken] = deque()
    size = omitted = 0
    for line in lines:
        role = _ROLES.get(line.speaker)
        text = line.text.strip()
        if role is None or not text:
            continue
        if not kept or role is AdoptedRole.USER or kept[-1].role is AdoptedRole.USER:
            kept.append(_Spoken(role=role))
        size += kept[-1].add(text, at=max(line.at or 0, 0), limit=limit)
        while size > limit:
            size -= kept.popleft().size
            omitted += 1
    return AdoptedHistory(messages=tuple(item.message(limit) for item in kept), omitted=omitted)


@dataclass(slots=True, kw_only=True)
class _Spoken:
    """A message while lines may still be added to it; a line costs what it holds, no more."""

    role: AdoptedRole
    at: int = 0
    size: int = 0
    """Bytes of its text, at most the limit."""
    texts: list[str] = field(default_factory=list)

    def add(self, text: str, *, at: int, limit: int) -> int:
        """Add a line; answers by how much the message is larger now."""
        self.at = at
        if self.size >= limit:
            return 0
        before = self.size
        between = len(_BETWEEN) if self.texts else 0
        self.texts.append(_cut(text, limit))
        self.size = min(before + between + len(text.encode()), limit)
        return self.size - before

    def message(self, limit: int) -> AdoptedMessage:
        """As it is taken over."""
        return AdoptedMessage(
            role=self.role, text=_cut(_BETWEEN.join(self.texts), limit), at=self.at
        )


def _groups(messages: Iterable[AdoptedMessage]) -> Iterator[tuple[AdoptedMessage, ...]]:
    group: list[AdoptedMessage] = []
    size = 0
    for message in messages:
        if group and size + _size(message) > EVENT_BYTES:
            yield tuple(group)
            group, size = [], 0
        group.append(message)
        size += _size(message)
    if group:
        yield tuple(group)


def _size(message: AdoptedMessage) -> int:
    return len(message.text.encode())


def _cut(text: str, limit: int) -> str:
    raw = text.encode()
    return text if len(raw) <= limit else raw[:limit].decode(errors="ignore")
