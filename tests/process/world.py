"""A netclaw home with a real daemon and a real scripted model beside it, for one test.

    async with World() as world:
        await world.start()
        turn = await world.turn("cli-name", "[[reply:hello]]")
        await world.kill()            # SIGKILL of the supervisor
        await world.start()           # the same home again

Everything runs as it does for a user: `netclawd` as a process of its own, spoken to over its
Unix socket with the operator's token.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import socket
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

import grpc

from tests.fakes.model import FakeModel
from tests.process.daemon_process import DaemonProcess
from tests.process.peer import Peer
from tests.witnesses import TAIL_CHARACTERS, tail_of, witness

NETCLAWD = Path(sys.executable).parent / "netclawd"
NETCLAW = Path(sys.executable).parent / "netclaw"
READY_TIMEOUT_S = 30.0

FAST_CONFIG: dict[str, Any] = {
    "configVersion": 1,
    "Session": {"PrefillTimeoutSeconds": 60},
    "Supervision": {"BackoffSeconds": [0], "TurnCrashLimit": 1000, "QuarantineCrashes": 100000},
    "Tools": {
        "AudienceProfiles": {
            "Personal": {"ApprovalPolicy": {"ToolOverrides": {"shell_execute": "Auto"}}}
        }
    },
}
"""No backoff and high thresholds, so that a killed session is back at once; commands ask nobody."""

ASKING: dict[str, Any] = {
    "Tools": {
        "AudienceProfiles": {
            "Personal": {"ApprovalPolicy": {"ToolOverrides": {"shell_execute": "Approval"}}}
        }
    }
}
"""Commands ask, as they do where nothing is configured."""


def merge(base: dict[str, Any], extra: dict[str, Any]) -> dict[str, Any]:
    """`base` with `extra` laid over it, section by section."""
    result = dict(base)
    for key, value in extra.items():
        old = result.get(key)
        is_section = isinstance(old, dict) and isinstance(value, dict)
        result[key] = merge(dict(base[key]), value) if is_section else value
    return result


class World:
    """One home, one model, at most one daemon at a time."""

    def __init__(
        self,
        *,
        config: dict[str, Any] | None = None,
        model: FakeModel | None = None,
        has_model: bool = True,
        launcher: tuple[str, ...] = (),
        home: Path | None = None,
    ) -> None:
        self.home = home or Path(tempfile.mkdtemp(prefix="nc-", dir="/tmp"))
        self.model = model or FakeModel()
        self.peer = Peer(self.home)
        self.process: DaemonProcess | None = None
        self._config = merge(FAST_CONFIG, config or {})
        self._has_model = has_model
        self.is_up = asyncio.Event()
        """Set while a started daemon was not killed or stopped by the test."""
        self._launcher = launcher
        self._errors_folder = self.home.parent
        witness(self)

    def tell(self) -> str:
        """The ends of the daemon's and the sessions' logs."""
        logs = sorted(self.home.glob("**/session.log"))
        return "\n".join((self.log[-TAIL_CHARACTERS:], *map(tail_of, logs)))

    async def __aenter__(self) -> Self:
        await self.model.__aenter__()
        if self._has_model:
            self._config = merge(model_config(self.model.url), self._config)
        self.write_config(self._config)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.peer.close()
        await self.model.__aexit__(None, None, None)
        self.end()

    def end(self) -> None:
        """Kill the daemon and remove its home."""
        if self.process is not None:
            self.process.end()
        shutil.rmtree(self.home, ignore_errors=True)
        (self._errors_folder / f"{self.home.name}-stderr.txt").unlink(missing_ok=True)

    def settle_in(self, home: Path) -> None:
        """Go on with a home that was moved here; the daemon is down."""
        self.home = home
        self.peer = Peer(home)

    def write_config(self, config: dict[str, Any]) -> None:
        """Replace netclaw.json."""
        folder = self.home / "config"
        folder.mkdir(exist_ok=True)
        (folder / "netclaw.json").write_text(json.dumps(config))

    def edit_config(self, extra: dict[str, Any]) -> None:
        """Change netclaw.json as an editor does: write beside it, rename over it."""
        folder = self.home / "config"
        fresh = folder / "netclaw.json.new"
        fresh.write_text(json.dumps(merge(self._config, extra)))
        fresh.replace(folder / "netclaw.json")

    @property
    def cli(self) -> Path:
        """The command line program."""
        return NETCLAW

    @property
    def pid(self) -> int:
        """The supervisor's process id."""
        assert self.process is not None
        return self.process.pid

    @property
    def log(self) -> str:
        """What the daemon wrote to its standard error."""
        path = self._errors_folder / f"{self.home.name}-stderr.txt"
        return path.read_text(errors="replace") if path.exists() else ""

    @property
    def daemon_log(self) -> str:
        """What the daemon wrote to its log folder."""
        return "".join(path.read_text() for path in sorted(self.home.glob("logs/daemon-*.log")))

    def environment(self) -> dict[str, str]:
        """What the daemon and the command line are started with."""
        kept = {k: v for k, v in os.environ.items() if k in {"PATH", "HOME", "LANG", "TZ"}}
        return {**kept, "NETCLAW_HOME": str(self.home)}

    async def start(self, *, environment: dict[str, str] | None = None) -> float:
        """Start the daemon and wait for its READY=1; returns the seconds that took."""
        began = time.monotonic()
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notify:
            notify.setblocking(False)
            address = str(self.home / f"notify-{time.monotonic_ns()}.sock")
            notify.bind(address)
            self._launch({"NOTIFY_SOCKET": address, **(environment or {})})
            await self._until_ready(notify)
        await self.peer.connect()
        self.is_up.set()
        return time.monotonic() - began

    def _launch(self, environment: dict[str, str]) -> None:
        self.process = DaemonProcess(
            *self._launcher,
            str(NETCLAWD),
            environment={**self.environment(), **environment},
            errors=self._errors_folder / f"{self.home.name}-stderr.txt",
        )

    async def _until_ready(self, notify: socket.socket) -> None:
        assert self.process is not None
        loop = asyncio.get_running_loop()
        ended = asyncio.create_task(self.process.wait())
        try:
            async with asyncio.timeout(READY_TIMEOUT_S):
                while True:
                    packet = asyncio.create_task(loop.sock_recv(notify, 4096))
                    done, _ = await asyncio.wait(
                        {packet, ended}, return_when=asyncio.FIRST_COMPLETED
                    )
                    if packet in done and b"READY=1" in packet.result():
                        return
                    packet.cancel()
                    if ended in done:
                        raise AssertionError(f"netclawd ended: {ended.result()}\n{self.log}")
        finally:
            ended.cancel()

    async def refuse_to_start(self) -> tuple[int, str]:
        """Start a daemon that must not come up; returns its exit status and its words."""
        before = len(self.log)
        self._launch({})
        assert self.process is not None
        async with asyncio.timeout(READY_TIMEOUT_S):
            status = await self.process.wait()
        return status, self.log[before:]

    async def at_gate(self, name: str, waiting: int = 1) -> None:
        """Wait until `waiting` model calls wait at a gate of their script; bounded."""
        async with asyncio.timeout(READY_TIMEOUT_S):
            await self.model.gates.wait_for_arrival(name, waiting)

    def open_gate(self, name: str) -> None:
        """Let pass what waits at a gate, and all that comes."""
        self.model.gates.open(name)

    async def until_requests(self, count: int) -> None:
        """Wait until the model was called `count` times; bounded."""
        async with asyncio.timeout(READY_TIMEOUT_S):
            await self.model.wait_for_requests(count)

    async def until(self, is_met: Callable[[], bool]) -> None:
        """Wait until a condition of the machine holds; bounded."""
        async with asyncio.timeout(READY_TIMEOUT_S):
            while not is_met():
                await asyncio.sleep(0.01)

    async def kill(self) -> None:
        """SIGKILL of the supervisor, as a crash of the machine's memory would."""
        assert self.process is not None
        self.is_up.clear()
        self.process.kill()
        await self.process.wait()
        await self.peer.close()

    async def restart(self) -> None:
        """Restart the daemon in place, same pid, and reconnect once it is ready again."""
        generation = (await self.peer.status()).generation
        await self.peer.shutdown(is_restart=True)
        await self.wait_generation(generation + 1)

    async def wait_generation(self, generation: int) -> None:
        """Wait until this generation of the daemon answers, and be connected to it."""
        async with asyncio.timeout(60):
            while True:
                try:
                    await self.peer.connect()
                    if (await self.peer.status()).generation >= generation:
                        return
                except (grpc.aio.AioRpcError, FileNotFoundError):
                    pass
                await asyncio.sleep(0.05)

    async def stop(self, *, number: signal.Signals = signal.SIGTERM) -> int:
        """Ask the daemon to stop gracefully; returns its exit status."""
        assert self.process is not None
        self.process.send_signal(number)
        async with asyncio.timeout(60):
            status = await self.process.wait()
        await self.peer.close()
        return status


def model_config(url: str) -> dict[str, Any]:
    """The sections that name one OpenAI-compatible model at `url`."""
    return {
        "Providers": {"fake": {"Type": "openai-compatible", "Endpoint": url}},
        "Models": {
            "Definitions": {
                "main": {"Provider": "fake", "ModelId": "fake-model", "ContextWindow": 128000}
            },
            "Roles": {"Main": "main"},
        },
    }
