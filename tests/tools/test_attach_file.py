"""`attach_file`: what may be attached, and that the copy is of what was judged."""

from __future__ import annotations

import hashlib
import os
from dataclasses import replace
from pathlib import Path

import pytest

from netclaw.core.authority import Audience
from netclaw.core.authz.profiles import AttachmentCategory, AttachmentRule
from netclaw.core.tool_call import Attachment, FileActivity, FileOperation, OutcomeCategory
from netclaw.tools.attach_file import MAX_NAME_CHARS, shown_name
from tests.tools.rig import SECRET, Rig

TOOL = "attach_file"
PNG = b"\x89PNG\r\n\x1a\n" + bytes(100)


def limit(rig: Rig, **changes: object) -> None:
    """Change the attachment rule of every audience."""
    profiles = tuple(
        replace(profile, attachments=replace(profile.attachments, **changes))  # type: ignore[arg-type]
        for profile in rig.settings.profiles
    )
    rig.settings = replace(rig.settings, profiles=profiles)


def attached(rig: Rig) -> list[Path]:
    """The copies that the session keeps."""
    return sorted(path for path in Path(rig.storage.artifacts).rglob("*") if path.is_file())


@pytest.mark.requirement("attach.copies")
@pytest.mark.parametrize("audience", Audience)
async def test_a_file_is_copied_and_told_of(rig: Rig, audience: Audience) -> None:
    rig.audience = audience
    (rig.workspace / "pic.png").write_bytes(PNG)
    result = await rig.call(TOOL, path="pic.png")
    assert result.text == "Attached pic.png (image/png, 108 bytes)."
    made = result.receipt.attachment
    expected = f"{rig.storage.artifacts}/attached/turn/pic.png"
    digest = hashlib.sha256(PNG).hexdigest()
    assert made == Attachment(path=expected, media_type="image/png", size_bytes=108, sha256=digest)
    assert result.receipt.file_activity == (
        FileActivity(path=f"{rig.workspace}/pic.png", operation=FileOperation.ATTACH),
    )
    (rig.workspace / "pic.png").write_bytes(b"changed")
    copy = Path(expected)
    assert copy.read_bytes() == PNG
    assert (copy.stat().st_mode & 0o777, copy.parent.stat().st_mode & 0o777) == (0o600, 0o700)


async def test_equal_names_do_not_meet(rig: Rig) -> None:
    for folder in ("a", "b"):
        (rig.workspace / folder).mkdir()
        (rig.workspace / folder / "x.txt").write_text(folder)
        await rig.call(TOOL, path=f"{folder}/x.txt")
    assert [path.name for path in attached(rig)] == ["x-2.txt", "x.txt"]
    assert [path.read_text() for path in attached(rig)] == ["b", "a"]


@pytest.mark.requirement("attach.kinds")
@pytest.mark.parametrize(
    ("audience", "allowed"),
    [
        (Audience.PUBLIC, {"x.png"}),
        (Audience.TEAM, {"x.png", "x.pdf", "x.txt", "x.zip", "x.mp3"}),
        (Audience.PERSONAL, {"x.png", "x.pdf", "x.txt", "x.zip", "x.mp3", "x.bin", "no.png"}),
    ],
)
async def test_each_audience_attaches_its_kinds(
    rig: Rig, audience: Audience, allowed: set[str]
) -> None:
    rig.audience = audience
    files = {
        "x.png": PNG,
        "x.pdf": b"%PDF-1.4",
        "x.txt": b"text",
        "x.zip": b"PK\x03\x04",
        "x.mp3": b"ID3",
        "x.bin": bytes(9),
        "no.png": b"<script>",
    }
    for name, data in files.items():
        (rig.workspace / name).write_bytes(data)
        result = await rig.call(TOOL, path=name)
        is_taken = result.receipt.category is OutcomeCategory.SUCCESS
        assert is_taken is (name in allowed), name
        assert is_taken or result.receipt.category is OutcomeCategory.ACCESS_DENIED
        assert is_taken or result.receipt.attachment is None
    assert {path.name for path in attached(rig)} == allowed


