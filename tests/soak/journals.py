"""A hand-made home that keeps every promise; the checker's tests break one of them each."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from tests.soak.evidence import Ack, Asked, Evidence, Seen
from tests.soak.stored import DATABASE, Json

SESSION = "soak0"
WINDOW = 1000
EFFECTS = "effects.txt"
AT_MS = 1_790_000_000_000

Event = tuple[str, int, Json]
"""Type, incarnation, payload; its seq is its place."""


def authority(sender: str, *targets: str) -> Json:
    """What an input may do and where its answer goes."""
    return {
        "requester": {"sender_id": sender},
        "delivery_targets": [{"channel": "slack", "address": address} for address in targets],
    }


def admitted(number: int, sender: str, *targets: str) -> Json:
    """The payload of an InputAdmitted."""
    return {
        "input_id": f"i{number}",
        "source_message_id": f"m{number}",
        "text": "a message",
        "authority": authority(sender, *targets),
    }


def call(number: int) -> Json:
    """A call that leaves a tag behind."""
    command = f"echo tag{number} >> {EFFECTS}; true"
    return {
        "call_id": f"c{number}",
        "name": "shell_execute",
        "arguments": json.dumps({"command": command}),
    }


def result(turn: str, number: int, category: str = "Success") -> Json:
    """The payload of a ToolResultRecorded."""
    return {
        "turn_id": turn,
        "result": {"call_id": f"c{number}", "receipt": {"category": category}},
    }


def started(turn: str, input_id: str, sender: str, *targets: str) -> Json:
    """The payload of a TurnStarted."""
    return {
        "turn_id": turn,
        "input_ids": [input_id],
        "authority": authority(sender, *targets),
    }


def round_of(turn: str, number: int, *calls: Json) -> Json:
    """The payload of a RoundRecorded."""
    return {"turn_id": turn, "round": number, "message": {"text": "", "calls": list(calls)}}


def recorded(turn: str, text: str, *inputs: str) -> Json:
    """The payload of a TurnRecorded."""
    return {
        "turn_id": turn,
        "message": {"text": text},
        "outcome": "completed",
        "input_ids": list(inputs),
    }


def good_events() -> list[Event]:
    """Two turns with tools, a crash, a joined input, a compaction, a failure, a passivation."""
    return [
        ("SessionCreated", 0, {"life": 1}),
        ("InputAdmitted", 0, admitted(1, "alice", "C1")),
        ("TurnStarted", 1, started("t1", "i1", "alice", "C1")),
        ("RoundRecorded", 1, round_of("t1", 0, call(1), call(2))),
        ("ToolBatchStarted", 1, {"turn_id": "t1", "call_ids": ["c1", "c2"]}),
        ("ToolResultRecorded", 1, result("t1", 1)),
        ("InputAdmitted", 1, admitted(2, "alice", "C1")),
        ("InputAdmitted", 1, admitted(3, "bob")),
        ("ToolResultRecorded", 1, result("t1", 2)),
        ("InputJoined", 1, {"turn_id": "t1", "input_ids": ["i2"]}),
        ("TurnRecorded", 1, recorded("t1", "done", "i1", "i2")),
        ("Compacted", 1, {"notes": "small things"}),
        ("TurnStarted", 1, started("t2", "i3", "bob")),
        ("RoundRecorded", 1, round_of("t2", 0, call(3))),
        ("ToolBatchStarted", 1, {"turn_id": "t2", "call_ids": ["c3"]}),
        ("CrashRecorded", 1, {"exit_status": -9}),
        ("ToolResultRecorded", 2, result("t2", 3, "Interrupted")),
        (
            "TurnFailed",
            2,
            {
                "turn_id": "t2",
                "category": "Interrupted",
                "reference": "r",
                "note": "it stopped",
                "input_ids": ["i3"],
                "closed_call_ids": [],
                "is_person_told": True,
            },
        ),
        ("Passivated", 2, {"snapshot_seq": 19}),
    ]


def good_evidence() -> Evidence:
    """What clients and the model saw of it."""
    seen = [
        Seen(attachment=1, kind="processing", incarnation=1, phase="processing"),
        Seen(attachment=1, kind="tool_call", incarnation=1, seq=4),
        Seen(attachment=1, kind="turn_completed", incarnation=1, seq=11),
        Seen(attachment=1, kind="processing", incarnation=1, phase="compacting"),
        Seen(attachment=1, kind="compaction", incarnation=1, seq=12),
        Seen(attachment=1, kind="processing", incarnation=1, phase="processing"),
        Seen(attachment=1, kind="turn_completed", incarnation=2, seq=18),
        Seen(attachment=1, kind="processing", incarnation=2, phase="ready"),
        Seen(attachment=1, kind="processing", incarnation=2, phase="passivating"),
    ]
    return Evidence(
        window=WINDOW,
        effects_file=EFFECTS,
        acks=[
            Ack(session=SESSION, input_id="i1", seq=2, message_id="m1"),
            Ack(session=SESSION, input_id="i1", seq=2, message_id="m1", is_duplicate=True),
            Ack(session=SESSION, input_id="i3", seq=8, message_id="m3"),
        ],
        seen={SESSION: seen},
        asked=[Asked(session=SESSION, at_ms=AT_MS + 13, tokens=400)],
        cut_markers=["cut-0123"],
    )


class Home:
    """A home as a stopped daemon leaves it, small enough to break by hand."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.events = good_events()
        self.evidence = good_evidence()
        self.catalog: dict[str, Any] = {
            "head": 19,
            "turns_recorded": 1,
            "turns_failed": 1,
            "admitted_inputs": 3,
            "pending_inputs": 0,
            "open_turn": None,
            "life": 1,
            "incarnation": 2,
        }
        self.ledger: list[tuple[str, int, str, str | None, str]] = [
            ("i1", 2, "m1", "t1", "completed"),
            ("i2", 7, "m2", "t1", "completed"),
            ("i3", 8, "m3", "t2", "failed"),
        ]
        self.sources = {"m1": ("i1", 2), "m2": ("i2", 7), "m3": ("i3", 8)}
        self.replies = [("t1", "C1", "done")]
        self.reply_state = "waiting"
        self.snapshot: tuple[int, Json] = (19, {"head": 19})
        self.effects = ["tag1", "tag2", "tag3"]
        self.log = "a log\n"

    def write(self) -> Path:
        """Write it as the daemon would; returns its folder."""
        folder = self.root / "sessions" / "soak0-abc"
        for name in ("workspace", "logs"):
            (folder / name).mkdir(parents=True)
        (folder / "workspace" / EFFECTS).write_text("".join(f"{tag}\n" for tag in self.effects))
        (folder / "logs" / "session.log").write_text(self.log)
        with closing(sqlite3.connect(self.root / DATABASE)) as database:
            database.executescript(_SCHEMA)
            self._fill(database, str(folder))
            database.commit()
        return self.root

    def _fill(self, database: sqlite3.Connection, folder: str) -> None:
        names = ", ".join(self.catalog)
        marks = ", ".join("?" * len(self.catalog))
        database.execute(
            f"INSERT INTO sessions (id, key, storage_root, {names}) VALUES (1, ?, ?, {marks})",  # noqa: S608 our own names
            (SESSION, folder, *self.catalog.values()),
        )
        database.executemany(
            "INSERT INTO journal (session, seq, at, type, incarnation, payload)"
            " VALUES (1, ?, ?, ?, ?, ?)",
            [
                (seq, AT_MS + seq, kind, incarnation, json.dumps(payload))
                for seq, (kind, incarnation, payload) in enumerate(self.events, 1)
            ],
        )
        database.executemany("INSERT INTO inputs VALUES (1, ?, ?, ?, ?, ?)", self.ledger)
        database.executemany(
            "INSERT INTO source_messages VALUES (1, ?, ?, ?)",
            [(source, *place) for source, place in self.sources.items()],
        )
        for number, (turn, address, text) in enumerate(self.replies, 1):
            database.execute(
                "INSERT INTO outbox VALUES (?, 1, ?, ?, 'slack', ?, ?)",
                (number, self.reply_state, turn, address, text),
            )
        database.execute(
            "INSERT INTO snapshots VALUES (1, ?, ?)",
            (self.snapshot[0], json.dumps(self.snapshot[1])),
        )


_SCHEMA = """
CREATE TABLE sessions (id, key, storage_root, head, turns_recorded, turns_failed, admitted_inputs,
  pending_inputs, open_turn, life, incarnation);
CREATE TABLE journal (id INTEGER PRIMARY KEY, session, seq, at, type, incarnation, payload);
CREATE TABLE inputs (session, input_id, seq, source_message_id, turn, outcome);
CREATE TABLE source_messages (session, source_message_id, input_id, seq);
CREATE TABLE outbox (id, session, state, turn, channel, address, text);
CREATE TABLE outbox_inputs (session, input_id, reply);
CREATE TABLE snapshots (session, seq, payload);
"""
