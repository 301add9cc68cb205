"""Watches model and tool calls against their limits; a chunk only updates a time stamp.

The arithmetic is the core's (`deadlines`). Here is the clock: one timer of the loop per watch,
set again when it fires too early, so that a stream of a thousand tokens costs no thousand timers.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from netclaw.core.session.deadlines import (
    Expiry,
    ModelWatch,
    ToolWatch,
    model_expiry,
    model_next_check,
    tool_expiry,
    tool_next_check,
)
from netclaw.core.settings import TurnTimeouts
from netclaw.ports.model import (
    CallDelta,
    Keepalive,
    RetryScheduled,
    StreamItem,
    TextDelta,
    ThinkingDelta,
)


class _Clock:
    """One timer that asks again and again until something has expired or it is stopped."""

    def __init__(self, on_expired: Callable[[], None]) -> None:
        self._on_expired = on_expired
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.Handle | None = None
        self.expired: Expiry | None = None
        """The limit that was passed, once one was."""

    def stop(self) -> None:
        """The call ended; nothing expires any more."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    @property
    def _now_ms(self) -> int:
        return int(self._loop.time() * 1000)

    def _start(self, at_ms: int) -> None:
        self.stop()
        self._timer = self._loop.call_at((at_ms + 1) / 1000, self._check)

    def _check(self) -> None:
        if self._find_expiry() is None:
            self._start(self._next_check())
        else:
            # A loop that was held up reads what came meanwhile in the same turn as its late
            # timers, but hands it on in the next one: a peer is not judged before that.
            self._timer = self._loop.call_soon(self._judge)

    def _judge(self) -> None:
        self._timer = None
        self.expired = self._find_expiry()
        if self.expired is None:
            self._start(self._next_check())
        else:
            self._on_expired()

    def _find_expiry(self) -> Expiry | None:
        raise NotImplementedError

    def _next_check(self) -> int:
        raise NotImplementedError


class CallWatch(_Clock):
    """The watchdogs of one model call, from its creation on."""

    def __init__(self, timeouts: TurnTimeouts, *, on_expired: Callable[[], None]) -> None:
        super().__init__(on_expired)
        self._timeouts = timeouts
        self._watch = ModelWatch(started_at=self._now_ms)
        self._has_delta = False
        self._start(self._next_check())

    def saw(self, item: StreamItem) -> None:
        """Note what arrived and when."""
        now = self._now_ms
        if isinstance(item, TextDelta | CallDelta):
            self._watch.saw_output(now)
        elif isinstance(item, ThinkingDelta):
            self._watch.saw_thinking(now)
        elif isinstance(item, Keepalive):
            self._watch.saw_keepalive(now)
        elif isinstance(item, RetryScheduled):
            # The next attempt has the whole prefill time for itself, from its own start.
            self._watch = ModelWatch(started_at=now + int(item.wait_s * 1000))
        else:
            return
        if not self._has_delta:
            # From here on other limits hold, which may be shorter than the one the timer is for.
            self._has_delta = not isinstance(item, Keepalive | RetryScheduled)
            self._start(self._next_check())

    def _find_expiry(self) -> Expiry | None:
        return model_expiry(self._watch, self._now_ms, self._timeouts)

    def _next_check(self) -> int:
        return model_next_check(self._watch, self._timeouts)


class ExecutionWatch(_Clock):
    """The watchdog of one tool call: its first result, and each gap between items."""

    def __init__(self, timeouts: TurnTimeouts, *, on_expired: Callable[[], None]) -> None:
        super().__init__(on_expired)
        self._timeouts = timeouts
        self._watch = ToolWatch(started_at=self._now_ms)
        self._start(self._next_check())

    def saw_item(self) -> None:
        """A first result or a streamed item resets the clock."""
        self._watch.saw_item(self._now_ms)

    def _find_expiry(self) -> Expiry | None:
        return tool_expiry(self._watch, self._now_ms, self._timeouts)

    def _next_check(self) -> int:
        return tool_next_check(self._watch, self._timeouts)
