"""Starts session processes on this machine: fork from the zygote, exec when there is none.

Also the one place that knows which direct children the supervisor has, so that it can kill what
a dead session left behind without touching anything it started itself (decision 82).
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal

from netclaw.core.errors import InternalError
from netclaw.linux.pidfd import WatchedProcess, children_of_self
from netclaw.linux.prctl import STACK_DUMP_SIGNAL, become_subreaper
from netclaw.ports.spawner import Bootstrap, SessionProcess
from netclaw.supervisor.spawn.exec_start import start_session
from netclaw.supervisor.spawn.relapses import Relapses
from netclaw.supervisor.spawn.zygote_client import ZygoteClient, ZygoteLostError

_log = logging.getLogger(__name__)

SESSION_MODULE = "netclaw.session_proc"
SESSION_ENTRY = "netclaw.session_proc.main:run_session"
SESSION_WARM = "netclaw.session_proc.main:warm"
ZOMBIE_SWEEP_S = 0.05


class SpawnedSession(WatchedProcess):
    """A session process of ours."""

    def dump_stacks(self) -> None:
        """Ask for a stack dump of every thread into its log."""
        self.send(STACK_DUMP_SIGNAL)


class LocalSpawner:
    """The spawner of this machine; make it on the main thread's running loop."""

    def __init__(
        self, *, use_zygote: bool = True, entry: str = SESSION_ENTRY, warm: str = SESSION_WARM
    ) -> None:
        self._entry = entry
        self._warm = warm
        become_subreaper()
        self._lock = asyncio.Lock()
        self._recognised: set[int] = set()
        self._zygote: ZygoteClient | None = None
        self._keeper: asyncio.Task[None] | None = None
        self._is_sweep_due = False
        self._loop = asyncio.get_running_loop()
        if use_zygote:
            self._keeper = asyncio.create_task(self._keep_zygote(self._start_zygote()))
            self._keeper.add_done_callback(_report_keeper)

    @property
    def zygote_pid(self) -> int:
        """0 when sessions start by exec at the moment."""
        zygote = self._zygote
        is_usable = zygote is not None and zygote.is_warm and zygote.process.is_alive
        return zygote.process.pid if zygote is not None and is_usable else 0

    async def spawn(self, bootstrap: Bootstrap) -> SessionProcess:
        """Start one session process; raises `InternalError` when nothing can start it."""
        async with self._lock:
            pid = await self._fork(bootstrap)
            if pid is None:
                pid = self._exec(bootstrap)
            process = SpawnedSession(pid)
            self.recognise(process)
            return process

    def recognise(self, process: WatchedProcess) -> None:
        """Register a child that we started ourselves until it has ended."""
        self._recognised.add(process.pid)
        task = asyncio.ensure_future(process.wait())
        task.add_done_callback(lambda _: self._recognised.discard(process.pid))

    async def reap_strangers(self) -> int:
        """Kill and reap every child that nobody here started; returns how many there were.

        Such a process was reparented to us from a dead session. Killing one may hand us its own
        orphans, so it goes on until a look finds none. Takes the spawn lock: a session process
        between its fork and our hearing of it is no stranger.
        """
        killed = 0
        async with self._lock:
            while strangers := children_of_self() - self._recognised:
                watched = []
                for pid in strangers:
                    with contextlib.suppress(ProcessLookupError):
                        watched.append(WatchedProcess(pid))
                for process in watched:
                    process.kill()
                for process in watched:
                    await process.wait()
                killed += len(watched)
        return killed

    def bury_adopted(self) -> None:
        """From now on reap what died as our child without having been started here.

        The init of a tool's PID namespace may outlive its starter by a moment and is then ours.
        Nothing may run a `subprocess` in this process after this call: its exit would be lost.
        """
        self._loop.add_signal_handler(signal.SIGCHLD, self._on_child_signal)

    def _on_child_signal(self) -> None:
        """A child ended, or a dead process became ours: look once for a burst of them."""
        if not self._is_sweep_due:
            self._is_sweep_due = True
            self._loop.call_later(ZOMBIE_SWEEP_S, self._reap_zombies)

    def _reap_zombies(self) -> None:
        """Only the dead: what lives may still be on its way from the zygote."""
        self._is_sweep_due = False
        if self._lock.locked():
            self._on_child_signal()
            return
        for pid in children_of_self() - self._recognised:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, os.WNOHANG)

    async def close(self) -> None:
        """End the zygote and wait for it; sessions are the caller's to end first."""
        self._loop.remove_signal_handler(signal.SIGCHLD)
        if self._keeper is not None:
            self._keeper.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._keeper
        if self._zygote is not None:
            await self._zygote.discard()
            self._zygote = None

    async def _fork(self, bootstrap: Bootstrap) -> int | None:
        zygote = self._zygote
        if zygote is None:
            return None
        try:
            # One that is still warming up is kept for the next sessions.
            return await zygote.fork(bootstrap) if await zygote.is_ready() else None
        except ZygoteLostError as lost:
            _log.warning("the zygote is lost, sessions start by exec: %s", lost)
            self._zygote = None
            # Whatever it forked without telling us is a stranger now and holds no valid token.
            await zygote.discard()
            return None

    def _exec(self, bootstrap: Bootstrap) -> int:
        try:
            return start_session(SESSION_MODULE, bootstrap)
        except OSError as fault:
            _log.exception("cannot start a session process")
            raise InternalError(
                "A session process could not be started.",
                fix="Check the limits on processes and memory, then try again.",
            ) from fault

    def _start_zygote(self) -> ZygoteClient:
        zygote = ZygoteClient(entry=self._entry, warm=self._warm)
        self.recognise(zygote.process)
        self._zygote = zygote
        return zygote

    async def _keep_zygote(self, zygote: ZygoteClient) -> None:
        """Replace the zygote whenever it dies, ever more slowly; sessions start by exec between."""
        relapses = Relapses()
        while True:
            status = await zygote.process.wait()
            if self._zygote is zygote:
                self._zygote = None
            zygote.close()
            delay_s = relapses.delay_s()
            _log.warning("the zygote ended with status %d; next one in %gs", status, delay_s)
            await asyncio.sleep(delay_s)
            async with self._lock:
                zygote = self._start_zygote()
                relapses.begin()


def _report_keeper(task: asyncio.Task[None]) -> None:
    if not task.cancelled() and (fault := task.exception()) is not None:
        _log.error("no more zygotes, sessions start by exec from now on", exc_info=fault)


def stop_leftovers(signal_number: signal.Signals = signal.SIGKILL) -> None:
    """Kill every direct child at once; the last act before the process ends or execs."""
    for pid in children_of_self():
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal_number)
