"""Discord's library is loaded where this channel is, and nowhere else."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import netclaw

ROOT = Path(netclaw.__file__).parent
OURS = ROOT / "adapters" / "discord"
DISCORD = re.compile(r"^\s*(?:from|import) discord\b", re.MULTILINE)
OTHERS = re.compile(
    r"^\s*(?:from|import) (?:slack_\w+|requests|httpx2?|websockets)\b", re.MULTILINE
)


@pytest.mark.requirement("channels_discord.apart")
def test_nothing_else_imports_discords_library() -> None:
    found = {path.parent for path in ROOT.rglob("*.py") if DISCORD.search(path.read_text())}
    assert found == {OURS}
    assert not [path for path in OURS.glob("*.py") if OTHERS.search(path.read_text())]
