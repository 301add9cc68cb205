"""What of the in-memory journal survives a restart."""

from __future__ import annotations

from dataclasses import dataclass, field

from netclaw.core.ids import SessionId
from netclaw.testing.memory_outbox import MemoryOutbox
from netclaw.testing.memory_session import MemorySession


@dataclass(slots=True, kw_only=True)
class MemoryData:
    """Everything durable; `graves` keeps life and incarnation of deleted sessions."""

    sessions: dict[SessionId, MemorySession] = field(default_factory=dict)
    graves: dict[SessionId, tuple[int, int]] = field(default_factory=dict)
    outbox: MemoryOutbox = field(default_factory=MemoryOutbox)
