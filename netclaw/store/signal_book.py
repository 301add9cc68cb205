"""What one write records for the listener of signals, and whether recording works at all."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field

from netclaw.core.ids import SessionId
from netclaw.core.signals.cursors import NoticeChange
from netclaw.core.signals.events import SignalEvent
from netclaw.ports.signals import SignalsCommitted

logger = logging.getLogger(__name__)


@dataclass(slots=True)
class SignalBook:
    """Changes and notices in the order in which they were written."""

    events: list[SignalEvent] = field(default_factory=list)
    notices: list[NoticeChange] = field(default_factory=list)
    heads: dict[SessionId, int] = field(default_factory=dict)
    """The new state versions."""

    def tell(self, change: NoticeChange | None) -> None:
        """Name a notice that opened, moved or is gone, if one did."""
        if change is not None:
            self.notices.append(change)

    def extend(self, other: SignalBook) -> None:
        """Take over what a later part of the same write recorded."""
        self.events += other.events
        self.notices += other.notices
        self.heads |= other.heads

    def committed(self) -> SignalsCommitted:
        """As the listener hears of it."""
        return SignalsCommitted(events=tuple(self.events), notices=tuple(self.notices))

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to hear of."""
        return not self.events and not self.notices


class SignalHealth:
    """Warns once when recording begins to fail: what is signalled goes on (decision 10)."""

    def __init__(self) -> None:
        self.problem = ""
        """Why nothing can be recorded at present, in one sentence; empty if it can."""

    def failed(self, error: Exception) -> None:
        """Recording failed; the journal part of the write is unharmed."""
        if not self.problem:
            logger.warning("the signal log cannot be written; sessions go on without: %s", error)
        self.problem = f"The signal log cannot be written: {error}."

    def worked(self) -> None:
        """Recording works, from now on or again."""
        if self.problem:
            self.problem = ""
            logger.info("the signal log can be written again")
