"""Keeps the signal log and its watchers within their limits; state versions stay (decision 63)."""

from __future__ import annotations

from typing import cast

from netclaw.core.signals.retention import too_old_before
from netclaw.ports.signals import PruneOutcome, SignalLimits
from netclaw.store import watch_table
from netclaw.store.connection import Value
from netclaw.store.scope import WriteScope

_STAMP = (
    "UPDATE session_state_heads SET pruned_max_sequence ="
    " max(pruned_max_sequence, gone.last)"
    " FROM (SELECT session_key AS key, max(sequence) AS last FROM session_state_events"
    " WHERE {which} GROUP BY session_key) AS gone"
    " WHERE session_key = gone.key"
)
_DELETE = "DELETE FROM session_state_events WHERE {which}"
_OLD = "occurred_at < ?"
_TOO_MANY = "sequence <= ?"
_LAST_TOO_MANY = "SELECT sequence FROM session_state_events ORDER BY sequence DESC LIMIT 1 OFFSET ?"


def prune(scope: WriteScope, limits: SignalLimits, *, at: int) -> PruneOutcome:
    """In this order, in one transaction: too old, too many, forgotten."""
    before = too_old_before(at, limits.retention_days)
    events = _remove(scope, _OLD, before)
    last = scope.db.row(_LAST_TOO_MANY, (limits.row_cap,))
    if last is not None:
        events += _remove(scope, _TOO_MANY, cast("int", last[0]))
    forgotten = watch_table.forgotten(scope.db, before)
    watch_table.remove(scope.db, scope.book, forgotten)
    return PruneOutcome(events=events, cursors=len(forgotten))


def _remove(scope: WriteScope, which: str, value: Value) -> int:
    """Remove events; whoever knows less than the last of them is told of a gap from now on."""
    scope.db.run(_STAMP.format(which=which), (value,))
    scope.db.run(_DELETE.format(which=which), (value,))
    return scope.db.connection.changes()
