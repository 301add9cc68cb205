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
import socket, sys
a, b = socket.socketpair()
a.sendall(b"pair"); print(b.recv(4).decode(), flush=True)
with socket.socket(socket.AF_UNIX) as listener:
    listener.bind("own.sock"); listener.listen(1)
    with socket.socket(socket.AF_UNIX) as other:
        other.connect("own.sock"); print("own socket")
"""


@pytest.mark.requirement("sandbox.sockets")
async def test_a_command_may_use_sockets_among_its_own_processes(rig: Rig) -> None:
    ran = await rig.python(TALK)
    assert ran.output.startswith("pair\n")
    if rig.facts.backend is not Confinement.LANDLOCK:
        assert ran.output == "pair\nown socket\n"


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
