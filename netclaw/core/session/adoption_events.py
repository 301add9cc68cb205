"""What happened when a session went on from the transcript of another program."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class AdoptedRole(StrEnum):
    """Who wrote a message of an adopted transcript."""

    USER = "user"
    ASSISTANT = "assistant"


@dataclass(frozen=True, slots=True, kw_only=True)
class AdoptedMessage:
    """One message of a transcript; `at` is its own time (epoch ms), 0 if it has none."""

    role: AdoptedRole
    text: str
    at: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionAdopted:
    """S: the session goes on from a transcript of another program."""

    life: int
    catalog: str
    source: str
    """The file, as the operator named it, absolute."""
    omitted: int = 0
    """Older messages of it that were left out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryAdopted:
    """S: messages of an adopted transcript, oldest first; they are the session's history now."""

    messages: tuple[AdoptedMessage, ...]
