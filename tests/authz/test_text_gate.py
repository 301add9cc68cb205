"""Texts that nobody parses: control characters, broken Unicode, too long, empty."""

from __future__ import annotations

import pytest

from netclaw.core.authz.text_gate import MAX_COMMAND_BYTES, TextFault, is_printable_word, refusal_of
from tests.authz.table import described
from tests.authz.world import Shell


@pytest.mark.requirement("authz.text-first")
@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", TextFault.EMPTY),
        (" \n\t", TextFault.EMPTY),
        ("ls\0", TextFault.CONTROL_CHARACTER),
        ("ls\r\nrm x\r", TextFault.CONTROL_CHARACTER),
        ("ls \x1b[2K", TextFault.CONTROL_CHARACTER),
        ("ls \x7f", TextFault.CONTROL_CHARACTER),
        ("ls \x85", TextFault.CONTROL_CHARACTER),
        ("ls \u202e", TextFault.CONTROL_CHARACTER),
        ("ls \ud800", TextFault.NOT_UNICODE),
        ("x" * (MAX_COMMAND_BYTES + 1), TextFault.TOO_LONG),
        ("\u00e4" * (MAX_COMMAND_BYTES // 2 + 1), TextFault.TOO_LONG),
        ("x" * 1_048_576, TextFault.TOO_LONG),
    ],
)
def test_a_text_is_refused_before_it_is_parsed(text: str, fault: TextFault) -> None:
    refusal = refusal_of(text)
    assert refusal is not None
    assert refusal.fault is fault
    assert len(refusal.sentence) < 200


@pytest.mark.parametrize("text", ["ls", "echo \u00e4\n\tls", "x" * MAX_COMMAND_BYTES])
def test_an_ordinary_text_passes(text: str) -> None:
    assert refusal_of(text) is None


@pytest.mark.requirement("authz.text-first")
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ls\0x", "deny shell_text_refused"),
        ("ls \ud800", "deny shell_text_refused"),
        ("ls " + "x" * 1_048_576, "correct ShortenShellCommand"),
    ],
)
def test_a_refused_text_has_one_clear_outcome(text: str, expected: str) -> None:
    assert described(Shell(text).decide()) == expected


@pytest.mark.parametrize(
    ("word", "is_clean"), [("push", True), ("a\tb", False), ("\u200b", False), ("\u00e4", True)]
)
def test_words_for_people_hold_nothing_invisible(word: str, is_clean: bool) -> None:
    assert is_printable_word(word) is is_clean
