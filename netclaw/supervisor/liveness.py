"""Judges from outside whether session processes live: ping, wait, dump, kill (architecture 1).

One timer serves all sessions. A process that said anything lately is not asked. One that leaves a
ping unanswered until the limit of silence is dumped and killed. Nobody is judged by an answer that
the supervisor itself was too late to read: when the timer fires late, everybody gets the time back.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable

from netclaw.core.settings import LivenessSettings
from netclaw.supervisor.live_session import LiveSession

_log = logging.getLogger(__name__)

START_LIMIT_S = 30.0
"""From the start of a process to its Hello."""
EXIT_LIMIT_S = 5.0
"""From the end of its stream to its exit."""
DUMP_GRACE_S = 0.5
"""What a stack dump may take before the kill."""
IDLE_FACTOR = 3
"""An idle process is asked this much more seldom: after each frame the threads of its gRPC stay
awake for some ten seconds, which is most of what an idle session costs."""
MAX_TICK_S = 1.0
LATE_S = 1.0
"""A timer this late was not on time."""


class Liveness:
    """Pings and judges; `run` is a task the daemon cannot live without."""

    def __init__(
        self,
        sessions: Callable[[], Iterable[LiveSession]],
        settings: Callable[[], LivenessSettings],
    ) -> None:
        self._sessions = sessions
        self._settings = settings
        self._number = 0

    async def run(self) -> None:
        """Look at every session, for ever."""
        loop = asyncio.get_running_loop()
        while True:
            limits = self._settings()
            tick = min(MAX_TICK_S, limits.ping_interval_s / 2)
            due = loop.time() + tick
            await asyncio.sleep(tick)
            late = loop.time() - due
            for live in list(self._sessions()):
                if late > LATE_S:
                    live.give_time(late)
                self._look(live, loop.time(), limits)

    def _look(self, live: LiveSession, now_s: float, limits: LivenessSettings) -> None:
        process = live.process
        if process is None or not process.is_alive or live.is_hung:
            return
        silence = now_s - live.heard_at
        if live.stream_ended_at is not None:
            if now_s - live.stream_ended_at > EXIT_LIMIT_S:
                _log.warning("session %s outlives its stream; killing it", live.session_id)
                process.kill()
        elif not live.is_connected:
            if silence > START_LIMIT_S:
                self._kill_hung(live, silence)
        elif live.pinged_at is None:
            interval = limits.ping_interval_s * (IDLE_FACTOR if live.is_idle else 1)
            if silence >= interval:
                self._number += 1
                live.ping(self._number, now_s)
        elif now_s - live.pinged_at > limits.liveness_s - limits.ping_interval_s:
            self._kill_hung(live, silence)

    def _kill_hung(self, live: LiveSession, silence: float) -> None:
        _log.error(
            "session %s (pid %d) is silent for %.1f s: dumping its stacks and killing it",
            live.session_id,
            live.pid,
            silence,
        )
        live.is_hung = True
        process = live.process
        if process is None:
            return
        process.dump_stacks()
        asyncio.get_running_loop().call_later(DUMP_GRACE_S, process.kill)
