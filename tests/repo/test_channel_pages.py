"""The operator's pages on channels quote what `status` and `doctor` really say."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from tests.repo.tree import ROOT

PAGES = {
    "channels.md": "slack",
    "channels-discord.md": "discord",
    "channels-mattermost.md": "mattermost",
}
_CODE = re.compile(r"\s*\([^)]*\)\.?$")


def quoted(page: Path) -> list[str]:
    """The sentences of the table whose head says that they are shown."""
    _, _, table = page.read_text().partition("| `status` or `doctor` says | do |\n")
    rows = table.partition("\n\n")[0].splitlines()[1:]
    return [row.split("|")[1].strip() for row in rows]


def said(folder: Path) -> str:
    """Every text in the code of a channel, a line each."""
    texts = [
        node.value
        for path in sorted(folder.glob("*.py"))
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    ]
    return "\n".join(texts)


@pytest.mark.requirement("docs.channel-sentences")
@pytest.mark.parametrize(("page", "channel"), PAGES.items())
def test_what_a_page_says_that_is_shown_is_shown(page: str, channel: str) -> None:
    sentences = quoted(ROOT / "docs" / "operator" / page)
    code = said(ROOT / "netclaw" / "adapters" / channel)
    assert len(sentences) >= 4
    for sentence in sentences:
        beginning = _CODE.sub("", sentence).partition(" ...")[0].rstrip(".")
        # What depends on the case, such as which token, comes behind the first words.
        assert beginning in code or beginning.partition(" the ")[0] in code, sentence
