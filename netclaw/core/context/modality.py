"""What an attachment is to a model, and whether a model can take it (decisions 16 and 24).

A kind of content that a model takes or refuses is a modality. An attachment of another kind (an
archive, a text file) is none: the model is told of it by one line, whatever it can take.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from netclaw.core.errors import InputIncompatibleError
from netclaw.core.messages import MediaRef
from netclaw.core.settings import ModelSettings

IMAGE = "image"
PDF = "pdf"

SHOWN_TYPES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
"""Pictures that every service with eyes reads."""

PICTURE_MAX_BYTES = 3_750_000
"""A larger picture is refused: services take at most 5 MB, and base64 adds a third."""

_SIGNATURES = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
)
HEAD_BYTES = 16
"""How much of a file `picture_type` looks at."""

_FAMILIES = frozenset({"image", "audio", "video"})
_PDF_TYPES = frozenset({"application/pdf", "application/x-pdf"})

_NAMES = {IMAGE: "pictures", "audio": "sound", "video": "video", PDF: "PDF files"}


def modality_of(media_type: str) -> str | None:
    """The modality of a media type such as `image/png`; None for a file of no modality.

    A type that is not of the form says nothing about its content and is not let pass as a file:
    it counts as a modality that no model takes.
    """
    kind = _kind(media_type)
    family, slash, name = kind.partition("/")
    if not (family and slash and name):
        return "unknown"
    if kind in _PDF_TYPES:
        return PDF
    return family if family in _FAMILIES else None


def picture_type(head: bytes) -> str | None:
    """The media type of a picture by its first bytes; None for what is no picture.

    What a sender calls a file proves nothing, and a service answers a false picture with an error
    that would end every later turn too.
    """
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        return "image/webp"
    return next((kind for start, kind in _SIGNATURES if head.startswith(start)), None)


def is_picture(media: MediaRef) -> bool:
    """Whether the attachment is a picture that a model with eyes can be shown."""
    return _kind(media.media_type) in SHOWN_TYPES and media.size_bytes <= PICTURE_MAX_BYTES


def refusal(media: Iterable[MediaRef], taken: Sequence[str]) -> str:
    """Why these new attachments cannot go to a model that takes `taken`; empty if they can."""
    for item in media:
        modality = modality_of(item.media_type)
        if modality is None:
            continue
        if modality not in taken:
            what = _NAMES.get(modality, f"files of the type {item.media_type!r}")
            return f"The model takes no {what}, so {item.name!r} was not sent to it."
        if modality != IMAGE:
            return f"{item.name!r} cannot be sent: of all attachments only pictures can, so far."
        if not is_picture(item):
            return (
                f"{item.name!r} cannot be sent: a picture is PNG, JPEG, GIF or WebP and has at most"
                f" {PICTURE_MAX_BYTES:,} bytes."
            )
    return ""


def refused_by(media: Iterable[MediaRef], model: ModelSettings | None) -> str:
    """The same for a model; without one nothing is refused, the missing model is the fault."""
    return refusal(media, model.input_modalities) if model is not None else ""


def check_new(media: Iterable[MediaRef], taken: Sequence[str]) -> None:
    """Refuse new attachments that the main model cannot take, before anything is made durable.

    Raises `InputIncompatibleError`.
    """
    sentence = refusal(media, taken)
    if sentence:
        raise InputIncompatibleError(sentence, fix=FIX)


FIX = (
    "Send the message without the attachment, or choose a main model that takes it and name what it"
    " takes in Models.Definitions.<name>.InputModalities."
)


def line(media: MediaRef, *, is_shown: bool) -> str:
    """How a message names an attachment to the model; it says where content is kept from it."""
    facts = f"{media.name}, {media.media_type}, {media.size_bytes} bytes"
    if is_shown or modality_of(media.media_type) is None:
        return f"[attachment: {facts}]"
    return f"[attachment: {facts}; not shown, because you cannot see it]"


def _kind(media_type: str) -> str:
    return media_type.partition(";")[0].strip().lower()
