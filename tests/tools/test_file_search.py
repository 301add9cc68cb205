"""Searching: what is found, what bounds it, and that it never holds up its session."""

from __future__ import annotations

import asyncio
import os
import time
from pathlib import Path

import pytest

from netclaw.core.tool_call import OutcomeCategory
from netclaw.tools import file_search
from tests.tools.rig import Rig


@pytest.fixture
def project(rig: Rig) -> Rig:
    """A session with a small project."""
    rig.project = str(rig.folder / "project")
    for name, text in {
        "src/main.py": "import os\n\ndef main() -> None:\n    print('Hello')\n",
        "src/util.py": "VALUE = 1\n",
        "docs/readme.md": "hello world\n",
        ".git/config": "hello in git\n",
        "node_modules/x/index.js": "hello in modules\n",
    }.items():
        path = Path(rig.project, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    Path(rig.project, "image.png").write_bytes(b"\x89PNG\0hello")
    Path(rig.project, "loop").symlink_to(".")
    Path(rig.project, "away").symlink_to("/etc")
    os.mkfifo(Path(rig.project, "pipe"))
    return rig


async def found(rig: Rig, **arguments: object) -> list[str]:
    """The result lines of a search that succeeds."""
    result = await rig.call("file_search", **arguments)
    assert result.receipt.category is OutcomeCategory.SUCCESS, result.text
    lines = result.text.splitlines()
    return [] if lines[0].startswith("Nothing was found") else lines[:-1]


@pytest.mark.requirement("tools.file-search")
async def test_text_is_found_with_file_and_line(project: Rig) -> None:
    assert await found(project, pattern="hello") == ["docs/readme.md:1: hello world"]
    assert await found(project, pattern="hello", ignore_case=True) == [
        "docs/readme.md:1: hello world",
        "src/main.py:4:     print('Hello')",
    ]
    assert await found(project, pattern="def main()") == ["src/main.py:3: def main() -> None:"]
    assert await found(project, pattern=r"^VALUE\s*=", is_regex=True) == [
        "src/util.py:1: VALUE = 1"
    ]
    assert await found(project, pattern="o", glob="*.md", path=".") == [
        "docs/readme.md:1: hello world"
    ]
    assert await found(project, pattern="def.*", path="src") == []


@pytest.mark.requirement("tools.file-search")
async def test_names_are_found_by_part_glob_or_regex(project: Rig) -> None:
    assert await found(project, pattern="main", mode="names") == ["src/main.py"]
    assert await found(project, pattern="*.py", mode="names") == ["src/main.py", "src/util.py"]
    assert await found(project, pattern="src/*", mode="names") == ["src/main.py", "src/util.py"]
    assert await found(project, pattern="(md|png)$", mode="names", is_regex=True) == [
        "image.png",
        "docs/readme.md",
    ]
    assert await found(project, pattern="src", mode="names", max_results=1) == ["src/"]
    assert await found(project, pattern="hostname", mode="names") == []


@pytest.mark.requirement("tools.file-search")
async def test_results_are_bounded_and_say_so(project: Rig) -> None:
    Path(project.project, "many.txt").write_text("needle " * 100 + "\n" + "needle\n" * 900)
    result = await project.call("file_search", pattern="needle")
    lines = result.text.splitlines()
    assert len(lines) == 101
    assert all(len(line) < 300 for line in lines)
    assert "There are more results than shown" in lines[-1]


@pytest.mark.requirement("tools.file-search")
@pytest.mark.parametrize("pattern", ["(", "[z-a]", "(?P<x", "*"])
async def test_a_broken_regex_is_said_in_words(project: Rig, pattern: str) -> None:
    result = await project.call("file_search", pattern=pattern, is_regex=True)
    assert result.receipt.category is OutcomeCategory.INVALID_INPUT
    assert result.text.startswith("The pattern is no regular expression")


@pytest.mark.requirement("tools.file-search")
async def test_a_hopeless_pattern_is_ended_and_never_holds_the_loop(
    project: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_search, "SEARCH_S", 1.0)
    Path(project.project, "trap.txt").write_text("a" * 60 + "!")
    ticks = 0

    async def tick() -> None:
        nonlocal ticks
        while True:
            await asyncio.sleep(0.01)
            ticks += 1

    ticking = asyncio.ensure_future(tick())
    result = await project.call("file_search", pattern="(a+)+$", is_regex=True)
    ticking.cancel()
    assert result.receipt.category is OutcomeCategory.TIMEOUT
    assert "simpler pattern" in result.text
    assert ticks > 10, "others had their turns while the pattern was being tried"
    assert _workers() == []


@pytest.mark.requirement("tools.file-search")
async def test_cancelling_ends_the_worker(project: Rig) -> None:
    Path(project.project, "trap.txt").write_text("a" * 60 + "!")
    task = asyncio.ensure_future(project.call("file_search", pattern="(a+)+$", is_regex=True))
    deadline = time.monotonic() + 10
    while not _workers():
        assert time.monotonic() < deadline
        await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert _workers() == []


def _workers() -> list[str]:
    """Living search workers of this very process."""
    found = []
    for entry in Path("/proc/self/task").iterdir():
        for pid in (entry / "children").read_text().split():
            line = Path(f"/proc/{pid}/cmdline")
            if line.exists() and b"search_worker" in line.read_bytes():
                found.append(pid)
    return found


@pytest.mark.requirement("tools.file-search")
async def test_odd_names_and_searched_files_do_no_harm(project: Rig) -> None:
    odd = os.fsencode(project.project) + b"/odd\xff\nname.txt"
    with open(odd, "wb") as file:
        file.write(b"needle\xff\n")
    result = await project.call("file_search", pattern="needle")
    assert "odd\\udcff\\nname.txt:1: needle" in result.text
    missing = await project.call("file_search", pattern="x", path="none")
    assert missing.receipt.category is OutcomeCategory.NOT_FOUND
    as_file = await project.call("file_search", pattern="x", path="docs/readme.md")
    assert as_file.receipt.category is OutcomeCategory.NOT_FOUND
    empty = await project.call("file_search", pattern="")
    assert empty.receipt.category is OutcomeCategory.INVALID_INPUT
