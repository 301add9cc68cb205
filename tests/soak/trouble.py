"""What befalls a daemon in a soak: kills, hangs, configuration edits, stops, orders."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections import Counter
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

from netclaw.wire.v1 import admin_pb2, gateway_pb2
from tests.process.checks import describe, is_alive, processes_with
from tests.process.world import World
from tests.soak.link import CutOffError, RefusedError, again, ask

DEBOUNCE_S = 0.5
INVALID = ("{ no json", '{"configVersion": 1, "Session": {"IdleTimeout": "soon"}}', "[]")


_Kinds = tuple[tuple[int, str, Callable[[], Awaitable[None]]], ...]
"""Weight, name and deed."""


class Trouble:
    """What happens to a daemon and to its sessions."""

    def __init__(self, world: World, *, sessions: list[str], seed: int, marker: str) -> None:
        self._world = world
        self._sessions = sessions
        self._seed = seed
        self._random = Random(f"{seed}/trouble")
        self._marker = marker
        self._edits = 0
        self.counts: Counter[str] = Counter()
        self._of_sessions: _Kinds = (
            (24, "session killed", self._kill_session),
            (12, "tool killed", self._kill_tool),
            (3, "session hung", self._hang_session),
            (8, "session stopped", self._order("StopSession")),
            (4, "session restarted", self._order("RestartSession")),
            (3, "session reset", self._order("ResetSession")),
            (3, "session killed by order", self._order("KillSession")),
            (3, "watcher killed", self._kill_watcher),
        )
        self._of_the_daemon: _Kinds = (
            (3, "supervisor killed", self._kill_supervisor),
            (2, "zygote killed", self._kill_zygote),
            (3, "configuration edited", self._edit),
            (2, "invalid edit", self._edit_badly),
            (1, "restart ordered", self._restart),
            (1, "daemon stopped", self._stop),
        )

    async def trouble_sessions(self, stop: asyncio.Event, *, pause_s: float) -> None:
        """Trouble of single sessions, also while the daemon has its own."""
        await self._run(stop, self._of_sessions, pause_s, Random(f"{self._seed}/sessions"))

    async def trouble_daemon(self, stop: asyncio.Event, *, pause_s: float) -> None:
        """Trouble of the whole daemon; the first waits for the first pause to be over."""
        await self._run(stop, self._of_the_daemon, pause_s, Random(f"{self._seed}/daemon"))

    async def _run(
        self, stop: asyncio.Event, kinds: _Kinds, pause_s: float, random: Random
    ) -> None:
        """One thing after another until told to stop; the last is brought to its end."""
        while not stop.is_set():
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(stop.wait(), pause_s * random.choice((0.1, 0.5, 1, 1, 2)))
            ((_, name, make),) = random.choices(kinds, [weight for weight, *_ in kinds])
            try:
                await make()
            except RefusedError:
                self.counts[f"{name}: refused"] += 1
            except CutOffError:
                await again(self._world)
            else:
                self.counts[name] += 1

    async def settle(self) -> None:
        """Give every session what it needs to come to rest: its start, if an operator took it."""
        await self._world.is_up.wait()
        for name, row in (await ask(self._world.peer.rows)).items():
            is_stopped = row.pending_inputs and row.phase == "passive"
            await self._lift(name, row, is_due=bool(is_stopped))

    async def _release_held(self) -> None:
        """A start that two deaths of the daemon in a row cut short is held for the operator."""
        for name, row in (await ask(self._world.peer.rows)).items():
            await self._lift(name, row)

    async def _lift(self, name: str, row: gateway_pb2.SessionRow, *, is_due: bool = False) -> None:
        is_held = row.quarantined or row.phase == "quarantined"
        if is_held or is_due:
            self.counts["quarantine lifted"] += is_held
            await ask(partial(self._world.peer.restart_session, name))

    # Processes

    async def _pids(self) -> list[int]:
        return [row.pid for row in (await ask(self._world.peer.rows)).values() if row.pid]

    async def _kill_session(self) -> None:
        pids = await self._pids()
        for pid in self._random.sample(pids, k=min(len(pids), self._random.randint(1, 2))):
            _signal(pid, signal.SIGKILL)

    async def _hang_session(self) -> None:
        """One that has begun: stopped in its first steps it could not die with its supervisor."""
        rows = (await ask(self._world.peer.rows)).values()
        if pids := [row.pid for row in rows if row.pid and row.phase != "recovering"]:
            _signal(self._random.choice(pids), signal.SIGSTOP)

    async def _kill_tool(self) -> None:
        if tools := processes_with(self._marker):
            _signal(self._random.choice(tools), signal.SIGKILL)

    async def _kill_zygote(self) -> None:
        if pid := (await ask(self._world.peer.status)).zygote_pid:
            _signal(pid, signal.SIGKILL)

    async def _kill_supervisor(self) -> None:
        pids = await self._pids()
        await self._world.kill()
        await self._until_dead(pids)
        await self.until_no_tool()
        await self._world.start()
        await self._release_held()

    async def _kill_watcher(self) -> None:
        """A client in a process of its own, which dies while the session talks to it."""
        process = await asyncio.create_subprocess_exec(
            str(self._world.cli), "sessions", "attach", self._random.choice(self._sessions),
            env=self._world.environment(),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.DEVNULL,
        )  # fmt: skip
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(process.wait(), self._random.uniform(0.5, 3))
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()

    # The daemon

    async def _edit(self) -> None:
        """A change that restarts the daemon in place; sometimes it is taken back at once."""
        self._edits += 1
        generation = (await ask(self._world.peer.status)).generation
        self._world.is_up.clear()
        try:
            self._world.edit_config(edit_number(self._edits))
            await self._world.wait_generation(generation + 1)
        finally:
            self._world.is_up.set()
        await self._release_held()

    async def _edit_badly(self) -> None:
        """What cannot be used changes nothing."""
        generation = (await ask(self._world.peer.status)).generation
        good = self._replace_config(self._random.choice(INVALID))
        await asyncio.sleep(DEBOUNCE_S * 3)
        now = (await ask(self._world.peer.status)).generation
        assert now == generation, "an invalid configuration restarted the daemon"
        self._replace_config(good)
        await asyncio.sleep(DEBOUNCE_S * 3)

    def _replace_config(self, text: str) -> str:
        path = Path(self._world.home, "config", "netclaw.json")
        before = path.read_text()
        path.write_text(text)
        return before

    async def _restart(self) -> None:
        self._world.is_up.clear()
        try:
            await self._world.restart()
        finally:
            self._world.is_up.set()
        await self._release_held()

    async def _stop(self) -> None:
        self._world.is_up.clear()
        assert await self._world.stop() == 0, f"the daemon stopped badly: {self._world.log[-2000:]}"
        await self.until_no_tool()
        await self._world.start()
        await self._release_held()

    def _order(self, name: str) -> Callable[[], Awaitable[None]]:
        async def order() -> None:
            peer = self._world.peer
            request = admin_pb2.SessionRef(session_id=self._random.choice(self._sessions))
            call: Any = getattr(peer.admin, name)
            await ask(lambda: call(request, metadata=peer.metadata, timeout=60))

        return order

    async def _until_dead(self, pids: list[int]) -> None:
        try:
            await self._world.until(lambda: not any(map(is_alive, pids)))
        except TimeoutError:
            shown = [describe(pid) for pid in pids if is_alive(pid)]
            raise AssertionError(f"sessions outlived their supervisor: {shown}") from None

    async def until_no_tool(self) -> None:
        """Wait until no tool of the soak runs; what outlives its owner is a broken promise."""
        try:
            await self._world.until(lambda: not processes_with(self._marker))
        except TimeoutError:
            shown = [describe(pid) for pid in processes_with(self._marker)]
            raise AssertionError(f"tools outlived their owner: {shown}") from None


def edit_number(number: int) -> dict[str, Any]:
    """A configuration that differs from the one before and means nearly the same."""
    return {"Session": {"Tuning": {"KeepRecentMessages": 7 + number % 2}}}


def _signal(pid: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)
