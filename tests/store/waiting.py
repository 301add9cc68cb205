"""Waiting for a condition, with a bound."""

from __future__ import annotations

import asyncio
from collections.abc import Callable


async def until(condition: Callable[[], bool], *, within_s: float = 15.0) -> None:
    """Return once the condition holds. Raises `TimeoutError`."""
    async with asyncio.timeout(within_s):
        while not condition():  # noqa: ASYNC110 there is no event to wait for
            await asyncio.sleep(0.005)
