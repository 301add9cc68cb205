"""Servers that are really started, and the link to them as a session has it."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from netclaw.core.tool_servers import ToolServerSettings, credential_key
from netclaw.mcp.link import ToolServerLink
from netclaw.ports.tool_servers import ServerCallRequest, ServerReply
from tests.repo import tree

MAIN = ("-m", "tests.mcp.server_main")


@dataclass
class Fake:
    """A server that can be configured, and what it noted."""

    folder: Path
    processes: list[subprocess.Popen[bytes]] = field(default_factory=list)

    @property
    def notes(self) -> list[str]:
        """The calls that reached it."""
        file = self.folder / "notes"
        return file.read_text().splitlines() if file.exists() else []

    def stdio(self, name: str = "files", **more: str) -> ToolServerSettings:
        """It speaks over its pipes; `more` are names of its environment."""
        return ToolServerSettings(
            name=name,
            transport="stdio",
            command=sys.executable,
            arguments=(*MAIN, "stdio", str(self.folder / "notes")),
            environment=("PYTHONPATH", *more),
        )

    def http(self, name: str = "web", *headers: str, kind: str = "http") -> ToolServerSettings:
        """It is started now and speaks over loopback."""
        port_file = self.folder / f"port{len(self.processes)}"
        arguments = (*MAIN, kind, str(self.folder / "notes"), str(port_file), str(self.control))
        self.processes.append(
            subprocess.Popen(
                [sys.executable, *arguments],
                cwd=tree.ROOT,
                env={**os.environ, "PYTHONPATH": str(tree.ROOT)},
            )
        )
        while not port_file.exists():
            assert self.processes[-1].poll() is None
        transport, path = ("sse", "sse") if kind == "sse" else ("http", "mcp")
        url = f"http://127.0.0.1:{port_file.read_text()}/{path}"
        return ToolServerSettings(name=name, transport=transport, url=url, headers=headers)

    @property
    def control(self) -> Path:
        """What the http server answers instead of working."""
        return self.folder / "control"

    def answer(self, *lines: str) -> None:
        """Answer like this from now on; without lines, work again."""
        self.control.write_text("\n".join(lines))


@contextmanager
def make_fake() -> Iterator[Fake]:
    """A server's files in a short folder; what was started is ended."""
    with tempfile.TemporaryDirectory(prefix="nc-", dir="/tmp") as folder:
        made = Fake(Path(folder))
        yield made
        for process in made.processes:
            process.kill()
            process.wait()


@pytest.fixture
def fake() -> Iterator[Fake]:
    """A server of one test."""
    with make_fake() as made:
        yield made


class Links:
    """Makes links and closes them."""

    def __init__(self) -> None:
        self._made: list[ToolServerLink] = []

    def make(self, *servers: ToolServerSettings, **credentials: str) -> ToolServerLink:
        """A link; `credentials` are `server_kind_name="value"` without their `mcp:`."""
        known = {
            credential_key(server.name, "env", "PYTHONPATH"): str(tree.ROOT) for server in servers
        }
        for key, value in credentials.items():
            known[credential_key(*key.split("_", 2))] = value
        link = ToolServerLink(servers, credentials=known)
        self._made.append(link)
        return link

    async def close(self) -> None:
        """End what was started."""
        for link in self._made:
            with suppress(ProcessLookupError):
                await link.close()


@pytest.fixture
async def links() -> AsyncIterator[Links]:
    """Makes links."""
    made = Links()
    yield made
    await made.close()


async def ask(
    link: ToolServerLink,
    tool: str,
    server: str = "files",
    *,
    max_chars: int = 100_000,
    silence_s: float = 60.0,
    items: list[int] | None = None,
    **arguments: object,
) -> ServerReply:
    """Call a tool as a session does."""
    return await link.call(
        ServerCallRequest(
            server=server,
            tool=tool,
            arguments=json.dumps(arguments),
            max_chars=max_chars,
            silence_s=silence_s,
        ),
        on_item=lambda: None if items is None else items.append(1),
    )


def is_alive(pid: int) -> bool:
    """Whether a process runs; one that nobody reaped yet does not."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"


async def until_gone(pid: int) -> None:
    """Return once a process has ended; the test's own limit bounds it."""
    while is_alive(pid):  # noqa: ASYNC110 - another process sets no event of ours
        await asyncio.sleep(0.01)
