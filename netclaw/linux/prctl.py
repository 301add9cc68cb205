"""Ties processes to their parents and names them, by prctl(2).

Kept free of side effects at import: the zygote loads it before it forks.
"""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import time

_PR_SET_PDEATHSIG = 1
_PR_SET_DUMPABLE = 4
_PR_SET_NAME = 15
_PR_SET_CHILD_SUBREAPER = 36

STACK_DUMP_SIGNAL = signal.SIGUSR1
"""What the supervisor sends a hung session process to get its stacks into its log."""

_libc = ctypes.CDLL(None, use_errno=True)


def _prctl(option: int, value: int | bytes) -> None:
    argument = ctypes.c_char_p(value) if isinstance(value, bytes) else ctypes.c_ulong(value)
    zero = ctypes.c_ulong(0)
    if _libc.prctl(ctypes.c_int(option), argument, zero, zero, zero) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def become_subreaper() -> None:
    """Make orphans of all our descendants our own children (decision 82)."""
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)


def set_process_name(name: str) -> None:
    """Name this thread in process listings; at most 15 bytes, never a secret."""
    _prctl(_PR_SET_NAME, name.encode("ascii", "replace")[:15])


def forbid_inspection() -> None:
    """Refuse ptrace and core dumps by processes of the same user: credentials live here.

    The limit says it once more, because a program may be made dumpable again and inherit it.
    """
    _prctl(_PR_SET_DUMPABLE, 0)
    _, hard = resource.getrlimit(resource.RLIMIT_CORE)
    resource.setrlimit(resource.RLIMIT_CORE, (0, hard))


def die_with_parent(parent_pid: int, *, patience_s: float = 5.0) -> bool:
    """Have the kernel kill this process when `parent_pid` dies.

    Waits until that process is the parent (a twice-forked child is reparented once its
    intermediate has gone), because the signal is bound to the parent of the moment; then looks
    again, since the parent may have died in between. False: the parent is gone, so exit.
    """
    deadline = time.monotonic() + patience_s
    while os.getppid() != parent_pid:
        if time.monotonic() > deadline:
            return False
        time.sleep(0.0002)
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    return os.getppid() == parent_pid
