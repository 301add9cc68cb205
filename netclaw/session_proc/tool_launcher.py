"""Runs the launched calls of a batch, in parallel, each under its execution watchdog.

A call ends as exactly one FinishTool: its result, or the receipt of why there is none. When the
process itself ends, nothing is reported: the call then is Interrupted by the next heal.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from netclaw.core.ids import DispatchToken
from netclaw.core.session.commands import FinishTool
from netclaw.core.session.effects import RunTool
from netclaw.core.settings import TurnTimeouts
from netclaw.core.tool_call import OutcomeCategory, ToolCall, ToolReceipt, ToolResult
from netclaw.ports.tool import ToolContext, ToolRunner
from netclaw.session_proc.call_watch import ExecutionWatch
from netclaw.session_proc.ending import Ending
from netclaw.session_proc.envelope import UnsafeFolderError, prepare_for_tools

CANCELLED = "Cancelled: this call was ended on request. It may have taken effect in part."


@dataclass(slots=True, kw_only=True)
class _Launched:
    """One call that runs."""

    token: DispatchToken
    call: ToolCall
    started_at: float
    watch: ExecutionWatch
    task: asyncio.Task[None] | None = None
    is_cancelled: bool = False
    is_begun: bool = False
    is_ended: bool = False

    def end(self) -> None:
        """Cancel the task; its tree is killed before it ends.

        One that has not come to its first line is left to look by itself: cancelled there it would
        end without a word, and its turn would wait for its result for ever.
        """
        self.is_ended = True
        if self.task is not None and self.is_begun:
            self.task.cancel()

    def begin(self) -> None:
        """The first line of the task; raises `CancelledError` if its end is wanted already."""
        self.is_begun = True
        if self.is_ended:
            raise asyncio.CancelledError


ContextMaker = Callable[[RunTool, Callable[[], None]], ToolContext]
"""Makes the context of one call; the second argument is its `on_item`."""


class ToolLauncher:
    """All calls of this process that run now."""

    def __init__(
        self,
        runner: ToolRunner,
        *,
        timeouts: TurnTimeouts,
        make_context: ContextMaker,
        post: Callable[[FinishTool], None],
        ending: Ending,
    ) -> None:
        self._runner = runner
        self._timeouts = timeouts
        self._make_context = make_context
        self._post = post
        self._ending = ending
        self._loop = asyncio.get_running_loop()
        self._launched: dict[DispatchToken, _Launched] = {}

    def launch(self, effect: RunTool) -> None:
        """Start one call."""
        watch = ExecutionWatch(self._timeouts, on_expired=lambda: launched.end())
        launched = _Launched(
            token=effect.token, call=effect.call, started_at=self._loop.time(), watch=watch
        )
        self._launched[effect.token] = launched
        context = self._make_context(effect, watch.saw_item)
        launched.task = self._ending.watch(
            asyncio.create_task(
                self._run(launched, context), name=f"tool call {effect.call.call_id}"
            )
        )

    def cancel(self, token: DispatchToken) -> None:
        """End a call on request; it still reports its FinishTool, once its tree is dead."""
        launched = self._launched.get(token)
        if launched is not None:
            launched.is_cancelled = True
            launched.end()

    async def until_idle(self) -> None:
        """Return once no call runs."""
        while tasks := [item.task for item in self._launched.values() if item.task is not None]:
            await asyncio.wait(tasks)

    async def _run(self, launched: _Launched, context: ToolContext) -> None:
        try:
            launched.begin()
            prepare_for_tools(context.storage)
            result = await self._runner.run(launched.call, context)
        except UnsafeFolderError as fault:
            result = self._without_result(launched, OutcomeCategory.FAILURE, fault.sentence)
        except asyncio.CancelledError:
            # Nobody of ours asked: the process ends, and the next heal judges the call.
            if not launched.is_cancelled and launched.watch.expired is None:
                raise
            result = self._stopped(launched)
        finally:
            launched.watch.stop()
            self._launched.pop(launched.token, None)
        self._post(FinishTool(token=launched.token, result=result, name=launched.call.name))

    def _stopped(self, launched: _Launched) -> ToolResult:
        expired = launched.watch.expired
        if launched.is_cancelled or expired is None:
            return self._without_result(launched, OutcomeCategory.CANCELLED, CANCELLED)
        return self._without_result(
            launched, OutcomeCategory.TIMEOUT, f"Timeout: {expired.sentence} It was ended."
        )

    def _without_result(
        self, launched: _Launched, category: OutcomeCategory, text: str
    ) -> ToolResult:
        duration_ms = int((self._loop.time() - launched.started_at) * 1000)
        return ToolResult(
            call_id=launched.call.call_id,
            text=text,
            receipt=ToolReceipt(category=category, duration_ms=duration_ms),
        )
