"""Reads the database of a stopped daemon, read-only and by its own SQL; knows no netclaw."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

DATABASE = "netclaw.db"

Json = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One journal row, its payload as plain JSON."""

    seq: int
    at: int
    type: str
    incarnation: int
    payload: Json


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerRow:
    """What the daemon says became of an input."""

    input_id: str
    seq: int
    source_message_id: str | None
    turn: str | None
    outcome: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """A whole reply for a channel and the inputs it answers."""

    row_id: int
    state: str
    turn: str
    channel: str
    address: str
    text: str
    input_ids: frozenset[str]


@dataclass(slots=True, kw_only=True)
class StoredSession:
    """Everything the database says about one session."""

    key: str
    folder: Path
    """Its files, wherever the home lies now."""
    catalog: Json
    rows: list[Row] = field(default_factory=list)
    ledger: list[LedgerRow] = field(default_factory=list)
    sources: dict[str, tuple[str, int]] = field(default_factory=dict)
    """Source message id to the input and seq of its first admission."""
    replies: list[Reply] = field(default_factory=list)
    snapshot_seq: int = 0
    snapshot: Json | None = None


def read_sessions(home: Path) -> dict[str, StoredSession]:
    """All sessions of a home by key; the daemon must have ended."""
    with closing(sqlite3.connect(f"file:{home / DATABASE}?mode=ro", uri=True)) as database:
        database.row_factory = sqlite3.Row
        return {session.key: session for session in _sessions(home, database)}


def _sessions(home: Path, database: sqlite3.Connection) -> Iterator[StoredSession]:
    for row in database.execute("SELECT * FROM sessions ORDER BY id"):
        folder = home / "sessions" / Path(row["storage_root"]).name
        session = StoredSession(key=row["key"], folder=folder, catalog=dict(row))
        number = (row["id"],)
        session.rows = [
            Row(
                seq=item["seq"],
                at=item["at"],
                type=item["type"],
                incarnation=item["incarnation"],
                payload=json.loads(item["payload"]),
            )
            for item in database.execute(
                "SELECT * FROM journal WHERE session = ? ORDER BY seq, id", number
            )
        ]
        session.ledger = [
            LedgerRow(
                input_id=item["input_id"],
                seq=item["seq"],
                source_message_id=item["source_message_id"],
                turn=item["turn"],
                outcome=item["outcome"],
            )
            for item in database.execute(
                "SELECT * FROM inputs WHERE session = ? ORDER BY seq", number
            )
        ]
        session.sources = {
            item["source_message_id"]: (item["input_id"], item["seq"])
            for item in database.execute("SELECT * FROM source_messages WHERE session = ?", number)
        }
        session.replies = list(_replies(database, row["id"]))
        snapshot = database.execute("SELECT * FROM snapshots WHERE session = ?", number).fetchone()
        if snapshot is not None:
            session.snapshot_seq = snapshot["seq"]
            session.snapshot = json.loads(snapshot["payload"])
        yield session


def _replies(database: sqlite3.Connection, session: int) -> Iterator[Reply]:
    for item in database.execute("SELECT * FROM outbox WHERE session = ? ORDER BY id", (session,)):
        answered = database.execute(
            "SELECT input_id FROM outbox_inputs WHERE session = ? AND reply = ?",
            (session, item["id"]),
        )
        yield Reply(
            row_id=item["id"],
            state=item["state"],
            turn=item["turn"],
            channel=item["channel"],
            address=item["address"],
            text=item["text"],
            input_ids=frozenset(row["input_id"] for row in answered),
        )
