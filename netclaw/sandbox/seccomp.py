"""Assembles the seccomp filter of a sandbox as classic BPF, for x86_64 and aarch64.

The filter is the second wall behind the namespaces: it takes away the calls with which a tool
could build namespaces of its own, look into other processes, load code into the kernel or open
socket families that no namespace covers. Against Unix sockets it is the first wall: a socket that
lies in a bound folder, or is made there later, can be reached by whoever may make a socket of
that family, so nobody may (ADR 0023). A denied call fails with EPERM, a closed family with
EAFNOSUPPORT; `clone3` and io_uring answer ENOSYS, so that programs fall back to what the filter
can read. A foreign instruction set (32-bit code on a 64-bit kernel) ends the process, because
its call numbers mean something else.
"""

from __future__ import annotations

import errno
import functools
import os
import struct
from dataclasses import dataclass
from enum import Enum

from netclaw.sandbox.errors import SandboxError

_LOAD = 0x20  # BPF_LD | BPF_W | BPF_ABS
_JUMP_EQUAL = 0x15  # BPF_JMP | BPF_JEQ | BPF_K
_JUMP_AT_LEAST = 0x35  # BPF_JMP | BPF_JGE | BPF_K
_JUMP_BITS = 0x45  # BPF_JMP | BPF_JSET | BPF_K
_AND = 0x54  # BPF_ALU | BPF_AND | BPF_K
_RETURN = 0x06  # BPF_RET | BPF_K

_ALLOW = 0x7FFF0000
_ERRNO = 0x00050000
_KILL_PROCESS = 0x80000000

_NUMBER_AT, _ARCH_AT = 0, 4
_X32_BIT = 0x40000000

_NEW_NAMESPACES = 0x7E020000 | 0x00000080
"""CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET and NEWTIME."""

_TERMINAL_PUSHES = (0x5412, 0x541C)
"""ioctls TIOCSTI and TIOCLINUX: typing into the terminal of whoever started the daemon."""

AF_UNIX, AF_INET, AF_INET6, AF_NETLINK = 1, 2, 10, 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """An instruction set: its audit number and call numbers."""

    audit: int
    calls: dict[str, int]
    has_x32: bool = False


# Calls above 423 have one number everywhere (since Linux 5.1).
_SHARED = {
    "open_tree": 428, "move_mount": 429, "fsopen": 430, "fsconfig": 431, "fsmount": 432,
    "fspick": 433, "pidfd_getfd": 438, "mount_setattr": 442,
    "quotactl_fd": 443, "open_tree_attr": 467,
    "fchmodat2": 452, "setxattrat": 463, "removexattrat": 466, "file_setattr": 469,
    "io_uring_setup": 425, "io_uring_enter": 426, "io_uring_register": 427, "clone3": 435,
}  # fmt: skip

