"""The soak's connection to a daemon that is killed and restarted under it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

import grpc

from tests.process.world import World

_Answer = TypeVar("_Answer")

_DEFINITE = frozenset(
    {
        grpc.StatusCode.INVALID_ARGUMENT,
        grpc.StatusCode.NOT_FOUND,
        grpc.StatusCode.RESOURCE_EXHAUSTED,
        grpc.StatusCode.FAILED_PRECONDITION,
        grpc.StatusCode.PERMISSION_DENIED,
    }
)
"""Answers of a daemon that did nothing."""


class CutOffError(Exception):
    """The daemon went away under a call: what became of it is not known."""


class RefusedError(Exception):
    """The daemon answered that it did nothing."""


async def ask(call: Callable[[], Awaitable[_Answer]]) -> _Answer:
    """Make a call to the daemon and await it; raises `CutOffError` or `RefusedError`.

    A channel that is closed cancels its calls, which is no wish to cancel the caller.
    """
    task = asyncio.current_task()
    try:
        return await call()
    except grpc.aio.AioRpcError as fault:
        if fault.code() in _DEFINITE:
            raise RefusedError(fault.details()) from fault
        raise CutOffError(fault.details()) from fault
    except grpc.aio.UsageError as fault:
        raise CutOffError(str(fault)) from fault
    except asyncio.CancelledError as fault:
        if task is not None and task.cancelling():
            raise
        raise CutOffError("the channel was closed") from fault


async def again(world: World) -> None:
    """After a cut: wait until there is a daemon to ask, and give a dying one time to be gone."""
    await asyncio.sleep(0.05)
    await world.is_up.wait()
