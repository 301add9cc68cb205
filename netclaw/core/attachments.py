"""Tells what kind of file an attachment is, from its first bytes and its name together.

A name is a claim of whoever made the file, and content can be anything: where the two do not
agree, or where a viewer would run what is in the file, the kind is `Other`, which only Personal
may attach.
"""

from __future__ import annotations

from dataclasses import dataclass

from netclaw.core.authz.profiles import AttachmentCategory

SNIFF_BYTES = 8192
UNKNOWN_TYPE = "application/octet-stream"


@dataclass(frozen=True, slots=True, kw_only=True)
class AttachmentKind:
    """The category that a profile allows or not, and the media type that channels are told."""

    category: AttachmentCategory
    media_type: str


def _kinds(category: AttachmentCategory, **types: str) -> dict[str, AttachmentKind]:
    return {
        extension: AttachmentKind(category=category, media_type=media_type)
        for extension, media_type in types.items()
    }


_OFFICE = "application/vnd.openxmlformats-officedocument"
_OPEN = "application/vnd.oasis.opendocument"
_BY_EXTENSION = {
    **_kinds(
        AttachmentCategory.IMAGE,
        png="image/png",
        jpg="image/jpeg",
        jpeg="image/jpeg",
        gif="image/gif",
        webp="image/webp",
        bmp="image/bmp",
        tif="image/tiff",
        tiff="image/tiff",
    ),
    **_kinds(AttachmentCategory.PDF, pdf="application/pdf"),
    **_kinds(
        AttachmentCategory.DOCUMENT,
        txt="text/plain",
        md="text/markdown",
        csv="text/csv",
        log="text/plain",
        json="application/json",
        yaml="application/yaml",
        yml="application/yaml",
        xml="application/xml",
        toml="application/toml",
        rtf="application/rtf",
        diff="text/x-diff",
        patch="text/x-diff",
        tsv="text/tab-separated-values",
        docx=f"{_OFFICE}.wordprocessingml.document",
        xlsx=f"{_OFFICE}.spreadsheetml.sheet",
        pptx=f"{_OFFICE}.presentationml.presentation",
        odt=f"{_OPEN}.text",
        ods=f"{_OPEN}.spreadsheet",
        odp=f"{_OPEN}.presentation",
        epub="application/epub+zip",
        doc="application/msword",
        xls="application/vnd.ms-excel",
        ppt="application/vnd.ms-powerpoint",
    ),
    **_kinds(
        AttachmentCategory.ARCHIVE,
        zip="application/zip",
        gz="application/gzip",
        tgz="application/gzip",
        bz2="application/x-bzip2",
        xz="application/x-xz",
        tar="application/x-tar",
        **{"zst": "application/zstd", "7z": "application/x-7z-compressed"},
        rar="application/vnd.rar",
    ),
    **_kinds(
        AttachmentCategory.MEDIA,
        mp3="audio/mpeg",
        wav="audio/wav",
        ogg="audio/ogg",
        flac="audio/flac",
        oga="audio/ogg",
        opus="audio/ogg",
        m4a="audio/mp4",
        mp4="video/mp4",
        webm="video/webm",
        mkv="video/x-matroska",
        mov="video/quicktime",
        ogv="video/ogg",
    ),
}

_ZIPPED = frozenset({"zip", "docx", "xlsx", "pptx", "odt", "ods", "odp", "epub"})
_OLE = frozenset({"doc", "xls", "ppt"})
_OGG = frozenset({"ogg", "oga", "opus", "ogv"})
_TEXT = frozenset(
    ("txt", "md", "csv", "log", "json", "yaml", "yml", "xml", "toml", "diff", "patch", "tsv")
)
_SIGNATURES: tuple[tuple[int, bytes, frozenset[str]], ...] = (
    (0, b"\x89PNG\r\n\x1a\n", frozenset({"png"})),
    (0, b"\xff\xd8\xff", frozenset({"jpg", "jpeg"})),
    (0, b"GIF87a", frozenset({"gif"})),
    (0, b"GIF89a", frozenset({"gif"})),
    (8, b"WEBP", frozenset({"webp"})),
    (0, b"BM", frozenset({"bmp"})),
    (0, b"II*\0", frozenset({"tif", "tiff"})),
    (0, b"MM\0*", frozenset({"tif", "tiff"})),
    (0, b"%PDF-", frozenset({"pdf"})),
    (0, b"{\\rtf", frozenset({"rtf"})),
    (0, b"PK\x03\x04", _ZIPPED),
    (0, b"PK\x05\x06", _ZIPPED),
    (0, b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", _OLE),
    (0, b"\x1f\x8b", frozenset({"gz", "tgz"})),
    (0, b"BZh", frozenset({"bz2"})),
    (0, b"\xfd7zXZ\0", frozenset({"xz"})),
    (0, b"\x28\xb5\x2f\xfd", frozenset({"zst"})),
    (0, b"7z\xbc\xaf\x27\x1c", frozenset({"7z"})),
    (0, b"Rar!\x1a\x07", frozenset({"rar"})),
    (257, b"ustar", frozenset({"tar"})),
    (0, b"ID3", frozenset({"mp3"})),
    (0, b"\xff\xfb", frozenset({"mp3"})),
    (0, b"\xff\xf3", frozenset({"mp3"})),
    (8, b"WAVE", frozenset({"wav"})),
    (0, b"OggS", _OGG),
    (0, b"fLaC", frozenset({"flac"})),
    (4, b"ftyp", frozenset({"m4a", "mp4", "mov"})),
    (0, b"\x1a\x45\xdf\xa3", frozenset({"webm", "mkv"})),
)
"""Offset and bytes of known contents, and the extensions that go with them."""

_OTHER = AttachmentKind(category=AttachmentCategory.OTHER, media_type=UNKNOWN_TYPE)
_OTHER_TEXT = AttachmentKind(category=AttachmentCategory.OTHER, media_type="text/plain")


def claimed_kind(name: str) -> AttachmentKind:
    """The kind that a file's name claims, to be held against its content once that is there."""
    extension = name.rpartition(".")[2].casefold() if "." in name else ""
    return _BY_EXTENSION.get(extension, _OTHER)


def kind_of(name: str, start: bytes) -> AttachmentKind:
    """The kind of a file by its name and its first `SNIFF_BYTES`."""
    extension = name.rpartition(".")[2].casefold() if "." in name else ""
    claimed = _BY_EXTENSION.get(extension)
    contents = [
        extensions
        for offset, mark, extensions in _SIGNATURES
        if start[offset : offset + len(mark)] == mark
    ]
    if any(extension in extensions for extensions in contents):
        return claimed or _OTHER
    if not _is_text(start):
        return _OTHER
    # What looks like text may begin like something else; only the listed names are harmless text.
    return claimed if claimed is not None and extension in _TEXT else _OTHER_TEXT


def _is_text(start: bytes) -> bool:
    if b"\0" in start:
        return False
    try:
        start.decode("utf-8")
    except UnicodeDecodeError as fault:
        return fault.start >= len(start) - 3 and len(start) >= SNIFF_BYTES
    return True
