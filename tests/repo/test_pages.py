"""Pages that are written by a program or promise to be complete."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from netclaw.core.session.phase import LEGAL_MOVES, Phase
from tests.repo import tree

REFERENCE = "docs/operator/configuration-reference.md"

SETTINGS = {
    "PrefillTimeoutSeconds": "1800",
    "FirstTokenTimeoutSeconds": "600",
    "NoProgressTimeoutSeconds": "1200",
    "ToolExecutionTimeoutSeconds": "90",
    "MaxToolIterationsPerTurn": "60",
    "SidecarLlmTimeoutSeconds": "90",
    "TurnLlmTimeoutSeconds": "180",
    "IdleTimeout": '"01:00:00"',
}
"""The Session settings that the sessions document lists, with their defaults (S0)."""
TUNING = {
    "CompactionThreshold": "0.75",
    "KeepRecentToolResults": "3",
    "KeepRecentMessages": "6",
    "SnapshotInterval": "20",
}


def section(title: str) -> dict[str, tuple[str, str, str]]:
    """The keys of one section of the reference: value and bounds, default, meaning."""
    text = (tree.ROOT / REFERENCE).read_text()
    body = text.split(f"\n## {title}\n", 1)[1].split("\n## ", 1)[0]
    rows = re.findall(r"^\| `(\w+)` \| (.*) \| (.*) \| (.*) \|$", body, re.MULTILINE)
    return {name: (value, default, meaning) for name, value, default, meaning in rows}


@pytest.mark.requirement("operator.session-settings")
@pytest.mark.parametrize(("title", "wanted"), [("Session", SETTINGS), ("Session.Tuning", TUNING)])
def test_the_reference_has_every_session_setting_with_default_bounds_and_meaning(
    title: str, wanted: dict[str, str]
) -> None:
    known = section(title)
    for name, default in wanted.items():
        value, shown, meaning = known[name]
        assert shown == f"`{default}`", name
        assert "≥" in value or "time span" in value, f"{name} has no bounds: {value}"
        assert len(meaning) > 15, f"{name} has no meaning"
    for name, (value, _, meaning) in known.items():
        assert value, name
        assert meaning, name


@pytest.mark.requirement("operator.phase-diagram")
def test_the_page_of_phases_is_the_one_that_the_table_draws() -> None:
    command = [sys.executable, "tools/gen_phase_diagram.py", "--check"]
    done = subprocess.run(command, cwd=tree.ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.requirement("operator.phase-diagram")
def test_the_diagram_draws_each_legal_move_and_no_other() -> None:
    text = (tree.ROOT / "docs/developer/phases.md").read_text()
    drawn = set(re.findall(r"^    (\w+) --> (\w+)$", text, re.MULTILINE))
    assert drawn == {(start.value, end.value) for start in Phase for end in LEGAL_MOVES[start]}
