"""A socket inside a bound folder is in sight and out of reach, whenever and however it was made.

Nothing can be mounted over what does not exist yet, and a mask over a file goes with the file, so
these tests are about the filter: no command makes a Unix socket other than a connected pair.
"""

from __future__ import annotations

import asyncio
import os
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from tests.sandbox.rig import PROVED, WORKING, Rig, until, visible_folder

pytestmark = pytest.mark.escape

KINDS = (socket.SOCK_STREAM, socket.SOCK_SEQPACKET, socket.SOCK_DGRAM)

REACH = """
import os, socket, sys, time
open("planned", "w").close()
while not os.path.exists("go"):
    time.sleep(0.005)
kinds = (socket.SOCK_STREAM, socket.SOCK_SEQPACKET, socket.SOCK_DGRAM)
def attempt(what, act):
    try:
        act()
        print("reached", what)
    except OSError:
        pass
for path in sys.argv[1:-1]:
    assert os.path.exists(path), path
    for kind in kinds:
        name = f"{path} {kind.name}"
        attempt(name, lambda: socket.socket(socket.AF_UNIX, kind).connect(path))
        attempt(name, lambda: socket.socket(socket.AF_UNIX, kind).sendto(b"x", path))
        attempt(name, lambda: socket.socketpair(socket.AF_UNIX, kind)[0].connect(path))
        attempt(name, lambda: socket.socketpair(socket.AF_UNIX, kind)[0].sendto(b"x", path))
        def after_hang_up():
            left, right = socket.socketpair(socket.AF_UNIX, kind)
            right.close()
            left.connect(path)
        attempt(name, after_hang_up)
print("tried")
"""


class Host:
    """Sockets of a host process, and whether anybody ever came."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self._folder = folder
        self._folder_fd = os.open(folder, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        stack.callback(os.close, self._folder_fd)
        self._stack = stack
        self._sockets: list[socket.socket] = []

    def listen(self, name: str) -> None:
        """One socket of each kind; an older one of that name is replaced."""
        for kind in KINDS:
            (self._folder / f"{name}-{kind.name}").unlink(missing_ok=True)
            self._bind(f"{name}-{kind.name}", kind)

    def rename(self, name: str) -> None:
        """Moves one of each kind, made beside the folder, to where the command looks."""
        for kind in KINDS:
            target = f"{name}-{kind.name}"
            self._bind(f"../{target}", kind)
            (self._folder.parent / target).rename(self._folder / target)

    def names(self) -> list[str]:
        """What lies in the folder now."""
        return sorted(os.listdir(self._folder))

    def _bind(self, name: str, kind: socket.SocketKind) -> None:
        """By way of a descriptor: the folder's path may be longer than a socket's may be."""
        made = self._stack.enter_context(socket.socket(socket.AF_UNIX, kind))
        made.setblocking(False)
        made.bind(f"/proc/self/fd/{self._folder_fd}/{name}")
        if kind is not socket.SOCK_DGRAM:
            made.listen(4)
        self._sockets.append(made)

    def visits(self) -> int:
        """Sockets at which a connection or a datagram waits."""
        return sum(map(_has_visitor, self._sockets))


def _has_visitor(made: socket.socket) -> bool:
    try:
        if made.type is socket.SOCK_DGRAM:
            made.recv(16)
        else:
            made.accept()[0].close()
    except BlockingIOError:
        return False
    return True


@contextmanager
def hosting(folder: Path) -> Iterator[Host]:
    """A host process's sockets in a folder that the command may write."""
    with ExitStack() as stack:
        yield Host(folder, stack)


async def reach(rig: Rig, act: Callable[[], None], folder: Path) -> str:
    """Starts a command bound to `folder`, lets the host act, then lets the command try."""
    names = [f"s-{kind.name}" for kind in KINDS]
    writable = tuple(dict.fromkeys((*rig.profile.writable, str(folder))))
    profile = replace(rig.profile, writable=writable)
    request = replace(rig.request("", profile=profile), cwd=str(folder))
    argv = (sys.executable, "-I", "-S", "-c", REACH, *names, rig.marker)
    running = asyncio.ensure_future(rig.run(replace(request, argv=argv)))
    await until((folder / "planned").exists)
    act()
    (folder / "go").touch()
    return (await running).output


def nothing() -> None:
    """The host does not act once the command was planned."""


@pytest.mark.requirement("sandbox.sockets")
async def test_these_attempts_reach_a_socket_where_nothing_confines(short_tmp: Path) -> None:
    """The control: without a sandbox every kind of socket is reached."""
    rig = Rig(facts=PROVED[WORKING[0]], folder=short_tmp.resolve(), is_confined=False)
    with hosting(rig.workspace) as host:
        host.listen("s")
        output = await reach(rig, nothing, rig.workspace)
        assert host.visits() == len(KINDS)
    for kind in KINDS:
        assert f"reached s-{kind.name} {kind.name}\n" in output


@pytest.mark.requirement("sandbox.sockets")
async def test_a_socket_made_before_the_command_is_not_reached(rig: Rig) -> None:
    with hosting(rig.workspace) as host:
        host.listen("s")
        assert await reach(rig, nothing, rig.workspace) == "tried\n"
        assert host.visits() == 0


@pytest.mark.requirement("sandbox.sockets")
async def test_a_socket_in_a_project_directory_is_not_reached(rig: Rig) -> None:
    """One outside every temporary place and the netclaw home."""
    with visible_folder() as folder, hosting(folder) as host:
        host.listen("s")
        assert await reach(rig, nothing, folder) == "tried\n"
        assert host.visits() == 0


@pytest.mark.requirement("sandbox.sockets")
@pytest.mark.parametrize("way", ["made", "made again", "renamed over", "renamed in"])
async def test_a_socket_that_comes_while_a_command_runs_is_not_reached(rig: Rig, way: str) -> None:
    with hosting(rig.workspace) as host:
        host.listen("s")
        if way in {"made", "renamed in"}:
            for name in host.names():
                (rig.workspace / name).unlink()
        act = host.rename if way.startswith("renamed") else host.listen
        assert await reach(rig, lambda: act("s"), rig.workspace) == "tried\n"
        assert host.visits() == 0


@pytest.mark.requirement("sandbox.sockets")
async def test_a_socket_in_a_bound_folder_is_in_sight(rig: Rig) -> None:
    """What the tests above rely on: it is not a mask that keeps it out of reach."""
    with hosting(rig.workspace) as host:
        host.listen("s")
        ran = await rig.bash("for path; do [ -S $path ] && echo seen; done", *host.names())
    assert ran.output == "seen\n" * len(KINDS)
