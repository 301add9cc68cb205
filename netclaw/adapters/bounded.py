"""Gives every call of a platform an end: a half-open connection must hold no thread for ever."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import TypeVar

from netclaw.adapters.driver import TransientFailure

CALL_TIMEOUT_S = 120.0
"""A platform's own library may wait out a rate limit within one call."""
Answer = TypeVar("Answer")


async def bounded(call: Awaitable[Answer], *, timeout_s: float = CALL_TIMEOUT_S) -> Answer:
    """The answer of a platform; raises `TransientFailure` if none comes in time."""
    try:
        async with asyncio.timeout(timeout_s):
            return await call
    except TimeoutError:
        raise TransientFailure("The platform did not answer in time.") from None
