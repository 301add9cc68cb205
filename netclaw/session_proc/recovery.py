"""Rebuilds the state from what the Welcome carries: the newest snapshot and the rows after it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from netclaw.core.ids import SessionId
from netclaw.core.session.evolve import replay
from netclaw.core.session.state import SessionState
from netclaw.session_proc.frames import HostFault
from netclaw.wire.convert import recorded_of
from netclaw.wire.journal_codec import STATE_CODEC, decode_state
from netclaw.wire.v1 import common_pb2 as pb
from netclaw.wire.v1.session_host_pb2 import Welcome

INLINE_ROWS = 2_000
"""A longer tail is read in a thread, so that pings are answered meanwhile (decision 86)."""
INLINE_SNAPSHOT_BYTES = 4 * 1024 * 1024


async def recover_state(welcome: Welcome) -> SessionState:
    """The state as of the last committed event; raises `SessionUnreadableError`."""
    is_small = len(welcome.tail) <= INLINE_ROWS and len(welcome.snapshot) <= INLINE_SNAPSHOT_BYTES
    if is_small:
        return rebuild(welcome)
    return await asyncio.to_thread(rebuild, welcome)


def rebuild(welcome: Welcome) -> SessionState:
    """The same at once."""
    state = SessionState(session_id=SessionId(welcome.session_id))
    if welcome.snapshot:
        state = decode_state(welcome.snapshot_codec or STATE_CODEC, welcome.snapshot)
        if state.head != welcome.snapshot_seq:
            raise HostFault(f"the snapshot at {welcome.snapshot_seq} is one of {state.head}")
    _check_order(state.head, welcome.tail)
    return replay(state, map(recorded_of, welcome.tail))


def _check_order(head: int, rows: Sequence[pb.JournalRow]) -> None:
    for expected, row in enumerate(rows, head + 1):
        if row.seq != expected:
            raise HostFault(f"the tail holds event {row.seq} where {expected} belongs")
