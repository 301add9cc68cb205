"""Asks the kernel for what a command must not have, mostly by bare system calls (x86_64, aarch64).

Arguments: the pid of a host process to look into, the key of what the host shares by name.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import socket
import struct
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

Attempts = Iterator[tuple[str, Callable[[], object]]]

LIBC = ctypes.CDLL(None, use_errno=True)
LIBC.syscall.restype = ctypes.c_long
NEWER = {
    "open_tree": 428, "move_mount": 429, "fsopen": 430, "fspick": 433, "pidfd_open": 434,
    "pidfd_getfd": 438, "mount_setattr": 442, "io_uring_setup": 425, "pidfd_send_signal": 424,
}  # fmt: skip
OLDER = {
    "x86_64": {
        "clone": 56, "ptrace": 101, "syslog": 103, "unshare": 272, "setns": 308, "mount": 165,
        "umount2": 166, "pivot_root": 155, "chroot": 161, "bpf": 321, "keyctl": 250, "add_key": 248,
        "request_key": 249, "perf_event_open": 298, "userfaultfd": 323, "process_vm_readv": 310,
        "process_vm_writev": 311, "kcmp": 312, "init_module": 175, "kexec_load": 246, "acct": 163,
        "swapon": 167, "sethostname": 170, "settimeofday": 164, "iopl": 172, "capset": 126,
        "open_by_handle_at": 304, "fanotify_init": 300, "mknodat": 259, "quotactl": 179,
        "shmget": 29, "shmat": 30, "msgget": 68, "semget": 64, "mq_open": 240,
        "migrate_pages": 256, "move_pages": 279, "sched_setaffinity": 203, "prlimit64": 302,
    },
    "aarch64": {
        "clone": 220, "ptrace": 117, "syslog": 116, "unshare": 97, "setns": 268, "mount": 40,
        "umount2": 39, "pivot_root": 41, "chroot": 51, "bpf": 280, "keyctl": 219, "add_key": 217,
        "request_key": 218, "perf_event_open": 241, "userfaultfd": 282, "process_vm_readv": 270,
        "process_vm_writev": 271, "kcmp": 272, "init_module": 105, "kexec_load": 104, "acct": 89,
        "swapon": 224, "sethostname": 161, "settimeofday": 170, "capset": 91,
        "open_by_handle_at": 265, "fanotify_init": 262, "mknodat": 33, "quotactl": 60,
        "shmget": 194, "shmat": 196, "msgget": 186, "semget": 190, "mq_open": 180,
        "migrate_pages": 238, "move_pages": 239, "sched_setaffinity": 122, "prlimit64": 261,
    },
}  # fmt: skip
NUMBERS = {**NEWER, **OLDER[os.uname().machine]}

NAMESPACES = {
    "mount": 0x00020000, "cgroup": 0x02000000, "uts": 0x04000000, "ipc": 0x08000000,
    "user": 0x10000000, "pid": 0x20000000, "net": 0x40000000, "time": 0x00000080,
}  # fmt: skip
KERNEL_FILES = (
    "/proc/sys/kernel/core_pattern",
    "/proc/sys/kernel/modprobe",
    "/proc/sys/kernel/hostname",
    "/proc/sys/vm/overcommit_memory",
    "/proc/sys/fs/binfmt_misc/register",
    "/proc/sysrq-trigger",
    "/proc/self/uid_map",
    "/proc/self/gid_map",
    "/proc/self/setgroups",
    "/proc/self/oom_score_adj",
    "/sys/kernel/uevent_helper",
    "/sys/kernel/mm/transparent_hugepage/enabled",
)
DEVICES = (
    *("mem", "kmem", "port", "kvm", "fuse", "vda", "sda", "nvme0n1", "loop0", "loop-control"),
    *("kmsg", "net/tun", "vhost-net", "uinput", "hwrng", "mapper/control", "console"),
)


def call(name: str, *arguments: object) -> int:
    """A system call by its number; raises `OSError`."""
    number = NUMBERS.get(name)
    if number is None:
        raise OSError(errno.ENOSYS, "not on this machine")
    whole = (ctypes.c_long(value) if isinstance(value, int) else value for value in arguments)
    result = int(LIBC.syscall(ctypes.c_long(number), *whole))
    if result < 0:
        raise OSError(ctypes.get_errno(), name)
    return result


def tty_push(request: int) -> None:
    """Types a character into a terminal of our own: allowed there, it works on any."""
    _, other = os.openpty()
    if LIBC.ioctl(other, ctypes.c_ulong(request), ctypes.c_char_p(b"x")) < 0:
        raise OSError(ctypes.get_errno(), "ioctl")


def vm(name: str, pid: int) -> None:
    """Reads or writes the memory of another process; a wrong address is an answer as well."""
    text = ctypes.create_string_buffer(8)
    ours = struct.pack("@PN", ctypes.addressof(text), 8)
    try:
        call(name, pid, ours, 1, ours, 1, 0)
    except OSError as fault:
        if fault.errno != errno.EFAULT:
            raise


def by_handle() -> None:
    """Opens the root of the file system by its handle, past every mount over it."""
    handle = ctypes.create_string_buffer(struct.pack("=Ii", 128, 0) + bytes(128))
    mount_id = ctypes.c_int()
    if LIBC.name_to_handle_at(-100, b"/usr", handle, ctypes.byref(mount_id), 0) < 0:
        raise OSError(ctypes.get_errno(), "name_to_handle_at")
    folder = os.open("/usr", os.O_RDONLY)
    call("open_by_handle_at", folder, handle, os.O_RDONLY)


def clone_into(flag: int) -> None:
    """Forks into a namespace of its own."""
    pid = call("clone", flag | 17, None, None, None, None)
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)


def enter(path: str) -> None:
    """Joins a namespace."""
    call("setns", os.open(path, os.O_RDONLY), 0)


def write_back(path: str) -> None:
    """Writes what a file of the kernel holds already, or a harmless word."""
    flags = os.O_WRONLY | os.O_CLOEXEC
    fd = os.open(path, flags)
    try:
        held = Path(path).read_bytes()
    except OSError:
        held = b"h"  # of sysrq: prints a help text
    os.write(fd, held or b"0")


def make_device(kind: int, device: int) -> None:
    """Makes a device node and opens it."""
    call("mknodat", -100, b"node", ctypes.c_uint(kind | 0o600), ctypes.c_uint(device))
    os.open("node", os.O_RDONLY)


def leave_cgroup() -> None:
    """Moves itself into the root of a hierarchy, or takes over what runs at a group's end."""
    done = 0
    for folder in (Path("/sys/fs/cgroup"), *Path("/sys/fs/cgroup").glob("*/")):
        for name, text in (("cgroup.procs", "0"), ("tasks", "0"), ("release_agent", "/bin/true")):
            with contextlib.suppress(OSError):
                (folder / name).write_text(text)
                done += 1
        with contextlib.suppress(OSError):
            (folder / "netclaw-escape").mkdir()
            done += 1
    if not done:
        raise OSError(errno.EACCES, "no cgroup")


