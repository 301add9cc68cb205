"""What the gate does with tests of real processes that failed: a few get a second run, no more."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.repo.tree import ROOT

pytestmark = [pytest.mark.requirement("repo.unsteady"), pytest.mark.timeout(90)]

HEAD = """
import os, pathlib, signal, threading
import pytest

def first_time(name):
    mark = pathlib.Path(name)
    is_first = not mark.exists()
    mark.touch()
    return is_first
"""
UNSTEADY = """
@pytest.mark.parametrize("word", ["a::b [c] d/e"])
def test_late(word):
    assert not first_time("late"), "the machine stood still"
"""
LATE_TEARDOWN = """
@pytest.fixture
def place():
    yield
    assert not first_time("place")

def test_left(place):
    pass
"""
BROKEN = """
def test_broken():
    assert False
"""
FOUR = """
@pytest.mark.parametrize("number", range(4))
def test_many(number):
    assert not first_time(str(number))
"""
DIES = """
def test_dies():
    if first_time("dies"):
        os._exit(1)
"""
THREAD = """
def test_thread():
    threading.Thread(target=lambda: threading.Event().wait(0.5) or os._exit(1)).start()
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """A run of a project of tests."""

    status: int
    text: str
    unsteady: list[str]

    @property
    def repeated(self) -> int:
        """How many tests got a second run."""
        return self.text.count("once more, alone")


def run(folder: Path, *parts: str, first: tuple[str, ...] = ()) -> Ran:
    """Run a project of one test file, and of modules beside it that stand in `first`."""
    (folder / "pytest.ini").write_text("[pytest]\n")
    (folder / "test_inner.py").write_text(HEAD + "".join(parts))
    always = ("-q", "-p", "xdist", "-p", "no:cacheprovider")
    done = subprocess.run(
        [sys.executable, "-m", "tools.again", "ledger", *always, "--", "test_inner.py", *first],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    ledger = folder / "ledger"
    lines = ledger.read_text().splitlines() if ledger.exists() else []
    return Ran(status=done.returncode, text=done.stdout + done.stderr, unsteady=lines)


def test_one_that_passes_the_second_time_is_unsteady_and_its_failure_is_shown(
    tmp_path: Path,
) -> None:
    ran = run(tmp_path, UNSTEADY, LATE_TEARDOWN)
    assert ran.status == 0, ran.text
    names = ["test_inner.py::test_late[a::b [c] d/e]", "test_inner.py::test_left"]
    assert ran.unsteady == names
    assert "AssertionError: the machine stood still" in ran.text


def test_one_that_fails_twice_fails_the_run_beside_unsteady_ones(tmp_path: Path) -> None:
    ran = run(tmp_path, BROKEN, UNSTEADY, first=("-n", "1"))
    assert (ran.status, ran.repeated) == (1, 2), ran.text
    assert ran.unsteady == ["test_inner.py::test_late[a::b [c] d/e]"]


@pytest.mark.parametrize(
    ("parts", "first"),
    [
        pytest.param((FOUR,), (), id="four"),
        pytest.param((UNSTEADY, DIES), (), id="the process died"),
        pytest.param((UNSTEADY, DIES), ("-n", "1"), id="a worker died"),
        pytest.param((UNSTEADY, THREAD), (), id="the process was ended after its tests"),
        pytest.param((UNSTEADY,), ("--no-such-option",), id="usage"),
        pytest.param(
            (UNSTEADY,), ("missing.py", "--continue-on-collection-errors"), id="a module is missing"
        ),
        pytest.param(
            (UNSTEADY,), ("test_bad.py", "--continue-on-collection-errors"), id="a module is broken"
        ),
    ],
)
def test_what_is_no_stall_of_a_machine_is_not_repeated(
    tmp_path: Path, parts: tuple[str, ...], first: tuple[str, ...]
) -> None:
    (tmp_path / "test_bad.py").write_text("import no_such_module")
    ran = run(tmp_path, *parts, first=first)
    assert ran.status != 0, ran.text
    assert (ran.repeated, ran.unsteady) == (0, []), ran.text


def test_a_run_that_passes_is_not_repeated(tmp_path: Path) -> None:
    ran = run(tmp_path, "def test_well(): pass")
    assert (ran.status, ran.repeated, ran.unsteady) == (0, 0, []), ran.text


@pytest.mark.requirement("repo.seed-of-commit")
def test_a_commit_has_one_seed_and_other_files_have_another(tmp_path: Path) -> None:
    def git(*arguments: str) -> None:
        person = ("-c", "user.name=x", "-c", "user.email=x@example.com")
        subprocess.run(["git", *person, *arguments], cwd=tmp_path, check=True, capture_output=True)

    def seed(**variables: str) -> int:
        clean = {name: value for name, value in os.environ.items() if name != "NETCLAW_TEST_SEED"}
        done = subprocess.run(
            [tmp_path / "scripts/test", "seed"],
            env={**clean, **variables},
            capture_output=True,
            text=True,
            check=True,
        )
        return int(done.stdout)

    (tmp_path / "scripts").mkdir()
    shutil.copy(ROOT / "scripts/test", tmp_path / "scripts/test")
    without_git = {seed(), seed()}
    git("init", "-q")
    git("add", ".")
    git("commit", "-qm", "One.")
    committed = {seed(), seed()}
    (tmp_path / "new").touch()
    changed = {seed(), seed()}
    assert [len(seeds) for seeds in (without_git, committed, changed)] == [2, 1, 2]
    assert seed(NETCLAW_TEST_SEED="7") == 7
