"""The replay check accepts a snapshot that its journal leads to, and no other."""

from __future__ import annotations

import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest

from netclaw.core.ids import SessionId
from netclaw.core.session.events import Recorded, SessionEvent, TitleSet, WorkingDirectorySet
from netclaw.core.session.evolve import replay
from netclaw.core.session.state import SessionState
from netclaw.wire.journal_codec import STATE_CODEC, encode_event, encode_state
from tests.soak.replay_check import check_replays
from tests.soak.stored import DATABASE

EVENTS: tuple[SessionEvent, ...] = (
    TitleSet(title="one", actor="model"),
    TitleSet(title="two", actor="model"),
    WorkingDirectorySet(path="/work", actor="model"),
)


def write(home: Path, snapshot: SessionState) -> None:
    """A database of one session with these events and this snapshot."""
    with sqlite3.connect(home / DATABASE) as database:
        database.executescript(
            "CREATE TABLE sessions (id, key);"
            "CREATE TABLE journal (session, seq, at, incarnation, cause, type, version, payload);"
            "CREATE TABLE snapshots (session, seq, codec, payload);"
            "INSERT INTO sessions VALUES (1, 's');"
        )
        for seq, event in enumerate(EVENTS, 1):
            draft = encode_event(event)
            database.execute(
                "INSERT INTO journal VALUES (1, ?, ?, 1, '', ?, ?, ?)",
                (seq, seq, draft.type, draft.version, draft.payload),
            )
        database.execute(
            "INSERT INTO snapshots VALUES (1, ?, ?, ?)",
            (snapshot.head, STATE_CODEC, encode_state(snapshot)),
        )


@pytest.mark.requirement("soak.replay")
def test_a_snapshot_is_held_against_the_whole_journal(tmp_path: Path) -> None:
    rows = [
        Recorded(seq=seq, at=seq, incarnation=1, cause="", event=event)
        for seq, event in enumerate(EVENTS[:2], 1)
    ]
    good = replay(SessionState(session_id=SessionId("s")), rows)
    for name, snapshot, expected in (
        ("good", good, []),
        ("title", replace(good, title="one"), ["title"]),
        ("life", replace(good, life=2, turns=4), ["life", "turns"]),
    ):
        home = tmp_path / name
        home.mkdir()
        write(home, snapshot)
        found = check_replays(home)
        assert len(found) == bool(expected), found
        assert all(str(expected) in line for line in found), found
