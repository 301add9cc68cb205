"""Checks each session's snapshot against a replay of its whole journal, with netclaw's own rules.

The other checkers know no netclaw; this one asks netclaw whether it agrees with itself: the newest
snapshot and the rows after it must give the very state that all rows give from seq 1.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from netclaw.core.ids import SessionId
from netclaw.core.session.events import Recorded
from netclaw.core.session.evolve import replay
from netclaw.core.session.state import SessionState
from netclaw.wire.journal_codec import decode_event, decode_state
from tests.soak.stored import DATABASE


def check_replays(home: Path) -> list[str]:
    """The sessions whose snapshot leads to another state than their journal."""
    problems = []
    with closing(sqlite3.connect(f"file:{home / DATABASE}?mode=ro", uri=True)) as database:
        for number, key in database.execute("SELECT id, key FROM sessions ORDER BY id").fetchall():
            problems.extend(_check(database, number, SessionId(key)))
    return problems


def _check(database: sqlite3.Connection, number: int, key: SessionId) -> list[str]:
    stored = database.execute(
        "SELECT seq, at, incarnation, cause, type, version, payload FROM journal"
        " WHERE session = ? ORDER BY seq",
        (number,),
    )
    rows = [
        Recorded(
            seq=seq,
            at=at,
            incarnation=incarnation,
            cause=cause,
            event=decode_event(kind, version, payload),
        )
        for seq, at, incarnation, cause, kind, version, payload in stored
    ]
    snapshot = database.execute(
        "SELECT seq, codec, payload FROM snapshots WHERE session = ?", (number,)
    ).fetchone()
    if snapshot is None:
        return []
    seq, codec, payload = snapshot
    whole = replay(SessionState(session_id=key), rows)
    resumed = replay(decode_state(codec, payload), [row for row in rows if row.seq > seq])
    if whole == resumed:
        return []
    fields = [name for name in whole.__slots__ if getattr(whole, name) != getattr(resumed, name)]
    return [f"{key}: the snapshot at {seq} and the whole journal differ in {fields}"]
