"""Gives every call of a platform an end: a half-open connection must hold no thread for ever."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import TypeVar

from netclaw.adapters.driver import TransientFailure

CALL_TIMEOUT_S = 120.0
"""A platform's own library may wait out a rate limit within one call."""
TRANSFER_TIMEOUT_S = 900.0
"""The same for a file."""
Answer = TypeVar("Answer")


async def bounded(call: Awaitable[Answer], *, is_transfer: bool = False) -> Answer:
    """The answer of a platform; raises `TransientFailure` if none comes in time."""
    try:
        async with asyncio.timeout(TRANSFER_TIMEOUT_S if is_transfer else CALL_TIMEOUT_S):
            return await call
    except TimeoutError:
        raise TransientFailure("The platform did not answer in time.") from None
