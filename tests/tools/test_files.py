"""The file tools at work: reading, listing, writing, editing."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from netclaw.core.tool_call import FileActivity, FileOperation, OutcomeCategory
from netclaw.tools.file_list import MAX_ENTRIES
from netclaw.tools.file_read import MAX_LINE_CHARS
from tests.tools.rig import Rig

OK = OutcomeCategory.SUCCESS


@pytest.mark.requirement("tools.file-read")
async def test_a_file_is_read_with_numbers_and_activity(rig: Rig) -> None:
    (rig.workspace / "a.txt").write_text("one\ntwo\r\nthree")
    result = await rig.call("file_read", path="a.txt")
    path = str(rig.workspace / "a.txt")
    assert result.text == f"{path}, 14 bytes, lines 1 to 3 of 3:\n1\tone\n2\ttwo\n3\tthree"
    assert result.receipt.file_activity == (FileActivity(path=path, operation=FileOperation.READ),)


@pytest.mark.requirement("tools.file-read")
@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    lines=st.lists(st.text(alphabet="xyé \t", max_size=80), min_size=1, max_size=700),
    count=st.integers(1, 500),
)
async def test_windows_cover_a_file_exactly(rig: Rig, lines: list[str], count: int) -> None:
    (rig.workspace / "f").write_text("\n".join(lines) + "\n", encoding="utf-8")
    got: list[str] = []
    start = 1
    while True:
        result = await rig.call("file_read", path="f", start_line=start, line_count=count)
        assert len(result.text) <= rig.max_inline_chars
        assert result.spill is None
        rows = [row.split("\t", 1) for row in result.text.split("\n")[1:] if "\t" in row]
        assert [int(number) for number, _ in rows] == list(range(start, start + len(rows)))
        got += [text for _, text in rows]
        start += len(rows)
        if "More follows" not in result.text:
            break
    assert got == lines


@pytest.mark.requirement("tools.file-read")
async def test_long_lines_and_far_windows_are_bounded(rig: Rig) -> None:
    with (rig.workspace / "big").open("w") as file:
        file.write("x" * 3_000_000 + "\n")
        file.writelines(f"line {number}\n" for number in range(2, 200_001))
    first = await rig.call("file_read", path="big", line_count=1)
    assert f"[{3_000_000 - MAX_LINE_CHARS} characters more]" in first.text
    far = await rig.call("file_read", path="big", start_line=200_000)
    assert far.text.endswith("200000\tline 200000")
    past = await rig.call("file_read", path="big", start_line=200_001)
    assert past.receipt.category is OutcomeCategory.INVALID_INPUT
    assert "has only 200000 lines" in past.text


@pytest.mark.requirement("tools.file-read")
@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"\x7fELF\x02\0\0", "a program"),
        (b"\x89PNG\r\n\x1a\n\0", "a PNG image"),
        (b"%PDF-1.7 text", "a PDF document"),
        (b"text\0text", "binary data"),
    ],
)
async def test_what_is_not_text_is_said_to_be_so(rig: Rig, data: bytes, words: str) -> None:
    (rig.workspace / "b").write_bytes(data)
    for name in ("file_read", "file_edit"):
        result = await rig.call(
            name,
            path="b",
            **({"old_string": "t", "new_string": "u"} if name == "file_edit" else {}),
        )
        assert result.receipt.category is OutcomeCategory.INVALID_INPUT
        assert words in result.text


@pytest.mark.requirement("tools.file-read")
async def test_encodings_and_broken_bytes(rig: Rig) -> None:
    (rig.workspace / "u16").write_bytes("grüße\n".encode("utf-16"))
    (rig.workspace / "bom").write_bytes(b"\xef\xbb\xbfplain\n")
    (rig.workspace / "broken").write_bytes(b"caf\xe9\n")
    (rig.workspace / "empty").write_bytes(b"")
    assert "1\tgrüße" in (await rig.call("file_read", path="u16")).text
    assert (await rig.call("file_read", path="bom")).text.endswith("1\tplain")
    assert "1\tcaf\ufffd" in (await rig.call("file_read", path="broken")).text
    assert (await rig.call("file_read", path="empty")).text.endswith("is empty.")


@pytest.mark.requirement("tools.never-raises")
async def test_odd_files_neither_hang_nor_break_a_tool(rig: Rig) -> None:
    os.mkfifo(rig.workspace / "pipe")
    with socket.socket(socket.AF_UNIX) as listener:
        os.chdir(rig.workspace)
        listener.bind("sock")
        os.chdir("/")
        (rig.workspace / "folder").mkdir()
        for path in ("pipe", "sock", "folder", "none", "folder/none", "pipe/below"):
            for name in ("file_read", "file_edit"):
                result = await rig.call(
                    name,
                    path=path,
                    **({} if name == "file_read" else {"old_string": "a", "new_string": "b"}),
                )
                assert result.receipt.category in {
                    OutcomeCategory.INVALID_INPUT,
                    OutcomeCategory.NOT_FOUND,
                    OutcomeCategory.FAILURE,
                }
        for path in ("pipe", "sock", "folder", "", "."):
            result = await rig.call("file_write", path=path, content="x")
            assert result.receipt.category is not OK
        assert "special file" in (await rig.call("file_list")).text


@pytest.mark.requirement("tools.file-list")
async def test_a_folder_is_listed_in_order_with_kinds_and_sizes(rig: Rig) -> None:
    (rig.workspace / "b.txt").write_text("12345")
    (rig.workspace / ".hidden").write_text("")
    (rig.workspace / "a/inner").mkdir(parents=True)
    (rig.workspace / "a/file").write_text("1")
    (rig.workspace / "link").symlink_to("/etc")
    (rig.workspace / "odd\nname").write_text("")
    top = await rig.call("file_list")
    assert top.text.splitlines()[1:] == [
        ".hidden  0 bytes",
        "a/",
        "b.txt  5 bytes",
        "link  link to /etc",
        "odd\\nname  0 bytes",
    ]
    deep = await rig.call("file_list", path=".", depth=3)
    assert "a/inner/" in deep.text.splitlines()
    assert "a/file  1 bytes" in deep.text.splitlines()
    assert "hostname" not in deep.text
    assert (await rig.call("file_list", path="a/inner")).text.endswith("is empty.")
    missing = await rig.call("file_list", path="none")
    assert missing.receipt.category is OutcomeCategory.NOT_FOUND


@pytest.mark.requirement("tools.file-list")
async def test_a_crowded_folder_is_cut_and_says_so(rig: Rig) -> None:
    for number in range(MAX_ENTRIES + 20):
        (rig.workspace / f"f{number:04d}").touch()
    result = await rig.call("file_list")
    assert "f0000" in result.text
    assert f"f{MAX_ENTRIES:04d}" not in result.text
    assert result.text.endswith(f"[Only the first {MAX_ENTRIES} entries are shown.]")


@pytest.mark.requirement("tools.atomic-write")
async def test_a_new_file_gets_its_folders_and_an_old_one_keeps_its_mode(rig: Rig) -> None:
    made = await rig.call("file_write", path="deep/er/new.txt", content="héllo")
    path = str(rig.workspace / "deep/er/new.txt")
    assert made.text == f"Created {path} with 6 bytes."
    assert made.receipt.file_activity == (FileActivity(path=path, operation=FileOperation.WRITE),)
    script = rig.workspace / "run.sh"
    script.write_text("old")
    script.chmod(0o750)
    replaced = await rig.call("file_write", path="run.sh", content="new")
    assert replaced.text.startswith("Replaced ")
    assert (script.read_text(), script.stat().st_mode & 0o777) == ("new", 0o750)
    edited = await rig.call("file_edit", path="run.sh", old_string="new", new_string="newer")
    assert edited.receipt.category is OK
    assert (script.read_text(), script.stat().st_mode & 0o777) == ("newer", 0o750)


@pytest.mark.requirement("tools.places")
async def test_every_folder_of_the_session_can_be_written(rig: Rig) -> None:
    folders = (rig.storage.workspace, rig.storage.artifacts, rig.storage.worktrees, rig.storage.tmp)
    for folder in folders:
        result = await rig.call("file_write", path=f"{folder}/x/file", content="x")
        assert result.receipt.category is OK, result.text
        assert Path(folder, "x/file").read_text() == "x"
        assert os.stat(folder).st_mode & 0o077 == 0


@pytest.mark.requirement("tools.atomic-write")
async def test_a_full_or_forbidden_disk_changes_nothing(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    (rig.workspace / "f").write_text("old")

    def no_room(_fd: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fdatasync", no_room)
    result = await rig.call("file_write", path="f", content="new")
    assert result.receipt.category is OutcomeCategory.FAILURE
    assert result.text == "The disk has no room; nothing was changed."
    assert (rig.workspace / "f").read_text() == "old"
    assert os.listdir(rig.workspace) == ["f"]


@pytest.mark.requirement("tools.file-edit")
async def test_an_edit_needs_exactly_one_place(rig: Rig) -> None:
    file = rig.workspace / "f"
    file.write_text("a b a\n")
    twice = await rig.call("file_edit", path="f", old_string="a", new_string="c")
    assert twice.receipt.category is OutcomeCategory.RECOVERABLE_CORRECTION
    assert twice.receipt.remediation == "ProvideUniqueOldString"
    assert "occurs 2 times" in twice.text
    none = await rig.call("file_edit", path="f", old_string="z", new_string="c")
    assert none.receipt.remediation == "ProvideUniqueOldString"
    for old, new in (("", "c"), ("a", "a")):
        refused = await rig.call("file_edit", path="f", old_string=old, new_string=new)
        assert refused.receipt.category is OutcomeCategory.INVALID_INPUT
    assert file.read_text() == "a b a\n"
    once = await rig.call("file_edit", path="f", old_string="b", new_string="")
    assert once.text.endswith("in one place.")
    every = await rig.call("file_edit", path="f", old_string="a", new_string="c", replace_all=True)
    assert every.text.endswith("in 2 places.")
    assert file.read_text() == "c  c\n"


@pytest.mark.requirement("tools.file-edit")
async def test_line_endings_and_encodings_survive_an_edit(rig: Rig) -> None:
    file = rig.workspace / "dos"
    file.write_bytes(b"one\r\ntwo\r\nthree\r\n")
    result = await rig.call(
        "file_edit", path="dos", old_string="one\ntwo\n", new_string="1\n2\n2b\n"
    )
    assert result.receipt.category is OK
    assert file.read_bytes() == b"1\r\n2\r\n2b\r\nthree\r\n"
    file.write_bytes(b"\xef\xbb\xbfold text")
    await rig.call("file_edit", path="dos", old_string="old", new_string="new")
    assert file.read_bytes() == b"\xef\xbb\xbfnew text"
    file.write_bytes(b"caf\xe9 old")
    refused = await rig.call("file_edit", path="dos", old_string="old", new_string="new")
    assert refused.receipt.category is OutcomeCategory.INVALID_INPUT
    assert file.read_bytes() == b"caf\xe9 old"


@pytest.mark.requirement("tools.file-edit")
@settings(max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    before=st.text(alphabet="ab\n", max_size=40),
    old=st.text(alphabet="ab\n", min_size=1, max_size=4),
    new=st.text(alphabet="abc\n", max_size=4),
)
async def test_an_edit_is_python_replace_or_a_refusal(
    rig: Rig, before: str, old: str, new: str
) -> None:
    file = rig.workspace / "f"
    file.write_text(before)
    result = await rig.call("file_edit", path="f", old_string=old, new_string=new)
    if result.receipt.category is OK:
        assert before.count(old) == 1
        assert file.read_text() == before.replace(old, new)
    else:
        assert before.count(old) != 1 or old == new
        assert file.read_text() == before
