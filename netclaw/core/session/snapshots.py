"""How often a snapshot is worth its bytes (decision 8)."""

from __future__ import annotations

BYTES_PER_EVENT = 4096
"""What snapshots may add to the database for each event, once a state is larger than that."""


def interval(base_events: int, snapshot_bytes: int) -> int:
    """Events between two snapshots: `base_events`, or one for each 4 KiB of the last snapshot.

    A snapshot holds the whole history. Written every 20 events it would make the bytes of a
    session grow with the square of its length; so they stay linear: at most 4 KiB for each event.
    With 20 events the interval grows from 80 KiB on: 256 events at 1 MiB, 2,560 at 10 MiB, which
    a start then replays in some milliseconds.
    """
    return max(base_events, snapshot_bytes // BYTES_PER_EVENT)
