"""Reads answers to consent prompts that come as text: a letter, or an option's own words.

Pure. A message that may be meant as an answer and is none is `UNCLEAR`, and the person is asked
again; everything else is an ordinary message.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

LETTERS = "ABCDEFGH"
_TALK = frozenset(
    (
        *("accept", "agree", "agreed", "allow", "always", "approve", "approved", "cancel"),
        *("confirm", "deny", "denied", "go", "no", "nope", "nah", "ok", "okay", "once", "refuse"),
        *("reject", "run", "sure", "y", "yep", "yes", "n"),
    )
)
"""What people say to a question of yes or no; none of it names an option."""
_ORNAMENT = " \t\r\n.,!:;*_`'\"()[]"


class Unclear(Enum):
    """The kind of `UNCLEAR`."""

    UNCLEAR = "unclear"


UNCLEAR = Unclear.UNCLEAR


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """One option of a prompt."""

    key: str
    label: str


def lettered(choices: Sequence[Choice]) -> tuple[str, ...]:
    """The options as lines, each with its letter."""
    return tuple(
        f"{letter}: {choice.label}" for letter, choice in zip(LETTERS, choices, strict=False)
    )


def read_reply(text: str, choices: Sequence[Choice]) -> Choice | Unclear | None:
    """The option that a message names; None if the message is no answer at all."""
    word = " ".join(text.strip(_ORNAMENT).casefold().split())
    named = {letter.casefold(): choice for letter, choice in zip(LETTERS, choices, strict=False)}
    named |= {f"option {letter}": choice for letter, choice in named.items()}
    named |= {choice.label.casefold(): choice for choice in choices}
    found = named.get(word)
    if found is not None:
        return found
    return UNCLEAR if _is_attempt(word) else None


def _is_attempt(word: str) -> bool:
    """Whether somebody who wrote this was answering: a letter, several, a number, a yes or no."""
    if re.fullmatch(r"(option )?(\w|\d+)", word):
        return True
    parts = re.split(r"[\s,/+&|-]+|\bor\b|\band\b", word)
    said = [part for part in parts if part]
    return bool(said) and all(part in _TALK or len(part) == 1 for part in said)
