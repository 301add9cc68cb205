"""Pages that are written by a program or promise to be complete."""

from __future__ import annotations

import re
import subprocess
import sys

import click
import pytest

from netclaw.cli.command import LazyGroup
from netclaw.cli.registry import root
from netclaw.config.tree import canonical_key, split_dotted
from netclaw.core.errors import InvalidArgumentError
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


PEOPLE = [
    "README.md",
    *(path for path in tree.files(under="docs", suffix=".md") if "/adr/" not in path),
]
"""Pages that tell people what to type and what to set."""
CODE = re.compile(r"```.*?\n(.*?)```|`([^`\n]+)`", re.DOTALL)
COMMAND = re.compile(r"(?:^|[$&(] ?)netclaw ((?:[a-z-]+ ?)+)", re.MULTILINE)
KEY = re.compile(
    r"`((?:Session|Daemon|Supervision|Storage|Tools|Models|Providers|Signals|SubAgents|Workspaces)"
    r"\.[A-Z][\w.]*)"
)


@pytest.mark.requirement("operator.pages-true")
def test_every_command_that_a_page_names_exists() -> None:
    unknown = set()
    for page in PEOPLE:
        text = (tree.ROOT / page).read_text()
        code = "\n".join(block or inline for block, inline in CODE.findall(text))
        for words in COMMAND.findall(code):
            first, *others = words.split()
            entry = root().get_command(click.Context(root()), first)
            if entry is None:
                unknown.add(f"{page}: netclaw {first}")
            elif isinstance(entry, LazyGroup) and others:
                inner = entry.get_command(click.Context(entry), others[0])
                if inner is None:
                    unknown.add(f"{page}: netclaw {first} {others[0]}")
    assert not unknown


@pytest.mark.requirement("operator.pages-true")
def test_every_setting_that_a_page_names_exists() -> None:
    unknown = []
    for page in PEOPLE:
        for key in KEY.findall((tree.ROOT / page).read_text()):
            try:
                canonical_key(split_dotted(key.rstrip(".")))
            except InvalidArgumentError as error:
                unknown.append(f"{page}: {error.sentence}")
    assert not unknown


SECONDS = {"s": 1, "min": 60, "h": 3600}


@pytest.mark.requirement("operator.pages-true")
def test_the_limits_on_the_page_of_sessions_are_those_in_force() -> None:
    text = (tree.ROOT / "docs/operator/sessions.md").read_text()
    rows = re.findall(r"^\| .* \| `(\w+)` \| (\d+) (s|min|h) \|$", text, re.MULTILINE)
    shown = {name: int(number) * SECONDS[unit] for name, number, unit in rows}
    known = section("Session")
    assert len(shown) == 6
    for name, seconds in shown.items():
        default = known[name][1].strip('`"')
        hours, minutes, rest = default.split(":") if ":" in default else ("0", "0", default)
        assert int(hours) * 3600 + int(minutes) * 60 + int(rest) == seconds, name
