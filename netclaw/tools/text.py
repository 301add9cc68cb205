"""Tells text from binary and decodes it, the same way for every file tool."""

from __future__ import annotations

_SNIFF_BYTES = 8192
_MARKS = ((b"\xef\xbb\xbf", "utf-8-sig"), (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"))
_KINDS = (
    (b"\x7fELF", "a program"),
    (b"\x89PNG", "a PNG image"),
    (b"\xff\xd8\xff", "a JPEG image"),
    (b"GIF8", "a GIF image"),
    (b"%PDF", "a PDF document"),
    (b"PK\x03\x04", "a ZIP archive or office document"),
    (b"\x1f\x8b", "a gzip archive"),
    (b"SQLite format 3", "an SQLite database"),
)


def encoding_of(start: bytes) -> str | None:
    """The encoding of a file by its first bytes, None if it is binary."""
    for mark, name in _MARKS:
        if start.startswith(mark):
            return name
    return None if b"\0" in start[:_SNIFF_BYTES] or start.startswith(b"%PDF") else "utf-8"


def kind_of(start: bytes) -> str:
    """What a binary file seems to be."""
    return next((name for mark, name in _KINDS if start.startswith(mark)), "binary data")
