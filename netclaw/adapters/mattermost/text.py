"""Mentions in Mattermost's text, which is markdown as it is."""

from __future__ import annotations

import re
from collections.abc import Iterator

_TICKS = re.compile(r"`+")
_TILDES = re.compile(r"^ {0,3}~{3,}[^\n]*$", re.MULTILINE)
_BROADCAST = re.compile(r"@(?=(?:all|channel|here)\b)", re.IGNORECASE)
WIDE_AT = "\uff20"
"""Looks like the sign it replaces and calls nobody; one character for one, so that no post that
fits becomes one that does not."""


def mention_in(text: str, username: str) -> str:
    """The mark that addresses an account, as it stands in the text; empty if nothing does.

    What stands in code addresses nobody, and a name goes on behind dots and dashes that letters
    follow.
    """
    if not username:
        return ""
    shape = rf"(?<![\w@.\-])@{re.escape(username)}(?![\w])(?![.\-]+\w)"
    found = re.search(shape, _without_code(text), re.IGNORECASE)
    return found[0] if found else ""


def to_mattermost(text: str) -> str:
    """Our text for a post; nobody can make us notify a whole channel."""
    return _BROADCAST.sub(WIDE_AT, text)


def _without_code(text: str) -> str:
    """The text with blanks for its code.

    In time that grows with the length and no faster: anybody may write anything to us.
    """
    for spans in (_between_tildes, _between_ticks):
        pieces: list[str] = []
        end = 0
        for start, stop in spans(text):
            pieces += (text[end:start], " " * (stop - start))
            end = stop
        text = "".join((*pieces, text[end:]))
    return text


def _between_tildes(text: str) -> Iterator[tuple[int, int]]:
    """Blocks from a line of tildes to the next one, or to the end."""
    lines = _TILDES.finditer(text)
    for opening in lines:
        closing = next(lines, None)
        yield opening.start(), closing.end() if closing is not None else len(text)


def _between_ticks(text: str) -> Iterator[tuple[int, int]]:
    """Code from some backticks to the next ones of the same number."""
    runs = list(_TICKS.finditer(text))
    partners: list[int | None] = [None] * len(runs)
    next_of: dict[int, int] = {}
    for index in range(len(runs) - 1, -1, -1):
        length = len(runs[index][0])
        partners[index] = next_of.get(length)
        next_of[length] = index
    index = 0
    while index < len(runs):
        partner = partners[index]
        if partner is None:
            index += 1
            continue
        yield runs[index].start(), runs[partner].end()
        index = partner + 1
