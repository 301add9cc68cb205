"""Whatever a model sends, or finds on disk, has a stable category; what is refused does nothing."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from netclaw.core.authority import Audience
from netclaw.core.authz.profiles import ConsentModes
from netclaw.core.settings import SandboxBackendChoice
from netclaw.core.tool_call import OutcomeCategory, ToolResult
from netclaw.sandbox.runner import SandboxRunner
from netclaw.tools.factory import make_tool_runner
from tests.sandbox.rig import PROVED
from tests.tools import rig as tools_rig
from tests.tools.rig import SECRET, Rig

pytestmark = [pytest.mark.timeout(60), pytest.mark.requirement("escape.bad-input")]

INVALID, DENIED = OutcomeCategory.INVALID_INPUT, OutcomeCategory.ACCESS_DENIED
CORRECTION = OutcomeCategory.RECOVERABLE_CORRECTION
MEGABYTE = 1_000_000
FACTS = PROVED[SandboxBackendChoice.AUTO]

FIELDS = ("path", "command", "content", "old_string", "new_string", "pattern", "call_id", "start")
ARGUMENTS = {
    "null": "null",
    "list": "[]",
    "text": '"x"',
    "number": "1",
    "cut short": '{"path": "a',
    "more after it": "{} {}",
    "deep": "[" * 100_000,
    "not a number": '{"path": NaN}',
    "twice the same": '{"path": "a", "path": "b"}',
    "huge number": '{"start": ' + "9" * 6000 + "}",
    "unknown name": '{"nope": 1}',
    "byte order mark": "\ufeff{}",
    "escaped surrogate": json.dumps(dict.fromkeys(FIELDS, "\ud800")),
    "raw surrogate": '{"path": "\ud800", "command": "\ud800"}',
    "zero": json.dumps(dict.fromkeys(FIELDS, "a\0b")),
    "wrong types": json.dumps({name: {"x": [1]} for name in FIELDS}),
    "numbers": json.dumps(dict.fromkeys(FIELDS, 1.5)),
    "nothing": json.dumps(dict.fromkeys(FIELDS)),
    "a megabyte": json.dumps(dict.fromkeys(FIELDS, "x" * MEGABYTE)),
}
NAMES = (
    *("", "x", "../shell_execute", "shell_execute ", "SHELL_EXECUTE", "file_read\n", "\ud800"),
    *("x" * MEGABYTE, "file\u202eread", "server__tool", "mcp:a:b"),
)


@pytest.fixture
def rig(short_tmp: Path) -> Rig:
    """A Personal session whose commands would really run, and ask nobody."""
    made = Rig(folder=short_tmp.resolve())
    made.runner = make_tool_runner(FACTS, SandboxRunner(FACTS), tools_rig.SOURCES)
    return made


def tree(rig: Rig) -> dict[bytes, bytes]:
    """Everything in the home and around it, with its content."""
    found = {}
    for folder, _, names in os.walk(os.fsencode(rig.folder)):
        for name in names:
            path = os.path.join(folder, name)
            with open(path, "rb") as file:
                found[path] = file.read()
    return found


def assert_refused(result: ToolResult) -> None:
    """A category that says whose fault it is, a short text, and no claim to have done anything."""
    assert result.receipt.category in {INVALID, DENIED, CORRECTION, OutcomeCategory.NOT_FOUND}
    assert 0 < len(result.text) < 2000
    assert result.text.isprintable() or "\n" in result.text
    assert result.receipt.file_activity == ()
    assert result.receipt.declared_directory is None
    assert result.receipt.attachment is None
    assert result.spill is None


@pytest.mark.parametrize("kind", ARGUMENTS)
async def test_arguments_that_are_not_what_a_tool_takes_do_nothing(rig: Rig, kind: str) -> None:
    before = tree(rig)
    for name in rig.names():
        result = await rig.call_raw(name, ARGUMENTS[kind])
        assert_refused(result)
        assert result.receipt.category is INVALID, (name, result.text)
    assert tree(rig) == before
    assert rig.trees.told == []


@pytest.mark.parametrize("name", NAMES, ids=range(len(NAMES)))
async def test_a_tool_that_there_is_not_is_said_in_one_way(rig: Rig, name: str) -> None:
    before = tree(rig)
    result = await rig.call_raw(name, "{}")
    assert_refused(result)
    assert result.receipt.category is INVALID
    assert result.text.startswith("There is no such tool. Available are: ")
    assert tree(rig) == before


async def test_a_hidden_tool_looks_like_none(rig: Rig) -> None:
    rig.audience = Audience.PUBLIC
    arguments = '{"command": "touch planted"}'
    hidden = await rig.call_raw("shell_execute", arguments)
    unknown = await rig.call_raw("shell_executed", arguments)
    assert (hidden.text, hidden.receipt.category) == (unknown.text, unknown.receipt.category)
    assert "shell_execute" not in hidden.text


COMMANDS = {
    "a megabyte": (f"touch planted; : {'x' * MEGABYTE}", CORRECTION),
    "just too long": (f"touch planted; : {'x' * 100_000}", CORRECTION),
    "a megabyte of wide letters": (f"touch planted; : {'ü' * MEGABYTE}", INVALID),
    "surrogate": ("touch planted \udcff", INVALID),
    "zero": ("touch planted\0; touch planted", None),
    "carriage return": ("touch planted\r", None),
    "escape": ("touch planted \x1b[2K", None),
    "bidirectional": ("touch planted # \u202e x", None),
    "next line": ("touch planted\u0085", None),
    "empty": ("", None),
    "blank": (" \n\t ", None),
    "a thousand commands": ("touch planted;" * 1000, None),
    "two hundred levels": ("$(" * 200 + "touch planted" + ")" * 200, None),
    "ten thousand quotes": ("touch planted " + "'" * 10_001, None),
    "brace bomb": ("touch planted {1..9}" + "{a,b,c,d,e,f,g,h}" * 12, None),
}


@pytest.mark.parametrize("kind", COMMANDS)
async def test_a_command_that_cannot_be_judged_does_not_run(rig: Rig, kind: str) -> None:
    """Without a person, what is not proved does not run either."""
    command, expected = COMMANDS[kind]
    rig.modes, rig.is_attended = ConsentModes(), False
    before = tree(rig)
    result = await rig.call_raw("shell_execute", json.dumps({"command": command}))
    assert_refused(result)
    assert result.receipt.category is (expected or result.receipt.category), result.text
    assert tree(rig) == before
    assert rig.trees.told == []


HOSTILE = {
    "newline": b"new\nline",
    "return": b"cr\rx",
    "escape": b"esc\x1b[2J",
    "bidirectional": "bidi\u202ex".encode(),
    "not Unicode": b"\xff\xfe.txt",
    "option": b"-rf",
    "blank": b"  ",
    "longest": b"l" * 255,
    "quote": b"a'b\"c`d$(touch planted)",
    "star": b"*",
}
REFUSED = {"newline", "return", "escape", "bidirectional", "not Unicode"}


@pytest.fixture
def hostile(rig: Rig) -> Rig:
    """A workspace with a file of each name."""
    folder = os.fsencode(rig.workspace)
    for name in HOSTILE.values():
        with open(os.path.join(folder, name), "wb") as file:
            file.write(b"findme\n")
    return rig


@pytest.mark.parametrize("kind", HOSTILE)
async def test_a_hostile_name_is_used_as_it_is_or_refused(hostile: Rig, kind: str) -> None:
    name = os.fsdecode(HOSTILE[kind])
    before = tree(hostile)
    for tool in ("file_read", "attach_file"):
        result = await hostile.call(tool, path=name)
        if kind in REFUSED:
            assert_refused(result)
        else:
            assert result.receipt.category is OutcomeCategory.SUCCESS, result.text
    for tool, more in (
        ("file_write", {"content": "changed"}),
        ("file_edit", {"old_string": "findme", "new_string": "changed"}),
        ("set_working_directory", {}),
    ):
        if kind in REFUSED:
            assert_refused(await hostile.call(tool, path=name, **more))
    if kind in REFUSED:
        assert tree(hostile) == before
        return
    before = tree(hostile)
    written = await hostile.call("file_write", path=name, content="changed")
    assert written.receipt.category is OutcomeCategory.SUCCESS, written.text
    path = os.path.join(os.fsencode(hostile.workspace), HOSTILE[kind])
    assert {key for key, value in tree(hostile).items() if value != before.get(key)} == {path}


async def test_hostile_names_are_listed_without_what_misleads(hostile: Rig) -> None:
    """One line for each, nothing that a terminal or a reader takes for something else."""
    for tool, arguments in (
        ("file_list", {"path": "."}),
        ("file_search", {"pattern": "findme", "path": "."}),
    ):
        result = await hostile.call(tool, **arguments)
        assert result.receipt.category is OutcomeCategory.SUCCESS
        lines = result.text.splitlines()
        assert all(line.isprintable() for line in lines), lines
        assert result.text.encode("utf-8")
        for shown in ("-rf", "esc\\x1b[2J", "bidi\\u202ex", "cr\\rx"):
            assert sum(line.startswith(shown) for line in lines) == 1, shown


PATHS = {
    "4096 letters": ("d/" * 2048, {DENIED, INVALID}),
    "256 letters": ("l" * 256, {INVALID}),
    "a megabyte": ("x" * MEGABYTE, {INVALID}),
    "home": ("~", {CORRECTION}),
    "empty": ("", {INVALID}),
    "secret": ("../../../config/secrets.json", {DENIED}),
    "secret behind a file": ("f/../../../../config/secrets.json", {DENIED}),
    "of this process": ("/proc/self/cwd", {DENIED}),
    "of a process": ("/proc/1/root/etc/passwd", {DENIED}),
    "own root": ("/proc/self/root/etc/passwd", {DENIED}),
    "a descriptor": ("/proc/self/fd/0", {DENIED, INVALID}),
    "memory": ("/proc/self/mem", {DENIED, INVALID, OutcomeCategory.FAILURE}),
}


@pytest.mark.parametrize("kind", PATHS)
async def test_a_path_that_leads_nowhere_good_is_refused(rig: Rig, kind: str) -> None:
    path, expected = PATHS[kind]
    before = tree(rig)
    for tool, more in (
        ("file_read", {}),
        ("file_write", {"content": "x"}),
        ("file_edit", {"old_string": "a", "new_string": "b"}),
        ("attach_file", {}),
        ("set_working_directory", {}),
    ):
        result = await rig.call(tool, path=path, **more)
        assert result.receipt.category in expected | {OutcomeCategory.NOT_FOUND}, (tool, result)
        assert SECRET not in result.text
    assert tree(rig) == before
