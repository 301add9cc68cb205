"""How a text parses is remembered, within bounds; that it does not parse is not."""

from __future__ import annotations

from collections import Counter

import pytest

from netclaw.core.authz.facts import ParsedShell
from netclaw.core.authz.shell_nodes import Node
from netclaw.tools.authorization.parsed_sources import MAX_CHARS, ParsedSources


class Counting:
    """A parser that accepts what begins with a letter, and counts."""

    def __init__(self) -> None:
        self.asked: Counter[str] = Counter()

    async def parse(self, source: str) -> ParsedShell:
        """Counted."""
        self.asked[source] += 1
        tree = Node(kind="File", start=0, end=len(source)) if source[:1].isalpha() else None
        return ParsedShell(tree=tree)


@pytest.mark.requirement("judging.judged-first")
async def test_an_accepted_text_is_parsed_once_while_there_is_room() -> None:
    parser = Counting()
    kept = ParsedSources(parser)
    for _ in range(3):
        await kept.parse("ls")
        await kept.parse("((")
    assert parser.asked == {"ls": 1, "((": 3}
    for letter in "abcd":
        await kept.parse(letter * (MAX_CHARS // 3))
        await kept.parse("d" * (MAX_CHARS // 3))
    await kept.parse("ls")
    assert parser.asked["ls"] == 2
    assert parser.asked["d" * (MAX_CHARS // 3)] == 1


@pytest.mark.requirement("judging.judged-first")
async def test_a_text_that_is_larger_than_all_room_is_not_kept() -> None:
    parser = Counting()
    kept = ParsedSources(parser)
    for _ in range(2):
        await kept.parse("a" * (MAX_CHARS + 1))
    assert parser.asked["a" * (MAX_CHARS + 1)] == 2
