"""A command cannot drive, read, stop or end a real daemon that runs beside it."""

from __future__ import annotations

import hashlib
import os
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from netclaw.core.path_rules import protected_paths
from netclaw.ports.shell_runner import SandboxProfile, ShellLimits
from tests.process.world import NETCLAW, World
from tests.sandbox.rig import Ran, Rig, listening
from tests.sandbox.test_escape_kernel import PROGRAM as KERNEL
from tests.sandbox.test_escape_kernel import shared_by_name

pytestmark = [pytest.mark.escape, pytest.mark.timeout(90)]

DAEMON = Path(__file__).with_name("inside").joinpath("daemon.py").read_text()
NAME = "victim"


@dataclass(frozen=True, kw_only=True)
class Beside:
    """A daemon with a session that waits for its next message, and a sandbox in that session."""

    world: World
    rig: Rig
    workspace: Path
    session_pid: int
    zygote_pid: int

    @property
    def profile(self) -> SandboxProfile:
        """What a command of the session may see."""
        home = str(self.world.home.resolve())
        return replace(
            self.rig.profile,
            home=home,
            writable=(str(self.workspace),),
            masked=protected_paths(home),
        )

    async def python(self, program: str, *arguments: str, has_network: bool = False) -> Ran:
        """Runs a program in the session's workspace."""
        profile = replace(self.profile, has_network=has_network)
        request = self.rig.request("", profile=profile, bounds=ShellLimits(total_s=60))
        argv = (sys.executable, "-I", "-S", "-c", program, *arguments, self.rig.marker)
        return await self.rig.run(replace(request, argv=argv, cwd=str(self.workspace)))

    def kept(self) -> dict[str, str]:
        """The daemon's own files, by their content."""
        folders = (self.world.home / "config", self.world.home / "run")
        files = [path for folder in folders for path in folder.rglob("*") if path.is_file()]
        return {str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}

    async def is_unharmed(self) -> bool:
        """Whether the same processes still answer, and nobody else was heard."""
        peer = self.world.peer
        before = (await peer.rows())[NAME]
        turn = await peer.turn(NAME, "[[reply:still here]]")
        rows = await peer.rows()
        return (
            turn.text == "still here"
            and list(rows) == [NAME]
            and rows[NAME].pid == before.pid == self.session_pid
            and not await peer.approvals(NAME, 0)
            and (await peer.status()).zygote_pid == self.zygote_pid
        )


@pytest.fixture
async def beside(escape_rig: Rig) -> AsyncIterator[Beside]:
    """One daemon of the same user beside a sandbox."""
    async with World() as world:
        await world.start()
        await world.peer.turn(NAME, "[[reply:hello]]")
        row = (await world.peer.rows())[NAME]
        status = await world.peer.wait_status(lambda now: now.zygote_pid != 0)
        root = Path((await world.peer.detail(NAME)).storage_root)
        workspace = root.resolve() / "workspace"
        workspace.mkdir(exist_ok=True)
        yield Beside(
            world=world,
            rig=escape_rig,
            workspace=workspace,
            session_pid=row.pid,
            zygote_pid=status.zygote_pid,
        )


def escaped(ran: Ran) -> list[str]:
    """What succeeded, once everything was tried."""
    lines = ran.output.splitlines()
    assert "".join(lines[-1:]).startswith("tried "), ran
    return [line for line in lines if line.startswith("escaped ")]


async def drive(beside: Beside, network: str) -> list[str]:
    """Goes for the operator API; sockets of this test stand where a daemon may listen one day."""
    (beside.workspace / "hard.sock").unlink(missing_ok=True)
    os.link(beside.world.home / "run/netclawd.sock", beside.workspace / "hard.sock")
    abstract = f"netclaw-{beside.rig.marker}"
    with ExitStack() as stack:
        stack.enter_context(listening(f"\0{abstract}"))
        four = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        six = stack.enter_context(socket.create_server(("::1", 0), family=socket.AF_INET6))
        ports = ",".join(str(made.getsockname()[1]) for made in (four, six))
        home, programs = str(beside.world.home), str(NETCLAW.parent)
        arguments = (home, programs, abstract, ports, network)
        ran = await beside.python(DAEMON, *arguments, has_network=network == "online")
    return escaped(ran)


SIGNALS = """
cat /proc/*/environ /proc/*/task/*/environ 2>/dev/null | tr '\\0' '\\n' | grep NETCLAW_HOME
for pid in "$@"; do
  for signal in STOP TERM HUP USR1 KILL; do kill -$signal $pid && echo escaped $signal; done
  renice 19 $pid && echo escaped renice
done 2>/dev/null
pkill -0 -f 'netclaw[d]' 2>/dev/null && echo escaped pkill
echo tried all
"""


@pytest.mark.requirement("escape.daemon")
async def test_a_command_does_not_drive_read_or_end_the_daemon_beside_it(beside: Beside) -> None:
    before = beside.kept()
    for network in ("offline", "online"):
        assert await drive(beside, network) == []
    pids = [str(pid) for pid in (beside.world.pid, beside.session_pid, beside.zygote_pid)]
    with shared_by_name() as key:
        for pid in pids:
            assert escaped(await beside.python(KERNEL, pid, str(key))) == []
    request = beside.rig.request(SIGNALS, *pids, profile=beside.profile)
    ran = await beside.rig.run(replace(request, cwd=str(beside.workspace)))
    assert ran.output == "tried all\n"
    assert beside.kept() == before
    assert await beside.is_unharmed()