def set_identity() -> None:
    """Becomes somebody else: root, or away from root."""
    os.setresuid(*((0,) * 3 if os.getuid() else (1,) * 3))


def gain_capability() -> None:
    """Takes every capability into its permitted set."""
    header = struct.pack("=Ii", 0x20080522, 0)
    call("capset", header, struct.pack("=6I", *([0xFFFFFFFF] * 6)))


def shared_memory(key: int) -> None:
    """Attaches a segment of the host."""
    segment = call("shmget", key, 0, 0)
    call("shmat", segment, None, 0o10000)


def extra_descriptor() -> None:
    """Finds a descriptor beside the three standard ones."""
    found = []
    for name in os.listdir("/proc/self/fd"):
        with contextlib.suppress(OSError):
            os.fstat(int(name))
            found.append(int(name))
    if not [fd for fd in found if fd > 2]:
        raise OSError(errno.EBADF, "none")


def raw_socket(family: int, kind: int, protocol: int) -> None:
    """Opens a socket."""
    socket.socket(family, kind, protocol).close()


def into_processes(pid: int) -> Attempts:
    """Ways to look into, steer or end a process of the host."""
    for name in ("environ", "maps", "auxv", "stack", "syscall", "personality"):
        yield f"proc-{name}", Path(f"/proc/{pid}/{name}").read_bytes
    for name in ("root", "cwd", f"task/{pid}/root", "map_files"):
        yield f"proc-{name}", partial(os.listdir, f"/proc/{pid}/{name}")
    for name in ("mem", "exe", "fd/0", "fd/1", "ns/mnt", "ns/user"):
        yield f"proc-{name}", partial(os.open, f"/proc/{pid}/{name}", os.O_RDONLY)
        yield f"proc-link-{name}", partial(os.readlink, f"/proc/{pid}/{name}")
    for request, word in ((16, "attach"), (0x4206, "seize")):
        yield f"ptrace-{word}", partial(call, "ptrace", request, pid, None, None)
    yield "vm-read", lambda: vm("process_vm_readv", pid)
    yield "vm-write", lambda: vm("process_vm_writev", pid)
    yield "pidfd-getfd", lambda: call("pidfd_getfd", call("pidfd_open", pid, 0), 0, 0)
    yield "pidfd-signal", lambda: call("pidfd_send_signal", call("pidfd_open", pid, 0), 0, None, 0)
    yield "setns", lambda: call("setns", call("pidfd_open", pid, 0), NAMESPACES["mount"])
    yield "kcmp", lambda: call("kcmp", os.getpid(), pid, 0, 0, 0)
    yield "signal", lambda: os.kill(pid, 0)
    yield "priority", lambda: os.setpriority(os.PRIO_PROCESS, pid, 19)
    yield "affinity", lambda: os.sched_setaffinity(pid, {0})
    yield "limits", lambda: call("prlimit64", pid, 7, struct.pack("=QQ", 64, 64), None)
    yield "move-pages", lambda: call("move_pages", pid, 0, None, None, None, 0)