_X86_64 = {
    "socket": 41, "socketpair": 53, "setpriority": 141, "sched_setparam": 142,
    "sched_setscheduler": 144, "sched_setaffinity": 203, "ioprio_set": 251, "prlimit64": 302,
    "sched_setattr": 314, "utimensat": 280, "chmod": 90, "fchmod": 91, "chown": 92, "fchown": 93,
    "lchown": 94, "utime": 132, "setxattr": 188, "lsetxattr": 189, "fsetxattr": 190,
    "removexattr": 197, "lremovexattr": 198, "fremovexattr": 199, "utimes": 235, "fchownat": 260,
    "futimesat": 261, "fchmodat": 268, "clone": 56, "ioctl": 16, "ptrace": 101, "syslog": 103,
    "personality": 135,
    "ustat": 136, "sysfs": 139, "vhangup": 153, "modify_ldt": 154, "pivot_root": 155,
    "adjtimex": 159, "chroot": 161, "acct": 163, "settimeofday": 164, "mount": 165,
    "umount2": 166, "swapon": 167, "swapoff": 168, "reboot": 169, "sethostname": 170,
    "setdomainname": 171, "iopl": 172, "ioperm": 173, "init_module": 175, "delete_module": 176,
    "quotactl": 179, "nfsservctl": 180, "lookup_dcookie": 212, "clock_settime": 227,
    "kexec_load": 246, "add_key": 248, "request_key": 249, "keyctl": 250, "migrate_pages": 256,
    "shmget": 29, "shmat": 30, "shmctl": 31, "semget": 64, "semop": 65, "semctl": 66, "msgget": 68,
    "msgsnd": 69, "msgrcv": 70, "msgctl": 71, "semtimedop": 220, "mq_open": 240, "mq_unlink": 241,
    "unshare": 272, "move_pages": 279, "perf_event_open": 298, "fanotify_init": 300,
    "open_by_handle_at": 304, "clock_adjtime": 305, "setns": 308, "process_vm_readv": 310,
    "process_vm_writev": 311, "kcmp": 312, "finit_module": 313, "kexec_file_load": 320,
    "bpf": 321, "userfaultfd": 323,
}  # fmt: skip

_AARCH64 = {
    "socket": 198, "socketpair": 199, "setpriority": 140, "sched_setparam": 118,
    "sched_setscheduler": 119, "sched_setaffinity": 122, "ioprio_set": 30, "prlimit64": 261,
    "sched_setattr": 274, "utimensat": 88, "fchmod": 52, "fchmodat": 53, "fchownat": 54,
    "fchown": 55, "setxattr": 5, "lsetxattr": 6, "fsetxattr": 7, "removexattr": 14,
    "lremovexattr": 15, "fremovexattr": 16, "clone": 220, "ioctl": 29, "ptrace": 117, "syslog": 116,
    "personality": 92,
    "vhangup": 58, "pivot_root": 41, "adjtimex": 171, "chroot": 51, "acct": 89,
    "settimeofday": 170, "mount": 40, "umount2": 39, "swapon": 224, "swapoff": 225,
    "reboot": 142, "sethostname": 161, "setdomainname": 162, "init_module": 105,
    "delete_module": 106, "quotactl": 60, "nfsservctl": 42, "lookup_dcookie": 18,
    "clock_settime": 112, "kexec_load": 104, "add_key": 217, "request_key": 218, "keyctl": 219,
    "migrate_pages": 238, "unshare": 97, "move_pages": 239, "perf_event_open": 241,
    "mq_open": 180, "mq_unlink": 181, "msgget": 186, "msgctl": 187, "msgrcv": 188, "msgsnd": 189,
    "semget": 190, "semctl": 191, "semtimedop": 192, "semop": 193, "shmget": 194, "shmctl": 195,
    "shmat": 196, "fanotify_init": 262, "open_by_handle_at": 265, "clock_adjtime": 266,
    "setns": 268, "process_vm_readv": 270, "process_vm_writev": 271, "kcmp": 272,
    "finit_module": 273, "kexec_file_load": 294, "bpf": 280, "userfaultfd": 282,
}  # fmt: skip

MACHINES = {
    "x86_64": Machine(audit=0xC000003E, calls=_X86_64 | _SHARED, has_x32=True),
    "aarch64": Machine(audit=0xC00000B7, calls=_AARCH64 | _SHARED),
}

_ABSENT = ("clone3", "io_uring_setup", "io_uring_enter", "io_uring_register")
_TARGETED = {
    "prlimit64": 0, "sched_setparam": 0, "sched_setscheduler": 0, "sched_setaffinity": 0,
    "sched_setattr": 0, "setpriority": 1, "ioprio_set": 1,
}  # fmt: skip
"""Calls on another process, with the index of the argument that names it."""

_SHARED_BY_NAME = (
    *("shmget", "shmat", "shmctl", "semget", "semop", "semctl", "semtimedop"),
    *("msgget", "msgsnd", "msgrcv", "msgctl", "mq_open", "mq_unlink"),
)
"""System V and POSIX objects that processes of one user find by name where IPC is not unshared."""

