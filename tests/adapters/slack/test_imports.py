"""Slack's libraries are loaded where this channel is, and nowhere else."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import netclaw

ROOT = Path(netclaw.__file__).parent
OURS = ROOT / "adapters" / "slack"
SLACK = re.compile(r"^\s*(?:from|import) slack_(?:bolt|sdk)\b", re.MULTILINE)
OTHERS = re.compile(r"^\s*(?:from|import) (?:discord|requests|httpx2?|websockets)\b", re.MULTILINE)


@pytest.mark.requirement("channels_slack.apart")
def test_nothing_else_imports_slacks_libraries() -> None:
    found = {path.parent for path in ROOT.rglob("*.py") if SLACK.search(path.read_text())}
    assert found == {OURS}
    assert not [path for path in OURS.glob("*.py") if OTHERS.search(path.read_text())]
