"""A test that hangs is ended and says what it waits for, whatever became of the first ring."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.repo.tree import ROOT

CONFIG = "[pytest]\nasyncio_mode = auto\nasyncio_default_fixture_loop_scope = function\n"

CONFTEST = """
from tests import hangs

hangs.AGAIN_S = 1
hangs.TEARDOWN_S = 0.5
hangs.EXIT_S = 0.5
"""

LOST = """
import asyncio, time, pytest
from tests.witnesses import witness

class Fake:
    def tell(self):
        return "nobody came to the gate"

class Broken:
    def tell(self):
        raise ValueError("too early")

async def never_comes():
    await asyncio.Event().wait()

@pytest.mark.timeout(1)
async def test_the_first_ring_falls_into_a_callback():
    fakes = [Fake(), Broken()]
    for fake in fakes:
        witness(fake)
    asyncio.get_running_loop().call_soon(time.sleep, 30)
    await asyncio.create_task(never_comes(), name="the guest")
"""

TEARDOWN = """
import asyncio, pytest

@pytest.fixture
async def world():
    yield
    await asyncio.Event().wait()

@pytest.mark.timeout(30)
async def test_a_failure_before_a_teardown_that_hangs(world):
    assert False
"""

EXIT = """
import threading

def hangs_at_the_end():
    threading.Event().wait()

def test_that_leaves_a_thread():
    threading.Thread(target=hangs_at_the_end).start()
"""


def run(folder: Path, source: str) -> subprocess.CompletedProcess[str]:
    """Run one test file as this repository's tests are run."""
    (folder / "pytest.ini").write_text(CONFIG)
    (folder / "conftest.py").write_text(CONFTEST)
    (folder / "test_inner.py").write_text(source)
    plugins = ("-p", "tests.hangs", "-p", "no:cacheprovider", "-p", "no:randomly")
    return subprocess.run(
        [sys.executable, "-m", "pytest", *plugins, "-c", f"{folder}/pytest.ini", str(folder)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.requirement("repo.hangs")
def test_a_ring_that_is_lost_in_a_callback_is_followed_by_another(tmp_path: Path) -> None:
    ended = run(tmp_path, LOST)
    assert ended.returncode == 1
    assert "1 failed" in ended.stdout
    shown = ended.stdout[ended.stdout.index("Captured hang (2) call") :]
    assert re.search(r"Task the guest:\n.* in never_comes\n.* in Event.wait\n", shown)
    assert "Fake saw:\nnobody came to the gate" in shown
    assert "Broken cannot tell: ValueError('too early')" in shown


@pytest.mark.requirement("repo.hangs")
def test_the_teardown_of_a_failed_test_is_bounded(tmp_path: Path) -> None:
    ended = run(tmp_path, TEARDOWN)
    assert ended.returncode == 1
    assert "The teardown took longer than 0.5 s." in ended.stdout
    assert "1 failed, 1 error" in ended.stdout


@pytest.mark.requirement("repo.hangs")
def test_threads_that_outlast_a_run_end_it_and_are_shown(tmp_path: Path) -> None:
    ended = run(tmp_path, EXIT)
    assert ended.returncode == 1
    assert "1 passed" in ended.stdout
    assert "in hangs_at_the_end" in ended.stderr
