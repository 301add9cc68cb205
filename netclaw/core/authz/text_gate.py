"""Refuses command text that a parser and bash could read differently, before either sees it.

Decision 38: NUL, CR and the other control characters first, then over-long text. A text that
passes is run byte for byte as it was judged.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from enum import StrEnum

MAX_COMMAND_BYTES = 100_000
"""The kernel takes at most 128 KiB in one argument of a program."""

MAX_UNPROVED_CHARS = 8000
"""A longer text that no parser proves is not searched for denials, and so never run."""

_BIDI = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
"""Marks that make a person read another command than the one that runs."""


class TextFault(StrEnum):
    """Why a command text is not looked at any further."""

    EMPTY = "empty"
    CONTROL_CHARACTER = "control-character"
    NOT_UNICODE = "not-unicode"
    TOO_LONG = "too-long"


@dataclass(frozen=True, slots=True, kw_only=True)
class TextRefusal:
    """One refused text: `sentence` is what the model reads."""

    fault: TextFault
    sentence: str


def is_control(char: str) -> bool:
    """Whether a character is one that terminals, parsers or people misread."""
    if char in "\n\t":
        return False
    return ord(char) < 0x20 or 0x7F <= ord(char) < 0xA0 or char in _BIDI


def is_printable_word(text: str) -> bool:
    """Whether a word may be shown in a prompt and stored in a grant as it is."""
    return not any(is_control(char) or unicodedata.category(char)[0] == "C" for char in text)


def refusal_of(command: str) -> TextRefusal | None:
    """Why the text is refused, or None for one that may be parsed."""
    if not command.strip():
        return TextRefusal(fault=TextFault.EMPTY, sentence="The command is empty.")
    if len(command) > MAX_COMMAND_BYTES:
        return _too_long()
    try:
        size = len(command.encode("utf-8"))
    except UnicodeEncodeError:
        return TextRefusal(
            fault=TextFault.NOT_UNICODE, sentence="The command is not valid Unicode text."
        )
    if size > MAX_COMMAND_BYTES:
        return _too_long()
    for at, char in enumerate(command):
        if is_control(char):
            return TextRefusal(
                fault=TextFault.CONTROL_CHARACTER,
                sentence=(
                    f"The command holds the control character U+{ord(char):04X} at position {at};"
                    " only newline and tab are allowed."
                ),
            )
    return None


def _too_long() -> TextRefusal:
    return TextRefusal(
        fault=TextFault.TOO_LONG,
        sentence=f"The command is longer than {MAX_COMMAND_BYTES} bytes.",
    )
