"""What an input must be to be admitted."""

from __future__ import annotations

from dataclasses import replace

import pytest

from netclaw.core.errors import InvalidArgumentError, NetclawError, QueueFullError, TooLargeError
from netclaw.core.messages import MediaRef
from netclaw.core.session.admission import check_pending, check_resend, check_run, check_text
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


def uploaded(upload_id: str, *, name: str = "a.txt") -> MediaRef:
    """An attachment; an upload sent again has another id."""
    return MediaRef(upload_id=upload_id, media_type="text/plain", size_bytes=3, name=name)


@pytest.mark.requirement("core.admission-resend")
def test_a_message_id_belongs_to_one_message() -> None:
    first = replace(Story().input("hello", source_id="m1"), media=(uploaded("u1"),))
    check_resend(first, "hello", (uploaded("u2"),))
    for text, media in (
        ("other", first.media),
        ("hello", ()),
        ("hello", (uploaded("u1", name="b"),)),
    ):
        with pytest.raises(InvalidArgumentError, match="another message"):
            check_resend(first, text, media)


@pytest.mark.requirement("run.late-words")
def test_a_run_that_is_over_takes_no_message() -> None:
    check_run(is_over=False)
    with pytest.raises(InvalidArgumentError, match="is over") as refused:
        check_run(is_over=True)
    assert "session that asked for it" in refused.value.fix
