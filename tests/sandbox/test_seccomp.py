"""The filter's decisions, read out of its code by a small interpreter, for both machines."""

from __future__ import annotations

import errno
import re
import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netclaw.sandbox.errors import SandboxError
from netclaw.sandbox.seccomp import MACHINES, Metadata, assemble

ALLOW, KILL = "allow", "kill"
Verdict = str | int
MACHINE_NAMES = sorted(MACHINES)
HEADERS = {
    "x86_64": ("/usr/include/x86_64-linux-gnu/asm/unistd_64.h", "/usr/include/asm/unistd_64.h"),
    "aarch64": ("/usr/include/asm-generic/unistd.h", "/usr/include/asm/unistd_64.h"),
}


def decide(program: bytes, audit: int, number: int, *arguments: int) -> Verdict:
    """Runs a filter over one call as the kernel would: an errno, or one of the words above."""
    data = struct.pack("=IIQ6Q", number, audit, 0, *(*arguments, 0, 0, 0, 0, 0, 0)[:6])
    steps = list(struct.iter_unpack("=HBBI", program))
    accumulator = at = 0
    while True:
        code, yes, no, value = steps[at]
        at += 1
        if code == 0x20:
            accumulator = struct.unpack_from("=I", data, value)[0]
        elif code == 0x54:
            accumulator &= value
        elif code == 0x06:
            return _verdict(value)
        else:
            tests = {
                0x15: accumulator == value,
                0x35: accumulator >= value,
                0x45: accumulator & value != 0,
            }
            at += yes if tests[code] else no


def _verdict(value: int) -> Verdict:
    if value == 0x80000000:
        return KILL
    return ALLOW if value == 0x7FFF0000 else value & 0xFFFF


class Filter:
    """One variant on one machine, asked by name."""

    def __init__(self, machine: str, **choices: bool | Metadata) -> None:
        chosen = {"has_internet": True} | choices
        self.program = assemble(machine=machine, **chosen)
        self.machine = MACHINES[machine]

    def __call__(self, name: str, *arguments: int) -> Verdict:
        """The verdict on a call."""
        return decide(self.program, self.machine.audit, self.machine.calls[name], *arguments)


@pytest.mark.requirement("sandbox.filter")
@pytest.mark.parametrize("machine", MACHINE_NAMES)
def test_the_listed_calls_are_denied(machine: str) -> None:
    ask = Filter(machine)
    denied: list[str] = [
        "unshare",
        "setns",
        "mount",
        "umount2",
        "pivot_root",
        "ptrace",
        "kexec_load",
        "bpf",
    ]
    denied += ["keyctl", "add_key", "userfaultfd", "perf_event_open", "init_module", "open_tree"]
    denied += ["process_vm_readv", "pidfd_getfd", "move_mount", "fsopen", "chroot", "reboot"]
    assert {ask(name) for name in denied} == {errno.EPERM}
    absent = ("clone3", "io_uring_setup", "io_uring_enter", "io_uring_register")
    assert {ask(name) for name in absent} == {errno.ENOSYS}


@pytest.mark.requirement("sandbox.filter")
@pytest.mark.parametrize("machine", MACHINE_NAMES)
@given(number=st.integers(0, 0x3FFFFFFF), argument=st.integers(0, 2**64 - 1))
def test_every_other_call_is_allowed(machine: str, number: int, argument: int) -> None:
    known = MACHINES[machine]
    if number not in known.calls.values():
        assert decide(Filter(machine).program, known.audit, number, argument) == ALLOW


@pytest.mark.requirement("sandbox.filter")
def test_foreign_instruction_sets_end_the_process() -> None:
    for name in MACHINE_NAMES:
        program = assemble(has_internet=True, machine=name)
        for audit in (0x40000003, 0x40000028, 0):  # i386, arm, none
            assert decide(program, audit, 1) == KILL
    x32 = 0x40000000 | 41
    assert decide(Filter("x86_64").program, MACHINES["x86_64"].audit, x32) == errno.ENOSYS


@pytest.mark.requirement("sandbox.filter")
@pytest.mark.parametrize("machine", MACHINE_NAMES)
def test_threads_and_forks_are_fine_and_namespaces_are_not(machine: str) -> None:
    ask = Filter(machine)
    assert ask("clone", 0x003D0F00) == ALLOW  # a thread
    assert ask("clone", 17) == ALLOW  # fork: SIGCHLD alone
    for flag in (0x00020000, 0x02000000, 0x04000000, 0x08000000, 0x10000000, 0x20000000):
        assert ask("clone", flag | 17) == errno.EPERM
    assert ask("clone", 0x40000000 | 17) == errno.EPERM


