"""Starts background tasks so that none can fail unseen.

An exception in a bare `create_task` is a silent hang: the future nobody awaits. Every task of the
supervisor is started here, is kept referenced, and reports its fault; a task the daemon cannot
live without ends the daemon.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from enum import Enum
from typing import Any, TypeVar

_log = logging.getLogger(__name__)

_T = TypeVar("_T")


class OnFault(Enum):
    """What a fault in a task means."""

    LOG = "log"
    """One session or one client is affected."""
    STOP_DAEMON = "stop-daemon"
    """Nothing works without it: better restarted than half alive."""


class Tasks:
    """The background tasks of one daemon."""

    def __init__(self, on_fatal: Callable[[BaseException], None] | None = None) -> None:
        self._on_fatal = on_fatal
        self._running: set[asyncio.Task[Any]] = set()

    def start(
        self,
        work: Coroutine[Any, Any, _T],
        *,
        name: str,
        on_fault: OnFault = OnFault.LOG,
    ) -> asyncio.Task[_T]:
        """Start `work`; `name` appears in the log if it fails."""
        task = asyncio.create_task(work, name=name)
        self._running.add(task)
        if on_fault is OnFault.LOG:
            task.add_done_callback(self._forget)
        else:
            task.add_done_callback(self._forget_or_stop)
        return task

    async def cancel_all(self) -> None:
        """Cancel what still runs and wait until it has ended."""
        waiting = [task for task in self._running if task is not asyncio.current_task()]
        for task in waiting:
            task.cancel()
        if waiting:
            await asyncio.wait(waiting)

    def _forget(self, task: asyncio.Task[Any]) -> None:
        self._running.discard(task)
        if not task.cancelled() and (fault := task.exception()) is not None:
            _log.error("task %s failed", task.get_name(), exc_info=fault)

    def _forget_or_stop(self, task: asyncio.Task[Any]) -> None:
        self._forget(task)
        if task.cancelled() or (fault := task.exception()) is None:
            return
        if self._on_fatal is not None:
            self._on_fatal(fault)
