"""Nothing that a command asks of the kernel lets it out: no namespace, mount, process or device."""

from __future__ import annotations

import ctypes
import os
import secrets
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.sandbox.rig import PROVED, WORKING, Rig

pytestmark = pytest.mark.escape

PROGRAM = Path(__file__).with_name("inside").joinpath("kernel.py").read_text()
LIBC = ctypes.CDLL(None, use_errno=True)


@contextmanager
def shared_by_name() -> Iterator[int]:
    """Shared memory and a message queue of this user; yields the key in their names."""
    key = secrets.randbelow(2**30) + 1
    name = f"/netclaw-{key}".encode()
    segment = LIBC.shmget(key, ctypes.c_size_t(64), 0o1600)
    queue = LIBC.mq_open(name, os.O_CREAT | os.O_RDWR, 0o600, None)
    assert min(segment, queue) >= 0, ctypes.get_errno()
    try:
        yield key
    finally:
        LIBC.shmctl(segment, 0, None)
        LIBC.mq_unlink(name)
        os.close(queue)


@pytest.mark.timeout(60)
@pytest.mark.requirement("escape.kernel")
@pytest.mark.parametrize("has_network", [False, True], ids=["offline", "online"])
async def test_the_kernel_gives_a_command_nothing_to_get_out_with(
    rig: Rig, has_network: bool
) -> None:
    with subprocess.Popen(["/bin/sleep", "60"]) as victim, shared_by_name() as key:
        try:
            ran = await rig.python(PROGRAM, str(victim.pid), str(key), has_network=has_network)
            assert victim.poll() is None
        finally:
            victim.kill()
    escaped = [line for line in ran.output.splitlines() if line.startswith("escaped ")]
    assert escaped == []
    assert int(ran.output.split()[-1]) > 100, ran.output


@pytest.mark.requirement("escape.kernel")
async def test_unconfined_these_attempts_reach_a_process_of_the_host(short_tmp: Path) -> None:
    """The control, for those that do no harm: what fails above fails because it is confined."""
    rig = Rig(facts=PROVED[WORKING[0]], folder=short_tmp.resolve(), is_confined=False)
    harmless = PROGRAM.replace("**dict(of_the_kernel", "**dict(shared_things").replace(
        "**dict(out_of_namespaces()),", ""
    )
    with subprocess.Popen(["/bin/sleep", "60"]) as victim, shared_by_name() as key:
        try:
            ran = await rig.python(harmless, str(victim.pid), str(key))
        finally:
            victim.kill()
    reached = {line.removeprefix("escaped ") for line in ran.output.splitlines()}
    assert reached >= {
        *("proc-environ", "proc-mem", "proc-root", "proc-fd/0", "vm-read", "pidfd-getfd"),
        *("pidfd-signal", "signal", "limits", "priority", "shared-memory", "message-queue"),
    }, ran.output
