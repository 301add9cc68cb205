"""Asks the daemon again for what it could not do just now, ever more slowly.

A message that waits here is not acknowledged, and what follows it in its thread waits behind it.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable
from typing import TypeVar

from netclaw.adapters.parts import Gate
from netclaw.core.errors import ErrorCode, NetclawError

_log = logging.getLogger(__name__)

FIRST_S = 0.5
LONGEST_S = 15.0
JITTER = 0.25

PASSING = frozenset(
    {
        ErrorCode.QUEUE_FULL,
        ErrorCode.DRAINING,
        ErrorCode.STORAGE_FULL,
        ErrorCode.STORAGE_READ_ONLY,
        ErrorCode.STORAGE_CORRUPT,
        ErrorCode.STORAGE_TIMEOUT,
        ErrorCode.RATE_LIMITED,
        ErrorCode.TIMEOUT,
        ErrorCode.DELIVERY_UNCONFIRMED,
        ErrorCode.INTERNAL,
    }
)
"""What may be over later. A message has an id of its source, so that sending it again is safe."""

T = TypeVar("T")


class Patience:
    """Repeats calls until they succeed, fail for good, or the channel is told to end."""

    def __init__(
        self,
        gate: Gate,
        report_failure: Callable[[str], None],
        *,
        first_s: float = FIRST_S,
        uniform: Callable[[], float] = random.random,
    ) -> None:
        self._gate = gate
        self._report_failure = report_failure
        self._first_s = first_s
        self._uniform = uniform

    async def call(
        self,
        work: Callable[[], Awaitable[T]],
        *,
        on_wait: Callable[[NetclawError], Awaitable[None]] | None = None,
    ) -> T:
        """The answer; raises the `NetclawError` that ends the repetition.

        `on_wait` hears of the first failure that is waited out.
        """
        pause_s = self._first_s
        is_told = False
        while True:
            try:
                return await work()
            except NetclawError as error:
                if error.code not in PASSING or not self._gate.is_open:
                    raise
                _log.warning("the daemon cannot take a message now: %s", error.code.value)
                self._report_failure(error.sentence)
                failure = error
            if on_wait is not None and not is_told:
                is_told = True
                await on_wait(failure)
            await asyncio.sleep(pause_s * (1 + JITTER * self._uniform()))
            pause_s = min(pause_s * 2, LONGEST_S)
