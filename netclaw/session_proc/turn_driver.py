"""Runs model calls: request out, stream in, deltas through their gate, watchdogs beside.

Each call is one task. Its end is one command: FinishRound, or FailRound. A call that was
cancelled reports nothing; the rules would drop it by its token anyway.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass

from netclaw.core.context.token_estimate import RequestSize, measure
from netclaw.core.errors import ErrorCategory
from netclaw.core.ids import DispatchToken, TurnId
from netclaw.core.session.commands import FailRound, FinishReason, FinishRound, SessionCommand
from netclaw.core.session.outputs import Output, OutputFilter
from netclaw.core.session.outputs import TextDelta as TextDeltaOutput
from netclaw.core.settings import SessionTuning, TurnTimeouts
from netclaw.ports import model as port
from netclaw.ports.model import ModelCallError, ModelClient, ModelRequest, StreamItem
from netclaw.session_proc.call_watch import CallWatch
from netclaw.session_proc.delta_gate import DeltaGate
from netclaw.session_proc.ending import Ending
from netclaw.session_proc.ids import new_reference

_log = logging.getLogger(__name__)

NO_MODEL = (
    "No usable model is configured. Configure one with `netclaw init`, then send the message again."
)

_CUT = (FinishReason.LENGTH, FinishReason.CONTENT_FILTER)

Poster = Callable[[SessionCommand, Callable[[], TextDeltaOutput | None] | None], None]
"""Posts a command, with the streamed text that goes out beside its record."""


@dataclass(slots=True, kw_only=True)
class _Call:
    """One model call in flight."""

    token: DispatchToken
    gate: DeltaGate
    watch: CallWatch
    has_tools: bool
    size: RequestSize
    task: asyncio.Task[None] | None = None
    is_streaming: bool = False
    is_reported: bool = False


class TurnDriver:
    """All model calls of this process; at most one at a time is not being cancelled."""

    def __init__(
        self,
        *,
        clients: Callable[[], Sequence[ModelClient]],
        timeouts: TurnTimeouts,
        tuning: SessionTuning,
        ending: Ending,
        post: Poster,
        emit: Callable[[list[Output]], None],
        ask_release: Callable[[DispatchToken], None],
    ) -> None:
        self._clients = clients
        self._timeouts = timeouts
        self._tuning = tuning
        self._ending = ending
        self._post = post
        self._emit = emit
        self._ask_release = ask_release
        self._calls: dict[DispatchToken, _Call] = {}
        self._interest = OutputFilter(0)

    def start(
        self, token: DispatchToken, turn_id: TurnId, round_index: int, request: ModelRequest
    ) -> None:
        """Begin a model call."""
        gate = DeltaGate(
            turn_id=turn_id,
            round_index=round_index,
            tuning=self._tuning,
            interest=self._interest,
            emit=self._emit,
            ask=lambda: self._ask_release(token),
        )
        watch = CallWatch(self._timeouts, on_expired=lambda: self._expire(token))
        size = measure(request.messages, system_prompt=request.system_prompt, tools=request.tools)
        call = _Call(token=token, gate=gate, watch=watch, has_tools=bool(request.tools), size=size)
        # A call that was answered stays until the next one: its deltas may still be released.
        self._calls = {token: call} | {
            other.token: other for other in self._calls.values() if not other.is_reported
        }
        call.task = self._ending.watch(
            asyncio.create_task(self._run(call, request), name=f"model call {token}")
        )

    def cancel(self, token: DispatchToken) -> None:
        """Drop a call; its connection is closed, nothing of it is reported."""
        call = self._calls.pop(token, None)
        if call is not None:
            call.is_reported = True
            self._leave(call)
            if call.task is not None:
                call.task.cancel()

    def release(self, token: DispatchToken) -> None:
        """The OutputStarted of this call is committed: its deltas may leave."""
        call = self._calls.get(token)
        if call is not None:
            call.gate.release()

    def change_interest(self, interest: OutputFilter) -> None:
        """Other subscribers watch now."""
        self._interest = interest
        for call in tuple(self._calls.values()):
            call.gate.change_interest(interest)

    def _leave(self, call: _Call) -> None:
        call.watch.stop()
        call.gate.close()

    def _expire(self, token: DispatchToken) -> None:
        call = self._calls.get(token)
        if call is not None and call.task is not None:
            call.task.cancel()

    async def _run(self, call: _Call, request: ModelRequest) -> None:
        try:
            await self._ask_models(call, request)
        except ModelCallError as error:
            self._report_failure(call, error)
        except asyncio.CancelledError:
            expired = call.watch.expired
            if expired is None or call.is_reported:
                raise
            self._report_failure(call, ModelCallError(ErrorCategory.TIMEOUT, expired.sentence))
        finally:
            call.watch.stop()

    async def _ask_models(self, call: _Call, request: ModelRequest) -> None:
        """Ask the main model, then the fallback while nothing has been streamed."""
        failure = ModelCallError(ErrorCategory.PROVIDER_FAILURE, NO_MODEL)
        for client in self._clients():
            try:
                async with aclosing(client.stream(request)) as items:
                    async for item in items:
                        self._take(call, item)
            except ModelCallError as error:
                if call.is_reported:
                    # The answer was whole; what broke is the connection after it.
                    return
                failure = error
                if call.is_streaming or not error.is_retryable_elsewhere:
                    break
                _log.warning("a model failed, the next one is asked: %s", error.detail)
            else:
                return
        raise failure

    def _take(self, call: _Call, item: StreamItem) -> None:
        call.watch.saw(item)
        match item:
            case port.TextDelta():
                call.is_streaming = True
                call.gate.add_text(item.text)
            case port.ThinkingDelta():
                call.is_streaming = True
                call.gate.add_thinking(item.text)
            case port.CallDelta():
                call.is_streaming = True
                call.gate.flush()
            case port.RetryScheduled():
                _log.warning(
                    "model call attempt %d failed (%s), next in %.1f s",
                    item.attempt,
                    item.category.value,
                    item.wait_s,
                )
            case port.Finished():
                self._report(call, item)
            case port.Keepalive():
                pass

    def _report(self, call: _Call, finished: port.Finished) -> None:
        call.is_reported = True
        call.watch.stop()
        if finished.finish in _CUT:
            # Nothing of a reply that was cut may still leave (decision 25).
            call.gate.close()
        else:
            call.gate.end()
        self._post(
            FinishRound(
                token=call.token,
                text=finished.text,
                thinking=finished.thinking,
                calls=finished.calls,
                finish=finished.finish,
                usage=finished.usage,
                model=finished.model,
                are_tools_offered=call.has_tools,
                request_size=call.size,
            ),
            call.gate.remainder,
        )

    def _report_failure(self, call: _Call, error: ModelCallError) -> None:
        call.is_reported = True
        self._leave(call)
        reference = new_reference()
        _log.warning(
            "model call failed, reference %s: %s (%s)", reference, error.sentence, error.detail
        )
        self._post(
            FailRound(
                token=call.token,
                category=error.category,
                sentence=error.sentence,
                reference=reference,
                is_context_overflow=error.is_context_overflow,
                is_retryable_elsewhere=error.is_retryable_elsewhere and not call.is_streaming,
            ),
            None,
        )
