"""What an input must be to be admitted, judged by the supervisor before it is made durable."""

from __future__ import annotations

from netclaw.core.errors import InvalidArgumentError, QueueFullError, TooLargeError
from netclaw.core.messages import MediaRef
from netclaw.core.session.events import InputAdmitted
from netclaw.core.settings import DaemonSettings


def check_text(text: str, settings: DaemonSettings, *, has_media: bool = False) -> int:
    """The size of an input's text in bytes.

    Raises `InvalidArgumentError` for nothing but blanks without an attachment, for NUL and for
    what UTF-8 cannot carry, `TooLargeError` above `text_max_bytes`.
    """
    limit = settings.text_max_bytes
    if len(text) > limit:
        raise TooLargeError(_too_large(limit))
    try:
        size = len(text.encode("utf-8"))
    except UnicodeEncodeError:
        raise InvalidArgumentError("The message is not valid UTF-8.") from None
    if size > limit:
        raise TooLargeError(_too_large(limit))
    if "\0" in text:
        raise InvalidArgumentError("The message holds a NUL character.")
    if not has_media and not text.strip():
        raise InvalidArgumentError("The message is empty.")
    return size


def check_pending(
    pending_inputs: int, pending_bytes: int, new_bytes: int, settings: DaemonSettings
) -> None:
    """Keep a session's unanswered inputs within 200 and 8 MiB; raises `QueueFullError`.

    `pending_*` count what is admitted and not consumed, without the new input.
    """
    if pending_inputs + 1 > settings.pending_inputs_max:
        raise QueueFullError(
            f"This session already has {pending_inputs} messages waiting for an answer."
        )
    if pending_bytes + new_bytes > settings.pending_bytes_max:
        raise QueueFullError(
            f"The messages waiting in this session would exceed {settings.pending_bytes_max} bytes."
        )


def check_run(*, is_over: bool) -> None:
    """Refuse a message to a child run that will read none; raises `InvalidArgumentError`."""
    if is_over:
        raise InvalidArgumentError(
            "This child run is over; it reads no more messages.",
            fix="Write to the session that asked for it.",
        )


def check_resend(first: InputAdmitted, text: str, media: tuple[MediaRef, ...]) -> None:
    """Refuse another message under the source message id of `first` (decision 33).

    Taken for a resend, its text would be lost without a word. A file that was uploaded again has
    a new id, so attachments are told apart by name, type and size. Raises `InvalidArgumentError`.
    """
    if first.text == text and _faces(first.media) == _faces(media):
        return
    raise InvalidArgumentError(
        "This message id was used for another message.",
        fix="Send every new message with an id of its own, or without one.",
    )


def _faces(media: tuple[MediaRef, ...]) -> list[tuple[str, str, int]]:
    return [(item.name, item.media_type, item.size_bytes) for item in media]


def _too_large(limit: int) -> str:
    return f"A message has at most {limit} bytes of text."
