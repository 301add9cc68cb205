"""Totals of everything that is stored, for `status`."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreCounts:
    """Totals for `status`."""

    sessions: int
    quarantined: int
    pending_inputs: int
    admitted_inputs: int
    turns_completed: int
    turns_failed: int
    outbox_waiting: int
    database_bytes: int
    open_approvals: int = 0
    """Consent requests that wait for a person."""
    watches: int = 0
    """Cursors of the signal log."""
    open_notices: int = 0
    """Those with something to tell."""
