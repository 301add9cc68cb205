"""The stage of a benchmark: a daemon and a scripted model, each in its own processes."""

from __future__ import annotations

import asyncio
import sys
import tempfile
import time
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import aiohttp
import orjson

from tests.process.peer import Peer
from tests.process.world import World

MODEL_LATENCY_MS = 40
PROMPT_BYTES = 40_000
PAGE = 4096


class ModelProcess:
    """The fake model as a process of its own, so that its work is not counted as ours."""

    def __init__(self, *, latency_ms: int = MODEL_LATENCY_MS, default: str = "[[echo]]") -> None:
        self._latency_ms = latency_ms
        self._default = default
        self._folder = tempfile.TemporaryDirectory(prefix="nc-", dir="/tmp")
        self._process: asyncio.subprocess.Process | None = None
        self._port = 0

    @property
    def url(self) -> str:
        """Where the OpenAI dialect is spoken."""
        return f"http://127.0.0.1:{self._port}/v1"

    @property
    def base_url(self) -> str:
        """Where the control pages are."""
        return f"http://127.0.0.1:{self._port}"

    async def __aenter__(self) -> Self:
        port_file = Path(self._folder.name) / "port"
        self._process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "tests.fakes.model", "--port", "0",
            "--port-file", str(port_file), "--die-with-parent",
            "--latency-ms", str(self._latency_ms), "--title", "A measured conversation",
            "--default", self._default,
        )  # fmt: skip
        async with asyncio.timeout(20):
            while not port_file.exists() or not port_file.read_text().strip():
                await asyncio.sleep(0.01)
        self._port = int(port_file.read_text())
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        fault: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._process is not None and self._process.returncode is None:
            self._process.kill()
            await self._process.wait()
        self._folder.cleanup()

    async def arrivals(self, http: aiohttp.ClientSession, count: int) -> list[dict[str, Any]]:
        """Wait until `count` requests came in all; returns them."""
        url = f"{self.base_url}/__requests?min={count}&wait_s=30"
        async with http.get(url) as answer:
            body = orjson.loads(await answer.read())
        found: list[dict[str, Any]] = body["requests"]
        return found

    async def open_gate(self, http: aiohttp.ClientSession, name: str) -> None:
        """Let pass what waits at a gate."""
        async with http.post(f"{self.base_url}/__gates/{name}") as answer:
            await answer.read()

    async def reset(self, http: aiohttp.ClientSession) -> None:
        """Forget requests and gates."""
        async with http.post(f"{self.base_url}/__reset") as answer:
            await answer.read()


class Stage:
    """A world for measuring, and a bare client beside it."""

    def __init__(
        self, *, model: ModelProcess | None = None, config: dict[str, Any] | None = None
    ) -> None:
        self.model = model or ModelProcess()
        self.world = World(
            model=self.model,  # type: ignore[arg-type]
            config={"Session": {"IdleTimeout": "00:00:00"}, **(config or {})},
        )

    async def __aenter__(self) -> Self:
        await self.world.__aenter__()
        self.http = aiohttp.ClientSession()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.http.close()
        await self.world.__aexit__(None, None, None)

    @property
    def peer(self) -> Peer:
        """The client of the daemon."""
        return self.world.peer

    async def bare_call(self, text: str) -> float:
        """Seconds of one streamed model call without netclaw."""
        body = orjson.dumps(
            {
                "model": "fake-model",
                "stream": True,
                "stream_options": {"include_usage": True},
                "messages": [{"role": "user", "content": text}],
            }
        )
        began = time.perf_counter()
        async with self.http.post(
            f"{self.model.url}/chat/completions",
            data=body,
            headers={"content-type": "application/json"},
        ) as answer:
            async for _ in answer.content.iter_any():
                pass
        return time.perf_counter() - began


class Talk:
    """One client's conversation: an open subscription and turns one after another."""

    def __init__(self, stage: Stage, session_id: str) -> None:
        self._peer = stage.peer
        self._session_id = session_id
        self._ended: asyncio.Queue[frozenset[str]] = asyncio.Queue()
        self._watching: asyncio.Task[None] | None = None

    async def open(self) -> None:
        """Create the session and subscribe to its text."""
        await self._peer.ensure(self._session_id)
        is_open = asyncio.Event()
        self._watching = asyncio.create_task(self._watch(is_open))
        async with asyncio.timeout(20):
            await is_open.wait()

    async def close(self) -> None:
        """End the subscription."""
        if self._watching is not None:
            self._watching.cancel()
            await asyncio.gather(self._watching, return_exceptions=True)

    async def turn(self, text: str) -> float:
        """Seconds from sending a message to the boundary that consumed it."""
        began = time.perf_counter()
        sent = await self._peer.send(self._session_id, text)
        async with asyncio.timeout(60):
            while sent.input_id not in await self._ended.get():
                pass
        return time.perf_counter() - began

    async def _watch(self, is_open: asyncio.Event) -> None:
        async for output in self._peer.attach(self._session_id, filter_bits=3, opened=is_open):
            if output.type == "turn_completed":
                self._ended.put_nowait(frozenset(output.input_ids))


def pss_mib(pids: list[int]) -> float:
    """Proportional set size of processes, in MiB."""
    total = 0
    for pid in pids:
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                total += int(line.split()[1])
    return total / 1024


def cpu_seconds(pids: list[int]) -> float:
    """CPU time that processes used so far, user and system."""
    ticks = 0
    for pid in pids:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        ticks += int(fields[11]) + int(fields[12])
    return ticks / 100
