"""Runs one judged command in its sandbox and leaves nothing of it behind.

The order is fixed (decision 82 and 83): plan the view, start the backend, learn which process is
the tree's first, look at the finished view, tell the supervisor, open the gate, watch, kill the
whole tree, read what is left of the output. A session that dies in between takes the tree with it
at every step.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import json
import os
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import replace
from typing import TypeVar

from netclaw.ports.shell_runner import (
    Confinement,
    OutputSink,
    SandboxFacts,
    ShellEnd,
    ShellOutcome,
    ShellRequest,
)
from netclaw.sandbox import backends, limits
from netclaw.sandbox.environment import build_environment
from netclaw.sandbox.errors import SandboxError, StartError
from netclaw.sandbox.launch import Launched, LaunchPlan, launch
from netclaw.sandbox.process_tree import ProcessHandle, children, parent_of
from netclaw.sandbox.view import COVERS, Step
from netclaw.sandbox.view_check import check_view
from netclaw.sandbox.watch import Watch, readable

START_S = 10.0
"""How long a backend may take to reach the gate."""

KILL_S = 10.0
"""How long the kernel may take to end a killed tree before we say that it did not."""

CGROUP_ATTEMPTS = 40
"""About a second in all; what is then still busy is left to `remove_stale_cgroups`."""

OnStarted = Callable[[int, int], Awaitable[None]]
T = TypeVar("T")


async def uncancelled(work: Coroutine[None, None, T]) -> T:
    """Finishes `work` even if the caller is cancelled meanwhile, then lets the cancel through."""
    task = asyncio.ensure_future(work)
    cancel: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError as fault:
            cancel = fault
    if cancel is not None:
        raise cancel
    return task.result()


class SandboxRunner:
    """The `ShellRunner` of a session process; one serves all its calls, concurrent ones too."""

    def __init__(self, facts: SandboxFacts) -> None:
        self._facts = facts

    async def run(
        self, request: ShellRequest, *, on_started: OnStarted, sink: OutputSink
    ) -> ShellOutcome:
        """See `ShellRunner`. Never raises for what the command or the backend does.

        What `on_started` or `sink` raise passes through after the tree is gone. A command whose
        view was outdated before it was made is tried a second time. `on_started` is awaited last:
        when it returns the gate opens.
        """
        began = asyncio.get_running_loop().time()
        try:
            plan = self._plan(request)
            outcome = await self._run_planned(plan, request, on_started, sink)
            has_failed = outcome.end is ShellEnd.FAILED_TO_START and outcome.is_tree_gone
            if has_failed and plan.view:
                fresh = self._plan(request)
                if _is_outdated(plan, fresh, outcome.detail):
                    outcome = await self._run_planned(fresh, request, on_started, sink)
        except SandboxError as fault:
            return _never_ran(str(fault), began)
        return replace(outcome, duration_ms=_spent_ms(began))

    def _plan(self, request: ShellRequest) -> LaunchPlan:
        backend = Confinement.NONE if request.profile is None else self._facts.backend
        if backend is None:
            raise SandboxError("No sandbox works on this machine, so the command was not run.")
        try:
            return backends.plan(backend, self._facts, request)
        except OSError as fault:
            raise SandboxError(_unstarted(fault)) from None

    async def _run_planned(
        self, plan: LaunchPlan, request: ShellRequest, on_started: OnStarted, sink: OutputSink
    ) -> ShellOutcome:
        began = asyncio.get_running_loop().time()
        try:
            launched = launch(plan, build_environment(request.environment, os.environ))
        except OSError as fault:
            return _never_ran(_unstarted(fault), began)
        call = _Call(launched, request, self._facts, plan.view)
        try:
            end = await call.drive(on_started, sink)
        except StartError as fault:
            end, call.detail = ShellEnd.FAILED_TO_START, str(fault)
        finally:
            await uncancelled(call.finish(sink))
        return call.outcome(end, _spent_ms(began))


def _unstarted(fault: OSError) -> str:
    return f"The command could not be started: {os.strerror(fault.errno or 0)}."


def _is_outdated(plan: LaunchPlan, fresh: LaunchPlan, complaint: str) -> bool:
    """Whether a backend may have failed over a place that was to be covered and was gone."""
    covered = (step.path for step in plan.view if step.mount in COVERS)
    return fresh.view != plan.view or any(path in complaint for path in covered)


def _spent_ms(began: float) -> int:
    return round((asyncio.get_running_loop().time() - began) * 1000)


def _never_ran(detail: str, began: float) -> ShellOutcome:
    return ShellOutcome(
        end=ShellEnd.FAILED_TO_START, exit_code=-1, duration_ms=_spent_ms(began), detail=detail
    )


class _Call:
    """The life of one tree, from the gate to the last reaped process."""

    def __init__(
        self,
        launched: Launched,
        request: ShellRequest,
        facts: SandboxFacts,
        view: tuple[Step, ...],
    ) -> None:
        self._launched = launched
        self._request = request
        self._view = view
        self._wants_cgroup = facts.limits == "cgroup"
        self._root: ProcessHandle | None = None
        self._cgroup: limits.Cgroup | None = None
        self._holding: asyncio.Future[None] | None = None
        self._info = b""
        self._has_run = False
        self._is_gone = False
        self.detail = ""

    async def drive(self, on_started: OnStarted, sink: OutputSink) -> ShellEnd:
        """Everything up to the end of the command; the tree may be alive when it returns."""
        root = await self._identify()
        if self._wants_cgroup:
            self._holding = asyncio.ensure_future(asyncio.to_thread(self._hold, root.pid))
            await asyncio.shield(self._holding)
        await self._await_gate()
        check_view(root.pid, self._view)
        self._prepare_command(root.pid)
        await on_started(root.pid, root.ticks)
        self._launched.open_gate()
        self._has_run = True
        watch = Watch(self._launched, self._request.limits, sink, self._request.room)
        end = await watch.until_end(functools.partial(self._sample, root.pid))
        self.detail = watch.detail
        return end

    def _hold(self, pid: int) -> None:
        try:
            self._cgroup = limits.Cgroup(self._request.limits)
            self._cgroup.place([pid])
        except OSError:
            if self._cgroup is not None:
                self._cgroup.remove()
            self._cgroup = None  # the sampler holds it instead

    def _prepare_command(self, root: int) -> None:
        """The gate's own process exists now and forks nothing: the last moment to mark it."""
        waiting = children(root)
        if self._cgroup is not None:
            with contextlib.suppress(OSError):
                self._cgroup.place(waiting)
        for pid in waiting:
            with contextlib.suppress(OSError), open(f"/proc/{pid}/oom_score_adj", "w") as score:
                score.write(limits.OOM_SCORE)

    async def _identify(self) -> ProcessHandle:
        """Reads the backend's word on which process is the tree's first."""
        deadline = asyncio.get_running_loop().time() + START_S
        while not self._info.rstrip().endswith(b"}"):
            await readable(self._launched.info_fd, deadline)
            piece = os.read(self._launched.info_fd, 4096)
            if not piece:
                raise StartError(await self._complaint(deadline))
            self._info += piece
        pid = int(json.loads(self._info)["child-pid"])
        monitor = self._launched.monitor.pid
        try:
            self._root = ProcessHandle.open(pid)
        except ProcessLookupError:
            raise StartError(await self._complaint(deadline)) from None
        if pid != monitor and parent_of(pid) != monitor:
            raise StartError("The sandbox ended while it was being set up.")
        return self._root

    async def _await_gate(self) -> None:
        deadline = asyncio.get_running_loop().time() + START_S
        text = b""
        while limits.READY not in text:
            await readable(self._launched.output_fd, deadline)
            piece = os.read(self._launched.output_fd, 4096)
            if not piece:
                raise StartError(_said(text))
            text += piece

    async def _complaint(self, deadline: float) -> str:
        """What the backend printed instead of starting."""
        text = b""
        while len(text) < 4096:
            await readable(self._launched.output_fd, deadline)
            piece = os.read(self._launched.output_fd, 4096)
            if not piece:
                break
            text += piece
        return _said(text)

    def _sample(self, root: int) -> ShellEnd | None:
        if self._cgroup is not None:
            return self._cgroup.exceeded()
        return limits.exceeded(limits.measure(root, self._request.limits), self._request.limits)

    async def finish(self, sink: OutputSink) -> None:
        """Kills what is left, waits until it is gone, reads the rest, lets go of everything."""
        if self._root is None:  # cancelled so early that the tree has no name yet
            with contextlib.suppress(StartError):
                await self._identify()
        self._is_gone = await backends.end_tree(self._launched, self._root, KILL_S)
        try:
            if self._has_run:
                self._drain(sink)
        finally:
            self._launched.close()
            if self._root is not None:
                self._root.close()
            await self._let_go_of_cgroup()

    async def _let_go_of_cgroup(self) -> None:
        if self._holding is not None:
            await self._holding  # a thread cannot be cancelled: it may still be making it
        if self._cgroup is None:
            return
        if self._cgroup.exceeded() is ShellEnd.MEMORY:
            self.detail = self.detail or limits.OUT_OF_MEMORY
        for attempt in range(CGROUP_ATTEMPTS):  # the kernel may be busy with it for a moment
            if self._cgroup.remove():
                return
            await asyncio.sleep(0.005 + 0.001 * attempt)

    def _drain(self, sink: OutputSink) -> None:
        """The pipe's last content; never waits, because nobody can be trusted to close it."""
        with contextlib.suppress(BlockingIOError):
            while piece := os.read(self._launched.output_fd, 65536):
                sink(piece)

    def outcome(self, end: ShellEnd, duration_ms: int) -> ShellOutcome:
        """The facts of the call, once nothing of it is left."""
        status = self._launched.status()
        if end is ShellEnd.EXITED and self.detail == limits.OUT_OF_MEMORY:
            end = ShellEnd.MEMORY
        if end is ShellEnd.EXITED and status is not None and status < 0:
            end = ShellEnd.SIGNALLED
        return ShellOutcome(
            end=end,
            exit_code=-1 if status is None else status,
            duration_ms=duration_ms,
            detail=self.detail,
            is_tree_gone=self._is_gone,
        )


def _said(text: bytes) -> str:
    words = " ".join(text.decode("utf-8", "replace").split())
    if not words:
        return "The sandbox ended before the command could run."
    return f"The sandbox could not be set up: {words[:300].rstrip('.')}."
