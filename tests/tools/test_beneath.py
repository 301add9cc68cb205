"""Opening beneath a root: races with swapped links, with and without `openat2`."""

from __future__ import annotations

import contextlib
import ctypes
import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from netclaw.core.tool_call import FileOperation
from netclaw.tools import files
from netclaw.tools.beneath import (
    LeadsOutError,
    OpenBeneath,
    choose_open,
    open_by_walk,
    open_root,
    open_with_openat2,
    real_path,
)
from netclaw.tools.faults import ToolFault
from netclaw.tools.files import read_content, write_content
from tests.tools.rig import SECRET, Rig

OPENERS: list[OpenBeneath] = [open_by_walk]
if choose_open() is open_with_openat2:
    OPENERS.append(open_with_openat2)

TRIES = 3000


@pytest.fixture(params=OPENERS, ids=lambda opener: opener.__name__)
def opener(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> OpenBeneath:
    """Each way of opening that this kernel has; the file tools use it, too."""
    chosen: OpenBeneath = request.param
    monkeypatch.setattr(files, "_OPEN", chosen)
    return chosen


@pytest.fixture
def root(tmp_path: Path) -> Iterator[int]:
    """A root folder with a secret beside it."""
    (tmp_path / "root/inner").mkdir(parents=True)
    (tmp_path / "root/inner/file").write_text("inside")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/file").write_text(SECRET)
    fd = open_root(os.path.realpath(tmp_path / "root"))
    yield fd
    os.close(fd)


def _read(opener: OpenBeneath, root: int, path: str) -> str:
    fd = opener(root, path, os.O_RDONLY, 0)
    with open(fd) as file:
        return file.read()


@pytest.mark.requirement("tools.beneath")
def test_what_is_inside_is_opened(opener: OpenBeneath, root: int, tmp_path: Path) -> None:
    assert _read(opener, root, "inner/file") == "inside"
    assert _read(opener, root, "./inner//file") == "inside"
    fd = opener(root, ".", os.O_PATH, 0)
    assert real_path(fd) == os.path.realpath(tmp_path / "root")
    os.close(fd)
    with pytest.raises(FileNotFoundError):
        opener(root, "inner/none", os.O_RDONLY, 0)
    with pytest.raises(NotADirectoryError):
        opener(root, "inner/file/deeper", os.O_RDONLY, 0)


@pytest.mark.requirement("tools.beneath")
@pytest.mark.parametrize(
    ("link", "path"),
    [
        ("../outside", "link/file"),
        ("../outside/file", "link"),
        ("/etc", "link/hostname"),
        ("inner/../../outside", "link/file"),
        ("/proc/self/root", "link/etc/hostname"),
        ("/proc/self/cwd", "link"),
        ("/proc/self/fd/0", "link"),
        ("link", "link"),
    ],
)
def test_ways_out_are_closed(
    opener: OpenBeneath, root: int, tmp_path: Path, link: str, path: str
) -> None:
    (tmp_path / "root/link").symlink_to(link)
    with pytest.raises(LeadsOutError):
        opener(root, path, os.O_RDONLY, 0)
    with pytest.raises(LeadsOutError):
        opener(root, "../outside/file", os.O_RDONLY, 0)


@pytest.mark.requirement("tools.beneath")
def test_a_root_that_is_a_link_is_not_the_judged_root(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "alias").symlink_to("real")
    with pytest.raises(OSError, match=r"."):
        open_root(str(tmp_path / "alias"))
    (tmp_path / "real/sub").mkdir()
    with pytest.raises(LeadsOutError):
        open_root(str(tmp_path / "alias/sub"))


def exchange(one: Path, other: Path) -> None:
    """Swaps two names in one step, so that each of them always exists."""
    names = os.fsencode(one), os.fsencode(other)
    assert ctypes.CDLL(None).renameat2(-100, names[0], -100, names[1], 2) == 0


@contextlib.contextmanager
def swapping(swap: Callable[[], None]) -> Iterator[None]:
    """Does something over and over in a second thread."""
    is_over = threading.Event()

    def work() -> None:
        while not is_over.is_set():
            swap()

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()


@pytest.mark.timeout(60)
@pytest.mark.requirement("tools.beneath")
def test_a_folder_swapped_for_a_link_never_gives_the_secret(
    opener: OpenBeneath, root: int, tmp_path: Path
) -> None:
    inner, link = tmp_path / "root/inner", tmp_path / "root/link"
    link.symlink_to("../outside")

    seen: dict[str, int] = {}
    with swapping(lambda: exchange(inner, link)):
        for _ in range(TRIES):
            try:
                text = _read(opener, root, "inner/file")
            except OSError as fault:
                text = type(fault).__name__
            seen[text] = seen.get(text, 0) + 1
    assert SECRET not in seen
    assert set(seen) <= {"inside", "LeadsOutError", "OSError"}  # OSError: too many races
    assert sum(seen.values()) == TRIES


@pytest.mark.timeout(60)
@pytest.mark.requirement("tools.beneath")
def test_file_tools_neither_read_nor_write_through_a_swapped_link(
    opener: OpenBeneath, rig: Rig
) -> None:
    """The whole path of the tools: judge, open, read, make folders, replace."""
    del opener
    target = rig.secret_file.with_name("file")
    target.write_text(SECRET)
    inner, link = rig.workspace / "inner", rig.workspace / "link"
    inner.mkdir()
    (inner / "file").write_text("inside")
    link.symlink_to(target.parent)

    reach = rig.reach()
    located = reach.locate("inner/file", FileOperation.WRITE)
    outcomes = set()
    with swapping(lambda: exchange(inner, link)):
        for _ in range(TRIES // 3):
            with contextlib.suppress(ToolFault):
                outcomes.add(read_content(reach, located).data)
            with contextlib.suppress(ToolFault):
                write_content(reach, located, b"inside", None)
    assert outcomes <= {b"inside"}
    assert target.read_text() == SECRET
    assert sorted(os.listdir(target.parent)) == ["file", "secrets.json"]


@pytest.mark.requirement("tools.atomic-write")
@pytest.mark.timeout(60)
def test_readers_see_the_old_or_the_new_file(rig: Rig) -> None:
    reach = rig.reach()
    located = reach.locate("file", FileOperation.WRITE)
    versions = [b"a" * 200_000, b"b" * 100_000]
    write_content(reach, located, versions[0], None)
    sizes = set()

    def rewrite() -> None:
        for version in versions:
            write_content(reach, located, version, None)

    with swapping(rewrite):
        for _ in range(TRIES // 3):
            data = (rig.workspace / "file").read_bytes()
            sizes.add((len(data), data[:1], data[-1:]))
    assert sizes <= {(200_000, b"a", b"a"), (100_000, b"b", b"b")}
    assert os.listdir(rig.workspace) == ["file"]
