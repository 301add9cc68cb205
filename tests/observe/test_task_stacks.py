"""The stacks of tasks: they name the innermost await, and nothing of what is handled there."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from netclaw.observe.task_stacks import task_stacks

SECRET = "a-secret-of-this-home"


async def numbers(never: asyncio.Event) -> AsyncIterator[int]:
    """Gives one number and waits for ever."""
    yield 1
    await never.wait()
    yield 2


async def reads_numbers(never: asyncio.Event) -> None:
    """Waits in a generator."""
    async for _ in numbers(never):
        pass


async def waits_for(task: asyncio.Task[None], secret: str) -> None:
    """Waits for another task."""
    del secret
    await task


@pytest.mark.requirement("observe.task-stacks")
async def test_each_task_is_shown_down_to_what_it_waits_for() -> None:
    reader = asyncio.create_task(reads_numbers(asyncio.Event()), name="reader")
    waiter = asyncio.create_task(waits_for(reader, SECRET), name="waiter")
    await asyncio.sleep(0)
    shown = task_stacks(asyncio.get_running_loop())
    for task in (reader, waiter):
        task.cancel()
    await asyncio.wait((reader, waiter))
    _, of_reader, of_waiter = shown.split("\nTask ")[-3:]
    assert [line.rpartition(" ")[2] for line in of_reader.splitlines()[1:]] == [
        "reads_numbers",
        "numbers",
        "Event.wait",
        "Future",
    ]
    assert of_waiter.splitlines()[-1] == "  waits for task reader"
    assert SECRET not in shown
