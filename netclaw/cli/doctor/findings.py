"""What a check says."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from netclaw.cli.app import JsonRow, compact


class Verdict(StrEnum):
    """How serious a finding is."""

    PASS = "PASS"  # noqa: S105 - a verdict, no password
    WARN = "WARN"
    FAIL = "FAIL"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One line of the report; `fix` is empty when there is nothing to do."""

    name: str
    verdict: Verdict
    message: str
    fix: str = ""

    def row(self) -> JsonRow:
        """As `--json` shows it."""
        return compact(
            {
                "name": self.name,
                "verdict": self.verdict.value,
                "message": self.message,
                "fix": self.fix or None,
            }
        )


def passed(name: str, message: str) -> Finding:
    """All is well."""
    return Finding(name=name, verdict=Verdict.PASS, message=message)


def warned(name: str, message: str, fix: str = "") -> Finding:
    """It works, but should not stay so."""
    return Finding(name=name, verdict=Verdict.WARN, message=message, fix=fix)


def failed(name: str, message: str, fix: str) -> Finding:
    """Something does not work."""
    return Finding(name=name, verdict=Verdict.FAIL, message=message, fix=fix)
