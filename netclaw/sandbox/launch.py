"""Starts a confined process tree and holds it at the gate, without forking this process.

A session process has gRPC threads: it must never run code between fork and exec, so there is no
`preexec_fn` and no `os.fork`; `subprocess` uses vfork here. Everything the tree needs to know
travels by inherited descriptors: the seccomp program or the helper's plan (`payload`), a pipe on
which the backend names the tree's first process, and the gate on stdin.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum

from netclaw.sandbox.process_tree import ProcessHandle
from netclaw.sandbox.view import Step

BuildArgv = Callable[[int, int], list[str]]
"""Makes the argv from the descriptor numbers of the payload and the info pipe."""

_F_SETPIPE_SIZE = 1031
_PIPE_BYTES = 256 * 1024


class Stop(Enum):
    """How a tree is ended whole; its first process decides."""

    KILL_INIT = "kill-init"
    """bubblewrap's init of a PID namespace: SIGKILL takes everything inside with it."""
    ASK_INIT = "ask-init"
    """Our init of a PID namespace: it exits at once when asked, which its monitor reports well."""
    ASK_SUBREAPER = "ask-subreaper"
    """Kills its descendants until it has none; killing it would set them free."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchPlan:
    """What to start: the argv once descriptors are known, and what the backend reads first."""

    build: BuildArgv
    payload: bytes
    stop: Stop = Stop.KILL_INIT
    view: tuple[Step, ...] = ()
    """The mounts that must be there before the command runs; empty without a mount namespace."""


@dataclass(slots=True, kw_only=True)
class Launched:
    """A tree that waits at its gate. The descriptors belong to whoever holds this."""

    monitor: ProcessHandle
    """The process we started; its exit status is the command's."""
    stop: Stop
    output_fd: int
    info_fd: int
    gate_fd: int
    _popen: subprocess.Popen[bytes]

    def open_gate(self) -> None:
        """Lets the command run; harmless if it is dead already.

        The pipe stays open: its end tells a helper that this process is gone.
        """
        with contextlib.suppress(BrokenPipeError):
            os.write(self.gate_fd, b"\n")

    def status(self) -> int | None:
        """Reaps: exit status or negative signal number, None while it lives."""
        return self._popen.poll()

    def close(self) -> None:
        """Lets go of every descriptor; the monitor must have been reaped."""
        for name in ("gate_fd", "info_fd", "output_fd"):
            self._close(name)
        self.monitor.close()

    def _close(self, name: str) -> None:
        fd: int = getattr(self, name)
        if fd >= 0:
            setattr(self, name, -1)
            os.close(fd)


def _payload_fd(payload: bytes) -> int:
    fd = os.memfd_create("netclaw-plan")
    os.write(fd, payload)
    os.lseek(fd, 0, os.SEEK_SET)
    return fd


def launch(plan: LaunchPlan, environment: Mapping[str, str]) -> Launched:
    """Starts the backend; about a millisecond. Raises `OSError` if it cannot be executed.

    Must be called from the thread that lives as long as the process: the backend asks the kernel
    to be killed when the thread that started it ends.
    """
    with contextlib.ExitStack() as ours, contextlib.ExitStack() as theirs:
        info_fd, their_info = _pipe(ours, theirs)
        output_fd, their_output = _pipe(ours, theirs)
        their_gate, gate_fd = _pipe(theirs, ours)
        with contextlib.suppress(OSError):  # a user over the pipe quota keeps the default size
            fcntl.fcntl(output_fd, _F_SETPIPE_SIZE, _PIPE_BYTES)
        plan_fd = _payload_fd(plan.payload)
        theirs.callback(os.close, plan_fd)
        popen = subprocess.Popen(
            plan.build(plan_fd, their_info),
            stdin=their_gate,
            stdout=their_output,
            stderr=their_output,
            pass_fds=(plan_fd, their_info),
            env=dict(environment),
            cwd="/",
            start_new_session=True,
        )
        monitor = ProcessHandle.open(popen.pid)
        for fd in (info_fd, output_fd):
            os.set_blocking(fd, False)
        ours.pop_all()
        return Launched(
            monitor=monitor,
            stop=plan.stop,
            output_fd=output_fd,
            info_fd=info_fd,
            gate_fd=gate_fd,
            _popen=popen,
        )


def _pipe(reader: contextlib.ExitStack, writer: contextlib.ExitStack) -> tuple[int, int]:
    """A pipe whose ends are closed by their owners' stacks."""
    read_fd, write_fd = os.pipe()
    reader.callback(os.close, read_fd)
    writer.callback(os.close, write_fd)
    return read_fd, write_fd
