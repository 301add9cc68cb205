"""Inputs of the in-memory journal, and what became of them."""

from __future__ import annotations

from dataclasses import dataclass

from netclaw.core.ids import InputId, TurnId
from netclaw.core.session import events as ev
from netclaw.ports.journal import LedgerDelivery, LedgerEntry


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryInput:
    """An input and what became of it."""

    input_id: InputId
    seq: int
    source: str
    message: ev.InputAdmitted
    text_bytes: int
    received_at: int
    admitted_at: int
    turn_id: TurnId | None = None
    outcome: str = "waiting"
    person: str | None = None
    """Sender id of the person who wrote it; None of any other input."""

    @property
    def is_open(self) -> bool:
        """Whether it is not consumed."""
        return self.outcome in ("waiting", "running")

    def to_entry(self, deliveries: tuple[LedgerDelivery, ...]) -> LedgerEntry:
        """Its line of the ledger."""
        return LedgerEntry(
            input_id=self.input_id,
            seq=self.seq,
            source=self.source,
            source_message_id=self.message.source_message_id,
            received_at=self.received_at,
            admitted_at=self.admitted_at,
            turn_id=self.turn_id,
            outcome=self.outcome,
            deliveries=deliveries,
        )