@pytest.mark.requirement("attach.bounds")
async def test_size_and_number_are_bounded(rig: Rig) -> None:
    limit(rig, max_file_bytes=1000, max_files_per_message=2)
    (rig.workspace / "large.txt").write_bytes(b"x" * 1001)
    (rig.workspace / "full.txt").write_bytes(b"x" * 1000)
    result = await rig.call(TOOL, path="large.txt")
    assert result.receipt.category is OutcomeCategory.INVALID_INPUT
    assert "1001 bytes; at most 1000" in result.text
    for expected in (
        OutcomeCategory.SUCCESS,
        OutcomeCategory.SUCCESS,
        OutcomeCategory.INVALID_INPUT,
    ):
        assert (await rig.call(TOOL, path="full.txt")).receipt.category is expected
    assert len(attached(rig)) == 2


@pytest.mark.requirement("attach.bounds")
async def test_the_largest_file_is_25_mib_whatever_is_configured(rig: Rig) -> None:
    limit(rig, max_file_bytes=1 << 40)
    sparse = rig.workspace / "large.txt"
    with sparse.open("wb") as file:
        file.truncate(25 * 1024 * 1024 + 1)
    result = await rig.call(TOOL, path="large.txt")
    assert result.receipt.category is OutcomeCategory.INVALID_INPUT
    assert "at most 26214400" in result.text
    assert attached(rig) == []


@pytest.mark.requirement("attach.first-judged")
@pytest.mark.parametrize("audience", [Audience.TEAM, Audience.PUBLIC])
@pytest.mark.parametrize(
    "path", ["{folder}/outside.txt", "{home}/config/secrets.json", "/etc/hostname", "link", "../x"]
)
async def test_what_may_not_be_attached_is_never_copied(
    rig: Rig, audience: Audience, path: str
) -> None:
    rig.audience = audience
    limit(rig, categories=frozenset(AttachmentCategory))
    (rig.workspace / "link").symlink_to(rig.secret_file)
    result = await rig.call(TOOL, path=path.format(folder=rig.folder, home=rig.home))
    assert result.receipt.category is OutcomeCategory.ACCESS_DENIED
    assert result.receipt.attachment is None
    assert not Path(rig.storage.artifacts, "attached").exists()


@pytest.mark.requirement("attach.first-judged")
async def test_personal_attaches_from_anywhere_but_not_what_is_protected(rig: Rig) -> None:
    result = await rig.call(TOOL, path=str(rig.folder / "outside.txt"))
    assert result.receipt.category is OutcomeCategory.SUCCESS
    for path in (rig.secret_file, rig.home / "netclaw.db", "/proc/self/environ"):
        result = await rig.call(TOOL, path=str(path))
        assert result.receipt.category is OutcomeCategory.ACCESS_DENIED
    assert [path.name for path in attached(rig)] == ["outside.txt"]


async def test_only_regular_files_are_attached(rig: Rig) -> None:
    os.mkfifo(rig.workspace / "pipe.txt")
    for path, category in (
        ("pipe.txt", OutcomeCategory.INVALID_INPUT),
        (".", OutcomeCategory.INVALID_INPUT),
        ("gone.txt", OutcomeCategory.NOT_FOUND),
        ("", OutcomeCategory.INVALID_INPUT),
    ):
        assert (await rig.call(TOOL, path=path)).receipt.category is category


@pytest.mark.requirement("attach.first-judged")
@pytest.mark.parametrize("place", ["artifacts", "artifacts/attached", "artifacts/attached/turn"])
async def test_a_link_in_the_place_of_the_copies_is_refused(rig: Rig, place: str) -> None:
    (rig.workspace / "x.txt").write_text("x")
    link = Path(rig.storage.root, place)
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(rig.home / "config")
    result = await rig.call(TOOL, path="x.txt")
    assert result.receipt.category is OutcomeCategory.FAILURE
    assert os.listdir(rig.home / "config") == ["secrets.json"]
    assert SECRET not in result.text


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("a.png", "a.png"),
        ("a\u202egnp.exe", "a_gnp.exe"),
        ("noext", "noext"),
        (".hidden", ".hidden"),
        ("tab\there.txt", "tab_here.txt"),
    ],
)
def test_a_shown_name_hides_nothing(name: str, shown: str) -> None:
    assert shown_name(name) == shown


def test_a_long_name_keeps_its_extension() -> None:
    shown = shown_name("x" * 300 + ".png")
    assert (len(shown), shown[-4:]) == (MAX_NAME_CHARS, ".png")
    assert len(shown_name("y" * 300)) == MAX_NAME_CHARS


def test_no_category_rejects_every_file() -> None:
    assert AttachmentRule().categories == frozenset()
