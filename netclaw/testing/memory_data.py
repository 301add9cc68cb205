"""What of the in-memory journal survives a restart."""

from __future__ import annotations

from dataclasses import dataclass, field

from netclaw.core.ids import SessionId
from netclaw.core.session.events import SessionKind
from netclaw.core.signals.upstream import UpstreamLink
from netclaw.ports.store_counts import StoreCounts
from netclaw.testing.memory_outbox import MemoryOutbox
from netclaw.testing.memory_sends import MemorySends
from netclaw.testing.memory_session import MemorySession, StateReader
from netclaw.testing.memory_signals import MemorySignals


@dataclass(slots=True, kw_only=True)
class MemoryData:
    """Everything durable; `graves`: life, incarnation and version of deleted sessions."""

    sessions: dict[SessionId, MemorySession] = field(default_factory=dict)
    graves: dict[SessionId, tuple[int, int, int]] = field(default_factory=dict)
    signals: MemorySignals = field(default_factory=MemorySignals)
    links: dict[SessionId, tuple[int, UpstreamLink]] = field(default_factory=dict)
    """Followed transcripts, each with the life of the session that it belongs to."""
    sends: MemorySends = field(default_factory=MemorySends)
    outbox: MemoryOutbox = field(default_factory=MemoryOutbox)
    read_state: StateReader | None = None
    """Tells which sessions wait for people alone; without it none does."""

    def counts(self) -> StoreCounts:
        """Totals for status; nothing here has a size on disk."""
        sessions = list(self.sessions.values())
        return StoreCounts(
            sessions=len(sessions),
            quarantined=sum(session.is_quarantined for session in sessions),
            pending_inputs=sum(len(session.open_inputs) for session in sessions),
            admitted_inputs=sum(len(session.inputs) for session in sessions),
            turns_completed=sum(session.turns_recorded for session in sessions),
            turns_failed=sum(session.turns_failed for session in sessions),
            outbox_waiting=self.outbox.waiting,
            database_bytes=0,
            open_approvals=sum(
                len(session.consents.open)
                for session in sessions
                if session.new.kind is not SessionKind.CHILD
            ),
            watches=len(self.signals.watches),
            open_notices=sum(watch.cursor.is_open for watch in self.signals.watches.values()),
        )
