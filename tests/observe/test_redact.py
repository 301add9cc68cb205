"""The redactor of logs and session processes: long texts in pieces, values that change."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netclaw.core.redaction import Redactor as CoreRedactor
from netclaw.observe.redact import MARK, PIECE_CHARS, Redactor

SECRET = "correct-horse-battery"


@pytest.mark.requirement("tools.redact-then-bound")
@settings(max_examples=25)
@given(seed=st.integers(0, 10_000), secret=st.sampled_from([SECRET, "line one\nline two of it"]))
def test_redacting_in_pieces_is_redacting_whole(seed: int, secret: str) -> None:
    dice = random.Random(seed)
    words = [
        secret,
        "password=abc123xyz",
        "plain",
        "-----BEGIN",
        "sk-" + "a1B2" * 8,
        "\n",
        "\u00e9",
    ]
    text = " ".join(dice.choices(words, k=9000))
    assert len(text) > PIECE_CHARS
    redacted = Redactor([secret])(text)
    assert redacted == CoreRedactor([secret]).redact(text)
    assert secret not in redacted


def test_values_are_redacted_until_those_that_replaced_them_are_replaced() -> None:
    redact = Redactor(["the-first"])
    redact.replace_secrets(["the-second"])
    redact.replace_secrets(["the-second"])
    assert redact("the-first, the-second") == f"{MARK}, {MARK}"
    redact.replace_secrets(["the-third"])
    assert redact("the-first, the-second, the-third") == f"the-first, {MARK}, {MARK}"
