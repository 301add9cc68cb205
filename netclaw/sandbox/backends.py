"""Chooses how a request is confined and how its tree is ended, one entry per backend."""

from __future__ import annotations

import asyncio
import os
import signal
from dataclasses import dataclass

from netclaw.ports.shell_runner import Confinement, SandboxFacts, ShellRequest
from netclaw.sandbox import bwrap, limits, seccomp
from netclaw.sandbox.errors import SandboxError, StartError
from netclaw.sandbox.launch import BuildArgv, Launched
from netclaw.sandbox.process_tree import ProcessHandle
from netclaw.sandbox.view import host_places, plan_view
from netclaw.sandbox.watch import readable


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchPlan:
    """What to start: the argv once descriptors are known, and what the backend reads first."""

    build: BuildArgv
    payload: bytes


def plan(backend: Confinement, facts: SandboxFacts, request: ShellRequest) -> LaunchPlan:
    """Raises `SandboxError` when the request cannot be confined as it asks."""
    if not request.argv or any("\0" in word for word in request.argv):
        raise SandboxError("The command is empty or holds a NUL character.")
    match backend:
        case Confinement.BUBBLEWRAP:
            return _plan_bubblewrap(facts, request)
        case _:
            raise SandboxError(f"The backend {backend} is not available.")


def _plan_bubblewrap(facts: SandboxFacts, request: ShellRequest) -> LaunchPlan:
    profile = request.profile
    assert profile is not None  # noqa: S101
    steps = plan_view(profile, host_places(dict(os.environ)))
    command = limits.gate(request.argv, request.limits)

    def build(payload_fd: int, info_fd: int) -> list[str]:
        head = bwrap.arguments(
            facts.program,
            steps,
            cwd=request.cwd,
            has_network=profile.has_network,
            seccomp_fd=payload_fd,
            info_fd=info_fd,
        )
        return head + command

    program = seccomp.assemble(has_unix=not profile.has_network, has_internet=True)
    return LaunchPlan(build=build, payload=program)


async def end_tree(launched: Launched, root: ProcessHandle | None, limit_s: float) -> bool:
    """Kills a tree whole; True once the kernel says that nothing of it is left.

    SIGKILL to the init of a PID namespace ends every process inside before the init itself counts
    as dead, so its pidfd is the proof. The monitor is killed only if it does not follow.
    """
    loop = asyncio.get_running_loop()
    deadline = loop.time() + limit_s
    is_gone = True
    if root is not None and root.pid != launched.monitor.pid:
        root.signal(signal.SIGKILL)
        is_gone = await _ended(root, deadline)
        launched.monitor.signal(signal.SIGKILL) if not is_gone else None
    else:
        launched.monitor.signal(signal.SIGKILL)
    if not await _ended(launched.monitor, min(deadline, loop.time() + 2.0)):
        launched.monitor.signal(signal.SIGKILL)
        is_gone = await _ended(launched.monitor, deadline) and is_gone
    launched.status()
    return is_gone


async def _ended(process: ProcessHandle, deadline: float) -> bool:
    try:
        await readable(process.fd, deadline)
    except StartError:
        return False
    return True
