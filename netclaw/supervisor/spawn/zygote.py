"""The warmed template process that session processes are forked from.

Run as a program of its own (`python -I -m netclaw.supervisor.spawn.zygote`), never imported by
the supervisor: a process that ever made a grpc.aio object or has a second thread cannot fork
safely. It imports what a session needs, freezes the collector, and then answers one request at
a time on a seqpacket socket:

    request  JSON of `Bootstrap`
    answer   {"pid": N} or {"error": "..."}; the first packet is {"ready": pid}

The session process is forked twice, so that it becomes the supervisor's own child (the
supervisor is the subreaper) and can be waited for there. The entry and warm-up functions are
named on the command line because this module may not import the session process (imports go
one way).
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import importlib
import json
import os
import signal
import socket
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

from netclaw.linux.prctl import die_with_parent, set_process_name
from netclaw.ports.spawner import MAX_BOOTSTRAP_BYTES, Bootstrap

EXIT_PARENT_GONE = 70
EXIT_ENTRY_FAILED = 71

Entry = Callable[[Bootstrap], int]


def resolve(name: str) -> Callable[..., object]:
    """Import `package.module:function`."""
    module, _, function = name.partition(":")
    found: Callable[..., object] = getattr(importlib.import_module(module), function)
    return found


def thread_count() -> int:
    """Threads of this process as the kernel counts them."""
    return sum(1 for _ in Path("/proc/self/task").iterdir())


def serve(control: socket.socket, entry: Entry) -> None:
    """Answer fork requests until the supervisor closes its end, or dies in the middle of one."""
    with contextlib.suppress(ConnectionError):
        _serve(control, entry)


def _serve(control: socket.socket, entry: Entry) -> None:
    while True:
        packet = control.recv(MAX_BOOTSTRAP_BYTES)
        if not packet:
            return
        try:
            bootstrap = Bootstrap(**json.loads(packet))
            answer: dict[str, object] = {"pid": _fork_session(bootstrap, entry, control)}
        except (OSError, ValueError, TypeError, RuntimeError) as fault:
            answer = {"error": f"{type(fault).__name__}: {fault}"}
        control.send(json.dumps(answer).encode())


def _fork_session(bootstrap: Bootstrap, entry: Entry, control: socket.socket) -> int:
    if (threads := thread_count()) != 1:
        raise RuntimeError(f"the zygote has {threads} threads and must not fork")
    read_end, write_end = os.pipe()
    intermediate = os.fork()
    if intermediate == 0:
        # The intermediate only exists so that the session process is reparented.
        os.close(read_end)
        session = os.fork()
        if session == 0:
            os.close(write_end)
            control.close()
            _become_session(bootstrap, entry)
        os.write(write_end, str(session).encode())
        os._exit(0)
    os.close(write_end)
    try:
        told = os.read(read_end, 32)
    finally:
        os.close(read_end)
        os.waitpid(intermediate, 0)
    if not told:
        raise RuntimeError("the second fork failed")
    return int(told)


def _become_session(bootstrap: Bootstrap, entry: Entry) -> NoReturn:
    """Leave the zygote's life behind and run the session; never returns."""
    status = EXIT_ENTRY_FAILED
    try:
        os.setsid()
        signal.set_wakeup_fd(-1)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_DFL)
        if die_with_parent(bootstrap.supervisor_pid):
            gc.enable()
            status = int(entry(bootstrap))
        else:
            status = EXIT_PARENT_GONE
    except SystemExit as leave:
        status = leave.code if isinstance(leave.code, int) else EXIT_ENTRY_FAILED
    except BaseException:  # noqa: BLE001 - the last frame of a process: report, then end it
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(status)


def main(arguments: list[str]) -> int:
    """Warm up, freeze, say ready, serve."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--fd", type=int, required=True)
    parser.add_argument("--parent", type=int, required=True)
    parser.add_argument("--entry", required=True)
    parser.add_argument("--warm", required=True)
    options = parser.parse_args(arguments)
    if not die_with_parent(options.parent):
        return EXIT_PARENT_GONE
    # A terminal's Ctrl-C goes to the whole group; the supervisor decides when we end.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    set_process_name("netclaw-zygote")
    control = socket.socket(fileno=options.fd)
    entry = resolve(options.entry)
    resolve(options.warm)()
    gc.collect()
    gc.disable()
    gc.freeze()
    control.send(json.dumps({"ready": os.getpid()}).encode())
    serve(control, entry)  # type: ignore[arg-type]
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
