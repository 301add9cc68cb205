"""What an attachment is to a model, and which models can take it."""

from __future__ import annotations

import pytest

from netclaw.core.context import modality
from netclaw.core.errors import InputIncompatibleError
from netclaw.core.messages import MediaRef
from netclaw.core.settings import ModelSettings, ProviderType

TEXT, SEEING = ("text",), ("text", "image")
EVERYTHING = ("text", "image", "audio", "video", "pdf")


def media(media_type: str, size: int = 10, name: str = "a.bin") -> MediaRef:
    return MediaRef(upload_id="u", media_type=media_type, size_bytes=size, name=name)


@pytest.mark.requirement("context.modality-ingress")
@pytest.mark.parametrize(
    ("media_type", "expected"),
    [
        ("image/png", "image"),
        ("IMAGE/PNG; charset=x", "image"),
        ("audio/ogg", "audio"),
        ("video/mp4", "video"),
        ("application/pdf", "pdf"),
        ("application/x-pdf", "pdf"),
        ("text/plain", None),
        ("application/zip", None),
        ("application/octet-stream", None),
        ("", "unknown"),
        ("image", "unknown"),
        ("/png", "unknown"),
        ("image/", "unknown"),
    ],
)
def test_modalities(media_type: str, expected: str | None) -> None:
    assert modality.modality_of(media_type) == expected


@pytest.mark.requirement("context.modality-ingress")
@pytest.mark.parametrize(
    ("item", "taken", "word"),
    [
        (media("image/png"), TEXT, "no pictures"),
        (media("audio/ogg"), SEEING, "no sound"),
        (media("nonsense"), EVERYTHING, "'nonsense'"),
        (media("application/pdf"), EVERYTHING, "only pictures"),
        (media("image/tiff"), SEEING, "PNG, JPEG"),
        (media("image/png", modality.PICTURE_MAX_BYTES + 1), SEEING, "at most"),
    ],
)
def test_what_cannot_be_taken_is_refused_with_a_way_out(
    item: MediaRef, taken: tuple[str, ...], word: str
) -> None:
    with pytest.raises(InputIncompatibleError) as caught:
        modality.check_new((media("text/plain"), item), taken)
    assert word in caught.value.sentence
    assert "InputModalities" in (caught.value.fix or "")


@pytest.mark.requirement("context.modality-ingress")
def test_pictures_go_to_models_that_see_and_files_to_all() -> None:
    modality.check_new((media("image/webp"), media("text/csv")), SEEING)
    modality.check_new((media("text/csv"),), TEXT)
    modality.check_new((), TEXT)


@pytest.mark.requirement("context.modality-call")
def test_without_a_model_nothing_is_refused() -> None:
    model = ModelSettings(
        provider="p", provider_type=ProviderType.OPENAI, endpoint="", model_id="m"
    )
    assert modality.refused_by((media("image/png"),), None) == ""
    assert modality.refused_by((media("image/png"),), model) != ""


@pytest.mark.requirement("context.pictures")
@pytest.mark.parametrize(
    ("head", "expected"),
    [
        (b"\x89PNG\r\n\x1a\n....", "image/png"),
        (b"\xff\xd8\xff\xe0", "image/jpeg"),
        (b"GIF87a", "image/gif"),
        (b"GIF89a", "image/gif"),
        (b"RIFF\0\0\0\0WEBPVP8 ", "image/webp"),
        (b"RIFF\0\0\0\0WAVEfmt ", None),
        (b"<svg>", None),
        (b"", None),
    ],
)
def test_a_picture_is_known_by_its_content(head: bytes, expected: str | None) -> None:
    assert modality.picture_type(head) == expected


@pytest.mark.requirement("context.modality-restored")
def test_the_line_says_what_is_kept_from_the_model() -> None:
    assert modality.line(media("text/csv"), is_shown=False) == (
        "[attachment: a.bin, text/csv, 10 bytes]"
    )
    picture = media("image/png")
    assert modality.line(picture, is_shown=True) == "[attachment: a.bin, image/png, 10 bytes]"
    assert "not shown" in modality.line(picture, is_shown=False)
    assert "not shown" in modality.line(media("?"), is_shown=False)
