"""Mentions in Mattermost's text, which is markdown as it is."""

from __future__ import annotations

import re

_CODE = re.compile(
    r"(?P<mark>`+)(?:.(?!(?P=mark)))*?.?(?P=mark)|^(?P<tilde>~{3,}).*?(?:^(?P=tilde)|\Z)",
    re.DOTALL | re.MULTILINE,
)
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
    found = re.search(shape, _CODE.sub(_blank, text), re.IGNORECASE)
    return found[0] if found else ""


def to_mattermost(text: str) -> str:
    """Our text for a post; nobody can make us notify a whole channel."""
    return _BROADCAST.sub(WIDE_AT, text)


def _blank(code: re.Match[str]) -> str:
    return " " * len(code[0])
