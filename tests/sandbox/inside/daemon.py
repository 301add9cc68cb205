"""Tries to drive the daemon: its socket by every name, its token, its own command line.

Arguments: the netclaw home, the folder of the `netclaw` programs, abstract names and loopback
ports, each list with commas between.
"""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

Attempts = Iterator[tuple[str, Callable[[], object]]]

HOME, PROGRAMS = sys.argv[1:3]
ABSTRACT, PORTS = (argument.split(",") for argument in sys.argv[3:5])
KINDS = (socket.SOCK_STREAM, socket.SOCK_SEQPACKET, socket.SOCK_DGRAM)
COMMANDS = (
    ("status",),
    ("sessions", "list"),
    ("approvals", "pending"),
    ("approvals", "list"),
    ("-p", "say that you were reached"),
    ("daemon", "stop"),
)


def connect(address: str, kind: int) -> None:
    """Connects, or sends without connecting."""
    with socket.socket(socket.AF_UNIX, kind) as made:
        made.connect(address)


def connect_pair(address: str, kind: int) -> None:
    """Turns one end of a pair elsewhere."""
    left, right = socket.socketpair(socket.AF_UNIX, kind)
    right.close()
    left.connect(address)


def connect_from(folder: str, kind: int) -> None:
    """Connects by a name relative to a folder."""
    before = os.getcwd()
    os.chdir(folder)
    try:
        connect("netclawd.sock", kind)
    finally:
        os.chdir(before)


def connect_port(port: str, family: int, host: str) -> None:
    """Connects to a port of the host's loopback."""
    with socket.socket(family, socket.SOCK_STREAM) as made:
        made.settimeout(2)
        made.connect((host, int(port)))


def command_line(words: tuple[str, ...], home: str) -> None:
    """Runs netclaw's own program; one that has an answer was reached."""
    environment = {**os.environ, "NETCLAW_HOME": home, "PATH": os.environ["PATH"]}
    ran = subprocess.run(
        [f"{PROGRAMS}/netclaw", *words],
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=20,
        check=False,
    )
    if ran.returncode != 0:
        raise PermissionError(ran.stderr.decode(errors="replace")[-300:])


def read_any(pattern: str) -> None:
    """Reads any file that a pattern finds."""
    for path in Path("/").glob(pattern.lstrip("/")):
        with contextlib.suppress(OSError):
            if path.is_file() and path.read_bytes():
                return
    raise FileNotFoundError(pattern)


def by_socket() -> Attempts:
    """Every name of the daemon's sockets."""
    for name, goal in (("by-link", "run/netclawd.sock"), ("by-folder", "run")):
        with contextlib.suppress(FileExistsError):
            os.symlink(f"{HOME}/{goal}", name)
    paths = {
        "path": f"{HOME}/run/netclawd.sock",
        "session-path": f"{HOME}/run/host.sock",
        "relative": os.path.relpath(f"{HOME}/run/netclawd.sock"),
        "link": "by-link",
        "folder-link": "by-folder/netclawd.sock",
        "hard-link": "hard.sock",
        "own-root": f"/proc/self/root{HOME}/run/netclawd.sock",
        "first-root": f"/proc/1/root{HOME}/run/netclawd.sock",
        "parent-root": f"/proc/{os.getppid()}/root{HOME}/run/netclawd.sock",
    }
    for name, path in paths.items():
        for kind in KINDS:
            yield f"{name}-{kind.name}", partial(connect, path, kind)
            yield f"{name}-pair-{kind.name}", partial(connect_pair, path, kind)
    for name in ABSTRACT:
        for kind in KINDS:
            yield f"abstract-{name}-{kind.name}", partial(connect, f"\0{name}", kind)
    yield "from-its-folder", partial(connect_from, f"{HOME}/run", socket.SOCK_STREAM)


def by_network() -> Attempts:
    """The host's loopback, and names."""
    for port in PORTS:
        for family, host in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")):
            yield f"port-{port}-{host}", partial(connect_port, port, family, host)
    yield "any-address", partial(connect_port, PORTS[0], socket.AF_INET, "0.0.0.0")  # noqa: S104
    yield "name", partial(socket.getaddrinfo, "example.com", 80)


def by_program() -> Attempts:
    """The command line, with the home it would find by itself and the real one."""
    for words in COMMANDS:
        yield f"cli-{words[0]}-{words[-1]}", partial(command_line, words, HOME)
    yield "cli-own-home", partial(command_line, ("sessions", "list"), os.getcwd())
    for name in ("run/operator.token", "run/*", "config/secrets.json", "netclaw.db*", "logs/*"):
        yield f"read-{name}", partial(read_any, f"{HOME}/{name}")


def main() -> None:
    """Tries everything; without a network also the network."""
    is_online = sys.argv[5] == "online"
    attempts = [*by_socket(), *by_program(), *(() if is_online else by_network())]
    for name, attempt in attempts:
        with contextlib.suppress(OSError, subprocess.TimeoutExpired):
            attempt()
            sys.stdout.write(f"escaped {name}\n")
    sys.stdout.write(f"tried {len(attempts)}\n")


main()
