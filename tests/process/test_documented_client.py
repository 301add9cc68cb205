"""The client printed in the developer pages is a working program."""

from __future__ import annotations

import asyncio
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.process.world import World
from tests.repo import tree

pytestmark = pytest.mark.timeout(60)

PAGE = "docs/developer/writing-a-client.md"


def documented_program() -> str:
    """The one Python program of the page."""
    (program,) = re.findall(r"```python\n(.+?)```", (tree.ROOT / PAGE).read_text(), re.DOTALL)
    return str(program)


async def run(world: World, program: Path, text: str) -> tuple[int, str, str]:
    """Runs the program as a user would; returns its exit status and its words."""
    child = await asyncio.create_subprocess_exec(
        sys.executable,
        str(program),
        text,
        env=world.environment(),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    async with asyncio.timeout(30):
        out, err = await child.communicate()
    assert child.returncode is not None
    return child.returncode, out.decode(), err.decode()


@pytest.mark.requirement("docs.client-runs")
async def test_the_documented_client_streams_an_answer(world: World, tmp_path: Path) -> None:
    program = tmp_path / "client.py"
    program.write_text(documented_program())

    status, out, err = await run(world, program, "[[reply:hello from the page]]")

    assert (status, out, err) == (0, "hello from the page\n", "")


@pytest.mark.requirement("docs.client-runs")
def test_the_documented_client_tells_its_usage(tmp_path: Path) -> None:
    program = tmp_path / "client.py"
    program.write_text(documented_program())

    done = subprocess.run(
        [sys.executable, str(program)], capture_output=True, text=True, check=False
    )

    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == 'usage: client.py "MESSAGE"\n'


@pytest.mark.requirement("docs.client-runs")
def test_the_documented_client_stays_short() -> None:
    lines = [line for line in documented_program().splitlines() if line.strip()]
    imports = [line for line in lines if line.startswith(("import ", "from "))]
    assert len(lines) - len(imports) <= 30
