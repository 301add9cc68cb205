"""Reads decision tables: one row a line, six facts a row."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from netclaw.core.authz.decisions import Decision
from netclaw.core.authz.reasons import AllowReason
from netclaw.core.session.rulings import Outcome

HERE = Path(__file__).parent


@dataclass(frozen=True)
class Row:
    """One row: what is expected without a grant, with one, and when nobody can answer."""

    number: str
    expected: str
    letters: str
    unattended: str
    command: str

    def __str__(self) -> str:
        """The name of the row's test."""
        return f"{self.number}:{self.command[:50]}"


def rows(name: str) -> list[Row]:
    """The rows of a table; comments and empty lines are none."""
    made = []
    for line in (HERE / name).read_text().splitlines():
        if not line.startswith("#") and line.strip():
            number, expected, letters, unattended, command = line.split("|", 4)
            fields = (number.strip(), expected.strip(), letters.strip(), unattended.strip())
            made.append(Row(*fields, command.removeprefix(" ").replace("\\n", "\n")))
    return made


def described(decision: Decision) -> str:
    """A decision in the words of the tables."""
    if decision.outcome is Outcome.ALLOWED:
        names = {AllowReason.REVIEWED_SAFE: "safe", AllowReason.EXEMPT: "exempt"}
        reason = decision.allow
        return names.get(reason, str(reason)) if reason is not None else "?"
    if decision.outcome is Outcome.DENIED:
        return f"deny {decision.code}"
    if decision.outcome is Outcome.REQUIRES_CORRECTION:
        return f"correct {decision.code}"
    keys = [option.key for option in decision.options]
    if keys == ["approve_once", "deny"]:
        return "ask1"
    return "ask " + " + ".join(dict.fromkeys(item.display for item in decision.uncovered))
