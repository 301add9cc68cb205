"""Chooses how a request is confined and how its tree is ended, one entry per backend."""

from __future__ import annotations

import asyncio
import marshal
import os
import signal
import sys
from dataclasses import replace

from netclaw.ports.shell_runner import (
    Confinement,
    SandboxFacts,
    SandboxProfile,
    ShellRequest,
)
from netclaw.sandbox import bwrap, landlock, limits, seccomp
from netclaw.sandbox.errors import SandboxError, StartError
from netclaw.sandbox.helper import HelperPlan
from netclaw.sandbox.launch import Launched, LaunchPlan, Stop
from netclaw.sandbox.process_tree import ProcessHandle
from netclaw.sandbox.view import TEMPORARY_BYTES, host_places, plan_view
from netclaw.sandbox.watch import readable

_ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
_BOOT = (
    f"import sys; sys.path.insert(0, {_ROOT!r}); from netclaw.sandbox.helper import main; main()"
)
"""How the helper finds this package: isolated, without site packages, by an absolute path."""


def plan(backend: Confinement, facts: SandboxFacts, request: ShellRequest) -> LaunchPlan:
    """Raises `SandboxError` when the request cannot be confined as it asks."""
    if not request.argv or any("\0" in word for word in request.argv):
        raise SandboxError("The command is empty or holds a NUL character.")
    if request.profile is None:
        return _with_helper(_helper_plan("reaper", request), [])
    match backend:
        case Confinement.BUBBLEWRAP:
            return _plan_bubblewrap(facts, request, request.profile)
        case Confinement.UNSHARE:
            return _plan_unshare(facts, request, request.profile)
        case Confinement.LANDLOCK:
            return _plan_landlock(request, request.profile)
        case Confinement.NONE:
            raise SandboxError("A command with a profile is never run unconfined.")


def _plan_bubblewrap(
    facts: SandboxFacts, request: ShellRequest, profile: SandboxProfile
) -> LaunchPlan:
    steps = plan_view(profile, host_places(os.environ))
    command = limits.gate(request.argv, request.limits, request.umask)

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

    return LaunchPlan(build=build, payload=seccomp.assemble(has_internet=True), view=steps)


def _plan_unshare(
    facts: SandboxFacts, request: ShellRequest, profile: SandboxProfile
) -> LaunchPlan:
    steps = plan_view(profile, host_places(os.environ))
    plan = _helper_plan("unshare", request)
    plan["mounts"] = [(step.mount.name, step.path) for step in steps]
    plan["seccomp"] = seccomp.assemble(has_internet=True)
    plan["has_network"] = profile.has_network
    spaces = [facts.program, "-U", "-r", "-m", "-p", "-i", "-u", "-C", "-f"]
    spaces += [] if profile.has_network else ["-n"]
    spaces += ["--propagation", "private", "--kill-child", "--"]
    return replace(_with_helper(plan, spaces), view=steps)


def _plan_landlock(request: ShellRequest, profile: SandboxProfile) -> LaunchPlan:
    landlock.check_version()
    places = host_places(os.environ)
    readable, writable = landlock.plan_rules(profile, places.user_home, places.daemons)
    plan = _helper_plan("landlock", request)
    plan["readable"], plan["writable"] = list(readable), list(writable)
    plan["has_network"] = profile.has_network
    plan["seccomp"] = seccomp.assemble(
        has_internet=profile.has_network,
        sees_others=True,
        metadata=seccomp.Metadata.OPENED if os.geteuid() else seccomp.Metadata.TIMES,
    )
    return _with_helper(plan, [])


def _helper_plan(mode: str, request: ShellRequest) -> HelperPlan:
    return HelperPlan(
        mode=mode,
        argv=limits.gate(request.argv, request.limits, request.umask),
        cwd=request.cwd,
        seccomp=b"",
        mounts=[],
        temporary_bytes=TEMPORARY_BYTES,
        readable=[],
        writable=[],
        has_network=True,
    )


def _with_helper(plan: HelperPlan, head: list[str]) -> LaunchPlan:
    python = [sys.executable, "-I", "-S", "-c", _BOOT]

    def build(payload_fd: int, info_fd: int) -> list[str]:
        return [*head, *python, str(payload_fd), str(info_fd)]

    stop = Stop.ASK_INIT if plan["mode"] == "unshare" else Stop.ASK_SUBREAPER
    return LaunchPlan(build=build, payload=marshal.dumps(dict(plan)), stop=stop)


ASK_S = 0.5
"""How long an init of ours may take to exit when asked, before it is killed."""


async def end_tree(launched: Launched, root: ProcessHandle | None, limit_s: float) -> bool:
    """Kills a tree whole; True once the kernel says that nothing of it is left.

    The death of a PID namespace's init, asked or killed, ends every process inside before the
    init itself counts as dead, so its pidfd is the proof. A subreaper exits only when the kernel
    says that it has no children, so its own end is the proof.
    """
    deadline = asyncio.get_running_loop().time() + limit_s
    is_gone = root is None or await _end_root(root, launched.stop, deadline)
    if root is None or not is_gone:
        launched.monitor.signal(signal.SIGKILL)
    if not await _ended(launched.monitor, deadline):
        launched.monitor.signal(signal.SIGKILL)
        is_gone = await _ended(launched.monitor, deadline + limit_s) and is_gone
    launched.status()
    return is_gone


async def _end_root(root: ProcessHandle, stop: Stop, deadline: float) -> bool:
    if stop is Stop.ASK_SUBREAPER:
        root.signal(signal.SIGTERM)
        return await _ended(root, deadline)
    if stop is Stop.ASK_INIT:
        root.signal(signal.SIGTERM)
        if await _ended(root, asyncio.get_running_loop().time() + ASK_S):
            return True
    root.signal(signal.SIGKILL)
    return await _ended(root, deadline)


async def _ended(process: ProcessHandle, deadline: float) -> bool:
    try:
        await readable(process.fd, deadline)
    except StartError:
        return False
    return True
