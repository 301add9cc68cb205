"""Runs model calls: request out, stream in, deltas through their gate, watchdogs beside.

Each call is one task. Its end is one command: FinishRound, or FailRound. A call that was
cancelled reports nothing; the rules would drop it by its token anyway.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field

from netclaw.core.context.token_estimate import RequestSize, measure
from netclaw.core.errors import ErrorCategory
from netclaw.core.ids import DispatchToken, TurnId
from netclaw.core.session import sentences
from netclaw.core.session.commands import (
    FailRound,
    FinishReason,
    FinishRound,
    ProposedCall,
    SessionCommand,
)
from netclaw.core.session.outputs import Output, OutputFilter, RetryOutput
from netclaw.core.session.outputs import TextDelta as TextDeltaOutput
from netclaw.core.settings import SessionTuning, TurnTimeouts
from netclaw.ports import model as port
from netclaw.ports.model import ModelCallError, ModelClient, ModelRequest, StreamItem, WrittenCall
from netclaw.session_proc.call_watch import CallWatch
from netclaw.session_proc.delta_gate import DeltaGate
from netclaw.session_proc.ending import Ending
from netclaw.session_proc.ids import new_reference

_log = logging.getLogger(__name__)

NO_MODEL = (
    "No usable model is configured. Configure one with `netclaw init`, then send the message again."
)

_CUT = (FinishReason.LENGTH, FinishReason.CONTENT_FILTER)

RequestMaker = Callable[[], Awaitable[ModelRequest]]

Judge = Callable[[Sequence[WrittenCall]], Awaitable[tuple[ProposedCall, ...]]]
"""Gives each call of a response its ruling."""

Poster = Callable[[SessionCommand, Callable[[], TextDeltaOutput | None] | None], None]
"""Posts a command, with the streamed text that goes out beside its record."""


@dataclass(slots=True, kw_only=True)
class _Call:
    """One model call in flight."""

    token: DispatchToken
    turn_id: TurnId
    gate: DeltaGate
    judge: Judge
    has_tools: bool = False
    size: RequestSize = field(default_factory=RequestSize)
    task: asyncio.Task[None] | None = None
    judging: asyncio.Task[None] | None = None
    watch: CallWatch | None = None
    """The watchdogs of the attempt in flight."""
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
        without_model: str = NO_MODEL,
    ) -> None:
        self._clients = clients
        self._timeouts = timeouts
        self._tuning = tuning
        self._ending = ending
        self._post = post
        self._emit = emit
        self._ask_release = ask_release
        self._without_model = without_model
        self._calls: dict[DispatchToken, _Call] = {}
        self._interest = OutputFilter(0)

    def start(
        self,
        token: DispatchToken,
        turn_id: TurnId,
        round_index: int,
        make: RequestMaker,
        judge: Judge,
    ) -> None:
        """Begin a model call; its request is made inside the call and cancelled with it.

        So is the judging of the calls that come of it: the rules see a response when all of its
        calls are judged.
        """
        gate = DeltaGate(
            turn_id=turn_id,
            round_index=round_index,
            tuning=self._tuning,
            interest=self._interest,
            emit=self._emit,
            ask=lambda: self._ask_release(token),
        )
        call = _Call(token=token, turn_id=turn_id, gate=gate, judge=judge)
        # A call that was answered stays until the next one: its deltas may still be released.
        self._calls = {token: call} | {
            other.token: other for other in self._calls.values() if not other.is_reported
        }
        call.task = self._ending.watch(
            asyncio.create_task(self._run(call, make), name=f"model call {token}")
        )

    def cancel(self, token: DispatchToken) -> None:
        """Drop a call; its connection is closed, nothing of it is reported."""
        call = self._calls.pop(token, None)
        if call is not None:
            call.is_reported = True
            self._leave(call)
            for task in (call.task, call.judging):
                if task is not None:
                    task.cancel()

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
        _stop_watch(call)
        call.gate.close()

    async def _run(self, call: _Call, make: RequestMaker) -> None:
        request = await make()
        call.has_tools = bool(request.tools)
        call.size = measure(
            request.messages, system_prompt=request.system_prompt, tools=request.tools
        )
        try:
            await self._ask_models(call, request)
        except ModelCallError as error:
            self._report_failure(call, error)
        finally:
            _stop_watch(call)

    async def _ask_models(self, call: _Call, request: ModelRequest) -> None:
        """Ask the main model, then the fallback while nothing has been streamed."""
        failures: list[ModelCallError] = []
        clients = self._clients()
        for position, client in enumerate(clients, start=1):
            try:
                await self._ask(call, client, request)
            except ModelCallError as error:
                if call.is_reported:
                    # The answer was whole; what broke is the connection after it.
                    return
                failures.append(error)
                if call.is_streaming or not error.is_retryable_elsewhere:
                    break
                if position < len(clients):
                    _log.warning("a model failed, the next one is asked: %s", error.detail)
                    self._tell(call, sentences.asking_fallback(error.sentence), 0.0)
            else:
                return
        raise _whole_failure(failures, self._without_model)

    async def _ask(self, call: _Call, client: ModelClient, request: ModelRequest) -> None:
        """One model, under watchdogs of its own: what another one took is not counted to it."""
        expiry = asyncio.timeout(None)
        watch = CallWatch(self._timeouts, on_expired=lambda: expiry.reschedule(0))
        call.watch = watch
        try:
            async with expiry, aclosing(client.stream(request)) as items:
                async for item in items:
                    self._take(call, watch, item)
        except TimeoutError:
            sentence = watch.expired.sentence if watch.expired else ""
            raise ModelCallError(
                ErrorCategory.TIMEOUT, sentence, is_before_first_chunk=not call.is_streaming
            ) from None
        finally:
            watch.stop()

    def _tell(self, call: _Call, sentence: str, wait_s: float) -> None:
        self._emit([RetryOutput(turn_id=call.turn_id, sentence=sentence, wait_s=wait_s)])

    def _take(self, call: _Call, watch: CallWatch, item: StreamItem) -> None:
        watch.saw(item)
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
                self._tell(call, item.sentence, item.wait_s)
            case port.Finished():
                self._report(call, item)
            case port.Keepalive():
                pass

    def _report(self, call: _Call, finished: port.Finished) -> None:
        call.is_reported = True
        _stop_watch(call)
        if finished.finish in _CUT:
            # Nothing of a reply that was cut may still leave (decision 25).
            call.gate.close()
        else:
            call.gate.end()
        if not finished.calls:
            self._finish(call, finished, ())
            return
        # Beside the stream: what comes of the connection after the answer is no matter of it.
        call.judging = self._ending.watch(
            asyncio.create_task(self._judge(call, finished), name=f"judging of {call.token}")
        )

    async def _judge(self, call: _Call, finished: port.Finished) -> None:
        self._finish(call, finished, await call.judge(finished.calls))

    def _finish(
        self, call: _Call, finished: port.Finished, calls: tuple[ProposedCall, ...]
    ) -> None:
        self._post(
            FinishRound(
                token=call.token,
                text=finished.text,
                thinking=finished.thinking,
                calls=calls,
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


def _stop_watch(call: _Call) -> None:
    if call.watch is not None:
        call.watch.stop()


def _whole_failure(failures: Sequence[ModelCallError], without_model: str) -> ModelCallError:
    """What the turn is told: the one failure, or that of the main model and of the last one."""
    if not failures:
        return ModelCallError(ErrorCategory.PROVIDER_FAILURE, without_model)
    first, last = failures[0], failures[-1]
    if first is last:
        return last
    return ModelCallError(
        last.category,
        sentences.fallback_failed(first.sentence, last.sentence),
        detail=f"{first.detail}; then {last.detail}",
        is_before_first_chunk=last.is_before_first_chunk,
        is_context_overflow=last.is_context_overflow,
    )
