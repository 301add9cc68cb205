"""Every attempt to get out is made once more by a user who is nobody here."""

from __future__ import annotations

import os
import re
import sys
from asyncio import create_subprocess_exec
from asyncio.subprocess import PIPE, STDOUT
from pathlib import Path

import pytest

from tests.conftest import SEED_VARIABLE
from tests.sandbox.ordinary_user import UID, as_ordinary_user
from tests.sandbox.rig import REPOSITORY

FLAGS = ("-q", "-p", "no:cacheprovider", "-p", "no:randomly", "--no-header")
LEAST = 60
"""How many tests that is at the very least: none of them may have been left out."""


def environment(home: Path) -> dict[str, str]:
    """What that user's programs start with."""
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "LANG": "C.UTF-8",
        "PYTHONDONTWRITEBYTECODE": "1",
        "NETCLAW_TEST_BACKENDS": os.environ.get("NETCLAW_TEST_BACKENDS", "primary"),
        SEED_VARIABLE: os.environ[SEED_VARIABLE],
    }


@pytest.mark.timeout(480)
@pytest.mark.requirement("escape.users")
async def test_an_ordinary_user_gets_out_no_more_than_root(short_tmp: Path) -> None:
    """As root this starts them again as another user; anybody else has just run them."""
    script = "import os; print(os.geteuid())"
    argv = [sys.executable, "-m", "pytest", "tests/sandbox", "-m", "escape", *FLAGS]
    if os.geteuid() != 0:
        argv = [*argv, "--collect-only"]
    asked = await run(as_ordinary_user([sys.executable, "-c", script], short_tmp), short_tmp)
    assert asked == (0, f"{os.geteuid() or UID}\n")
    status, output = await run(as_ordinary_user(argv, short_tmp), short_tmp)
    assert status == 0, output[-6000:]
    counted = re.search(r"(\d+)(?:/\d+)? (?:passed|tests collected)", output)
    assert counted is not None, output[-2000:]
    assert int(counted[1]) >= LEAST
    assert "skipped" not in output


async def run(argv: list[str], home: Path) -> tuple[int, str]:
    """Exit status and output of a program."""
    process = await create_subprocess_exec(
        *argv, cwd=REPOSITORY, env=environment(home), stdout=PIPE, stderr=STDOUT
    )
    output, _ = await process.communicate()
    return await process.wait(), output.decode(errors="replace")
