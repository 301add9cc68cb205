"""What an input must be to be admitted."""

from __future__ import annotations

import pytest

from netclaw.core.errors import InvalidArgumentError, NetclawError, QueueFullError, TooLargeError
from netclaw.core.session.admission import (
    check_pending,
    check_text,
    decode_text,
    is_known_source,
    pending,
)
from netclaw.core.settings import DaemonSettings
from netclaw.testing.story import Story

SETTINGS = DaemonSettings()
MIB = 1024 * 1024


@pytest.mark.requirement("core.admission-text")
@pytest.mark.parametrize(
    ("text", "error", "words"),
    [
        ("", InvalidArgumentError, "empty"),
        (" \n\t", InvalidArgumentError, "empty"),
        ("a\0b", InvalidArgumentError, "NUL"),
        ("bad \ud800 half", InvalidArgumentError, "UTF-8"),
        ("x" * (MIB + 1), TooLargeError, "1048576 bytes"),
        ("é" * (MIB // 2 + 1), TooLargeError, "1048576 bytes"),
        ("x" * (10 * MIB), TooLargeError, "1048576 bytes"),
    ],
    ids=["empty", "blank", "nul", "surrogate", "too long", "too many bytes", "10 MiB"],
)
def test_text_that_cannot_be_taken(text: str, error: type[NetclawError], words: str) -> None:
    with pytest.raises(error, match=words):
        check_text(text, SETTINGS)


@pytest.mark.requirement("core.admission-text")
@pytest.mark.parametrize("text", ["hi", "é" * (MIB // 2), "x" * MIB, "tab\tand\nline"])
def test_text_within_the_limits_is_measured_in_bytes(text: str) -> None:
    assert check_text(text, SETTINGS) == len(text.encode())


def test_an_attachment_may_come_without_words() -> None:
    assert check_text("", SETTINGS, has_media=True) == 0


@pytest.mark.requirement("core.admission-text")
@pytest.mark.parametrize(
    ("data", "error"),
    [
        (b"\xff\xfe", InvalidArgumentError),
        (b"\xed\xa0\x80", InvalidArgumentError),
        (b"x" * (MIB + 1), TooLargeError),
        (b"", InvalidArgumentError),
    ],
)
def test_bytes_that_are_no_message(data: bytes, error: type[NetclawError]) -> None:
    with pytest.raises(error):
        decode_text(data, SETTINGS)


def test_bytes_that_are_a_message() -> None:
    assert decode_text("schön".encode(), SETTINGS) == "schön"


@pytest.mark.requirement("core.admission-pending")
def test_a_session_holds_at_most_200_unanswered_inputs() -> None:
    check_pending(199, 0, 1, SETTINGS)
    with pytest.raises(QueueFullError, match="200 messages"):
        check_pending(200, 0, 1, SETTINGS)


@pytest.mark.requirement("core.admission-pending")
def test_a_session_holds_at_most_8_mib_of_unanswered_text() -> None:
    check_pending(8, 7 * MIB, MIB, SETTINGS)
    with pytest.raises(QueueFullError, match="8388608 bytes"):
        check_pending(8, 7 * MIB + 1, MIB, SETTINGS)


def test_pending_counts_waiting_inputs_and_those_of_the_open_turn() -> None:
    story = Story()
    story.start()
    story.admit("é")
    story.admit("ab")
    assert pending(story.state) == (2, 4)
    story.answer()
    story.answer()
    assert pending(story.state) == (0, 0)


@pytest.mark.requirement("core.admission-dedupe")
def test_a_message_is_known_by_its_source_id_and_without_one_never() -> None:
    story = Story()
    story.given(story.input(source_id="m1"), story.input())
    assert is_known_source(story.state, "m1")
    assert not is_known_source(story.state, "m2")
    assert not is_known_source(story.state, None)
