"""Runs aimock, a mock model provider by other people, as an independent peer for our client.

It is a Node package, locked in `tests/fakes/aimock/` and installed there when it is missing.
"""

from __future__ import annotations

import asyncio
import fcntl
import re
import shutil
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

HOME = Path(__file__).parent / "aimock"
PROGRAM = HOME / "node_modules" / "@copilotkit" / "aimock" / "dist" / "cli.js"
LISTENING = re.compile(r"listening on (\S+)")
START_TIMEOUT_S = 15.0


def install() -> None:
    """Install the locked version if it is not there; workers that come at once take turns."""
    with (HOME / "package.json").open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if PROGRAM.exists():
            return
        npm = shutil.which("npm")
        assert npm is not None, "npm is needed to install the peer provider aimock"
        command = [npm, "ci", "--omit=dev", "--omit=optional", "--omit=peer"]
        done = subprocess.run(command, cwd=HOME, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"npm ci failed: {done.stderr[-500:]}"


@asynccontextmanager
async def aimock() -> AsyncIterator[str]:
    """The running server's endpoint, ending in `/v1`; it knows what `fixtures.json` says."""
    await asyncio.to_thread(install)
    node = shutil.which("node")
    assert node is not None, "Node is needed to run the peer provider aimock"
    process = await asyncio.create_subprocess_exec(
        *(node, str(PROGRAM), "--port", "0", "--strict", "--validate-on-load"),
        *("--fixtures", str(HOME / "fixtures.json"), "--latency", "1"),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    try:
        async with asyncio.timeout(START_TIMEOUT_S):
            url = await _announced(process.stdout)
        yield f"{url}/v1"
    finally:
        process.kill()
        await process.wait()


async def _announced(output: asyncio.StreamReader | None) -> str:
    said = ""
    assert output is not None
    async for line in output:
        said += line.decode(errors="replace")
        if found := LISTENING.search(said):
            return found.group(1)
    raise AssertionError(f"aimock did not start: {said}")
