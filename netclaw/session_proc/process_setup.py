"""Makes a fresh process safe to be a session: its name, its parent, stack dumps, memory ceiling."""

from __future__ import annotations

import asyncio
import faulthandler
import os
import signal
import sys
from contextlib import suppress
from io import FileIO
from pathlib import Path
from types import FrameType

from netclaw.core.exit_codes import ExitCode
from netclaw.linux.prctl import (
    STACK_DUMP_SIGNAL,
    die_with_parent,
    forbid_inspection,
    set_process_name,
)
from netclaw.observe.task_stacks import task_stacks
from netclaw.ports.spawner import Bootstrap
from netclaw.session_proc.envelope import ensure_private_folder

PROCESS_NAME = "netclaw-session"
MEMORY_CHECK_CPU_S = 0.25
"""Processor time between two looks at the memory in use; an idle process is never looked at."""
_MIB = 1024 * 1024
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


def set_up_process(bootstrap: Bootstrap) -> bool:
    """Prepare this process; False when the supervisor has gone, and nothing must be started.

    Comes before the event loop and before gRPC, on the main thread.
    """
    set_process_name(PROCESS_NAME)
    if not die_with_parent(bootstrap.supervisor_pid):
        return False
    forbid_inspection()
    prepare_stack_dumps(Path(bootstrap.log_path))
    watch_memory(bootstrap.memory_mib)
    return True


def prepare_stack_dumps(log: Path) -> None:
    """Let the stack dump signal append the stacks of threads and tasks to the session's log.

    The threads' are written in the signal handler itself, in C, so it answers even when the loop
    hangs; the tasks' come as soon as the main thread runs Python. Where the log cannot be opened
    (a full disk) the dump goes to the daemon's standard error.
    """
    target: FileIO | int = sys.stderr.fileno()
    with suppress(OSError):
        ensure_private_folder(log.parent)
        target = FileIO(os.open(log, _APPEND_FLAGS, 0o600), "a")
    descriptor = target if isinstance(target, int) else target.fileno()

    def dump_tasks(_number: int, _frame: FrameType | None) -> None:
        with suppress(RuntimeError, OSError):
            os.write(descriptor, task_stacks(asyncio.get_running_loop()).encode())

    signal.signal(STACK_DUMP_SIGNAL, dump_tasks)
    faulthandler.register(STACK_DUMP_SIGNAL, file=target, all_threads=True, chain=True)


_APPEND_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW


def watch_memory(ceiling_mib: int) -> None:
    """End this process with `ExitCode.MEMORY` once it holds more than `ceiling_mib`.

    A timer of processor time interrupts whatever runs, a loop that hangs included, and costs an
    idle process nothing. An address space limit would not do: it counts what is only reserved,
    and tools would inherit it (decision 84).
    """
    if ceiling_mib <= 0:
        return
    ceiling = ceiling_mib * _MIB

    def check(_number: int, _frame: FrameType | None) -> None:
        if private_bytes() > ceiling:
            os.write(2, b"netclaw-session: over its memory ceiling\n")
            os._exit(ExitCode.MEMORY)

    signal.signal(signal.SIGPROF, check)
    signal.siginterrupt(signal.SIGPROF, False)
    signal.setitimer(signal.ITIMER_PROF, MEMORY_CHECK_CPU_S, MEMORY_CHECK_CPU_S)


def private_bytes() -> int:
    """Anonymous memory in use, pages still shared with the zygote included."""
    fields = Path("/proc/self/statm").read_bytes().split()
    return (int(fields[1]) - int(fields[2])) * _PAGE_BYTES
