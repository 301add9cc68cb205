"""Starts fresh interpreters: the zygote itself, and session processes when there is no zygote.

posix_spawn shares the address space until exec and runs no Python in between, so it is safe in
a process full of gRPC threads (feasibility: no preexec_fn there). Only descriptors named here
are inherited; the environment is an allow-list.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from dataclasses import asdict

from netclaw.ports.spawner import Bootstrap

_KEPT_VARIABLES = ("PATH", "HOME", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "USER", "LOGNAME")
INHERITED_FD = 3


def child_environment() -> dict[str, str]:
    """What a process of ours may see of our environment; no secret and no PYTHON* switch."""
    kept = {name: os.environ[name] for name in _KEPT_VARIABLES if name in os.environ}
    # Forked children of a process that imported gRPC: its fork handlers would only complain.
    kept["GRPC_ENABLE_FORK_SUPPORT"] = "0"
    kept["GRPC_VERBOSITY"] = "ERROR"
    return kept


def start_python(arguments: Sequence[str], *, inherited_fd: int) -> int:
    """Start `python -I -m ...` with `inherited_fd` as descriptor 3; returns its pid.

    The child is a session leader with stdin from /dev/null; stdout goes where our stderr goes.
    Must be called from the main thread: the parent-death signal follows the forking thread.
    """
    actions = [
        (os.POSIX_SPAWN_OPEN, 0, "/dev/null", os.O_RDONLY, 0),
        (os.POSIX_SPAWN_DUP2, 2, 1),
        (os.POSIX_SPAWN_DUP2, inherited_fd, INHERITED_FD),
    ]
    argv = [sys.executable, "-I", *arguments]
    return os.posix_spawn(
        sys.executable, argv, child_environment(), file_actions=actions, setsid=True
    )


def start_program(argv: Sequence[str], *, output: str) -> int:
    """Start a helper program of ours whose words go to the file `output`; returns its pid.

    The file is appended to and made 0600. Main thread only, as for `start_python`.
    """
    actions = [
        (os.POSIX_SPAWN_OPEN, 0, "/dev/null", os.O_RDONLY, 0),
        (os.POSIX_SPAWN_OPEN, 1, output, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600),
        (os.POSIX_SPAWN_DUP2, 1, 2),
    ]
    return os.posix_spawn(
        argv[0], list(argv), child_environment(), file_actions=actions, setsid=True
    )


def start_helper(arguments: Sequence[str], *, secret: bytes, output: str) -> int:
    """Start `python -I ...` whose words go to the file `output`; returns its pid.

    `secret` waits in a pipe, which is descriptor 3: at most a few kilobytes, so that it fits. Main
    thread only, as for `start_python`.
    """
    read_end, write_end = os.pipe()
    try:
        os.write(write_end, secret)
        actions = [
            (os.POSIX_SPAWN_OPEN, 0, "/dev/null", os.O_RDONLY, 0),
            (os.POSIX_SPAWN_OPEN, 1, output, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600),
            (os.POSIX_SPAWN_DUP2, 1, 2),
            (os.POSIX_SPAWN_DUP2, read_end, INHERITED_FD),
        ]
        argv = [sys.executable, "-I", *arguments]
        return os.posix_spawn(
            sys.executable, argv, child_environment(), file_actions=actions, setsid=True
        )
    finally:
        os.close(write_end)
        os.close(read_end)


def start_session(module: str, bootstrap: Bootstrap) -> int:
    """Start a session process by exec; its bootstrap waits in a pipe. Returns its pid."""
    packet = json.dumps(asdict(bootstrap)).encode()
    read_end, write_end = os.pipe()
    try:
        # Far below the 64 KiB a pipe holds, so this cannot block.
        os.write(write_end, packet)
        return start_python(
            ["-m", module, "--bootstrap-fd", str(INHERITED_FD)], inherited_fd=read_end
        )
    finally:
        os.close(write_end)
        os.close(read_end)
