"""The small program between a session process and a command where bubblewrap is not used.

Started as `python -I -S` with its plan on a descriptor. It says which process it is, confines,
starts the gate, and then only waits: for the command to end, or for the session to be gone, which
it sees as the end of its stdin. Either way it leaves no process behind: as init of a PID
namespace by exiting, as a subreaper by killing until the kernel says that it has no children.
It is one thread and holds no secret. Fatal faults are one line on stderr and exit status 126.
"""

from __future__ import annotations

import marshal
import os
import select
import signal
import sys
from typing import TypedDict

from netclaw.sandbox import kernel, landlock, mounts
from netclaw.sandbox.process_tree import children

FAILED_STATUS = 126


class HelperPlan(TypedDict):
    """What the runner tells the helper; plain values only."""

    mode: str
    argv: list[str]
    cwd: str
    seccomp: bytes
    mounts: list[tuple[str, str]]
    temporary_bytes: int
    readable: list[landlock.Place]
    writable: list[landlock.Place]
    has_network: bool


def main() -> None:
    """Never returns."""
    plan_fd, info_fd = int(sys.argv[1]), int(sys.argv[2])
    with open(plan_fd, "rb") as file:
        plan: HelperPlan = marshal.loads(file.read())  # noqa: S302 - from our own parent
    try:
        status = _run(plan, info_fd)
    except OSError as fault:
        sys.stderr.write(f"{fault.strerror} while the sandbox was being set up\n")
        sys.stderr.flush()
        status = FAILED_STATUS
    os._exit(status)


def _run(plan: HelperPlan, info_fd: int) -> int:
    pid = os.readlink("/proc/self")  # as the host counts: /proc is still the host's
    os.write(info_fd, f'{{"child-pid": {pid}}}\n'.encode())
    os.close(info_fd)
    is_init = plan["mode"] == "unshare"
    if is_init:
        _become_confined_init(plan)
    else:
        kernel.become_subreaper()
    wake_fd = _wake_on_signals()
    command = os.fork()
    if command == 0:
        _become_command(plan)
    status = _wait(command, wake_fd)
    if not is_init:
        _end_all_children()
    return status


def _become_confined_init(plan: HelperPlan) -> None:
    if not plan["has_network"]:
        _raise_loopback()
    mounts.build(plan["mounts"], plan["temporary_bytes"])
    kernel.drop_capabilities()
    kernel.forbid_new_privileges()
    kernel.load_seccomp(plan["seccomp"])


def _raise_loopback() -> None:
    """A new network namespace has a loopback interface that is down."""
    import fcntl
    import socket
    import struct

    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        fcntl.ioctl(sock, 0x8914, struct.pack("16sh14x", b"lo", 0x1))  # SIOCSIFFLAGS, IFF_UP


def _wake_on_signals() -> int:
    """A descriptor that becomes readable when a child ends or somebody asks us to end."""
    read_fd, write_fd = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
    signal.set_wakeup_fd(write_fd, warn_on_full_buffer=False)
    for number in (signal.SIGCHLD, signal.SIGTERM):
        signal.signal(number, lambda *_: None)
    return read_fd


def _become_command(plan: HelperPlan) -> None:
    """In the new child: the last confinement, then the gate. Never returns."""
    try:
        signal.set_wakeup_fd(-1)
        for number in (signal.SIGCHLD, signal.SIGTERM):
            signal.signal(number, signal.SIG_DFL)
        os.setsid()
        os.chdir(plan["cwd"])
        if plan["mode"] == "landlock":
            kernel.drop_capabilities()
            kernel.forbid_new_privileges()
            landlock.restrict(plan["readable"], plan["writable"], has_network=plan["has_network"])
            kernel.load_seccomp(plan["seccomp"])
        os.execv(plan["argv"][0], plan["argv"])  # noqa: S606 - exactly what was judged
    except OSError as fault:
        os.write(2, f"{fault.strerror} while the command was being started\n".encode())
    os._exit(FAILED_STATUS)


def _wait(command: int, wake_fd: int) -> int:
    """Reaps until the command has ended or nobody wants it any more."""
    poll = select.poll()
    poll.register(0, 0)  # hang-up alone: the line on stdin belongs to the gate
    poll.register(wake_fd, select.POLLIN)
    while True:
        for fd, _ in poll.poll():
            if fd == 0:
                return 128 + signal.SIGTERM
        if signal.SIGTERM in os.read(wake_fd, 512):
            return 128 + signal.SIGTERM
        status = _reap(command)
        if status is not None:
            return status


def _reap(command: int) -> int | None:
    """Reaps everything that has ended; the command's status if it was among it."""
    found = None
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return found
        if pid == 0:
            return found
        if pid == command:
            code = os.waitstatus_to_exitcode(status)
            found = code if code >= 0 else 128 - code


def _end_all_children() -> None:
    """Kills until the kernel says there is nothing left: orphans come here, storms included."""
    while True:
        for pid in children(os.getpid()):
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            return
        select.select([], [], [], 0.001)


if __name__ == "__main__":
    main()
