"""The README's first command, as a newcomer runs it: a real chat with a real model."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from netclaw.models.pull import SMOLLM2
from tests.repo.tree import ROOT

pytestmark = pytest.mark.timeout(240)

NETCLAW = Path(sys.executable).parent / "netclaw"


@pytest.fixture
def home(weights: Path) -> Iterator[Path]:
    """A home that has nothing but the weights, so that the test need not fetch them again."""
    folder = Path(tempfile.mkdtemp(prefix="nc-", dir="/tmp"))
    target = SMOLLM2.path(folder)
    target.parent.mkdir(parents=True)
    shutil.copyfile(weights, target)
    yield folder
    run(folder, "daemon", "stop")
    shutil.rmtree(folder, ignore_errors=True)


def run(home: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """One command of the command line in this home."""
    return subprocess.run(
        [str(NETCLAW), *words],
        env={**os.environ, "NETCLAW_HOME": str(home)},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.requirement("models.quickstart")
def test_quickstart_holds_a_real_chat_and_leaves_a_healthy_daemon(home: Path) -> None:
    done = subprocess.run(
        ["./scripts/quickstart"],
        cwd=ROOT,
        env={**os.environ, "NETCLAW_HOME": str(home)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    for words in ("5 of 5", "Ollama", "OpenAI-compatible", "Anthropic", "daemon stop"):
        assert words in done.stdout

    rows = json.loads(run(home, "sessions", "--json").stdout)
    assert [row["turns"] for row in rows] == [1]
    history = json.loads(run(home, "sessions", "history", rows[0]["id"], "--json").stdout)
    assert [item["role"] for item in history] == ["user", "assistant"]
    assert history[1]["text"].strip()
    assert run(home, "status").returncode == 0
