"""Real sandboxes for tests: a netclaw home with secrets in it, and a runner for each backend."""

from __future__ import annotations

import asyncio
import os
import secrets
import shutil
import socket
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from netclaw.core.path_rules import protected_paths
from netclaw.core.settings import SandboxBackendChoice, ToolSettings
from netclaw.ports.shell_runner import (
    Confinement,
    SandboxFacts,
    SandboxProfile,
    ShellLimits,
    ShellOutcome,
    ShellRequest,
)
from netclaw.sandbox import limits
from netclaw.sandbox.probe import prove_backends
from netclaw.sandbox.runner import SandboxRunner

CHOICES = tuple(choice for choice in SandboxBackendChoice if choice != SandboxBackendChoice.AUTO)
PROVED = {
    choice: prove_backends(ToolSettings(sandbox_backend=choice)) for choice in SandboxBackendChoice
}
"""What this machine can do, found out once: tests run over what works."""

BACKENDS = os.environ.get("NETCLAW_TEST_BACKENDS", "")
"""`primary` tests the strongest backend alone, `all` each with every test; see `ESCAPE_RIGS`."""

WORKING = [choice for choice in CHOICES if PROVED[choice].backend is not None]
if BACKENDS == "primary":
    WORKING = WORKING[:1]
ESCAPE_RIGS = WORKING if BACKENDS == "all" else WORKING[:1]
"""Where the long attempts to get out are made: `scripts/torture escape` asks for all."""
WITH_VIEW = [choice for choice in WORKING if choice is not SandboxBackendChoice.LANDLOCK]
LIMIT_KINDS = ["rlimits", "cgroup"] if limits.can_make_cgroup() else ["rlimits"]

SECRET = "s3cr3t-of-the-home"
REPOSITORY = Path(__file__).resolve().parents[2]


@dataclass(frozen=True, kw_only=True)
class Ran:
    """One finished command."""

    outcome: ShellOutcome
    output: str


async def acknowledge(_pid: int, _ticks: int) -> None:
    """A supervisor that acknowledges every tree at once."""


@dataclass(kw_only=True)
class Rig:
    """One home, one backend. `marker` is in the command line of everything started here."""

    facts: SandboxFacts
    folder: Path
    is_confined: bool = True
    marker: str = field(default_factory=lambda: f"marker-{secrets.token_hex(8)}")

    def __post_init__(self) -> None:
        """Fills the home."""
        for path in (self.workspace, self.tmp, self.home / "config", self.home / "run"):
            path.mkdir(parents=True, mode=0o700)
        for path in (self.secret_file, self.home / "netclaw.db", self.folder / "outside"):
            path.write_text(SECRET)

    @property
    def home(self) -> Path:
        """The netclaw home."""
        return self.folder / "home"

    @property
    def workspace(self) -> Path:
        """The one writable root."""
        return self.home / "sessions/one/workspace"

    @property
    def tmp(self) -> Path:
        """The session's temporary folder."""
        return self.folder / "tmp/k/p"

    @property
    def secret_file(self) -> Path:
        """A protected file."""
        return self.home / "config/secrets.json"

    @property
    def has_init(self) -> bool:
        """Whether a tree's first process is the init of a PID namespace, else a subreaper."""
        spaced = {Confinement.BUBBLEWRAP, Confinement.UNSHARE}
        return self.is_confined and self.facts.backend in spaced

    @property
    def profile(self) -> SandboxProfile:
        """What the commands of these tests may see; Python lies where Landlock shows nothing."""
        interpreter = tuple({os.path.realpath(path) for path in (sys.prefix, sys.base_prefix)})
        return SandboxProfile(
            home=str(self.home),
            writable=(str(self.workspace),),
            readable=interpreter,
            masked=protected_paths(str(self.home)),
            tmp=str(self.tmp),
        )

    def request(
        self,
        script: str,
        *arguments: str,
        bounds: ShellLimits | None = None,
        profile: SandboxProfile | None = None,
    ) -> ShellRequest:
        """A bash script with arguments, as `shell_execute` would ask for it."""
        return ShellRequest(
            argv=("/bin/bash", "--norc", "--noprofile", "-c", script, self.marker, *arguments),
            cwd=str(self.workspace),
            environment={"HOME": str(self.tmp), "TMPDIR": str(self.tmp)},
            profile=(profile or self.profile) if self.is_confined else None,
            limits=bounds or ShellLimits(total_s=15),
        )

    async def bash(
        self,
        script: str,
        *arguments: str,
        bounds: ShellLimits | None = None,
        profile: SandboxProfile | None = None,
        on_started: Callable[[int, int], Awaitable[None]] = acknowledge,
    ) -> Ran:
        """Runs a script to its end."""
        return await self.run(
            self.request(script, *arguments, bounds=bounds, profile=profile), on_started
        )

    async def python(self, program: str, *arguments: str, has_network: bool = False) -> Ran:
        """Runs a Python program inside."""
        request = self.request("", profile=replace(self.profile, has_network=has_network))
        argv = (sys.executable, "-I", "-S", "-c", program, *arguments, self.marker)
        return await self.run(replace(request, argv=argv))

    async def run(
        self,
        request: ShellRequest,
        on_started: Callable[[int, int], Awaitable[None]] = acknowledge,
    ) -> Ran:
        """Runs a request to its end."""
        pieces: list[bytes] = []
        runner = SandboxRunner(self.facts)
        outcome = await runner.run(request, on_started=on_started, sink=pieces.append)
        return Ran(outcome=outcome, output=b"".join(pieces).decode(errors="replace"))

    def left(self) -> list[int]:
        """Pids of living processes whose command line holds the marker."""
        return marked(self.marker)


def marked(marker: str) -> list[int]:
    """Living processes (zombies have no command line) that carry a marker in their arguments."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            try:
                line = (entry / "cmdline").read_bytes()
            except OSError:
                continue
            if marker.encode() in line:
                found.append(int(entry.name))
    return found


async def until(condition: Callable[[], bool], *, within_s: float = 8.0) -> None:
    """Waits for a condition with a bound."""
    deadline = time.monotonic() + within_s
    while not condition():
        assert time.monotonic() < deadline, "the condition did not come true in time"
        await asyncio.sleep(0.01)


def _visible_base() -> Path:
    """Beside the sources, unless they lie in a temporary place themselves."""
    for base in (REPOSITORY / "build", Path.home() / ".cache", Path("/srv")):
        if not any(base.resolve().is_relative_to(place) for place in ("/tmp", "/var/tmp")):
            base.mkdir(parents=True, exist_ok=True)
            return base
    raise AssertionError("every place for a visible folder is temporary")


@contextmanager
def visible_folder() -> Iterator[Path]:
    """A folder outside every temporary place, so that only the view's own rules hide it."""
    folder = Path(tempfile.mkdtemp(prefix="nc-", dir=_visible_base()))
    try:
        yield folder
    finally:
        shutil.rmtree(folder)


@contextmanager
def listening(path: str) -> Iterator[socket.socket]:
    """A Unix socket that somebody listens on; a path starting with NUL is an abstract name."""
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen(8)
        yield listener
