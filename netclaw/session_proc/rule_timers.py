"""The timers that the session rules ask for: one per kind, replaced by a later one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from netclaw.core.session.commands import FireTimer, SessionCommand, TimerKind
from netclaw.core.session.effects import StartTimer


class RuleTimers:
    """Turns a due timer into a FireTimer command; stale ones are told apart by their token."""

    def __init__(self, post: Callable[[SessionCommand], None]) -> None:
        self._post = post
        self._loop = asyncio.get_running_loop()
        self._handles: dict[TimerKind, asyncio.TimerHandle] = {}

    def start(self, effect: StartTimer) -> None:
        """Start a timer; one of the same kind that still runs is forgotten."""
        self.cancel(effect.timer)
        self._handles[effect.timer] = self._loop.call_later(
            effect.after_s, self._fire, effect.timer, effect.token
        )

    def cancel(self, kind: TimerKind) -> None:
        """Forget the timer of this kind."""
        handle = self._handles.pop(kind, None)
        if handle is not None:
            handle.cancel()

    def cancel_all(self) -> None:
        """Forget every timer: the process ends."""
        for kind in tuple(self._handles):
            self.cancel(kind)

    def _fire(self, kind: TimerKind, token: str) -> None:
        self._handles.pop(kind, None)
        self._post(FireTimer(timer=kind, token=token))
