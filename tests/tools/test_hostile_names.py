"""Names that a model, or whoever made a file, chose to do harm: a stable category, no effect."""

from __future__ import annotations

import json
import os

import pytest

from netclaw.core.tool_call import OutcomeCategory
from tests.tools.rig import Rig

REFUSED = {
    OutcomeCategory.INVALID_INPUT,
    OutcomeCategory.ACCESS_DENIED,
    OutcomeCategory.NOT_FOUND,
    OutcomeCategory.RECOVERABLE_CORRECTION,
}
TOOLS = {
    "file_read": {},
    "file_list": {},
    "file_search": {"pattern": "x"},
    "file_edit": {"old_string": "a", "new_string": "b"},
    "attach_file": {},
    "set_working_directory": {},
}
NAMES = [
    *("a\0b", "a\nb", "a\rb", "a\x1b[2Jb", "\x7f", "a\x9bb", "\ud800", "a\udcffb", "x\u2028y"),
    *("\u202egnp.txt", "a\u2066b"),
    *("~root/x", "~/x", "/" * 5000, "../" * 1000 + "etc/none", "a/" * 2000, "n" * 256),
    *("/proc/self/fd/0", "/proc/self/mem", "/dev/stdin", "/dev/tcp/1.2.3.4/80", "//server/share"),
    *("file:///etc/passwd", "http://127.0.0.1/", "C:\\Windows", "\\\\?\\x", "-rf", "$(id)", "`id`"),
    *("*", "?", "[a]", "{a,b}", "|id", ";id", "&", "a b ", " ", ".", "..", "..."),
]


@pytest.mark.requirement("files.hostile-names")
@pytest.mark.parametrize("name", NAMES, ids=range(len(NAMES)))
async def test_a_hostile_path_has_a_stable_category_and_no_effect(rig: Rig, name: str) -> None:
    before = sorted(os.listdir(rig.workspace))
    for tool, more in TOOLS.items():
        result = await rig.call_raw(tool, json.dumps({"path": name, **more}))
        is_harmless = result.receipt.category is OutcomeCategory.SUCCESS and tool in (
            *("file_list", "file_search"),
            "set_working_directory",
        )
        assert is_harmless or result.receipt.category in REFUSED, (tool, result.text)
        result.text.encode()
        assert len(result.text) < 20_000
    assert sorted(os.listdir(rig.workspace)) == before


@pytest.mark.requirement("files.hostile-names")
@pytest.mark.parametrize(
    "name",
    [
        "-rf",
        "$(id)",
        "*",
        "a b ",
        "\u00e9",
        "e\u0301",
        "\uff41",
        "x\u2028y",
        "\U0001f600",
        "n" * 250,
    ],
)
async def test_an_odd_name_is_a_name_like_any_other(rig: Rig, name: str) -> None:
    assert (await rig.call("file_write", path=name, content="odd")).receipt.category == "Success"
    assert os.listdir(rig.workspace) == [name]
    assert "odd" in (await rig.call("file_read", path=name)).text
    listed = await rig.call("file_list")
    assert all(char.isprintable() or char == "\n" for char in listed.text)
    found = await rig.call("file_search", pattern="odd")
    assert all(char.isprintable() or char == "\n" for char in found.text)


@pytest.mark.requirement("files.hostile-names")
async def test_bytes_that_are_no_text_can_be_listed_and_not_named(rig: Rig) -> None:
    raw = os.fsencode(rig.workspace) + b"/\xff\xfe.txt"
    with open(raw, "wb") as file:
        file.write(b"content")
    listed = await rig.call("file_list")
    listed.text.encode()
    assert "7 bytes" in listed.text
    found = await rig.call("file_search", pattern="content")
    found.text.encode()
    (rig.workspace / "link").symlink_to(os.fsdecode(raw))
    read = await rig.call("file_read", path="link")
    read.text.encode()
    attached = await rig.call("attach_file", path="link")
    attached.text.encode()


@pytest.mark.requirement("files.hostile-names")
@pytest.mark.parametrize(
    "arguments", ["[]", "null", '{"path": 7}', '{"path": ["a"]}', "{", "\ud800"]
)
async def test_wrong_types_are_invalid_input(rig: Rig, arguments: str) -> None:
    for tool in TOOLS:
        result = await rig.call_raw(tool, arguments)
        assert result.receipt.category is OutcomeCategory.INVALID_INPUT, tool
        result.text.encode()
