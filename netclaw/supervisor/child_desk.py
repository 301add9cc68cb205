"""What one child run's process and its parent have to say to each other, kept until it is heard.

Kept in memory alone: the parent's journal is the truth of a run, and whoever dies says it again
(ADR 0031).
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from netclaw.core.ids import RunId, SessionId
from netclaw.core.session.child_effects import ReportKind
from netclaw.ports.children import ChildReport

LAST_WORDS = frozenset({ReportKind.PARKED, ReportKind.ENDED})
"""Reports after whose acknowledgement a run has no process."""


@dataclass(slots=True, kw_only=True, eq=False)
class ChildDesk:
    """One run as long as its parent may want something of it."""

    parent: SessionId
    run_id: RunId
    child: SessionId
    start: int = 0
    """The newest start that its parent asked for; 0 before that is durable."""
    is_gate_closed: bool = False
    """It is being cancelled: each process of it starts nothing."""
    is_parking: bool = False
    """It was told to park; no other process of this start follows."""
    is_over: bool = False
    """Its end was acknowledged."""
    change: asyncio.Lock = field(default_factory=asyncio.Lock)
    """Held by the start under way."""
    held: dict[ReportKind, ChildReport] = field(default_factory=dict)
    """Reports that were not acknowledged, in the order in which they were made."""
    _waiting: dict[ReportKind, list[asyncio.Future[None]]] = field(default_factory=dict)

    @property
    def has_last_word(self) -> bool:
        """Whether its park or its end waits for the parent."""
        return any(kind in LAST_WORDS for kind in self.held)

    def begin(self, start: int) -> None:
        """A start is durable: what the processes of an earlier one said is nobody's."""
        if start != self.start:
            for kind in [*self.held, *self._waiting]:
                self.acknowledge(kind)
        self.start = start
        self.is_parking = False

    def keep(self, report: ChildReport) -> None:
        """Hold a report; said again it is the same one in its place."""
        self.held[report.kind] = report

    async def until_acknowledged(self, kind: ReportKind) -> None:
        """Return once the parent took this report, or it is nobody's any more."""
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        waiters = self._waiting.setdefault(kind, [])
        waiters.append(waiter)
        try:
            await waiter
        finally:
            if waiter in waiters:
                waiters.remove(waiter)

    def acknowledge(self, kind: ReportKind) -> None:
        """Let go of a report and of whoever waits with it."""
        self.held.pop(kind, None)
        for waiter in self._waiting.pop(kind, []):
            if not waiter.done():
                waiter.set_result(None)