def out_of_namespaces() -> Attempts:
    """Ways into other namespaces, and mounts."""
    for name, flag in NAMESPACES.items():
        yield f"unshare-{name}", partial(call, "unshare", flag)
        yield f"clone-{name}", partial(clone_into, flag)
    for name in ("mnt", "user", "pid", "net"):
        for pid in ("self", "1"):
            yield (
                f"setns-{name}-{pid}",
                partial(enter, f"/proc/{pid}/ns/{name}"),
            )
    here = os.fsencode(os.getcwd())
    yield "mount-tmpfs", lambda: call("mount", b"t", here, b"tmpfs", 0, None)
    yield "mount-bind", lambda: call("mount", b"/", here, None, 4096, None)
    yield (
        "mount-overlay",
        lambda: call("mount", b"o", here, b"overlay", 0, b"lowerdir=/:/usr"),
    )
    yield "mount-proc", lambda: call("mount", b"p", here, b"proc", 0, None)
    yield "remount", lambda: call("mount", None, b"/", None, 32, None)
    yield "unmount", lambda: call("umount2", b"/tmp", 2)
    yield "pivot", lambda: call("pivot_root", here, here)
    yield "chroot", lambda: call("chroot", b"/")
    yield "open-tree", lambda: call("open_tree", -100, b"/", 1)
    yield "fsopen", lambda: call("fsopen", b"tmpfs", 0)
    yield "fspick", lambda: call("fspick", -100, b"/", 0)
    yield (
        "mount-setattr",
        lambda: call("mount_setattr", -100, b"/", 0, struct.pack("=QQQQ", 0, 1, 0, 0), (32)),
    )
    yield "by-handle", by_handle


def shared_things(key: int) -> Attempts:
    """What processes of one user find by name."""
    yield "shared-memory", lambda: shared_memory(key)
    yield "message-queue", lambda: call("mq_open", f"netclaw-{key}".encode(), 0, 0, None)


def of_the_kernel(key: int) -> Attempts:
    """Parts of the kernel that a command has no business with."""
    zeros = bytes(256)
    yield "bpf", lambda: call("bpf", 0, struct.pack("=IIII", 2, 4, 4, 1) + zeros, 128)
    yield "perf", lambda: call("perf_event_open", struct.pack("=II", 1, 112) + zeros, 0, -1, -1, 0)
    yield "io-uring", lambda: call("io_uring_setup", 4, ctypes.create_string_buffer(zeros))
    yield "userfaultfd", lambda: call("userfaultfd", 0)
    yield "keyctl", lambda: call("keyctl", 0, -3, 0)
    yield "add-key", lambda: call("add_key", b"user", b"nc", b"x", 1, -3)
    yield "request-key", lambda: call("request_key", b"user", b"nc", None, -3)
    yield "syslog", lambda: call("syslog", 3, ctypes.create_string_buffer(64), 64)
    yield "fanotify", lambda: call("fanotify_init", 0, 0)
    yield "module", lambda: call("init_module", zeros, 8, b"")
    yield "accounting", lambda: call("acct", None)
    yield "host-name", lambda: call("sethostname", b"escaped", 7)
    yield "io-ports", lambda: call("iopl", 3)
    yield "swap", lambda: call("swapon", b"/nowhere", 0)
    yield "capabilities", gain_capability
    yield "identity", set_identity
    yield "groups", lambda: os.setgroups([0, 1])
    yield "cgroup", leave_cgroup
    yield from shared_things(key)
    yield "descriptor", extra_descriptor
    for request in (0x5412, 0x541C, 0x1_0000_5412):
        yield f"tty-{request:x}", partial(tty_push, request)
    for path in KERNEL_FILES:
        yield f"write-{path}", partial(write_back, path)
    for name in DEVICES:
        yield f"open-{name}", partial(os.open, f"/dev/{name}", os.O_RDONLY | os.O_NONBLOCK)
    for kind, number in ((0o020000, 0x0101), (0o060000, 0xFE00)):
        yield f"node-{kind:o}", partial(make_device, kind, number)
    for family, kind, protocol in ((17, 3, 768), (2, 3, 1), (10, 3, 58), (2, 3, 255), (40, 1, 0)):
        yield (
            f"socket-{family}-{protocol}",
            partial(raw_socket, family, kind, protocol),
        )


def say(line: str) -> None:
    """One line for the test."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def main() -> None:
    """Tries everything."""
    attempts = {
        **dict(of_the_kernel(int(sys.argv[2]))),
        **dict(out_of_namespaces()),
        **dict(into_processes(int(sys.argv[1]))),
    }
    for name, attempt in attempts.items():
        try:
            attempt()
        except OSError:
            continue
        say(f"escaped {name}")
    say(f"tried {len(attempts)}")


main()
