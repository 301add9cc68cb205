"""The one way a session process ends: with an exit code, once, and never by silently hanging.

Every task and callback of the process reports here. The first reason wins.
"""

from __future__ import annotations

import asyncio
import logging
import traceback
from collections.abc import Callable

from netclaw.core.exit_codes import ExitCode

_log = logging.getLogger(__name__)

MAX_STACK_CHARS = 16_000


class Ending:
    """Collects the reason to end; `wait` returns it."""

    def __init__(self) -> None:
        self._code: asyncio.Future[ExitCode] = asyncio.get_running_loop().create_future()
        self._tasks: set[asyncio.Task[None]] = set()
        self.on_failure: Callable[[str, str], None] = _ignore
        """Told the sentence and the stack of the fault that ends the process."""

    @property
    def is_decided(self) -> bool:
        """Whether the process is about to exit; nothing new may begin."""
        return self._code.done()

    def finish(self, code: ExitCode) -> None:
        """End with this code, unless an end is already decided."""
        if not self._code.done():
            self._code.set_result(code)

    def fail(self, fault: BaseException) -> None:
        """End because of a fault that nobody handled: report it, exit INTERNAL."""
        if self._code.done():
            return
        stack = "".join(traceback.format_exception(fault))[-MAX_STACK_CHARS:]
        _log.error("the session process cannot go on\n%s", stack)
        code = ExitCode.MEMORY if isinstance(fault, MemoryError) else ExitCode.INTERNAL
        self._code.set_result(code)
        self.on_failure(f"The session process failed ({type(fault).__name__}).", stack)

    def watch(self, task: asyncio.Task[None]) -> asyncio.Task[None]:
        """Keep a task referenced; an exception in it ends the process."""
        self._tasks.add(task)
        task.add_done_callback(self._on_done)
        return task

    def handle_loop_exception(
        self, _loop: asyncio.AbstractEventLoop, context: dict[str, object]
    ) -> None:
        """The loop's exception handler: a fault in a callback ends the process too."""
        fault = context.get("exception")
        if isinstance(fault, BaseException):
            self.fail(fault)
        else:
            _log.warning("event loop: %s", context.get("message"))

    async def wait(self) -> ExitCode:
        """Return the exit code once an end is decided."""
        return await self._code

    async def cancel_tasks(self, patience_s: float) -> None:
        """Cancel what still runs and wait for it, at most this long."""
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(set(self._tasks), timeout=patience_s)

    def _on_done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (fault := task.exception()) is not None:
            self.fail(fault)


def _ignore(_sentence: str, _stack: str) -> None:
    return None
