"""Says from a stored journal whether consent was kept to, and counts what a torture run did."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field
from typing import Any


@dataclass(slots=True, kw_only=True)
class ConsentToll:
    """What a run did."""

    kills: Counter[str] = field(default_factory=Counter)
    answers: Counter[str] = field(default_factory=Counter)
    calls: Counter[str] = field(default_factory=Counter)
    events: Counter[str] = field(default_factory=Counter)
    edits: int = 0
    runs: int = 0
    grown_mb: int = 0

    def lines(self) -> list[str]:
        """The report for people."""
        counted = {"kills": self.kills, "answers": self.answers, "calls": self.calls}
        return [
            *(
                f"{name}: {dict(count)}"
                for name, count in (counted | {"events": self.events}).items()
            ),
            f"{self.edits} edits of the grants, {self.runs} commands ran, {self.grown_mb} MB more",
        ]


def person_of(session: str) -> str:
    """Who writes in a session: half of them say so, and answer alone; the others are anybody."""
    return "anna" if int(session[1:]) % 2 else ""


def tags_of(rows: list[dict[str, Any]]) -> dict[str, str]:
    """call id -> its tag."""
    found = {}
    for row in rows:
        if row["type"] == "RoundRecorded":
            for call in row["payload"]["message"]["calls"]:
                command: str = json.loads(call["arguments"])["command"]
                words = command.replace("'", " ").replace("\\", " ").split()
                (tag,) = {word for word in words if word[0] == "n" and word[1:].isdigit()}
                found[call["call_id"]] = tag
    return found


def check_consents(rows: list[dict[str, Any]], kinds: dict[str, str]) -> None:
    """Nothing started that was refused, denied or that nobody let start; every request ended."""
    asked: Counter[str] = Counter()
    approved: set[str] = set()
    over: set[str] = set()
    for row in rows:
        payload = row["payload"]
        if row["type"] == "ConsentRequested":
            asked[payload["request"]["call_id"]] += 1
        elif row["type"] == "ConsentAnswered":
            assert payload["call_id"] not in over, "an answer to a closed request counted"
            over.add(payload["call_id"])
            if payload["effect"] == "approve":
                approved.add(payload["call_id"])
        elif row["type"] == "ConsentWithdrawn":
            over.add(payload["call_id"])
        elif row["type"] == "ToolBatchStarted":
            for call in payload["call_ids"]:
                is_free = kinds[call] in ("granted", "safe") and call not in asked
                assert is_free or call in approved, f"{kinds[call]} call started: {call}"
    assert not [call for call, times in asked.items() if times > 1], "asked for twice"
    assert set(asked) <= over, f"never closed: {set(asked) - over}"


def approvers(rows: list[dict[str, Any]]) -> set[str]:
    """Who let calls run."""
    return {
        row["payload"]["answerer"]
        for row in rows
        if row["type"] == "ConsentAnswered" and row["payload"]["effect"] == "approve"
    }
