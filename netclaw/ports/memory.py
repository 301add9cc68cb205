"""What a session gives to memory: conversations that come to rest, and notes of compactions.

Memory decides what it keeps. It is never waited for: a distillation is cancelled when the session
goes on or its process ends, and a checkpoint that was not stored is lost with a warning; both are
in the journal, from which a memory can make them again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from netclaw.core.authority import Audience
from netclaw.core.ids import SessionId
from netclaw.core.messages import Message


class MemoryUnavailableError(Exception):
    """Memory could not take what it was given; the text is for logs and holds no content."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Distillation:
    """A conversation at rest, to distil what is worth remembering from.

    The same (`session_id`, `life`, `up_to_seq`) may come again, after a grace period that was cut
    short; only `messages` newer than the last one that was finished are news.
    """

    session_id: SessionId
    life: int
    audience: Audience
    up_to_seq: int
    messages: tuple[Message, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryCheckpoint:
    """The notes that a compaction made on what it removed; `checkpoint_id` makes them one."""

    checkpoint_id: str
    session_id: SessionId
    life: int
    audience: Audience
    text: str


class MemoryPort(Protocol):
    """The memory of a session process. Both calls may be cancelled at any await."""

    async def distil(self, conversation: Distillation) -> None:
        """Return when everything worth it is stored. Raises `MemoryUnavailableError`."""

    async def queue_checkpoint(self, checkpoint: MemoryCheckpoint) -> None:
        """Return when the checkpoint is stored. Raises `MemoryUnavailableError`."""
