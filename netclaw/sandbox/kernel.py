"""The system calls of confinement that the standard library lacks, as plain functions.

Used by the helper that runs between the session process and a command; every function raises
`OSError` when the kernel refuses. Numbers below are the same on x86_64 and aarch64 unless they
stand in a table by machine.
"""

from __future__ import annotations

import ctypes
import os
import struct

_LIBC = ctypes.CDLL(None, use_errno=True)

AT_FDCWD = -100
AT_RECURSIVE = 0x8000
_OPEN_TREE_CLONE = 1
_MOVE_MOUNT_EMPTY_SOURCE = 0x4

_OPEN_TREE, _MOVE_MOUNT, _MOUNT_SETATTR = 428, 429, 442
_LANDLOCK_CREATE, _LANDLOCK_ADD, _LANDLOCK_RESTRICT = 444, 445, 446

ATTR_READ_ONLY, ATTR_NO_SUID, ATTR_NO_DEV = 0x1, 0x2, 0x4

MS_READ_ONLY, MS_NO_SUID, MS_NO_DEV, MS_NO_EXEC = 0x1, 0x2, 0x4, 0x8

_PR_SET_DEATH_SIGNAL, _PR_SET_SECCOMP, _PR_CAP_BOUNDING_DROP = 1, 22, 24
_PR_SET_CHILD_SUBREAPER, _PR_SET_NO_NEW_PRIVILEGES = 36, 38
_PR_CAP_AMBIENT, _AMBIENT_CLEAR_ALL = 47, 4
_SECCOMP_MODE_FILTER = 2
_CAPABILITY_VERSION_3 = 0x20080522
_LAST_CAPABILITY_AT_MOST = 63


def _checked(result: int) -> int:
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return result


def _syscall(number: int, *arguments: object) -> int:
    return _checked(int(_LIBC.syscall(ctypes.c_long(number), *arguments)))


def _prctl(option: int, *arguments: int) -> None:
    padded = (*arguments, 0, 0, 0, 0)[:4]
    _checked(int(_LIBC.prctl(option, *(ctypes.c_ulong(value) for value in padded))))


def mount_file_system(kind: str, target: str, flags: int, options: str) -> None:
    """Mounts a virtual file system."""
    name = kind.encode()
    _checked(
        int(_LIBC.mount(name, os.fsencode(target), name, ctypes.c_ulong(flags), options.encode()))
    )


def clone_mount(path: str) -> int:
    """A detached copy of what is mounted at a path and below, as a descriptor."""
    flags = _OPEN_TREE_CLONE | AT_RECURSIVE | os.O_CLOEXEC
    return _syscall(_OPEN_TREE, AT_FDCWD, os.fsencode(path), flags)


def attach_mount(fd: int, target: str) -> None:
    """Attaches a detached mount at a path."""
    where = os.fsencode(target)
    _syscall(_MOVE_MOUNT, fd, b"", AT_FDCWD, where, _MOVE_MOUNT_EMPTY_SOURCE)


def set_mount_attributes(path: str, attributes: int, *, is_recursive: bool) -> None:
    """Adds attributes to the mount at a path (Linux 5.12)."""
    change = struct.pack("=QQQQ", attributes, 0, 0, 0)
    flags = AT_RECURSIVE if is_recursive else 0
    _syscall(_MOUNT_SETATTR, AT_FDCWD, os.fsencode(path), flags, change, len(change))


def drop_capabilities() -> None:
    """Gives up every capability for good, those that a fake root would regain included."""
    _prctl(_PR_CAP_AMBIENT, _AMBIENT_CLEAR_ALL)
    for capability in range(_LAST_CAPABILITY_AT_MOST + 1):
        try:
            _prctl(_PR_CAP_BOUNDING_DROP, capability)
        except OSError:
            break  # past the last one this kernel knows
    header = struct.pack("=Ii", _CAPABILITY_VERSION_3, 0)
    _checked(int(_LIBC.capset(header, bytes(24))))


def forbid_new_privileges() -> None:
    """From here on no program started gains anything from set-user-id bits."""
    _prctl(_PR_SET_NO_NEW_PRIVILEGES, 1)


def become_subreaper() -> None:
    """Orphans below this process become its children."""
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)


def die_with_parent(signal_number: int) -> None:
    """The kernel sends this signal when the parent's thread ends."""
    _prctl(_PR_SET_DEATH_SIGNAL, signal_number)


def load_seccomp(program: bytes) -> None:
    """Installs a filter (an array of `struct sock_filter`) for this process and what it starts."""
    code = ctypes.create_string_buffer(program, len(program))
    head = struct.pack("@HP", len(program) // 8, ctypes.addressof(code))
    pointer = ctypes.create_string_buffer(head, len(head))
    _prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.addressof(pointer))


def landlock_version() -> int:
    """The kernel's Landlock version. Raises `OSError` where there is none."""
    return _syscall(_LANDLOCK_CREATE, None, ctypes.c_size_t(0), 1)


def landlock_create(attributes: bytes) -> int:
    """A new rule set as a descriptor."""
    return _syscall(_LANDLOCK_CREATE, attributes, ctypes.c_size_t(len(attributes)), 0)


def landlock_allow_beneath(rules_fd: int, access: int, folder_fd: int) -> None:
    """Adds a rule for everything beneath an opened folder, or for an opened file."""
    rule = struct.pack("=Qi", access, folder_fd)
    _syscall(_LANDLOCK_ADD, rules_fd, 1, rule, 0)


def landlock_restrict(rules_fd: int) -> None:
    """Puts this process and all it starts under the rules."""
    _syscall(_LANDLOCK_RESTRICT, rules_fd, 0)
