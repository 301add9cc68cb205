"""What kind of file an attachment is: its content and its name have to agree."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netclaw.core.attachments import SNIFF_BYTES, UNKNOWN_TYPE, claimed_kind, kind_of
from netclaw.core.authz.profiles import AttachmentCategory

PNG = b"\x89PNG\r\n\x1a\n" + bytes(20)
ZIP = b"PK\x03\x04" + bytes(20)


@pytest.mark.requirement("attach.kinds")
@pytest.mark.parametrize(
    ("name", "start", "category", "media_type"),
    [
        ("a.png", PNG, "Image", "image/png"),
        ("A.PNG", PNG, "Image", "image/png"),
        ("a.jpeg", b"\xff\xd8\xff\xe0", "Image", "image/jpeg"),
        ("a.webp", b"RIFF....WEBPVP8 ", "Image", "image/webp"),
        ("a.pdf", b"%PDF-1.7\n", "Pdf", "application/pdf"),
        ("a.txt", b"hello", "Document", "text/plain"),
        ("a.md", b"", "Document", "text/markdown"),
        ("a.json", '{"ä": 1}'.encode(), "Document", "application/json"),
        ("a.rtf", b"{\\rtf1", "Document", "application/rtf"),
        ("a.zip", ZIP, "Archive", "application/zip"),
        ("a.tar", bytes(257) + b"ustar\x00", "Archive", "application/x-tar"),
        ("a.tar.gz", b"\x1f\x8b\x08", "Archive", "application/gzip"),
        ("a.doc", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "Document", "application/msword"),
        ("a.mp3", b"ID3\x04", "Media", "audio/mpeg"),
        ("a.mp4", b"\x00\x00\x00\x18ftypmp42", "Media", "video/mp4"),
        # what the name claims and the content is not
        ("a.png", b"<html>", "Other", "text/plain"),
        ("a.png", ZIP, "Other", UNKNOWN_TYPE),
        ("a.pdf", PNG, "Other", UNKNOWN_TYPE),
        ("a.txt", PNG, "Other", UNKNOWN_TYPE),
        ("a.txt", b"\x7fELF\x02\x01\x01\x00", "Other", UNKNOWN_TYPE),
        ("a.txt", b"\xff\xfeh\x00", "Other", UNKNOWN_TYPE),
        ("a.docx", b"text", "Other", "text/plain"),
        # what a viewer would run
        ("a.svg", b"<svg/>", "Other", "text/plain"),
        ("a.html", b"<html>", "Other", "text/plain"),
        ("a.sh", b"#!/bin/sh\n", "Other", "text/plain"),
        ("a.txt.exe", b"MZ\x90\x00", "Other", UNKNOWN_TYPE),
        # no name to go by
        ("README", b"hello", "Other", "text/plain"),
        ("png", PNG, "Other", UNKNOWN_TYPE),
        (".txt", b"hello", "Document", "text/plain"),
    ],
)
def test_kinds(name: str, start: bytes, category: str, media_type: str) -> None:
    kind = kind_of(name, start)
    assert (kind.category.value, kind.media_type) == (category, media_type)


def test_a_character_cut_at_the_end_of_the_window_is_still_text() -> None:
    long = ("x" * (SNIFF_BYTES - 1) + "é").encode()[:SNIFF_BYTES]
    assert kind_of("a.txt", long).category is AttachmentCategory.DOCUMENT
    assert kind_of("a.txt", b"x\xc3").category is AttachmentCategory.OTHER


@given(name=st.text(max_size=20), start=st.binary(max_size=300))
def test_every_file_has_a_kind(name: str, start: bytes) -> None:
    assert kind_of(name, start).media_type


@pytest.mark.requirement("attach.kinds")
@pytest.mark.parametrize(
    ("name", "category"),
    [("a.PNG", "Image"), ("a.tar.zip", "Archive"), ("a.exotic", "Other"), ("png", "Other")],
)
def test_before_its_content_is_there_a_file_is_what_its_name_claims(
    name: str, category: str
) -> None:
    assert claimed_kind(name).category == AttachmentCategory(category)
