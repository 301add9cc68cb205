"""Calls a model again when it failed before it said anything.

Only before the first chunk: once something of the answer was seen, calling again could say it
twice, and the failure is the turn's.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass

from netclaw.ports.model import (
    ModelCallError,
    ModelClient,
    ModelRequest,
    RetryScheduled,
    StreamItem,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """How often and how late; `jitter` is the part of a wait by which it may be off."""

    retries: int = 3
    base_s: float = 1.0
    max_s: float = 30.0
    jitter: float = 0.25

    def wait_s(self, attempt: int, error: ModelCallError, chance: float) -> float | None:
        """Seconds before the attempt after number `attempt` (from 1); None if there is none.

        `chance` is a random number from 0 to 1. A provider that asks for more patience than
        `max_s` is not asked again: the caller can say so at once.
        """
        is_worth_it = error.is_transient and error.is_before_first_chunk
        if attempt > self.retries or not is_worth_it:
            return None
        asked_s = error.retry_after_s or 0.0
        if asked_s > self.max_s:
            return None
        backoff_s = min(self.max_s, self.base_s * 2.0 ** (attempt - 1))
        return max(asked_s, backoff_s * (1 + self.jitter * (2 * chance - 1)))


class RetryingClient:
    """A client that tries again as its policy says; each wait is told as `RetryScheduled`."""

    def __init__(
        self,
        client: ModelClient,
        *,
        policy: RetryPolicy | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        chance: Callable[[], float] = random.random,
    ) -> None:
        self._client = client
        self._policy = policy or RetryPolicy()
        self._sleep = sleep
        self._chance = chance

    async def stream(self, request: ModelRequest) -> AsyncGenerator[StreamItem, None]:
        """See `ModelClient.stream`."""
        attempt = 1
        while True:
            try:
                async with aclosing(self._client.stream(request)) as items:
                    async for item in items:
                        yield item
            except ModelCallError as error:
                wait_s = self._policy.wait_s(attempt, error, self._chance())
                if wait_s is None:
                    raise
                notice = RetryScheduled(
                    attempt=attempt,
                    wait_s=wait_s,
                    category=error.category,
                    sentence=error.sentence,
                )
            else:
                return
            yield notice
            await self._sleep(wait_s)
            attempt += 1
