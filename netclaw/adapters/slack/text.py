"""Converts text between Slack's form and ours, which is markdown with Slack's mentions in it.

Slack escapes `&`, `<` and `>` and puts links, people, channels and groups between angle brackets.
People and channels keep Slack's form (`<@U1>`, `<#C1>`) on both sides: a name would have to be
looked up and could not be turned back.
"""

from __future__ import annotations

import re

TEXT_LIMIT = 12_000
"""Characters of a markdown block, which is how a post is shown."""
FALLBACK_LIMIT = 40_000
"""Characters of a post's plain text; Slack cuts what is longer."""

_TOKEN = re.compile(r"<([^<>\n]+)>")
_MENTION = re.compile(r"<([@#][A-Z0-9]{2,32})>")
_BROADCAST = re.compile(r"<(?=!(?:(?:here|channel|everyone|group)\b|subteam\^))", re.IGNORECASE)
_HALF_ENTITY = re.compile(r"&[a-z]{0,4}\Z")
ANGLE = "\u2039"
"""Looks like a bracket and is none: takes a notification of everybody its force. As long as what it
stands for, so that a full post stays one that Slack takes.
"""


def from_slack(text: str) -> str:
    """A message's text for the model."""
    return _unescape(_TOKEN.sub(_plain, text))


def mentions(text: str, user_id: str) -> bool:
    """Whether a message in Slack's form addresses somebody.

    What merely looks like a mention was escaped by Slack and is none.
    """
    return re.search(rf"<@{re.escape(user_id)}(?:\|[^<>\n]*)?>", text) is not None


def to_markdown(text: str) -> str:
    """Our text for a markdown block; nobody can make us notify a whole channel."""
    return _BROADCAST.sub(ANGLE, text)


def to_fallback(text: str) -> str:
    """Our text as Slack's plain text: notifications, and clients that show no blocks."""
    pieces = _MENTION.split(text)
    # Odd pieces are what stood between the brackets of mentions.
    escaped = "".join(
        f"<{piece}>" if index % 2 else _escape(piece) for index, piece in enumerate(pieces)
    )
    if len(escaped) <= FALLBACK_LIMIT:
        return escaped
    return _HALF_ENTITY.sub("", escaped[:FALLBACK_LIMIT])


def _plain(token: re.Match[str]) -> str:
    """What stands for a token between angle brackets."""
    target, _, label = token[1].partition("|")
    if target.startswith("@") or (target.startswith("#") and not label):
        return f"<{target}>"
    if target.startswith("#"):
        return f"#{label}"
    if target.startswith("!"):
        return _special(target, label)
    return _link(target, label)


def _special(target: str, label: str) -> str:
    if target in ("!here", "!channel", "!everyone"):
        return f"@{target[1:]}"
    return label or target[1:]


def _link(target: str, label: str) -> str:
    bare = target.removeprefix("mailto:").removeprefix("tel:")
    shown = (target, bare, target.removeprefix("https://"), target.removeprefix("http://"))
    return f"[{label}]({target})" if label and label not in shown else bare


def _escape(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _unescape(text: str) -> str:
    return text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