@pytest.mark.requirement("sandbox.filter")
@pytest.mark.parametrize("machine", MACHINE_NAMES)
def test_socket_families_follow_the_variant(machine: str) -> None:
    closed = errno.EAFNOSUPPORT
    full = Filter(machine)
    assert [full("socket", family) for family in (2, 10, 16)] == [ALLOW] * 3
    assert [full("socket", family) for family in (0, 1, 17, 29, 38, 40, 44)] == [closed] * 7
    high = 1 << 32  # the kernel looks at the low half of the argument, and so must we
    assert [full("socket", high | family) for family in (1, 2)] == [closed, ALLOW]
    bare = Filter(machine, has_internet=False)
    assert [bare("socket", family) for family in (1, 2, 10, 16)] == [closed] * 4


@pytest.mark.requirement("sandbox.filter")
@pytest.mark.parametrize("machine", MACHINE_NAMES)
@pytest.mark.parametrize("has_internet", [False, True])
def test_pairs_are_unix_streams_alone(machine: str, has_internet: bool) -> None:
    closed = errno.EAFNOSUPPORT
    ask = Filter(machine, has_internet=has_internet)
    flags = 0o2000000 | 0o4000  # SOCK_CLOEXEC, SOCK_NONBLOCK
    assert [ask("socketpair", 1, kind) for kind in (1, 5, 1 | flags, 5 | flags)] == [ALLOW] * 4
    assert [ask("socketpair", 1, kind) for kind in (2, 3, 2 | flags)] == [closed] * 3
    assert [ask("socketpair", family, 1) for family in (0, 2, 30, 40)] == [closed] * 4


@pytest.mark.requirement("sandbox.filter")
@pytest.mark.parametrize("machine", MACHINE_NAMES)
def test_terminals_and_personalities_are_judged_by_argument(machine: str) -> None:
    ask = Filter(machine)
    assert [ask("ioctl", 0, request) for request in (0x5412, 0x541C)] == [errno.EPERM] * 2
    assert ask("ioctl", 0, 0x5401) == ALLOW
    assert [ask("personality", value) for value in (0, 0xFFFFFFFF, 0x40000)] == [ALLOW] * 3
    assert ask("personality", 0x0400000) == errno.EPERM  # READ_IMPLIES_EXEC


@pytest.mark.requirement("sandbox.filter")
@pytest.mark.parametrize("machine", MACHINE_NAMES)
def test_without_a_pid_namespace_other_processes_are_out_of_reach(machine: str) -> None:
    ask = Filter(machine, sees_others=True)
    assert ask("prlimit64", 0) == ALLOW
    assert ask("prlimit64", 4711) == errno.EPERM
    assert ask("setpriority", 0, 0) == ALLOW
    assert ask("setpriority", 0, 4711) == errno.EPERM
    assert Filter(machine)("prlimit64", 4711) == ALLOW
    shared = ("shmget", "shmat", "semget", "semtimedop", "msgget", "msgrcv", "mq_open")
    assert {ask(name) for name in shared} == {errno.EPERM}
    assert {Filter(machine)(name) for name in shared} == {ALLOW}


@pytest.mark.requirement("sandbox.filter")
@pytest.mark.parametrize("machine", MACHINE_NAMES)
def test_metadata_follows_the_variant(machine: str) -> None:
    free, opened = Filter(machine), Filter(machine, metadata=Metadata.OPENED)
    times = Filter(machine, metadata=Metadata.TIMES)
    assert free("fchmodat", 3, 0x1000) == opened("fchmod", 3) == ALLOW
    assert opened("fchmodat", 3, 0x1000) == times("fchmod", 3) == errno.EPERM
    for ask in (opened, times):
        assert ask("utimensat", 3, 0) == ALLOW
        assert ask("utimensat", 3, 0x1000) == errno.EPERM
        assert ask("utimensat", 3, 0x7FFF_0000_0000_0000) == errno.EPERM


@pytest.mark.requirement("sandbox.filter")
@pytest.mark.parametrize("machine", MACHINE_NAMES)
def test_call_numbers_are_those_of_the_kernel_headers(machine: str) -> None:
    """Where the headers are installed; elsewhere the numbers are at least distinct."""
    calls = MACHINES[machine].calls
    assert len(set(calls.values())) == len(calls)
    header = next((Path(path) for path in HEADERS[machine] if Path(path).exists()), None)
    text = header.read_text() if header else ""
    pairs = re.findall(r"#define __NR(?:3264)?_(\w+)\s+(\d+)$", text, re.MULTILINE)
    listed = {name: int(number) for name, number in pairs}
    wrong = {name: number for name, number in calls.items() if listed.get(name, number) != number}
    assert not wrong


@pytest.mark.requirement("sandbox.filter")
def test_an_unknown_machine_has_no_filter() -> None:
    with pytest.raises(SandboxError, match="pdp11"):
        assemble(has_internet=True, machine="pdp11")