_BY_PATH = (
    *("chmod", "fchmodat", "fchmodat2", "chown", "lchown", "fchownat", "setxattr", "lsetxattr"),
    *("removexattr", "lremovexattr", "setxattrat", "removexattrat", "file_setattr"),
    *("utime", "utimes", "futimesat"),
)
_BY_DESCRIPTOR = ("fchmod", "fchown", "fsetxattr", "fremovexattr")
"""Changes of owner, mode, attributes and times: Landlock does not know them (see `metadata`)."""

_JUDGED_ELSEWHERE = frozenset(
    {"clone", "ioctl", "socket", "socketpair", "personality", "utimensat"}
    | set(_TARGETED)
    | set(_SHARED_BY_NAME)
    | set(_BY_PATH)
    | set(_BY_DESCRIPTOR)
)


def _step(code: int, yes: int, no: int, value: int) -> bytes:
    return struct.pack("=HBBI", code, yes, no, value)


def _argument_at(index: int) -> int:
    """Offset of the low half of an argument (both machines are little-endian)."""
    return 16 + 8 * index


def _fail(code: int) -> bytes:
    return _step(_RETURN, 0, 0, _ERRNO | code)


def _when_call(number: int, body: bytes) -> bytes:
    """`body` for one call number; it must not fall through with the accumulator changed."""
    return _step(_JUMP_EQUAL, 0, len(body) // 8, number) + body


def _head(machine: Machine) -> bytes:
    code = _step(_LOAD, 0, 0, _ARCH_AT)
    code += _step(_JUMP_EQUAL, 1, 0, machine.audit) + _step(_RETURN, 0, 0, _KILL_PROCESS)
    code += _step(_LOAD, 0, 0, _NUMBER_AT)
    if machine.has_x32:
        code += _step(_JUMP_AT_LEAST, 0, 1, _X32_BIT) + _fail(errno.ENOSYS)
    return code


def _judge_clone(number: int) -> bytes:
    body = _step(_LOAD, 0, 0, _argument_at(0)) + _step(_JUMP_BITS, 0, 1, _NEW_NAMESPACES)
    return _when_call(number, body + _fail(errno.EPERM) + _step(_RETURN, 0, 0, _ALLOW))


def _judge_ioctl(number: int) -> bytes:
    body = _step(_LOAD, 0, 0, _argument_at(1))
    for request in _TERMINAL_PUSHES:
        body += _step(_JUMP_EQUAL, 0, 1, request) + _fail(errno.EPERM)
    return _when_call(number, body + _step(_RETURN, 0, 0, _ALLOW))


def _judge_personality(number: int) -> bytes:
    """Lets a program ask (0xffffffff) or choose plain Linux, with or without randomised layout."""
    body = _step(_LOAD, 0, 0, _argument_at(0))
    for persona in (0, 0x0008, 0x00040000, 0xFFFFFFFF):
        body += _step(_JUMP_EQUAL, 0, 1, persona) + _step(_RETURN, 0, 0, _ALLOW)
    return _when_call(number, body + _fail(errno.EPERM))


def _judge_pair(number: int) -> bytes:
    """Connected Unix streams only: a pair's datagram socket can be sent or connected anywhere."""
    body = _step(_LOAD, 0, 0, _argument_at(0))
    body += _step(_JUMP_EQUAL, 1, 0, AF_UNIX) + _fail(errno.EAFNOSUPPORT)
    body += _step(_LOAD, 0, 0, _argument_at(1)) + _step(_AND, 0, 0, 0xF)
    for kind in (1, 5):  # SOCK_STREAM, SOCK_SEQPACKET
        body += _step(_JUMP_EQUAL, 0, 1, kind) + _step(_RETURN, 0, 0, _ALLOW)
    return _when_call(number, body + _fail(errno.EAFNOSUPPORT))


def _judge_target(number: int, index: int) -> bytes:
    """Allows a call on the process itself (0), denies it on one chosen by number."""
    body = _step(_LOAD, 0, 0, _argument_at(index)) + _step(_JUMP_EQUAL, 1, 0, 0)
    return _when_call(number, body + _fail(errno.EPERM) + _step(_RETURN, 0, 0, _ALLOW))


def _judge_times(number: int) -> bytes:
    """Allows times to be set on an opened file (no path given), not by path."""
    low, high = _argument_at(1), _argument_at(1) + 4
    body = _step(_LOAD, 0, 0, low) + _step(_JUMP_EQUAL, 0, 3, 0)
    body += _step(_LOAD, 0, 0, high) + _step(_JUMP_EQUAL, 0, 1, 0)
    body += _step(_RETURN, 0, 0, _ALLOW) + _fail(errno.EPERM)
    return _when_call(number, body)


class Metadata(Enum):
    """Which changes of owner, mode, attributes and times a command may make.

    Mount namespaces guard them like any write. Landlock does not see them at all, so there they
    are allowed only on an opened file, which Landlock let the command open; and to root, who owns
    the system's files and may open them for reading, none but a new time.
    """

    ANY = "any"
    OPENED = "opened"
    TIMES = "times"


def _judge_metadata(machine: Machine, allowed: Metadata) -> bytes:
    if allowed is Metadata.ANY:
        return b""
    names = _BY_PATH if allowed is Metadata.OPENED else (*_BY_PATH, *_BY_DESCRIPTOR)
    calls = machine.calls
    code = b"".join(_when_call(calls[name], _fail(errno.EPERM)) for name in names if name in calls)
    return code + _judge_times(calls["utimensat"])


def _judge_socket(number: int, families: list[int]) -> bytes:
    body = _step(_LOAD, 0, 0, _argument_at(0))
    for family in families:
        body += _step(_JUMP_EQUAL, 0, 1, family) + _step(_RETURN, 0, 0, _ALLOW)
    return _when_call(number, body + _fail(errno.EAFNOSUPPORT))


@functools.cache
def assemble(
    *,
    has_internet: bool,
    sees_others: bool = False,
    metadata: Metadata = Metadata.ANY,
    machine: str = "",
) -> bytes:
    """The filter program as an array of `struct sock_filter`.

    No variant opens AF_UNIX: a filter sees that a socket is made, never where it is connected to.
    `sees_others` is for a command without namespaces of its own: it may then not set limits or
    priorities of processes by number, nor reach memory, semaphores or queues by name. Raises
    `SandboxError` for an instruction set without a table: without a filter nothing is run.
    """
    name = machine or os.uname().machine
    known = MACHINES.get(name)
    if known is None:
        message = f"There is no system call filter for the instruction set {name}."
        raise SandboxError(message)
    families = [AF_INET, AF_INET6, AF_NETLINK] if has_internet else []
    code = _head(known)
    code += _judge_clone(known.calls["clone"]) + _judge_ioctl(known.calls["ioctl"])
    code += _judge_socket(known.calls["socket"], families)
    code += _judge_personality(known.calls["personality"])
    code += _judge_pair(known.calls["socketpair"])
    if sees_others:
        for name, index in _TARGETED.items():
            code += _judge_target(known.calls[name], index)
        code += b"".join(
            _when_call(known.calls[name], _fail(errno.EPERM)) for name in _SHARED_BY_NAME
        )
    code += _judge_metadata(known, metadata)
    for name, number in sorted(known.calls.items(), key=lambda item: item[1]):
        if name in _JUDGED_ELSEWHERE:
            continue
        code += _when_call(number, _fail(errno.ENOSYS if name in _ABSENT else errno.EPERM))
    return code + _step(_RETURN, 0, 0, _ALLOW)
