"""A redacted stream that pauses: whole lines are let go, a secret that still arrives is not."""

from __future__ import annotations

import pytest

from netclaw.core.redaction import Redactor, StreamRedactor
from netclaw.core.redaction_shapes import REDACTED

pytestmark = pytest.mark.requirement("core.redact-chunks")

KEY = f"-----BEGIN PRIVATE KEY-----\n{'A1b2' * 12}\n{'C3d4' * 12}\n-----END PRIVATE KEY-----\n"


def paused(redactor: Redactor, text: str, size: int) -> str:
    """The stream in pieces with a pause after each."""
    stream = StreamRedactor(redactor)
    parts = []
    for at in range(0, len(text), size):
        parts += [stream.feed(text[at : at + size]), stream.settle()]
    return "".join(parts) + stream.finish()


def test_a_pause_lets_whole_lines_go_and_keeps_the_last_one() -> None:
    stream = StreamRedactor(Redactor())
    assert stream.feed("one\ntwo\nthr") == ""
    assert stream.settle() == "one\ntwo\n"
    assert stream.held == 3
    assert stream.settle() == ""
    assert stream.feed("ee\n") == ""
    assert stream.settle() == "three\n"
    assert stream.held == 0
    assert stream.settle() == ""
    assert stream.finish() == ""


@pytest.mark.parametrize("size", [1, 5, 17, 64, 1000])
def test_a_key_of_several_lines_is_redacted_however_it_pauses(size: int) -> None:
    text = f"before\n{KEY}after\n"
    assert paused(Redactor(), text, size) == Redactor().redact(text)


@pytest.mark.parametrize("size", [1, 3, 8, 100])
@pytest.mark.parametrize("value", ["hush hush\nmore of it\nend", "one\n\none\nline", "\nodd one"])
def test_a_known_value_of_several_lines_is_redacted_however_it_pauses(
    size: int, value: str
) -> None:
    redactor = Redactor([value, "short1"])
    text = f"x one\nhush hush\nno secret: short1\n{value}\n{value} tail\n"
    assert paused(redactor, text, size) == redactor.redact(text)


def test_a_token_that_is_cut_by_a_pause_waits_for_its_line() -> None:
    stream = StreamRedactor(Redactor())
    assert stream.feed("a line\nkey sk-abcdefgh") + stream.settle() == "a line\n"
    out = stream.feed("ijklmnopqrst done\n") + stream.settle()
    assert out == f"key {REDACTED} done\n"


def test_secrets_that_become_known_are_looked_for_in_what_is_kept_back() -> None:
    stream = StreamRedactor(Redactor())
    assert stream.feed("the word is xyz") == ""
    stream.renew(Redactor(["xyzzy plugh"]))
    assert stream.feed("zy plugh\n") + stream.settle() == f"the word is {REDACTED}\n"
