"""Encodes the state as a snapshot that rides in an append (decision 8)."""

from __future__ import annotations

from netclaw.core.session.effects import Decision
from netclaw.core.session.events import Compacted, Passivated
from netclaw.wire.journal_codec import STATE_CODEC, encode_state
from netclaw.wire.v1.session_host_pb2 import Snapshot

MANDATORY_FOR = (Compacted, Passivated)
"""Events whose append must fail without its snapshot (protocol "Appending")."""


class Snapshots:
    """Makes snapshots where a decision asks for one."""

    def of(self, decision: Decision) -> Snapshot | None:
        """The snapshot of the state after the decision's events, if it asks for one."""
        if not decision.needs_snapshot:
            return None
        after = decision.states[-1]
        is_mandatory = any(isinstance(event, MANDATORY_FOR) for event in decision.events)
        return Snapshot(codec=STATE_CODEC, payload=encode_state(after), mandatory=is_mandatory)
