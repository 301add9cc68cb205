"""On a kernel that lacks what a backend needs, that backend is refused; without any, no command.

The kernel is this one behind a filter that answers as one would on which it was left out.
"""

from __future__ import annotations

import asyncio
import errno
import json
import os
import sys
from asyncio.subprocess import PIPE
from dataclasses import dataclass
from pathlib import Path

import pytest

from netclaw.core.settings import SandboxBackendChoice
from netclaw.ports.shell_runner import ShellEnd
from netclaw.sandbox import seccomp
from tests.sandbox.rig import PROVED, REPOSITORY, WITH_VIEW, Rig
from tests.sandbox.session_stand_in import StandInJob
from tests.sandbox.test_session_death import PACKAGES

pytestmark = [pytest.mark.escape, pytest.mark.timeout(60)]

LANDLOCK_CREATE = 444
FIRST = """
import runpy, sys
sys.path.insert(0, sys.argv[1])
from netclaw.sandbox import kernel
kernel.forbid_new_privileges()
kernel.load_seccomp(bytes.fromhex(sys.argv[2]))
sys.argv = [sys.argv[3], sys.argv[4]]
runpy.run_path(sys.argv[0], run_name="__main__")
"""


def kernel_without(*, namespaces: bool, landlock: bool) -> bytes:
    """A filter under which the kernel seems to lack one or both."""
    machine = seccomp.MACHINES[os.uname().machine]
    code = seccomp._head(machine)
    if namespaces:
        code += seccomp._judge_clone(machine.calls["clone"])
        code += seccomp._when_call(machine.calls["clone3"], seccomp._fail(errno.ENOSYS))
        code += seccomp._when_call(machine.calls["unshare"], seccomp._fail(errno.EPERM))
    if landlock:
        code += seccomp._when_call(LANDLOCK_CREATE, seccomp._fail(errno.ENOSYS))
    return code + seccomp._step(seccomp._RETURN, 0, 0, seccomp._ALLOW)


@dataclass(frozen=True, kw_only=True)
class Found:
    """What a session process would have found on such a kernel."""

    backend: str | None
    why: str
    end: str
    has_run: bool


async def found(rig: Rig, choice: SandboxBackendChoice, filter_code: bytes) -> Found:
    """Proves the backends behind a filter, then runs a command there."""
    job = StandInJob(
        choice=choice.value,
        is_confined=True,
        home=str(rig.home),
        workspace=str(rig.workspace),
        tmp=str(rig.tmp),
        marker=rig.marker,
        scripts=["touch ran"],
        holds=False,
        packages=str(PACKAGES),
    )
    stand_in = str(Path(__file__).with_name("session_stand_in.py"))
    argv = [sys.executable, "-I", "-c", FIRST, str(REPOSITORY), filter_code.hex(), stand_in]
    process = await asyncio.create_subprocess_exec(*argv, json.dumps(job), stdout=PIPE, stderr=PIPE)
    output, errors = await process.communicate()
    assert errors == b""
    lines = [json.loads(line) for line in output.splitlines()]
    return Found(
        backend=lines[0]["backend"],
        why=lines[0]["why"],
        end=lines[-1]["end"],
        has_run=(rig.workspace / "ran").exists(),
    )


@pytest.mark.requirement("escape.refused")
async def test_without_namespaces_and_landlock_no_command_runs(escape_rig: Rig) -> None:
    seen = await found(
        escape_rig, SandboxBackendChoice.AUTO, kernel_without(namespaces=True, landlock=True)
    )
    assert (seen.backend, seen.end) == (None, ShellEnd.FAILED_TO_START)
    assert not seen.has_run
    for word in ("No sandbox works here", "bubblewrap", "unshare", "This kernel has no Landlock"):
        assert word in seen.why


@pytest.mark.requirement("escape.refused")
@pytest.mark.parametrize(
    "choice", [SandboxBackendChoice.BUBBLEWRAP, SandboxBackendChoice.UNSHARE], ids=str
)
async def test_without_namespaces_what_needs_them_is_refused(
    escape_rig: Rig, choice: SandboxBackendChoice
) -> None:
    seen = await found(escape_rig, choice, kernel_without(namespaces=True, landlock=False))
    assert (seen.backend, seen.has_run) == (None, False)
    assert choice.value in seen.why


@pytest.mark.requirement("escape.refused")
async def test_without_landlock_it_is_refused_alone(escape_rig: Rig) -> None:
    code = kernel_without(namespaces=False, landlock=True)
    seen = await found(escape_rig, SandboxBackendChoice.LANDLOCK, code)
    assert (seen.backend, seen.has_run) == (None, False)
    assert "This kernel has no Landlock" in seen.why
    strongest = await found(escape_rig, SandboxBackendChoice.AUTO, code)
    expected = [choice for choice in WITH_VIEW if PROVED[choice].backend is not None]
    assert strongest.backend == (expected[0].value if expected else None)


@pytest.mark.requirement("escape.refused")
async def test_without_namespaces_landlock_takes_over_where_it_can(escape_rig: Rig) -> None:
    code = kernel_without(namespaces=True, landlock=False)
    seen = await found(escape_rig, SandboxBackendChoice.AUTO, code)
    has_landlock = PROVED[SandboxBackendChoice.LANDLOCK].backend is not None
    assert seen.backend == (SandboxBackendChoice.LANDLOCK.value if has_landlock else None)
    assert seen.has_run is has_landlock
    assert "Tried before: bubblewrap" in seen.why or not has_landlock
