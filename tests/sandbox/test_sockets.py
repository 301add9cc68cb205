"""Neither the daemon's sockets nor anybody's network is in reach of a command."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest

from netclaw.ports.shell_runner import Confinement
from tests.sandbox.rig import Rig, listening, visible_folder

pytestmark = pytest.mark.escape

CONNECT = """
import socket, sys
for name in sys.argv[1:-1]:
    for kind in (socket.SOCK_STREAM, socket.SOCK_SEQPACKET, socket.SOCK_DGRAM):
        try:
            socket.socket(socket.AF_UNIX, kind).connect(name.replace("@", chr(0)))
            print("reached", name)
        except OSError:
            pass
    try:
        a, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
        a.sendto(b"x", name.replace("@", chr(0)))
        print("reached by a pair", name)
    except OSError:
        pass
print("tried")
"""


@pytest.fixture
def visible() -> Iterator[Path]:
    """A folder that no rule about temporary places hides."""
    with visible_folder() as folder:
        yield folder


@pytest.mark.requirement("sandbox.sockets")
@pytest.mark.parametrize("has_network", [False, True], ids=["offline", "online"])
async def test_no_unix_socket_of_the_host_is_reached(
    rig: Rig, visible: Path, has_network: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    docker = visible / "docker.sock"
    bus = visible / "bus"
    other = visible / "anything"
    monkeypatch.setenv("DOCKER_HOST", f"unix://{docker}")
    monkeypatch.setenv("DBUS_SESSION_BUS_ADDRESS", f"unix:path={bus},guid=1")
    abstract = f"netclaw-{rig.marker}"
    places = [str(rig.home / "run/netclawd.sock"), str(rig.folder / "x.sock")]
    places += [str(docker), str(bus), str(other), f"\0{abstract}"]
    with ExitStack() as stack:
        for place in places:
            stack.enter_context(listening(place))
        datagram = stack.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM))
        datagram.bind(str(rig.folder / "log"))
        names = [*places[:-1], f"@{abstract}", str(rig.folder / "log"), "/run/systemd/notify"]
        ran = await rig.python(CONNECT, *names, has_network=has_network)
    assert ran.output == "tried\n"


@pytest.mark.requirement("sandbox.sockets")
async def test_a_socket_is_hidden_after_its_daemon_was_restarted(rig: Rig) -> None:
    """Whole folders are hidden, so that a new socket in the old place is hidden as well."""
    place = rig.home / "run/netclawd.sock"
    script = (
        'touch go; for i in $(seq 20); do [ -S "$1" ] && echo seen; sleep 0.01; done; echo over'
    )
    with listening(str(place)):
        place.unlink()
        with listening(str(place)):
            ran = await rig.bash(script, str(place))
    if rig.facts.backend is Confinement.LANDLOCK:
        assert ran.output.endswith("over\n")  # it may be seen there, never connected to
    else:
        assert ran.output == "over\n"


TALK = """
import array, os, socket
for kind in (socket.SOCK_STREAM, socket.SOCK_SEQPACKET):
    a, b = socket.socketpair(type=kind)
    if os.fork() == 0:
        b.sendmsg([b"pair"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [1]))])
        os._exit(0)
    text, rights, _, _ = a.recvmsg(4, 64)
    os.wait()
    os.write(array.array("i", rights[0][2])[0], text + b"\\n")
"""


@pytest.mark.requirement("sandbox.pairs")
@pytest.mark.parametrize("has_network", [False, True], ids=["offline", "online"])
async def test_processes_of_a_command_talk_over_pairs(rig: Rig, has_network: bool) -> None:
    """Descriptors go over them too."""
    ran = await rig.python(TALK, has_network=has_network)
    assert ran.output == "pair\npair\n"


ASYNCIO = """
import asyncio, sys
async def main():
    loop = asyncio.get_running_loop()
    print(await loop.run_in_executor(None, str, "from a thread"))
    child = await asyncio.create_subprocess_exec("/bin/echo", "from a child", stdout=-1)
    print((await child.communicate())[0].decode().strip())
asyncio.run(main())
"""


@pytest.mark.requirement("sandbox.pairs")
async def test_asyncio_works(rig: Rig) -> None:
    """Its loop wakes itself over a pair."""
    ran = await rig.python(ASYNCIO)
    assert ran.output == "from a thread\nfrom a child\n"


REACH = """
import socket, sys
try:
    socket.create_connection(("127.0.0.1", int(sys.argv[1])), timeout=3)
    print("connected")
except OSError as fault:
    print("refused")
"""


@pytest.mark.requirement("sandbox.network")
async def test_the_network_is_there_only_when_granted(rig: Rig) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = str(server.getsockname()[1])
        assert (await rig.python(REACH, port)).output == "refused\n"
        assert (await rig.python(REACH, port, has_network=True)).output == "connected\n"


LOOP = """
import socket
with socket.create_server(("127.0.0.1", 0)) as server:
    socket.create_connection(server.getsockname()).close()
    print("talked")
"""


@pytest.mark.requirement("sandbox.network")
async def test_without_a_network_a_command_still_has_its_own_loopback(rig: Rig) -> None:
    ran = await rig.python(LOOP)
    expected = "" if rig.facts.backend is Confinement.LANDLOCK else "talked\n"
    assert ran.output.splitlines()[-1:] == expected.splitlines() or "not supported" in ran.output


# AF_VSOCK, AF_ALG, AF_PACKET, AF_BLUETOOTH, AF_KEY, AF_CAN and AF_XDP: not all Pythons know them.
EXOTIC = """
import socket
for family in (40, 38, 17, 31, 15, 29, 44):
    try:
        socket.socket(family, socket.SOCK_STREAM)
        print("opened", family)
    except OSError:
        pass
print("tried")
"""


@pytest.mark.requirement("sandbox.network")
@pytest.mark.parametrize("has_network", [False, True], ids=["offline", "online"])
async def test_families_that_no_namespace_covers_are_closed(rig: Rig, has_network: bool) -> None:
    ran = await rig.python(EXOTIC, has_network=has_network)
    assert ran.output == "tried\n"


@pytest.mark.requirement("sandbox.network")
async def test_names_can_be_looked_up_where_the_network_is_on(rig: Rig) -> None:
    profile = replace(rig.profile, has_network=True)
    ran = await rig.bash("cat /etc/resolv.conf > /dev/null && echo readable", profile=profile)
    assert ran.output == "readable\n" or not Path("/etc/resolv.conf").exists()
